use std::fs;
use std::path::PathBuf;

use mail_parser::{HeaderValue, MessageParser};

use super::*;
use crate::alerts::links::{Action, Links};
use crate::alerts::words::sample::{channel, failed};
use crate::checks::json::Urls;
use crate::mail::{Mailbox, Post};
use crate::net::Outgoing;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn senders(folder: &Folder) -> Senders {
    Senders {
        post: Post::outbox(folder.0.clone(), Mailbox::parse("Flatline <alerts@mon.example>").unwrap()),
        outgoing: Outgoing::new(Vec::new()).unwrap(),
        links: Links::new("https://watch.example.org", &[7; 32]),
        returns: None,
        urls: Urls { site: "https://watch.example.org".to_owned(), ping: String::new() },
        site: "watch.example.org".to_owned(),
    }
}

fn folder() -> Folder {
    Folder(std::env::temp_dir().join(format!("flatline-email-{}", crate::id::uuid())))
}

/// The one mail that was written.
async fn mailed(message: &Message) -> Vec<u8> {
    let folder = folder();
    let sent = senders(&folder).send(message).await;
    assert!(
        matches!(sent, Outcome::Sent { ref note } if note.starts_with("No mail server is set up;")),
        "{sent:?}"
    );
    let files: Vec<PathBuf> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    fs::read(&files[0]).unwrap()
}

#[tokio::test]
async fn a_mail_carries_its_delivery_id_and_a_way_to_end_it() {
    let raw = mailed(&failed()).await;
    let mail = MessageParser::default().parse(&raw).unwrap();
    assert_eq!(mail.subject(), Some("DOWN | Dump of pg-main | exit status 1"));
    assert_eq!(mail.message_id(), Some("00000000-0000-0000-0000-0000000000d1@mon.example"));
    assert_eq!(mail.to().unwrap().first().unwrap().address(), Some("ops@example.org"));
    let header = |name: &str| match mail.header(name) {
        Some(HeaderValue::Text(text)) => text.to_string(),
        Some(HeaderValue::Address(address)) => {
            address.first().and_then(|one| one.address()).unwrap_or_default().to_owned()
        }
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(header("List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
    let stop = header("List-Unsubscribe");
    let token = stop.trim_matches(['<', '>']).strip_prefix("https://watch.example.org/mail/stop/").unwrap();
    let links = Links::new("https://watch.example.org", &[7; 32]);
    assert_eq!(links.verify("stop", token), Some(Action::Stop { channel: failed().channel.uuid }));
    let (text, html) = (mail.body_text(0).unwrap(), mail.body_html(0).unwrap());
    for part in [&text, &html] {
        assert!(part.contains("The run of 02:30 ended with exit status 1."));
        assert!(part.contains("No space left on device"));
        assert!(part.contains("https://watch.example.org/checks/5a7e13a6d0de2346a76c4d7d7588c2c45390d8f5"));
        assert!(part.contains(&links.unsubscribe(failed().channel.uuid)));
    }
}

#[tokio::test]
async fn names_and_output_of_any_kind_are_mailed() {
    let mut message = failed();
    message.check.settings.name = "nightly\r\nBcc: eve@example.org\0 <b>\u{202e}".to_owned();
    message.last_ping.as_mut().unwrap().body = b"\xe8 \xe9 \xe0 \xf2 \0 \x1b[31m<script>\n.\n".to_vec();
    let raw = mailed(&message).await;
    let mail = MessageParser::default().parse(&raw).unwrap();
    assert_eq!(mail.subject(), Some("DOWN | nightly Bcc: eve@example.org <b> | exit status 1"));
    assert!(mail.bcc().is_none());
    assert!(mail.body_text(0).unwrap().contains("    \u{fffd} \u{fffd} \u{fffd} \u{fffd}  <script>"));
    assert!(mail.body_html(0).unwrap().contains("&#60;script&#62;"));
    assert!(!mail.body_html(0).unwrap().contains("<script>"));
}

#[tokio::test]
async fn a_channel_without_an_address_fails_at_once() {
    let folder = folder();
    for config in ["{}", r#"{"address":"nobody"}"#, ""] {
        let mut message = failed();
        message.channel = channel("email", config);
        assert!(matches!(senders(&folder).send(&message).await, Outcome::Failed { .. }), "{config}");
    }
}

#[test]
fn a_refused_recipient_ends_the_channel_and_a_weary_server_does_not() {
    let reply = || "550 5.1.1 unknown user".to_owned();
    assert_eq!(
        outcome(Err(MailError::Rejected { reply: reply() })),
        Outcome::Disable { why: "The mail server refused the recipient: 550 5.1.1 unknown user.".to_owned() }
    );
    assert_eq!(
        outcome(Err(MailError::Deferred { reply: "452 4.2.2 mailbox full".to_owned() })),
        Outcome::Retry {
            why: "The mail server did not take the letter: 452 4.2.2 mailbox full.".to_owned(),
            after: None
        }
    );
    for error in [MailError::SignIn, MailError::Unreachable, MailError::TimedOut, MailError::Broken] {
        assert!(matches!(outcome(Err(error)), Outcome::Retry { .. }));
    }
    assert!(matches!(outcome(Err(MailError::Letter("too long".to_owned()))), Outcome::Failed { .. }));
    assert_eq!(
        outcome(Ok(Sent::Relayed { reply: "250 queued as 7".to_owned() })),
        Outcome::Sent { note: "250 queued as 7".to_owned() }
    );
}

#[test]
fn an_address_is_kept_in_one_form_and_refused_by_name() {
    let kept = check(r#"{"address":" Bob@Example.ORG "}"#).unwrap();
    let asks = Some("Bob@example.org".to_owned());
    assert_eq!(kept, Checked { config: r#"{"address":"Bob@example.org"}"#.to_owned(), told: None, asks });
    let fault = |config: &str| check(config).unwrap_err();
    let words = "Address: an e-mail address has the form name@example.org.";
    assert_eq!(fault(r#"{"address":"bob"}"#), Fault::at("address", words));
    assert_eq!(fault("{}"), Fault::at("address", "Address: it is missing."));
}
