//! Alerts as mail, through a real SMTP server of the test's own, which it can stop and start.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use flatline::alerts::{self, Channel};
use flatline::db::Statement;
use flatline::time::{Span, Time};
use mail_parser::{Message, MessageParser};
use serde_json::json;
use uuid::Uuid;

use crate::races::ground::until;
use crate::support::{Engine, World, on_both, variable};

const LIST: &Statement = &Statement {
    name: "LIST",
    text: "SELECT d.uuid AS uuid, d.state AS state, d.attempts AS attempts, d.outcome AS outcome, d.due_at AS due_at \
           FROM deliveries AS d JOIN channels AS c ON c.id = d.channel_id WHERE c.uuid = $1 ORDER BY d.id",
};
const SEND_AGAIN: &Statement = &Statement {
    name: "SEND_AGAIN",
    text: "UPDATE deliveries SET state = 'due', settled_at = NULL, due_at = 0 WHERE state = 'sent'",
};

#[derive(Clone, Debug, sqlx::FromRow)]
struct Delivery {
    uuid: Uuid,
    state: String,
    attempts: i64,
    outcome: String,
    due_at: Time,
}

/// An Exim of the test's own: every letter becomes a file.
struct Server {
    folder: PathBuf,
    url: String,
}

impl Server {
    fn new() -> Self {
        let services = variable("FLATLINE_TEST_SERVICES_DIR").expect("run with tests/run");
        let folder = PathBuf::from(services).join(format!("smtp-{}", flatline::id::uuid().simple()));
        let url = run("start", &folder);
        Self { folder, url }
    }

    fn stop(&self) {
        run("stop", &self.folder);
    }

    fn start(&self) {
        run("start", &self.folder);
    }

    /// The letters so far, oldest first.
    fn letters(&self) -> Vec<Vec<u8>> {
        let files =
            std::fs::read_dir(self.folder.join("mail/new")).map(Iterator::flatten).into_iter().flatten();
        let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
        paths.sort();
        paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
    }

    /// Waits until the server has put away what it took.
    async fn letters_when(&self, count: usize) -> Vec<Vec<u8>> {
        until("the letters are there", async || self.letters().len() >= count).await;
        self.letters()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(verb: &str, folder: &std::path::Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services/smtp");
    // The server inherits what its script has open: never a pipe that the test would wait for.
    let output = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let status = Command::new(script)
        .args([verb.as_ref(), folder.as_os_str()])
        .stdin(Stdio::null())
        .stdout(output.reopen().unwrap())
        .status();
    assert!(status.unwrap().success(), "{verb}");
    std::fs::read_to_string(output.path()).unwrap().trim().to_owned()
}

fn parse(letter: &[u8]) -> Message<'_> {
    MessageParser::default().parse(letter).unwrap()
}

/// A header as it stands in the letter.
fn raw<'a>(letter: &'a Message<'_>, name: &'a str) -> &'a str {
    letter.header_raw(name).unwrap_or_default().trim()
}

async fn deliveries(world: &World, channel: &Channel) -> Vec<Delivery> {
    let mut tx = world.app.db.begin_read().await.unwrap();
    tx.query(LIST).bind(channel.uuid).all::<Delivery>().await.unwrap()
}

async fn address(world: &World, address: &str) -> Channel {
    world.channel("email", &json!({ "address": address })).await
}

async fn failing_check(world: &World, name: &str, channel: &Channel, body: &[u8]) -> String {
    let uuid = world.client.check(&json!({"name": name, "channels": channel.uuid.to_string()})).await;
    assert_eq!(world.client.ping_with(&uuid, "/fail", body).await.status, 200);
    uuid
}

async fn world(engine: Engine, server: &Server) -> World {
    World::with(engine, "unlimited", &[("SMTP_URL", &server.url), ("MAIL_FROM", "alerts@flatline.test")])
        .await
}

on_both! {
    async fn down_and_up_arrive_as_mail_for_people_and_for_programs(engine: Engine) {
        let server = Server::new();
        let world = world(engine, &server).await;
        let channel = address(&world, "ann@example.org").await;
        let name = "Sauvegarde Zürich ✓ 日本語";
        // Bytes of an old Windows console, as b096 had them.
        let uuid = failing_check(&world, name, &channel, b"Espace libre: \x8a 0 Mo\r\n<b>done</b>").await;
        world.tick().await;
        let letters = server.letters_when(1).await;
        let down = parse(&letters[0]);
        assert_eq!(down.subject(), Some(format!("DOWN | {name} | reported failure").as_str()));
        assert!(raw(&down, "Subject").is_ascii());
        assert_eq!(raw(&down, "Envelope-to"), "ann@example.org");
        assert_eq!(raw(&down, "Return-path"), "<alerts@flatline.test>");
        assert_eq!(down.from().unwrap().first().unwrap().address(), Some("alerts@flatline.test"));
        assert_eq!(down.to().unwrap().first().unwrap().address(), Some("ann@example.org"));
        let sent = deliveries(&world, &channel).await.remove(0);
        assert_eq!(raw(&down, "Message-ID"), format!("<{}@flatline.test>", sent.uuid));
        assert_eq!(raw(&down, "List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
        let unsubscribe = world.app.senders.links.unsubscribe(channel.uuid);
        assert!(unsubscribe.starts_with("http://flatline.test/mail/stop/"));
        let folded = raw(&down, "List-Unsubscribe").replace(['\r', '\n', ' ', '\t'], "");
        assert_eq!(folded, format!("<{unsubscribe}>"));

        let (text, html) = (down.body_text(0).unwrap(), down.body_html(0).unwrap());
        for part in [name, "Espace libre: ", &uuid, &unsubscribe] {
            assert!(text.contains(part), "{part}: {text}");
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(text.contains("<b>done</b>") && html.contains("&#60;b&#62;done&#60;/b&#62;"), "{html}");
        assert!(!html.contains("<b>done</b>"));

        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        world.tick().await;
        let letters = server.letters_when(2).await;
        let subjects: Vec<_> = letters.iter().map(|letter| parse(letter).subject().unwrap().to_owned()).collect();
        assert!(subjects.contains(&format!("UP | {name}")), "{subjects:?}");
    }

    async fn a_name_cannot_add_headers_recipients_or_letters(engine: Engine) {
        let server = Server::new();
        let world = world(engine, &server).await;
        let channel = address(&world, "ann@example.org").await;
        let name = "a\r\nBcc: evil@example.org\r\nX-Evil: 1\r\n\r\n.\r\nMAIL FROM:<x@y>";
        failing_check(&world, name, &channel, b".\r\nQUIT\r\n").await;
        world.tick().await;
        let letters = server.letters_when(1).await;
        assert_eq!(letters.len(), 1);
        let letter = parse(&letters[0]);
        let subject = letter.subject().unwrap();
        assert!(subject.starts_with("DOWN | a Bcc: evil@example.org X-Evil: 1 . MAIL FROM:<x@y> | "), "{subject}");
        assert!(letter.bcc().is_none() && letter.header("X-Evil").is_none());
        assert_eq!(raw(&letter, "Envelope-to"), "ann@example.org");
        assert!(letter.body_text(0).unwrap().contains("QUIT"));
    }

    async fn while_the_server_is_down_letters_wait_and_then_arrive_once(engine: Engine) {
        let server = Server::new();
        let world = world(engine, &server).await;
        let channel = address(&world, "ann@example.org").await;
        server.stop();
        failing_check(&world, "backup", &channel, b"").await;
        for attempts in 1..=3 {
            world.app.deliver().await.unwrap();
            let waits = deliveries(&world, &channel).await.remove(0);
            assert_eq!((waits.state.as_str(), waits.attempts), ("due", attempts));
            assert_eq!(waits.outcome, "The mail server could not be reached.");
            world.clock.set(waits.due_at);
        }
        server.start();
        world.app.deliver().await.unwrap();
        let sent = deliveries(&world, &channel).await.remove(0);
        assert_eq!((sent.state.as_str(), sent.attempts), ("sent", 4), "{}", sent.outcome);
        for _ in 0..3 {
            world.advance(Span::hours(1));
            world.app.deliver().await.unwrap();
        }
        assert_eq!(server.letters_when(1).await.len(), 1);
    }

    async fn a_letter_that_a_crash_repeats_is_the_same_letter(engine: Engine) {
        let server = Server::new();
        let world = world(engine, &server).await;
        let channel = address(&world, "ann@example.org").await;
        failing_check(&world, "backup", &channel, b"").await;
        world.app.deliver().await.unwrap();
        // As if the program had died before it could note that the letter was sent.
        assert_eq!(crate::races::rows::change(&world.app.db, SEND_AGAIN, &[]).await, 1);
        world.app.deliver().await.unwrap();
        let letters = server.letters_when(2).await;
        let ids: Vec<_> = letters.iter().map(|letter| raw(&parse(letter), "Message-ID").to_owned()).collect();
        assert_eq!((ids.len(), &ids[0]), (2, &ids[1]));
    }

    async fn one_refused_address_costs_nobody_else_a_letter(engine: Engine) {
        let server = Server::new();
        let world = world(engine, &server).await;
        let mut channels = Vec::new();
        for name in ["refused", "busy", "good"] {
            channels.push(address(&world, &format!("{name}@example.org")).await);
        }
        let uuid = world.client.check(&json!({"name": "backup", "channels": "*"})).await;
        assert_eq!(world.client.ping(&uuid, "/fail").await.status, 200);
        world.tick().await;
        let mut found = Vec::new();
        let mut tx = world.app.db.begin_read().await.unwrap();
        for channel in &channels {
            let read = alerts::store::find_channel(&mut tx, channel.id).await.unwrap().unwrap();
            let delivery = deliveries(&world, channel).await.remove(0);
            found.push((delivery.state, read.disabled_at.is_some(), read.last_error));
        }
        let refused = "The mail server refused the recipient: 550 no such mailbox.";
        let busy = "The mail server did not take the letter: 451 try again later.";
        let expected = [("given_up", true, refused), ("due", false, busy), ("sent", false, "")];
        assert_eq!(found, expected.map(|(state, off, why)| (state.to_owned(), off, why.to_owned())));
        let letters = server.letters_when(3).await;
        let head = |letter: &Vec<u8>| {
            let letter = parse(letter);
            (raw(&letter, "Envelope-to").to_owned(), letter.subject().unwrap().to_owned())
        };
        let mut told: Vec<(String, String)> = letters.iter().map(head).collect();
        told.sort();
        let (down, off) = ("DOWN | backup | reported failure", "Alerts no longer go to refused@example.org");
        let expected = [("good@example.org", down), ("owner@example.org", off), ("owner@example.org", down)];
        assert_eq!(told, expected.map(|(to, subject)| (to.to_owned(), subject.to_owned())));
    }

    async fn without_a_mail_server_letters_lie_in_the_outbox_for_the_operator_alone(engine: Engine) {
        use std::os::unix::fs::PermissionsExt;
        let world = World::new(engine, "unlimited").await;
        let channel = address(&world, "ann@example.org").await;
        failing_check(&world, "backup", &channel, b"").await;
        world.tick().await;
        let outbox = world.place.folder.path().join("outbox");
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&outbox), 0o700);
        let files: Vec<_> = std::fs::read_dir(&outbox).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].extension().unwrap().to_str(), mode(&files[0])), (Some("eml"), 0o600));
        let letter = std::fs::read(&files[0]).unwrap();
        assert_eq!(parse(&letter).subject(), Some("DOWN | backup | reported failure"));
        let sent = deliveries(&world, &channel).await.remove(0);
        assert_eq!(sent.state, "sent");
        assert!(sent.outcome.starts_with("No mail server is set up; written to the outbox as "), "{}", sent.outcome);
    }
}
