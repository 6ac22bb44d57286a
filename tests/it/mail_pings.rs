//! Pings by mail, spoken over a real connection.

use std::sync::Arc;

use flatline::smtp;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::races::ground::until;
use crate::support::{Engine, World, on_both};

pub const DOMAIN: &str = "ping.example.test";

async fn world(engine: Engine) -> (World, String) {
    let changes = [("SMTP_LISTEN", "127.0.0.1:0"), ("EMAIL_DOMAIN", DOMAIN)];
    let world = World::with(engine, "unlimited", &changes).await;
    let address = listen(&world).await;
    (world, address)
}

/// Starts the listener of a world and tells where.
pub async fn listen(world: &World) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(smtp::listen(listener, Arc::clone(&world.app), std::future::pending()));
    address
}

/// A sender that says one line at a time.
pub struct Sender(BufReader<TcpStream>);

impl Sender {
    pub async fn connect(address: &str) -> Self {
        let mut sender = Self(BufReader::new(TcpStream::connect(address).await.unwrap()));
        assert!(sender.reply().await.starts_with("220 "));
        sender.say("EHLO host.example.test").await;
        sender
    }

    async fn reply(&mut self) -> String {
        let mut whole = String::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).await.unwrap();
            whole.push_str(&line);
            if line.as_bytes().get(3) != Some(&b'-') {
                return whole.trim_end().to_owned();
            }
        }
    }

    async fn say(&mut self, line: &str) -> String {
        self.0.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        self.reply().await
    }

    pub async fn letter(&mut self, from: &str, to: &[String], raw: &[u8]) -> String {
        assert_eq!(self.say(&format!("MAIL FROM:<{from}> BODY=8BITMIME")).await, "250 2.1.0 OK");
        for to in to {
            let reply = self.say(&format!("RCPT TO:<{to}>")).await;
            if !reply.starts_with("250") {
                self.say("RSET").await;
                return reply;
            }
        }
        assert!(self.say("DATA").await.starts_with("354"));
        let text = raw.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        for line in text {
            if line.starts_with(b".") {
                self.0.write_all(b".").await.unwrap();
            }
            self.0.write_all(line).await.unwrap();
            self.0.write_all(b"\r\n").await.unwrap();
        }
        self.0.write_all(b".\r\n").await.unwrap();
        self.reply().await
    }
}

fn keywords(list: &Value) -> String {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(",")
}

on_both! {
    async fn each_letter_of_the_collection_is_decided_as_it_says(engine: Engine) {
        let (world, address) = world(engine).await;
        let cases = include_str!("data/emails/cases.jsonl").lines();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/emails");
        let mut sender = Sender::connect(&address).await;
        let mut tried = 0;
        for case in cases.map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let rules = &case["rules"];
            let uuid = world.client.check(&json!({
                "filter_subject": rules["subject"], "filter_body": rules["body"],
                "success_kw": keywords(&rules["success"]), "failure_kw": keywords(&rules["fail"]),
                "start_kw": keywords(&rules["start"]), "filter_default_fail": rules["no_match"] == "fail",
            })).await;
            let file = case["file"].as_str().unwrap().strip_prefix("open/").unwrap();
            let raw = std::fs::read(format!("{folder}/{file}")).unwrap();
            let (_, domain) = case["envelope_to"].as_str().unwrap().split_once('@').unwrap();
            let to = format!("{uuid}@{domain}");
            let reply = sender.letter(case["envelope_from"].as_str().unwrap(), &[to], &raw).await;
            let pings = world.client.get(&format!("checks/{uuid}/pings/")).await.json()["pings"].clone();
            match case["expect"].as_str().unwrap() {
                expect if expect.starts_with("reject") => {
                    assert!(reply.starts_with("550"), "{file}: {reply}");
                    assert_eq!(pings, json!([]), "{file}");
                }
                expect => {
                    assert_eq!(reply, "250 2.0.0 OK", "{file}");
                    let kind = if expect == "ignore" { "ign" } else { expect };
                    assert_eq!(pings[0]["type"], kind, "{file}: {}", case["why"]);
                    assert_eq!(pings[0]["scheme"], "email", "{file}");
                }
            }
            tried += 1;
        }
        assert_eq!(tried, 15);
    }

    async fn a_letter_to_several_checks_is_a_ping_for_each_and_unknown_ones_are_passed_over(engine: Engine) {
        let (world, address) = world(engine).await;
        let first = world.client.check(&json!({})).await;
        let second = world.client.check(&json!({"slug": "db"})).await;
        let mut sender = Sender::connect(&address).await;
        let to = [
            format!("{first}@{DOMAIN}"),
            format!("{}+db@{DOMAIN}", world.owner.ping_key),
            format!("3f2b8c1e-6a4d-4c1b-9e7f-0a1b2c3d4e5f@{DOMAIN}"),
        ];
        assert_eq!(sender.letter("job@host.example.test", &to, b"Subject: Hi\r\n\r\n.dot\r\n").await, "250 2.0.0 OK");
        for uuid in [&first, &second] {
            let ping = world.client.get(&format!("checks/{uuid}/pings/")).await.json()["pings"][0].clone();
            assert_eq!(ping["ua"], "Email from job@host.example.test");
            assert_eq!(ping["method"], "");
            let body = world.client.get(&format!("checks/{uuid}/pings/1/body")).await;
            assert_eq!(body.text(), "Subject: Hi\r\n\r\n.dot\r\n\r\n");
        }
    }

    async fn what_is_no_letter_of_ours_is_refused_and_the_connection_lives_on(engine: Engine) {
        let (world, address) = world(engine).await;
        let uuid = world.client.check(&json!({})).await;
        let mut sender = Sender::connect(&address).await;
        for (line, reply) in [
            ("RCPT TO:<a@b.test>", "503 5.5.1 MAIL first"),
            ("DATA", "503 5.5.1 RCPT first"),
            ("MAIL job@host", "501 5.5.4 Write MAIL FROM:<address>"),
            ("MAIL FROM:<a@b.test> SIZE=99999999999", "552 5.3.4 Message too big"),
            ("STARTTLS", "502 5.5.1 Not offered here"),
            ("FROBNICATE", "500 5.5.2 Unknown command"),
            ("mail from:<a@b.test>", "250 2.1.0 OK"),
            ("RCPT TO:<abc@example.com>", "550 5.1.1 Recipient rejected"),
            ("RCPT TO:<root@ping.example.test>", "550 5.1.1 Invalid mailbox"),
            ("RSET", "250 2.0.0 OK"),
        ] {
            assert_eq!(sender.say(line).await, reply, "{line}");
        }
        let to: Vec<String> = (0..11).map(|_| format!("{uuid}@{DOMAIN}")).collect();
        assert_eq!(sender.letter("a@b.test", &to, b"x").await, "452 4.5.3 Too many recipients");
        assert_eq!(sender.letter("a@b.test", &to[..1], b"x").await, "250 2.0.0 OK");
        assert_eq!(sender.say("QUIT").await, "221 2.0.0 Bye");
    }

    async fn a_letter_that_cannot_be_stored_is_to_come_again(engine: Engine) {
        let (world, address) = world(engine).await;
        let uuid = world.client.check(&json!({"slug": "db"})).await;
        let by_slug = format!("{}+db@{DOMAIN}", world.owner.ping_key);
        let mut sender = Sender::connect(&address).await;
        world.app.db.close().await;
        for to in [format!("{uuid}@{DOMAIN}"), by_slug] {
            let reply = sender.letter("job@host.example.test", &[to], b"Subject: Hi\r\n\r\n").await;
            assert_eq!(reply, "451 4.3.0 Not available, try again");
        }
    }

    async fn a_letter_that_comes_too_fast_is_taken_and_counted(engine: Engine) {
        let changes = [("SMTP_LISTEN", "127.0.0.1:0"), ("EMAIL_DOMAIN", DOMAIN)];
        let world = World::with(engine, "free", &changes).await;
        let uuid = world.client.check(&json!({})).await;
        let mut sender = Sender::connect(&listen(&world).await).await;
        for _ in 0..3 {
            let to = [format!("{uuid}@{DOMAIN}")];
            assert_eq!(sender.letter("job@host.example.test", &to, b"Subject: Hi\r\n\r\n").await, "250 2.0.0 OK");
        }
        assert_eq!(world.client.read(&uuid).await["n_pings"], 1);
        assert_eq!(world.app.recorder.refused(uuid.parse().unwrap()).unwrap().pings, 2);
    }
}

/// A caller at one of the addresses of this machine; what it is greeted with.
async fn call_from(from: &str, to: &str) -> (BufReader<TcpStream>, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    let mut stream = BufReader::new(socket.connect(to.parse().unwrap()).await.unwrap());
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    (stream, line)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_callers_of_one_address_are_served_and_thirty_two_of_all() {
    let (_world, address) = world(Engine::Sqlite).await;
    let mut served = Vec::new();
    for from in ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"] {
        for _ in 0..8 {
            let (stream, greeting) = call_from(from, &address).await;
            assert_eq!(greeting, format!("220 {DOMAIN} ESMTP\r\n"), "{from}");
            served.push(stream);
        }
    }
    let busy = "421 4.3.2 Too many connections, try again later\r\n";
    assert_eq!(call_from("127.0.0.1", &address).await.1, busy);
    assert_eq!(call_from("127.0.0.5", &address).await.1, busy);
    let mut last = served.pop().unwrap();
    last.write_all(b"QUIT\r\n").await.unwrap();
    let mut rest = String::new();
    while last.read_line(&mut rest).await.unwrap() > 0 {}
    assert_eq!(rest, "221 2.0.0 Bye\r\n");
    until("a place is free", async || call_from("127.0.0.5", &address).await.1.starts_with("220 ")).await;
}
