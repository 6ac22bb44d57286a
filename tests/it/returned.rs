//! Messages that fail after they were taken: what receivers and mail servers report, and whom it is believed.

use flatline::alerts::Channel;
use flatline::time::Span;
use serde_json::json;
use uuid::Uuid;

use crate::deliveries::{check, deliveries, hook, ping, reread};
use crate::mail_pings::{DOMAIN, Sender, listen};
use crate::support::{Answer, Engine, Receiver, World, on_both};

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

async fn report(world: &World, delivery: &str, form: &str) -> Answer {
    let path = format!("/api/v3/notifications/{delivery}/status");
    world.client.without_key().send("POST", &path, &[], form.as_bytes().to_vec()).await
}

async fn bounce(world: &World, mail: &str) -> String {
    let answer =
        world.client.without_key().send("POST", "/api/v1/bounces/", &[], mail.as_bytes().to_vec()).await;
    assert_eq!(answer.status, 200);
    answer.text()
}

/// What a mail server writes about a letter that it could not hand over.
fn returned(to: &str, action: &str, status: &str) -> String {
    format!(
        "From: MAILER-DAEMON@mx.example.test\r\nTo: {to}\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=BB\r\n\r\n\
         --BB\r\nContent-Type: text/plain\r\n\r\nSorry.\r\n--BB\r\nContent-Type: message/delivery-status\r\n\r\n\
         Reporting-MTA: dns; mx.example.test\r\n\r\nFinal-Recipient: rfc822; ops@example.org\r\n\
         Action: {action}\r\nStatus: {status}\r\nDiagnostic-Code: smtp; 550 no such user\r\n--BB--\r\n"
    )
}

/// How the newest delivery of a channel stands, what came back, and the channel's last error.
async fn stand(world: &World, channel: &Channel) -> (String, String, String) {
    let last = deliveries(world, channel).await.pop().unwrap();
    (last.state, last.outcome, reread(world, channel).await.last_error)
}

async fn is_off(world: &World, channel: &Channel) -> bool {
    reread(world, channel).await.disabled_at.is_some()
}

/// The uuid of the message that a failing ping sends to the channel.
async fn send(world: &World, channel: &Channel) -> Uuid {
    let uuid = check(world, "backup", &[channel]).await;
    ping(world, &uuid, "/fail").await;
    world.app.deliver().await.unwrap();
    let sent = deliveries(world, channel).await.pop().unwrap();
    assert_eq!(sent.state, "sent");
    sent.uuid
}

async fn mail_world(engine: Engine, changes: &[(&str, &str)]) -> (World, Channel) {
    let changes = [&[("BOUNCE_ADDRESS", "bounces@example.org")], changes].concat();
    let world = World::with(engine, "unlimited", &changes).await;
    let channel = world.channel("email", &json!({"address": "ops@example.org"})).await;
    (world, channel)
}

fn return_address(world: &World, delivery: Uuid, recipient: &str) -> String {
    world.app.senders.returns.as_ref().unwrap().of(delivery, recipient).unwrap().to_string()
}

on_both! {
    async fn what_a_receiver_reports_stands_on_the_delivery_and_its_channel(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        for (form, said) in [
            ("error=no+such+number", "no such number"),
            ("MessageStatus=undelivered&MessageSid=SM1", "its status is undelivered"),
            ("MessageStatus=failed", "its status is failed"),
            ("CallStatus=failed", "its status is failed"),
        ] {
            let channel = hook(&world, &receiver.url).await;
            let delivery = send(&world, &channel).await.to_string();
            for harmless in ["", "error=", "MessageStatus=delivered", "CallStatus=completed", "mark_disabled=1", "\u{0}=%"] {
                let answer = report(&world, &delivery, harmless).await;
                assert_eq!((answer.status, answer.text()), (200, String::new()));
                assert_eq!(stand(&world, &channel).await.0, "sent", "{harmless}");
            }
            assert_eq!(report(&world, &delivery, form).await.status, 200);
            let why = format!("The receiver reported a failure: {said}.");
            assert_eq!(stand(&world, &channel).await, ("given_up".to_owned(), why.clone(), why), "{form}");
            assert!(!is_off(&world, &channel).await);
        }
    }

    async fn a_receiver_that_is_gone_for_good_turns_its_channel_off(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        let delivery = send(&world, &channel).await.to_string();
        let long = "x".repeat(300);
        assert_eq!(report(&world, &delivery, &format!("error={long}&mark_disabled=1")).await.status, 200);
let why = format!("The receiver reported a failure: {}…", "x".repeat(199));
        assert_eq!(stand(&world, &channel).await, ("given_up".to_owned(), why.clone(), why.clone()));
        assert!(is_off(&world, &channel).await);
        // The first word stands.
        assert_eq!(report(&world, &delivery, "error=other").await.status, 200);
        assert_eq!(stand(&world, &channel).await.1, why);
    }

    async fn a_receiver_is_believed_for_an_hour(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        for (waits, state) in [(Span::seconds(3599), "given_up"), (Span::seconds(3600), "sent")] {
            let channel = hook(&world, &receiver.url).await;
            let delivery = send(&world, &channel).await.to_string();
            world.advance(waits);
            assert_eq!(report(&world, &delivery, "error=late").await.status, 200);
            assert_eq!(stand(&world, &channel).await.0, state);
        }
    }

    async fn reports_that_name_no_message_are_answered_alike_and_counted_by_address(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let mut statuses = Vec::new();
        for _ in 0..30 {
            statuses.push(report(&world, NOBODY, "error=x").await.status);
            statuses.push(world.client.post("bounces/", &json!("no mail")).await.status);
        }
        assert_eq!(statuses, [200; 60]);
        let refused = report(&world, "no-uuid", "error=x").await;
        let body = r#"{"error":"rate_limited","scope":"unknown_reports_per_minute","retry_after":61}"#;
        assert_eq!((refused.status, refused.text().as_str()), (429, body));
        // What names one is none of them.
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        let delivery = send(&world, &channel).await.to_string();
        assert_eq!(report(&world, &delivery, "error=x").await.status, 200);
        assert_eq!(stand(&world, &channel).await.0, "given_up");
    }

    async fn a_letter_that_comes_back_for_good_turns_its_channel_off(engine: Engine) {
        let (world, channel) = mail_world(engine, &[]).await;
        let delivery = send(&world, &channel).await;
        let to = return_address(&world, delivery, "ops@example.org");
        assert_eq!(bounce(&world, &returned(&to, "delayed", "4.4.1")).await, "OK");
        let why = "The letter is delayed: 550 no such user.".to_owned();
        assert_eq!(stand(&world, &channel).await, ("sent".to_owned(), why.clone(), why));
        assert_eq!(bounce(&world, &returned(&to, "failed", "5.2.2")).await, "OK");
        let why = "The letter came back: 550 no such user.".to_owned();
        assert_eq!(stand(&world, &channel).await, ("given_up".to_owned(), why.clone(), why.clone()));
        assert!(!is_off(&world, &channel).await, "a full mailbox may be emptied");

        let delivery = send(&world, &channel).await;
        let to = return_address(&world, delivery, "ops@example.org");
        assert_eq!(bounce(&world, &returned(&format!("Alerts <{to}>"), "failed", "5.1.1")).await, "OK");
        assert_eq!(stand(&world, &channel).await, ("given_up".to_owned(), why.clone(), why));
        assert!(is_off(&world, &channel).await);
        // The owner hears of it once.
        assert_eq!(bounce(&world, &returned(&to, "failed", "5.1.1")).await, "OK");
        world.app.send_letters().await.unwrap();
        let letters = world.outbox().await;
        let told: Vec<&String> = letters.iter().filter(|one| one.contains("To: owner@example.org\r\n")).collect();
        assert_eq!(told.len(), 1, "{letters:?}");
        assert!(told[0].contains("\r\nSubject: Alerts no longer go to ops@example.org\r\n"), "{}", told[0]);
        assert!(told[0].contains("The letter came back: 550 no such user."), "{}", told[0]);
        assert!(told[0].contains(&format!("http://flatline.test/channels/{}", channel.uuid)), "{}", told[0]);
    }

    async fn an_owner_whose_own_address_is_dead_is_written_nothing(engine: Engine) {
        let (world, _) = mail_world(engine, &[]).await;
        let channel = world.channel("email", &json!({"address": "Owner@example.org"})).await;
        let delivery = send(&world, &channel).await;
        let to = return_address(&world, delivery, "owner@example.org");
        let before = world.outbox().await.len();
        assert_eq!(bounce(&world, &returned(&to, "failed", "5.1.1")).await, "OK");
        assert!(is_off(&world, &channel).await);
        assert_eq!((world.app.send_letters().await.unwrap(), world.outbox().await.len()), (0, before));
    }

    async fn a_letter_that_comes_back_is_believed_for_what_it_was_signed_for(engine: Engine) {
        let (world, channel) = mail_world(engine, &[]).await;
        let delivery = send(&world, &channel).await;
        let to = return_address(&world, delivery, "ops@example.org");
        let failed = |to: &str| returned(to, "failed", "5.1.1");
        for stranger in [
            return_address(&world, delivery, "other@example.org"),
            return_address(&world, NOBODY.parse().unwrap(), "ops@example.org"),
            to.replace("bounces+", "bounce+"),
            "ops@example.org".to_owned(),
        ] {
            assert_eq!(bounce(&world, &failed(&stranger)).await, "OK (bad signature)", "{stranger}");
        }
        assert_eq!(bounce(&world, "").await, "OK (bad signature)");
        assert_eq!(bounce(&world, &returned(&to, "delivered", "2.0.0")).await, "OK (ignored)");
        assert_eq!(bounce(&world, &format!("To: {to}\r\nSubject: I am away\r\n\r\nBye\r\n")).await, "OK (ignored)");
        assert_eq!(stand(&world, &channel).await.0, "sent");
        world.advance(Span::hours(7 * 24));
        assert_eq!(bounce(&world, &failed(&to)).await, "OK (bad signature)", "it comes too late");
        world.advance(Span::hours(-1));
        // An address that was put in the place of the dead one has nothing to do with it.
        let path = format!("/api/v3/channels/{}", channel.uuid);
        let config = br#"{"config": {"address": "owner@example.org"}}"#.to_vec();
        assert_eq!(world.client.send("PUT", &path, &[], config).await.status, 200);
        assert_eq!(bounce(&world, &failed(&to)).await, "OK (bad signature)");
        assert!(!is_off(&world, &channel).await);
    }

    async fn a_letter_comes_back_through_the_listener_too(engine: Engine) {
        let changes = [("SMTP_LISTEN", "127.0.0.1:0"), ("EMAIL_DOMAIN", DOMAIN)];
        let (world, channel) = mail_world(engine, &changes).await;
        let delivery = send(&world, &channel).await;
        let to = return_address(&world, delivery, "ops@example.org");
        let mut sender = Sender::connect(&listen(&world).await).await;
        let mail = returned("whoever@example.org", "failed", "5.1.1");
        let forged = return_address(&world, delivery, "other@example.org");
        assert_eq!(sender.letter("", &[forged], mail.as_bytes()).await, "250 2.0.0 OK");
        assert_eq!(stand(&world, &channel).await.0, "sent");
        assert_eq!(sender.letter("", &["bounces@example.org".to_owned()], b"").await, "550 5.1.1 Recipient rejected");
        assert_eq!(sender.letter("", &[to.to_uppercase()], mail.as_bytes()).await, "250 2.0.0 OK");
        assert_eq!(stand(&world, &channel).await.0, "given_up");
        assert!(is_off(&world, &channel).await);
    }
}
