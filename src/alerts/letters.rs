//! Letters: mails to a person about the account, not about a check. They are rows, claimed and settled like
//! deliveries, so that a mail server's bad day costs none; they are no alerts and no quota counts them.

use super::send::{Outcome, Senders};
use super::store::{self, NewLetter, Settlement, StoredLetter};
use super::{DeliveryState, deliver, words};
use crate::accounts::{self, Account};
use crate::db::{self, Db, WriteTx};
use crate::error::Result;
use crate::id;
use crate::time::{Clock, Span, Time};

const BATCH: i64 = 20;
/// A letter that no attempt could bring home in this time is given up.
const GIVE_UP_AFTER: Span = Span::hours(72);

/// Tells the account's owner, once a month, that its alerts are used up.
///
/// # Errors
/// The database's.
pub async fn tell_quota(tx: &mut WriteTx, account: &Account, now: Time) -> Result<()> {
    if !accounts::store::tell_quota(tx, account.id, now).await? {
        return Ok(());
    }
    let text = words::quota_letter(&account.plan, now);
    write(tx, account.id, text, now).await
}

/// Stores a letter to an account's owner.
///
/// # Errors
/// The database's.
pub async fn write(tx: &mut WriteTx, account_id: i64, text: words::LetterText, now: Time) -> Result<()> {
    let Some(owner) = accounts::store::find_user_of_account(tx, account_id).await? else { return Ok(()) };
    let letter = NewLetter {
        account_id: Some(account_id),
        recipient: owner.email,
        subject: text.subject,
        text: text.text,
        html: text.html,
    };
    store::create_letter(tx, letter, now).await
}

/// Sends one batch of due letters; returns how many were looked at.
///
/// # Errors
/// The database's.
pub async fn run_once(db: &Db, senders: &Senders, clock: &Clock) -> Result<usize> {
    let now = clock.now();
    let due = db::read!(db, |tx| store::list_claimable_letters(tx, now, BATCH).await)?;
    for letter in &due {
        send(db, senders, clock, letter).await?;
    }
    Ok(due.len())
}

async fn send(db: &Db, senders: &Senders, clock: &Clock, letter: &StoredLetter) -> Result<()> {
    let (now, token) = (clock.now(), deliver::token());
    let until = now + deliver::LEASE;
    let ours = db::write!(db, |tx| store::claim_letter(tx, letter.id, token, until, now).await)?;
    if !ours {
        return Ok(());
    }
    let outcome = senders.send_letter(letter, now).await;
    let now = clock.now();
    let settlement = settlement(letter, &outcome, now);
    db::write!(db, |tx| store::settle_letter(tx, letter.id, token, &settlement).await)?;
    tracing::info!(letter = %letter.uuid, result = settlement.state.word(), outcome = %settlement.outcome, "letter");
    Ok(())
}

fn settlement(letter: &StoredLetter, outcome: &Outcome, now: Time) -> Settlement {
    let next = deliver::next_attempt(letter.attempts + 1, None, id::fraction(), now);
    let (state, text) = match outcome {
        Outcome::Sent { note } => (DeliveryState::Sent, note.clone()),
        Outcome::Retry { why, .. } if next <= letter.created_at + GIVE_UP_AFTER => {
            (DeliveryState::Due, why.clone())
        }
        Outcome::Retry { why, .. } | Outcome::Failed { why } | Outcome::Disable { why } => {
            (DeliveryState::GivenUp, why.clone())
        }
    };
    let settled_at = (state != DeliveryState::Due).then_some(now);
    Settlement { state, outcome: text, due_at: next, settled_at }
}
