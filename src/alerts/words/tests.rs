use super::sample::{at, failed, flip, foot, recovered, silent};
use super::*;
use crate::checks::{Reason, StoredFlip};
use crate::time::Time;

const MAIL: &str = r#"The run of 02:30 ended with exit status 1.

"Dump of pg-main" failed at 02:52 after 22 minutes (Thursday 26 March
2026, Europe/Berlin). The last good run ended yesterday at 20:55, 5
hours 57 minutes before.

Its output:

    pg_dump: error: could not write to output file: No space left on device
    last line of df: /dev/sdb1  916G  916G     0 100% /srv/backup

Your note for this check:

    When the disk is full: move dumps older than 14 days to nas-2.

Open   https://watch.example.org/checks/4f7c1b9e
Mute   https://watch.example.org/mail/mute/TOKEN
       (no more about this check)
Pause  https://watch.example.org/mail/pause/TOKEN

Project        Workshop
Schedule       Every 6 hours, 45 min grace and 1 min for the plan
Tags           db prod
Also down      Offsite copy, since 02:46
               Thumbnail worker, since 02:11
Also told      oncall@example.org, webhook hooks.example.org

-- 
Sent by Flatline at watch.example.org to ops@example.org, once for this
failure. No more mail about this project to this address:
https://watch.example.org/mail/stop/TOKEN
"#;

fn down(flip: StoredFlip) -> Message {
    Message { flip, ..silent() }
}

/// Text without its line breaks.
fn unfilled(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_mail_is_written_to_the_letter() {
    let mail = alert(&failed()).mail(&foot()).unwrap();
    assert_eq!(mail.text, MAIL);
    assert_eq!(mail.subject, "DOWN | Dump of pg-main | exit status 1");
}

#[test]
fn each_reason_is_told_in_subject_and_title() {
    let run = StoredFlip { started_at: Some(at("00:40")), ..flip(Status::Down, Reason::Run, at("02:10")) };
    let table = [
        (silent(), "silent", "Silent. Expected at 02:30, allowed until 03:15."),
        (failed(), "exit status 1", "The run of 02:30 ended with exit status 1."),
        (
            down(StoredFlip { exit_status: Some(3), ..flip(Status::Down, Reason::ExitStatus, at("02:52")) }),
            "exit status 3",
            "Ended with exit status 3 at 02:52.",
        ),
        (
            down(flip(Status::Down, Reason::Fail, at("02:52"))),
            "reported failure",
            "Failure reported at 02:52.",
        ),
        (
            Message { flip: flip(Status::Down, Reason::Fail, at("02:52")), ..failed() },
            "reported failure",
            "The run of 02:30 reported failure.",
        ),
        (down(run), "run never ended", "The run begun at 00:40 never ended; it may take 1 h 30 min."),
        (
            down(flip(Status::Down, Reason::Flapping, at("02:52"))),
            "unsteady",
            "Unsteady: up and down in turns, down at 02:52.",
        ),
    ];
    for (message, reason, title) in table {
        let words = alert(&message);
        assert_eq!(words.subject, format!("DOWN | Dump of pg-main | {reason}"));
        assert_eq!(words.title, title);
        assert!(words.preview.starts_with(title));
    }
}

#[test]
fn silence_tells_what_was_expected_how_late_it_is_and_what_was_good_last() {
    let words = alert(&silent());
    assert_eq!(
        words.lead,
        "had not reported by 03:15, 45 minutes after it was expected (Thursday 26 March 2026, Europe/Berlin). \
         The last good run ended yesterday at 20:55, 6 hours 20 minutes before."
    );
    assert_eq!(
        words.preview,
        "Silent. Expected at 02:30, allowed until 03:15. Last good run yesterday 20:55."
    );
    assert_eq!(words.output, None);

    let never = down(StoredFlip { last_success_at: None, ..silent().flip });
    assert!(alert(&never).lead.ends_with(" It has had no good run yet."));
}

#[test]
fn a_check_with_slots_knows_its_next_one_while_it_is_down() {
    let mut message = silent();
    let settings = &mut message.check.settings;
    (settings.kind, settings.schedule) = (Kind::Cron, "30 2,8,14,20 * * *".to_owned());
    let facts = alert(&message).facts;
    let words = "Every day at 02:30, 08:30, 14:30 and 20:30, Europe/Berlin, 45 min grace";
    assert_eq!(facts[0], Fact { label: "Schedule", values: vec![words.to_owned()] });
    assert_eq!(facts[1], Fact { label: "Next expected", values: vec!["08:30".to_owned()] });
}

#[test]
fn times_are_those_of_the_check_s_zone() {
    let mut message = silent();
    message.check.settings.zone = "America/New_York".to_owned();
    let words = alert(&message);
    assert_eq!(words.title, "Silent. Expected at 21:30, allowed until 22:15.");
    assert!(words.lead.contains("(Wednesday 25 March 2026, America/New_York)"));
}

#[test]
fn what_flatline_did_not_see_is_said() {
    let mut message = silent();
    message.flip.blind_ms = Span::minutes(4);
    assert_eq!(
        alert(&message).paragraphs,
        ["Flatline itself was not watching for 4 minutes of that time and may have missed a ping."]
    );
}

#[test]
fn a_message_that_goes_out_late_says_so_and_what_came_since() {
    let mut message = silent();
    message.now = at("05:33");
    message.check.state.status = Status::Up;
    message.check.state.last_success_at = Some(at("04:00"));
    assert_eq!(
        alert(&message).paragraphs,
        [
            "This message goes out 2 hours 18 minutes after that.",
            "Since then it has reported success, at 04:00."
        ]
    );
}

#[test]
fn an_up_tells_how_long_it_was_down_and_why() {
    let words = alert(&recovered());
    assert_eq!(words.subject, "UP | Dump of pg-main");
    assert_eq!(words.title, "Up again at 03:12, after 20 minutes down.");
    assert_eq!(
        words.lead,
        "reported success at 03:12 after a run of 18 minutes (Thursday 26 March 2026, Europe/Berlin). \
         It had been down since 02:52: it had ended with exit status 1."
    );
    assert!(words.paragraphs.is_empty() && words.note.is_empty());
    assert!(words.facts.contains(&Fact { label: "Next expected", values: vec!["08:30".to_owned()] }));
    let mail = words.mail(&foot()).unwrap();
    for part in [&mail.text, &mail.html] {
        assert!(!part.contains("/mute/") && !part.contains("/pause/"));
        assert!(unfilled(part).contains("once for this recovery"));
    }
}

#[test]
fn an_up_whose_down_was_never_sent_tells_both() {
    let before = StoredFlip { expected_at: Some(at("02:30")), ..silent().flip };
    let flipped_at = at("03:20");
    let mut message = Message { before: Some(before), tells_both: true, ..recovered() };
    (message.flip.flipped_at, message.now) = (flipped_at, flipped_at);
    let words = alert(&message);
    assert_eq!(words.title, "Up again at 03:20, after 5 minutes down.");
    assert_eq!(
        words.lead,
        "reported success at 03:20 (Thursday 26 March 2026, Europe/Berlin). \
         It was down from 03:15 to 03:20: expected at 02:30, it had stayed silent."
    );
    assert_eq!(words.paragraphs, ["No DOWN message was sent: it was up again before one had gone out."]);
}

#[test]
fn an_up_knows_each_reason_it_was_down_for() {
    let why = |before: StoredFlip| {
        let words = alert(&Message { before: Some(before), ..recovered() });
        words.lead.split_once(" It had been down since ").unwrap().1.to_owned()
    };
    let run = StoredFlip { started_at: Some(at("00:40")), ..flip(Status::Down, Reason::Run, at("02:10")) };
    assert_eq!(why(silent().flip), "03:15: expected at 02:30, it had stayed silent.");
    assert_eq!(why(run), "02:10: the run begun at 00:40 had not ended.");
    assert_eq!(why(flip(Status::Down, Reason::Fail, at("02:52"))), "02:52: it had reported failure.");
    assert_eq!(
        why(flip(Status::Down, Reason::Flapping, at("02:52"))),
        "02:52: it had kept changing between up and down."
    );
}

#[test]
fn output_that_is_not_of_this_ping_is_dated() {
    let mut message = failed();
    message.flip.ping_n = None;
    message.last_ping.as_mut().unwrap().received_at = at("02:52") - Span::hours(24);
    assert_eq!(alert(&message).output.unwrap().label, "Its last output, of yesterday 02:52");
    message.flip.ping_n = Some(412);
    message.last_ping.as_mut().unwrap().body = "line\n".repeat(40).into_bytes();
    assert_eq!(alert(&message).output.unwrap().label, "The end of its output");
}

#[test]
fn a_check_without_a_name_is_called_by_what_does_not_ping_it() {
    let mut message = failed();
    message.check.settings.name = " \u{202e}\n".to_owned();
    assert_eq!(alert(&message).subject, "DOWN | unnamed 5a7e13a6 | exit status 1");
}

#[test]
fn hostile_names_stay_names_in_text_and_html() {
    let mut message = failed();
    let hostile = "</title><script>alert(1)</script>{{ 7*7 }}\"'&\r\n\u{202e}";
    for text in [
        &mut message.check.settings.name,
        &mut message.check.settings.tags,
        &mut message.check.settings.description,
        &mut message.project_name,
        &mut message.also_down[0].0,
        &mut message.also_told[0],
    ] {
        *text = hostile.to_owned();
    }
    message.last_ping.as_mut().unwrap().body = hostile.as_bytes().to_vec();
    let mail = alert(&message).mail(&foot()).unwrap();
    assert_eq!(mail.subject, "DOWN | </title><script>alert(1)</script>{{ 7*7 }}\"'& | exit status 1");
    assert!(!mail.html.contains("<script>") && mail.html.contains("{{ 7*7 }}&#34;&#39;&#38;"));
    for part in [&mail.text, &mail.html] {
        assert!(!part.contains('\u{202e}') && !part.contains('\r'));
    }
}

#[test]
fn text_keeps_to_72_columns_but_for_urls_and_output() {
    let mut message = silent();
    message.check.settings.tags = "word ".repeat(20);
    message.check.settings.name = "name ".repeat(20);
    message.also_told = (0..10).map(|n| format!("person-{n}@example.org")).collect();
    let text = alert(&message).mail(&foot()).unwrap().text;
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 72).collect();
    assert_eq!(long, Vec::<&str>::new());
}

#[test]
fn html_loads_nothing_and_has_each_sentence_of_the_text() {
    for message in [failed(), silent(), recovered()] {
        let words = alert(&message);
        let html = words.mail(&foot()).unwrap().html;
        for banned in ["src=", "url(", "@import", "<link", "<img", "<script", "http://"] {
            assert!(!html.contains(banned), "{banned}");
        }
        assert!(html.contains(&words.title) && html.contains(&words.lead) && html.contains(&words.preview));
        let values = words.facts.iter().flat_map(|fact| &fact.values).all(|value| html.contains(value));
        assert!(values);
    }
}

const SITE: &str = "watch.example.org";

#[test]
fn a_sign_in_letter_says_how_long_its_link_is_good() {
    let url = "https://watch.example.org/sign-in/TOKEN";
    let to = "alice@example.org";
    let letter = sign_in::SignIn { url, good_for: Span::hours(1), to, site: SITE }.written().unwrap();
    assert_eq!(letter.subject, "Sign in to Flatline at watch.example.org");
    assert_eq!(
        letter.text,
        "Sign in at watch.example.org\n\n\
         The link works once, within 1 hour.\n\n\
         If you did not ask for it, do nothing: without this link nobody gets in.\n\n\
         Sign in:\nhttps://watch.example.org/sign-in/TOKEN\n\n\
         -- \nSent by Flatline at watch.example.org to alice@example.org, because\n\
         somebody asked for it with this address.\n"
    );
    assert!(letter.html.contains(r#"href="https://watch.example.org/sign-in/TOKEN""#));
}

#[test]
fn an_address_is_asked_without_the_sender_s_words_in_the_subject() {
    let project = format!("Win a prize at https://evil.example/ {}", "x".repeat(100));
    let letter = confirm::Confirm {
        url: "https://watch.example.org/channels/confirm/TOKEN",
        to: "oncall@example.org",
        project: &project,
        asked_by: "alice@example.org",
        site: SITE,
    };
    let written = letter.written().unwrap();
    assert_eq!(written.subject, "Confirm this address for alerts from watch.example.org");
    let shown = written.text.split('"').nth(1).unwrap();
    assert_eq!(shown.chars().count(), 60);
}

#[test]
fn a_quota_letter_says_what_is_held_and_until_when() {
    let held = [("Offsite copy".to_owned(), at("02:46")), (String::new(), at("02:11"))];
    let letter = quota::Quota {
        plan: "free",
        limit: 500,
        resets_at: Time::parse("2026-04-01T00:00:00Z").unwrap(),
        held: &held,
        held_in_all: 5,
        usage_url: "https://watch.example.org/account/usage",
        zone: "UTC",
        to: "alice@example.org",
        site: SITE,
        now: at("03:12"),
    };
    let written = letter.written().unwrap();
    assert_eq!(written.subject, "All 500 alerts of this month are used");
    let rule = "Until 1 April 00:00 (UTC), 5 days 21 hours from now, a DOWN message is held, not dropped.";
    assert!(written.html.contains(rule) && unfilled(&written.text).contains(rule));
    assert!(written.text.contains(
        "Held now:\n\n    Offsite copy, down since 01:46\n    a check without a name, down since 01:11\n    and 3 more\n"
    ));
    let none = quota::Quota { held: &[], held_in_all: 0, ..letter }.written().unwrap();
    assert!(!none.text.contains("Held now"));
}

#[test]
fn a_letter_about_our_outage_lists_what_was_not_seen() {
    let slot = |check: &str, clock: &str| unseen::Slot {
        check: check.to_owned(),
        url: format!("https://watch.example.org/checks/{}", check.len()),
        at: at(clock),
    };
    let (seen, open) = ([slot("Offsite copy", "01:45"), slot("Worker", "02:00")], [slot("Dump", "02:20")]);
    let letter = unseen::Unseen {
        gap: (at("01:40"), at("02:25")),
        unseen: &seen,
        undecided: &open,
        checks_url: "https://watch.example.org/checks",
        zone: "Europe/Berlin",
        to: "alice@example.org",
        site: SITE,
        now: at("03:12"),
    };
    let written = letter.clone().written().unwrap();
    assert_eq!(written.subject, "Flatline was not watching from 01:40 to 02:25");
    assert!(written.text.contains(
        "Not seen, please look:\n\n    Offsite copy, expected 01:45\n    https://watch.example.org/checks/12\n    \
         Worker, expected 02:00\n    https://watch.example.org/checks/6\n\n\
         Still to be judged:\n\n    Dump, expected 02:20\n    https://watch.example.org/checks/4\n\n-- \n"
    ));
    assert!(written.html.contains("2 runs to look at."));
    let settled = unseen::Unseen { undecided: &[], ..letter.clone() }.written().unwrap();
    assert!(!settled.text.contains("Still to be judged"));
    let many: Vec<unseen::Slot> = (0..60).map(|_| slot("Dump", "02:20")).collect();
    let long = unseen::Unseen { unseen: &many, ..letter }.written().unwrap();
    assert!(long.text.contains("    and 10 more\n"));
}
