//! The chains that routes will stand behind: in which order they spend, and that nobody is locked out by another.

use std::net::IpAddr;

use flatline::config::{Limits, Rule};
use flatline::db::Db;
use flatline::rate::{Chain, Rates, Verdict};
use flatline::time::{Span, Time};

use crate::support::{Engine, Place, START, is_long, on_both};

const SECRET: &[u8] = b"the instance's secret";
const OWNER: &str = "owner@example.org";

fn rates() -> Rates {
    Rates::new(Limits::default(), SECRET)
}

fn address(last: u32) -> IpAddr {
    IpAddr::V4((0xc633_6400 + last).into())
}

/// `accepted`, or the scope of the refusal.
async fn ask(db: &Db, chain: &Chain, now: Time) -> &'static str {
    match chain.spend(db, now).await.unwrap() {
        Verdict::Accepted(_) => "accepted",
        Verdict::Refused(refusal) => refusal.scope,
    }
}

async fn accepted_of(db: &Db, chain: &Chain, asked: usize, now: Time) -> usize {
    let mut accepted = 0;
    for _ in 0..asked {
        accepted += usize::from(ask(db, chain, now).await == "accepted");
    }
    accepted
}

on_both! {
    async fn ten_thousand_wrong_passwords_from_many_addresses_leave_the_owner_a_way_in(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        let (rates, home) = (rates(), address(99));
        let (addresses, each) = if is_long() { (50, 200) } else { (10, 40) };
        let mut tried = 0;
        for attacker in 0..addresses {
            tried += accepted_of(&db, &rates.sign_in(OWNER, address(attacker)), each, START).await;
        }
        assert_eq!(tried, 20, "passwords that are looked at in a minute, from all addresses together");
        assert_eq!(ask(&db, &rates.sign_in(OWNER, home), START).await, "sign_in_email_per_minute");
        assert_eq!(ask(&db, &rates.magic_link(OWNER, home), START).await, "accepted");
        let later = START + Span::seconds(61);
        assert_eq!(ask(&db, &rates.sign_in(OWNER, home), later).await, "accepted", "it was only slowed");
    }

    async fn who_is_refused_for_its_own_sake_does_not_slow_the_owner(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        let rates = rates();
        assert_eq!(accepted_of(&db, &rates.sign_in(OWNER, address(1)), 60, START).await, 10);
        assert_eq!(ask(&db, &rates.sign_in(OWNER, address(1)), START).await, "sign_in_per_minute");
        assert_eq!(accepted_of(&db, &rates.sign_in(OWNER, address(2)), 10, START).await, 10);
        // Every attempt of the first one counted for its address.
        assert_eq!(
            ask(&db, &rates.sign_in("other@example.org", address(1)), START).await,
            "sign_in_address_per_minute"
        );
    }

    async fn a_day_of_passwords_is_spent_by_those_that_were_looked_at(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        let mut limits = Limits::default();
        limits.set(Rule::SignInDay, Some(25));
        let rates = Rates::new(limits, SECRET);
        let mut accepted = 0;
        for minute in 0..4 {
            let now = START + Span::seconds(61 * minute);
            accepted += accepted_of(&db, &rates.sign_in(OWNER, address(1)), 30, now).await;
        }
        assert_eq!(accepted, 25);
        let now = START + Span::seconds(61 * 4);
        assert_eq!(ask(&db, &rates.sign_in(OWNER, address(1)), now).await, "sign_in_per_day");
        assert_eq!(ask(&db, &rates.sign_in(OWNER, address(2)), now).await, "accepted");
    }

    async fn every_chain_stops_where_its_table_says(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        let (rates, from) = (rates(), address(1));
        let table: [(&str, Chain, usize, &str); 8] = [
            ("a wrong key", rates.failed_key(from), 60, "failed_keys_per_minute"),
            ("a test message", rates.test_message(1), 6, "test_messages_per_minute"),
            ("a verification", rates.verification_mail(OWNER), 2, "verification_mails_per_minute"),
            ("an invitation", rates.invitation(1, OWNER), 6, "invitations_target_per_day"),
            ("others invited", rates.invitation(1, "other@example.org"), 3, "invitations_per_minute"),
            ("a link", rates.magic_link(OWNER, from), 3, "magic_links_per_minute"),
            ("a link to others", rates.magic_link("other@example.org", from), 3, "magic_links_per_minute"),
            ("an account", rates.sign_up(from), 5, "sign_ups_per_minute"),
        ];
        for (what, chain, limit, scope) in table {
            assert_eq!(accepted_of(&db, &chain, limit, START).await, limit, "{what}");
            assert_eq!(ask(&db, &chain, START).await, scope, "{what}");
        }
    }
}

#[test]
fn subjects_are_hashed_with_the_instance_s_secret_and_addresses_are_written_in_any_case() {
    let chain = |secret: &[u8], email: &str| Rates::new(Limits::default(), secret).verification_mail(email);
    let subject = |chain: Chain| chain.then[0].subject.clone();
    let own = subject(chain(SECRET, OWNER));
    assert_eq!(own.len(), 16);
    assert_eq!(own, subject(chain(SECRET, "Owner@Example.ORG")));
    assert_ne!(own, subject(chain(b"another secret", OWNER)));
    assert_ne!(own, subject(chain(SECRET, "other@example.org")));
}

#[test]
fn a_limit_that_is_lifted_is_not_asked() {
    let mut limits = Limits::default();
    limits.set(Rule::CreatesHour, None);
    assert!(Rates::new(limits, SECRET).create_by_ping(1).is_empty());
    assert!(!rates().create_by_ping(1).is_empty());
}
