use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use uuid::Uuid;

use super::*;
use crate::mail::{Letter, Mailbox, Post, Sent};

const NOW: Time = Time(1_774_494_720_987);
const SILENCE: &str = "";
const HANG_UP: &str = "-";

/// A mail server that answers each command as its script says, and well where the script says nothing.
#[derive(Clone)]
struct Server {
    port: u16,
    script: &'static [(&'static str, &'static str)],
    heard: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    fell_silent: Arc<Notify>,
}

impl Server {
    async fn start(script: &'static [(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            script,
            heard: Arc::default(),
            connections: Arc::default(),
            fell_silent: Arc::default(),
        };
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                accepting.connections.fetch_add(1, Ordering::SeqCst);
                let server = accepting.clone();
                tokio::spawn(async move { server.talk(socket).await });
            }
        });
        server
    }

    fn answer(&self, line: &str) -> &'static str {
        let scripted =
            self.script.iter().find(|(command, _)| line.starts_with(command)).map(|(_, answer)| *answer);
        scripted.unwrap_or(match line {
            "hello" => "220 mail.example",
            "DATA" => "354 go on",
            "." => "250 2.0.0 queued as 1",
            _ => "250 2.0.0 fine",
        })
    }

    async fn talk(&self, socket: TcpStream) -> Option<()> {
        let mut socket = BufReader::new(socket);
        let mut line = "hello".to_owned();
        loop {
            match self.answer(&line) {
                SILENCE => {
                    self.fell_silent.notify_one();
                    std::future::pending::<()>().await;
                }
                HANG_UP => return None,
                answer => socket.write_all(format!("{answer}\r\n").as_bytes()).await.ok()?,
            }
            let in_message = line == "DATA" && self.answer("DATA").starts_with('3');
            loop {
                line.clear();
                if socket.read_line(&mut line).await.ok()? == 0 {
                    return None;
                }
                line.truncate(line.trim_end().len());
                self.heard.lock().unwrap().push(line.clone());
                if !in_message || line == "." {
                    break;
                }
            }
        }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn post(&self, user: &str, query: &str) -> Post {
        let url = format!("smtp://{user}127.0.0.1:{}/mon.example{query}", self.port);
        Post::smtp(&url, Mailbox::parse("Flatline <alerts@mon.example>").unwrap()).unwrap()
    }
}

fn letter() -> Letter {
    Letter {
        id: Uuid::from_u128(7),
        follows: None,
        to: Mailbox::parse("bob@example.org").unwrap(),
        returns_to: None,
        subject: "DOWN | nightly".to_owned(),
        text: "No ping.\n.\n.hidden\n".to_owned(),
        html: "<p>No ping.</p>".to_owned(),
        unsubscribe: None,
    }
}

async fn error_of(script: &'static [(&'static str, &'static str)]) -> MailError {
    Server::start(script).await.post("", "").send(&letter(), NOW).await.unwrap_err()
}

#[tokio::test]
async fn a_letter_is_sent_from_where_it_is_to_come_back_to() {
    let server = Server::start(&[]).await;
    let letter = Letter { returns_to: Some("back+x@mon.example".parse().unwrap()), ..letter() };
    server.post("", "").send(&letter, NOW).await.unwrap();
    let heard = server.heard();
    assert_eq!(heard[1], "MAIL FROM:<back+x@mon.example>");
    assert!(heard.contains(&"From: Flatline <alerts@mon.example>".to_owned()), "{heard:?}");
}

#[tokio::test]
async fn a_letter_is_handed_over_to_one_recipient() {
    let server = Server::start(&[]).await;
    let sent = server.post("", "").send(&letter(), NOW).await;
    assert_eq!(sent, Ok(Sent::Relayed { reply: "250 2.0.0 queued as 1".to_owned() }));
    let heard = server.heard();
    assert_eq!(
        heard[..4],
        ["EHLO mon.example", "MAIL FROM:<alerts@mon.example>", "RCPT TO:<bob@example.org>", "DATA"]
    );
    assert!(heard.contains(&"..".to_owned()) && heard.contains(&"..hidden".to_owned()));
    assert_eq!(heard.last().map(String::as_str), Some("."));
}

#[tokio::test]
async fn a_connection_is_used_again_while_it_is_fresh() {
    let server = Server::start(&[]).await;
    let post = server.post("", "");
    post.send(&letter(), NOW).await.unwrap();
    post.send(&letter(), NOW + Span::seconds(29)).await.unwrap();
    assert_eq!(server.connections(), 1);
    assert!(server.heard().contains(&"RSET".to_owned()));
    post.send(&letter(), NOW + Span::seconds(60)).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn letters_sent_at_once_do_not_wait_for_one_another() {
    let server = Server::start(&[]).await;
    let post = Arc::new(server.post("", ""));
    let sending: Vec<_> = (0..IDLE_CONNECTIONS + 2)
        .map(|_| {
            let post = post.clone();
            tokio::spawn(async move { post.send(&letter(), NOW).await })
        })
        .collect();
    for sent in sending {
        assert_eq!(sent.await.unwrap(), Ok(Sent::Relayed { reply: "250 2.0.0 queued as 1".to_owned() }));
    }
    assert_eq!(server.heard().iter().filter(|line| *line == ".").count(), IDLE_CONNECTIONS + 2);
}

#[tokio::test]
async fn only_an_answer_about_the_recipient_is_permanent() {
    for (script, reply, permanent) in [
        (&[("RCPT", "550 5.1.1 unknown user")][..], "550 5.1.1 unknown user", true),
        (&[("RCPT", "550-5.2.1 closed\r\n550 for good")], "550 5.2.1 closed for good", true),
        (&[("RCPT", "553 no such mailbox")], "553 no such mailbox", true),
        (&[(".", "550 5.1.1 unknown user")], "550 5.1.1 unknown user", true),
        (&[("RCPT", "452 4.2.2 mailbox full")], "452 4.2.2 mailbox full", false),
        (&[("RCPT", "451 4.7.1 greylisted")], "451 4.7.1 greylisted", false),
        (&[("RCPT", "554 5.7.1 relay access denied")], "554 5.7.1 relay access denied", false),
        (&[("RCPT", "530 5.5.1 sign in first")], "530 5.5.1 sign in first", false),
        (&[("MAIL", "550 5.1.8 sender unknown")], "550 5.1.8 sender unknown", false),
        (&[("DATA", "554 5.5.1 no")], "554 5.5.1 no", false),
        (&[(".", "554 5.7.1 looks like spam")], "554 5.7.1 looks like spam", false),
        (&[("hello", "554 5.3.2 not today")], "554 5.3.2 not today", false),
        (&[("EHLO", "421 busy")], "421 busy", false),
    ] {
        let reply = reply.to_owned();
        let expected = if permanent { MailError::Rejected { reply } } else { MailError::Deferred { reply } };
        let error = error_of(script).await;
        assert_eq!(error, expected);
        assert_eq!(error.is_permanent(), permanent);
    }
}

#[tokio::test]
async fn one_refused_recipient_costs_nobody_else_a_letter() {
    let server = Server::start(&[("RCPT TO:<bad@", "550 5.1.1 unknown user")]).await;
    let post = server.post("", "");
    let bad = Letter { to: Mailbox::parse("bad@example.org").unwrap(), ..letter() };
    assert!(post.send(&bad, NOW).await.unwrap_err().is_permanent());
    let sent = post.send(&letter(), NOW).await;
    assert_eq!(sent, Ok(Sent::Relayed { reply: "250 2.0.0 queued as 1".to_owned() }));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_letter_that_was_given_up_leaves_no_answer_for_the_next() {
    let server = Server::start(&[(".", SILENCE)]).await;
    let post = server.post("", "");
    let waiting = letter();
    tokio::select! {
        outcome = post.send(&waiting, NOW) => panic!("{outcome:?}"),
        () = server.fell_silent.notified() => {}
    }
    tokio::select! {
        outcome = post.send(&waiting, NOW) => panic!("{outcome:?}"),
        () = server.fell_silent.notified() => {}
    }
    assert_eq!(server.connections(), 2);
    assert!(!server.heard().contains(&"RSET".to_owned()));
}

#[tokio::test]
async fn a_server_that_hangs_up_is_tried_anew() {
    assert_eq!(error_of(&[("RCPT", HANG_UP)]).await, MailError::Broken);
    assert_eq!(error_of(&[("hello", HANG_UP)]).await, MailError::Unreachable);

    let server = Server::start(&[("RSET", HANG_UP)]).await;
    let post = server.post("", "");
    post.send(&letter(), NOW).await.unwrap();
    post.send(&letter(), NOW).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_refused_sign_in_repeats_no_secret() {
    let server = Server::start(&[
        ("EHLO", "250-mail.example\r\n250 AUTH PLAIN"),
        ("AUTH PLAIN", "535 5.7.8 bad password hunter2"),
    ])
    .await;
    let post = server.post("ann:hunter2@", "");
    let error = post.send(&letter(), NOW).await.unwrap_err();
    assert_eq!(error, MailError::SignIn);
    assert!(!format!("{error} {error:?} {post:?}").contains("hunter2"));
    assert!(server.heard().iter().any(|line| line.starts_with("AUTH PLAIN ")));

    let without = Server::start(&[]).await;
    assert_eq!(without.post("ann:hunter2@", "").send(&letter(), NOW).await, Err(MailError::SignIn));
}

#[tokio::test]
async fn required_tls_is_not_given_up() {
    let server = Server::start(&[]).await;
    let error = server.post("ann:hunter2@", "?tls=required").send(&letter(), NOW).await.unwrap_err();
    assert_eq!(error, MailError::Tls("the mail server offers no STARTTLS".to_owned()));
    assert_eq!(server.heard(), ["EHLO mon.example"]);
    server.post("", "?tls=opportunistic").send(&letter(), NOW).await.unwrap();
}

#[tokio::test]
async fn nobody_at_the_other_end_is_unreachable() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let post = Post::smtp(&format!("smtp://127.0.0.1:{port}"), letter().to).unwrap();
    assert_eq!(post.send(&letter(), NOW).await, Err(MailError::Unreachable));
}
