//! One connection: the commands of SMTP (RFC 5321) that a sender needs, and nothing else.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use uuid::Uuid;

use super::letter;
use super::recipient::{Ours, Recipient, Refused};
use crate::accounts;
use crate::app::App;
use crate::checks::{self, Signal};
use crate::db;
use crate::error::Error;
use crate::mail::Report;
use crate::pings::{self, Outcome, Ping, USER_AGENT_CHARS};
use crate::recorder::Unavailable;

const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
const LINE_BYTES_MAX: u64 = 2048;
const RECIPIENTS_MAX: usize = 10;
/// A sender that says nothing for this long is cut off.
const IDLE: Duration = Duration::from_secs(60);
/// Commands that may fail in one connection.
const MISTAKES_MAX: u32 = 20;

/// The letter under way.
#[derive(Default)]
struct Envelope {
    sender: Option<String>,
    recipients: Vec<Recipient>,
}

/// What to do after a command.
enum Next {
    Say(&'static str),
    SayOwned(String),
    Data,
    Quit,
}

/// Tells a caller that there is no room, and hangs up.
pub async fn turn_away(mut stream: TcpStream) {
    // A caller that is gone needs no answer.
    let _ = stream.write_all(b"421 4.3.2 Too many connections, try again later\r\n").await;
}

/// Serves one connection to its end.
///
/// # Errors
/// The connection broke.
pub async fn serve(stream: TcpStream, app: &Arc<App>) -> io::Result<()> {
    let domain = app.settings.email_domain.clone().unwrap_or_default();
    let ours = Ours { domain: &domain, returns: app.senders.returns.as_ref() };
    let mut stream = BufReader::new(stream);
    say(&mut stream, &format!("220 {domain} ESMTP")).await?;
    let mut envelope = Envelope::default();
    let mut mistakes = 0;
    while let Some(line) = read_line(&mut stream).await? {
        let next = command(&line, &mut envelope, ours);
        let reply = match next {
            Next::Say(reply) => reply.to_owned(),
            Next::SayOwned(reply) => reply,
            Next::Quit => {
                return say(&mut stream, "221 2.0.0 Bye").await;
            }
            Next::Data => {
                say(&mut stream, "354 End with a line that holds a dot alone").await?;
                let message = read_message(&mut stream).await?;
                let envelope = std::mem::take(&mut envelope);
                match message {
                    Some(message) => deliver(app, &envelope, &message).await.to_owned(),
                    None => "552 5.3.4 Message too big".to_owned(),
                }
            }
        };
        mistakes += u32::from(reply.starts_with('5'));
        say(&mut stream, &reply).await?;
        if mistakes >= MISTAKES_MAX {
            return say(&mut stream, "421 4.7.0 Too many mistakes").await;
        }
    }
    Ok(())
}

fn command(line: &str, envelope: &mut Envelope, ours: Ours<'_>) -> Next {
    let domain = ours.domain;
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb.to_ascii_uppercase().as_str() {
        "HELO" => Next::SayOwned(format!("250 {domain}")),
        "EHLO" => Next::SayOwned(format!(
            "250-{domain}\r\n250-SIZE {MESSAGE_BYTES_MAX}\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES"
        )),
        "MAIL" => mail(rest, envelope),
        "RCPT" => recipient(rest, envelope, ours),
        "DATA" if envelope.recipients.is_empty() => Next::Say("503 5.5.1 RCPT first"),
        "DATA" => Next::Data,
        "RSET" => {
            *envelope = Envelope::default();
            Next::Say("250 2.0.0 OK")
        }
        "NOOP" => Next::Say("250 2.0.0 OK"),
        "VRFY" => Next::Say("252 2.1.5 Send some mail, I will try"),
        "QUIT" => Next::Quit,
        "STARTTLS" | "AUTH" => Next::Say("502 5.5.1 Not offered here"),
        _ => Next::Say("500 5.5.2 Unknown command"),
    }
}

fn mail(rest: &str, envelope: &mut Envelope) -> Next {
    if envelope.sender.is_some() {
        return Next::Say("503 5.5.1 MAIL was said already");
    }
    let Some((sender, parameters)) = path(rest, "FROM:") else {
        return Next::Say("501 5.5.4 Write MAIL FROM:<address>");
    };
    let size =
        parameters.split(' ').find_map(|parameter| parameter.strip_prefix("SIZE=")?.parse::<usize>().ok());
    if size.is_some_and(|size| size > MESSAGE_BYTES_MAX) {
        return Next::Say("552 5.3.4 Message too big");
    }
    envelope.sender = Some(sender);
    Next::Say("250 2.1.0 OK")
}

fn recipient(rest: &str, envelope: &mut Envelope, ours: Ours<'_>) -> Next {
    if envelope.sender.is_none() {
        return Next::Say("503 5.5.1 MAIL first");
    }
    let Some((address, _)) = path(rest, "TO:") else {
        return Next::Say("501 5.5.4 Write RCPT TO:<address>");
    };
    match Recipient::parse(&address, ours) {
        Err(Refused::Domain) => Next::Say("550 5.1.1 Recipient rejected"),
        Err(Refused::Mailbox) => Next::Say("550 5.1.1 Invalid mailbox"),
        Ok(_) if envelope.recipients.len() >= RECIPIENTS_MAX => Next::Say("452 4.5.3 Too many recipients"),
        Ok(recipient) => {
            envelope.recipients.push(recipient);
            Next::Say("250 2.1.5 OK")
        }
    }
}

/// The address of `FROM:<..>` or `TO:<..>`, and the parameters behind it.
fn path(rest: &str, word: &str) -> Option<(String, String)> {
    let head = rest.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word))?;
    let rest = rest[head.len()..].trim_start();
    let (address, parameters) = rest.strip_prefix('<')?.split_once('>')?;
    // A source route (RFC 5321, appendix C) is obsolete and says nothing that counts.
    let address =
        address.rsplit_once(':').filter(|_| address.starts_with('@')).map_or(address, |(_, tail)| tail);
    Some((address.to_owned(), parameters.trim().to_ascii_uppercase()))
}

async fn say(stream: &mut BufReader<TcpStream>, reply: &str) -> io::Result<()> {
    stream.write_all(format!("{reply}\r\n").as_bytes()).await?;
    stream.flush().await
}

/// One line without its end; `None` once the sender hung up.
async fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut limited = (&mut *stream).take(LINE_BYTES_MAX);
    let read = timed(limited.read_until(b'\n', &mut line)).await?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without an end"));
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
}

/// The message up to the line that holds a dot alone, dots unstuffed; `None` if it is too big. Only CRLF ends a
/// line here: a dot after a bare newline belongs to the letter, or one letter could hide a second one.
async fn read_message(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    let mut message = Vec::new();
    let mut too_big = false;
    let mut at_line_start = true;
    loop {
        let mut piece = Vec::new();
        let mut limited = (&mut *stream).take(LINE_BYTES_MAX);
        if timed(limited.read_until(b'\n', &mut piece)).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if at_line_start && piece == b".\r\n" {
            return Ok((!too_big).then_some(message));
        }
        let unstuffed = if at_line_start && piece.starts_with(b".") { &piece[1..] } else { &piece[..] };
        too_big |= message.len() + unstuffed.len() > MESSAGE_BYTES_MAX;
        if !too_big {
            message.extend_from_slice(unstuffed);
        }
        at_line_start = piece.ends_with(b"\r\n");
    }
}

async fn timed<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(IDLE, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// What a sender is told where something could not be stored.
const LATER: &str = "451 4.3.0 Not available, try again";

/// Records one ping for each recipient, or that an alert came back; the sender's answer.
async fn deliver(app: &App, envelope: &Envelope, message: &[u8]) -> &'static str {
    let sender = envelope.sender.as_deref().unwrap_or_default();
    let letter = letter::read(message, sender);
    let kept = app.settings.ping_body_limit.unwrap_or(usize::MAX).min(message.len());
    for recipient in &envelope.recipients {
        if let Recipient::Returned(claim) = recipient {
            if let Some(report) = Report::read(message)
                && let Err(error) = app.bounced(claim, report).await
            {
                tracing::error!(%error, "a returned letter could not be taken");
                return LATER;
            }
            continue;
        }
        let check = match resolve(app, recipient).await {
            Ok(Some(check)) => check,
            // Whether an address exists is not told: it is all that somebody needs to ping.
            Ok(None) => continue,
            Err(error) => {
                tracing::error!(%error, "a letter could not be taken");
                return LATER;
            }
        };
        let ping = Ping {
            check,
            signal: Signal::Success,
            letter: Some(letter.clone()),
            rid: None,
            exit_status: None,
            scheme: "email",
            remote_addr: None,
            method: "".into(),
            user_agent: pings::logged(&format!("Email from {sender}"), USER_AGENT_CHARS),
            body: message[..kept].to_vec(),
            received_at: app.clock.now(),
        };
        match app.recorder.record(ping).await {
            Ok(outcome) => count(app, &outcome),
            Err(Unavailable) => {
                app.metrics.refused("unavailable");
                return LATER;
            }
        }
    }
    "250 2.0.0 OK"
}

fn count(app: &App, outcome: &Outcome) {
    match outcome {
        Outcome::Recorded { signal, flip } => {
            app.metrics.accepted(signal.word());
            if let Some(reason) = flip {
                app.metrics.flipped(reason.word());
                app.flipped.notify_one();
            }
        }
        Outcome::Merged => app.metrics.accepted("merged"),
        Outcome::Unknown => app.metrics.refused("unknown"),
        // A sender would only repeat the letter; the limit counts it and that is all.
        Outcome::TooFast { .. } => app.metrics.refused("too_fast"),
    }
}

async fn resolve(app: &App, recipient: &Recipient) -> Result<Option<Uuid>, Error> {
    match recipient {
        Recipient::Uuid(uuid) => Ok(Some(*uuid)),
        Recipient::Returned(_) => Ok(None),
        Recipient::Slug { ping_key, slug } => db::read!(app.db, |tx| {
            let Some(project) = accounts::store::find_project_by_ping_key(tx, ping_key).await? else {
                return Ok(None);
            };
            let checks = checks::store::list_by_slug(tx, project.id, slug).await?;
            Ok(if let [check] = checks.as_slice() { Some(check.uuid) } else { None })
        }),
    }
}
