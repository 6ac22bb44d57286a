//! The scene that the tests of words and senders play in: a dump of 26 March 2026 that failed in Berlin.

use uuid::Uuid;

use super::Foot;
use crate::alerts::{Channel, LastPing, Message};
use crate::checks::{Check, Reason, Settings, State, Status, StoredFlip};
use crate::time::{Span, Time};

/// An instant of that night, in local time.
pub(crate) fn at(clock: &str) -> Time {
    Time::parse(&format!("2026-03-26T{clock}:00+01:00")).unwrap()
}

fn yesterday(clock: &str) -> Time {
    at(clock) - Span::hours(24)
}

/// "Dump of pg-main" failed with exit status 1, after 22 minutes.
pub(crate) fn failed() -> Message {
    let state = State {
        status: Status::Down,
        last_ping_at: Some(at("02:52")),
        last_success_at: Some(yesterday("20:55")),
        last_duration_ms: Some(Span::minutes(22)),
        ..State::unpinged()
    };
    Message {
        id: Uuid::from_u128(0xd1),
        channel: channel("email", r#"{"address":"ops@example.org"}"#),
        check: check(state),
        project_name: "Workshop".to_owned(),
        flip: flip(Status::Down, Reason::ExitStatus, at("02:52")),
        before: None,
        tells_both: false,
        last_ping: Some(LastPing {
            n: 412,
            received_at: at("02:52"),
            exit_status: Some(1),
            body: b"pg_dump: error: could not write to output file: No space left on device\n\
                last line of df: /dev/sdb1  916G  916G     0 100% /srv/backup\n"
                .to_vec(),
        }),
        check_json: r#"{"name":"Dump of pg-main"}"#.to_owned(),
        also_down: vec![
            ("Offsite copy".to_owned(), at("02:46")),
            ("Thumbnail worker".to_owned(), at("02:11")),
        ],
        also_told: vec!["oncall@example.org".to_owned(), "webhook hooks.example.org".to_owned()],
        now: at("02:53"),
    }
}

/// The same check, silent at its slot of 02:30.
pub(crate) fn silent() -> Message {
    let mut message = failed();
    message.flip = StoredFlip {
        expected_at: Some(at("02:30")),
        ping_n: None,
        exit_status: None,
        ..flip(Status::Down, Reason::Timeout, at("03:15"))
    };
    message.check.state.last_ping_at = Some(yesterday("20:55"));
    message.last_ping = None;
    message.now = at("03:15");
    message
}

/// Up again at 03:12, after it failed at 02:52.
pub(crate) fn recovered() -> Message {
    let failed = failed();
    let mut message = failed.clone();
    message.before = Some(failed.flip);
    message.flip =
        StoredFlip { exit_status: None, ping_n: Some(413), ..flip(Status::Up, Reason::Success, at("03:12")) };
    message.check.state = State {
        status: Status::Up,
        last_ping_at: Some(at("03:12")),
        last_success_at: Some(at("03:12")),
        last_duration_ms: Some(Span::minutes(18)),
        expected_at: Some(at("08:30")),
        ..State::unpinged()
    };
    message.last_ping = None;
    message.now = at("03:12");
    message
}

pub(crate) fn channel(kind: &str, config: &str) -> Channel {
    Channel {
        id: 1,
        uuid: Uuid::from_u128(0xc1),
        project_id: 1,
        kind: kind.to_owned(),
        name: "Ops".to_owned(),
        config: config.to_owned(),
        on_down: true,
        on_up: true,
        verified_at: None,
        disabled_at: None,
        last_sent_at: None,
        last_answer: String::new(),
        last_error: String::new(),
        failing_since_at: None,
        asked_at: None,
        rev: 0,
    }
}

pub(crate) fn foot() -> Foot {
    Foot {
        open: "https://watch.example.org/checks/4f7c1b9e".to_owned(),
        mute: "https://watch.example.org/mail/mute/TOKEN".to_owned(),
        pause: "https://watch.example.org/mail/pause/TOKEN".to_owned(),
        stop: "https://watch.example.org/mail/stop/TOKEN".to_owned(),
        to: "ops@example.org".to_owned(),
        site: "watch.example.org".to_owned(),
    }
}

fn check(state: State) -> Check {
    Check {
        id: 1,
        uuid: Uuid::from_u128(0x4f7c_1b9e_0000_4000_8000_0000_0000_0001),
        project_id: 1,
        account_id: 1,
        badge_key: Uuid::from_u128(2),
        created_at: Time::EPOCH,
        rev: 0,
        settings: Settings {
            name: "Dump of pg-main".to_owned(),
            slug: "dump-pg-main".to_owned(),
            tags: "db prod".to_owned(),
            description: "When the disk is full: move dumps older than 14 days to nas-2.".to_owned(),
            period_ms: Span::hours(6),
            grace_ms: Span::minutes(45),
            zone: "Europe/Berlin".to_owned(),
            ..Settings::default()
        },
        floor_ms: Span::minutes(1),
        state,
        fault: None,
    }
}

pub(crate) fn flip(new_status: Status, reason: Reason, flipped_at: Time) -> StoredFlip {
    StoredFlip {
        id: 2,
        check_id: 1,
        flipped_at,
        old_status: if new_status == Status::Down { Status::Up } else { Status::Down },
        new_status,
        reason,
        ping_n: Some(412),
        exit_status: Some(1),
        expected_at: None,
        started_at: None,
        last_success_at: Some(yesterday("20:55")),
        blind_ms: Span::ZERO,
    }
}
