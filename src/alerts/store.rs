//! SQL of the tables `channels`, `check_channels` and `deliveries`.

use uuid::Uuid;

use super::{Channel, DeliveryState, NewChannel};
use crate::checks::{Status, unique_key};
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::{Error, Result};
use crate::time::{Span, Time};

macro_rules! channel_columns {
    () => {
        "id, uuid, project_id, kind, name, config, on_down, on_up, verified_at, disabled_at, last_sent_at, last_error, \
         last_answer, failing_since_at, asked_at, rev"
    };
}

macro_rules! claimed_columns {
    () => {
        "id, uuid, flip_id, channel_id, check_id, account_id, tells, claim, charged_at, attempts, created_at"
    };
}

/// What makes a delivery free to be claimed at `$1`; stands in the look-up and again in the write.
macro_rules! claimable {
    () => {
        "state = 'due' AND due_at <= $1 AND (claim IS NULL OR claimed_until_at <= $1)"
    };
}

/// What keeps the delivery `d` from being claimed at `$1`: one before it that is not settled, unless `d` is an UP
/// and that one a DOWN which nobody is sending just now, so that the UP may overtake it.
macro_rules! in_the_way {
    () => {
        "older.check_id = d.check_id AND older.channel_id = d.channel_id AND older.settled_at IS NULL \
         AND older.id < d.id AND NOT (d.tells = 'up' AND older.tells = 'down' \
         AND (older.claim IS NULL OR older.claimed_until_at <= $1))"
    };
}

statements! {
    CREATE_CHANNEL = concat!(
        "INSERT INTO channels (uuid, project_id, kind, name, config, on_down, on_up, verified_at, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING ", channel_columns!());
    FIND_CHANNEL = concat!("SELECT ", channel_columns!(), " FROM channels WHERE id = $1");
    FIND_CHANNEL_BY_UUID = concat!("SELECT ", channel_columns!(), " FROM channels WHERE uuid = $1");
    LIST_CHANNELS = concat!("SELECT ", channel_columns!(), " FROM channels WHERE project_id = $1 ORDER BY id");
    /// Writes a channel's settings. Zero rows: it is gone, in another project, or (with a revision in `$8`) somebody
    /// changed it since.
    UPDATE_CHANNEL = concat!(
        "UPDATE channels SET name = $3, config = $4, on_down = $5, on_up = $6, verified_at = $7, rev = rev + 1, \
         disabled_at = NULL, last_error = '', failing_since_at = NULL \
         WHERE uuid = $1 AND project_id = $2 AND rev = COALESCE($8, rev) RETURNING ", channel_columns!());
    /// Confirms a channel whose configuration is still the one that was asked about. Zero rows: it changed, or
    /// is confirmed.
    VERIFY_CHANNEL = "UPDATE channels SET verified_at = $2 WHERE id = $1 AND config = $3 AND verified_at IS NULL";
    DELETE_CHANNEL = "DELETE FROM channels WHERE id = $1";
    /// Turns a channel off. Zero rows: it is off or gone.
    DISABLE_CHANNEL = "UPDATE channels SET disabled_at = $2, last_error = $3 WHERE id = $1 AND disabled_at IS NULL";
    NOTE_SENT =
        "UPDATE channels SET last_sent_at = $2, last_answer = $3, last_error = '', failing_since_at = NULL WHERE id = $1";
    NOTE_ERROR =
        "UPDATE channels SET last_error = $2, failing_since_at = COALESCE(failing_since_at, $3) WHERE id = $1";
    ASSIGN = "INSERT INTO check_channels (check_id, channel_id) VALUES ($1, $2) ON CONFLICT (check_id, channel_id) DO NOTHING";
    UNASSIGN = "DELETE FROM check_channels WHERE check_id = $1 AND channel_id = $2";
    UNASSIGN_ALL = "DELETE FROM check_channels WHERE check_id = $1";
    LIST_ASSIGNED =
        "SELECT check_channels.check_id AS check_id, channels.uuid AS channel_uuid FROM check_channels \
         JOIN channels ON channels.id = check_channels.channel_id JOIN checks ON checks.id = check_channels.check_id \
         WHERE checks.project_id = $1";
    LIST_ASSIGNED_TO_CHECK =
        "SELECT check_channels.check_id AS check_id, channels.uuid AS channel_uuid FROM check_channels \
         JOIN channels ON channels.id = check_channels.channel_id WHERE check_channels.check_id = $1";
    /// Deliveries that may be claimed: due, not leased, and no older one of their check and channel is in their
    /// way, so that a DOWN never arrives after its UP.
    LIST_CLAIMABLE = concat!(
        "SELECT ", claimed_columns!(), " FROM deliveries AS d WHERE ", claimable!(),
        " AND NOT EXISTS (SELECT 1 FROM deliveries AS older WHERE ", in_the_way!(), ") ORDER BY due_at, id LIMIT $2");
    /// An UP overtakes the DOWNs before it that wait for quota or for their next attempt. Their account is locked,
    /// so nobody claims them meanwhile. Zero rows: there is none.
    SUPERSEDE_WAITING =
        "UPDATE deliveries SET state = 'superseded', settled_at = $1 WHERE check_id = $2 AND channel_id = $3 \
         AND id < $4 AND tells = 'down' AND settled_at IS NULL AND (claim IS NULL OR claimed_until_at <= $1)";
    /// Claim: leases one delivery. Zero rows: another worker has it, or it is settled.
    CLAIM = concat!(
        "UPDATE deliveries SET claim = $2, claimed_until_at = $3, charged_at = COALESCE(charged_at, $1), \
         attempts = attempts + 1 WHERE id = $4 AND attempts = $5 AND ", claimable!(),
        " RETURNING ", claimed_columns!());
    /// Alert quota: sets a delivery aside. Zero rows: another worker has it.
    HOLD = concat!("UPDATE deliveries SET state = 'held' WHERE id = $2 AND charged_at IS NULL AND ", claimable!());
    /// A DOWN that was never sent gives way to the UP behind it. Zero rows: another worker is sending it.
    SUPERSEDE = concat!("UPDATE deliveries SET state = 'superseded', settled_at = $1 WHERE id = $2 AND ", claimable!());
    /// The delivery after one, of the same check and channel.
    FIND_DELIVERY_AFTER =
        "SELECT id, uuid, state, tells, created_at, settled_at FROM deliveries \
         WHERE check_id = $1 AND channel_id = $2 AND id > $3 ORDER BY id LIMIT 1";
    /// The delivery before one, of the same check and channel.
    FIND_DELIVERY_BEFORE =
        "SELECT id, uuid, state, tells, created_at, settled_at FROM deliveries \
         WHERE check_id = $1 AND channel_id = $2 AND id < $3 ORDER BY id DESC LIMIT 1";
    /// Settles an attempt. Zero rows: the lease ran out and another worker has the delivery now.
    SETTLE =
        "UPDATE deliveries SET state = $3, outcome = $4, due_at = $5, settled_at = $6, claim = NULL, \
         claimed_until_at = NULL WHERE id = $1 AND claim = $2";
    /// Lets a delivery wait that the limit on calls refused; it was no attempt. Zero rows: as for `SETTLE`.
    POSTPONE =
        "UPDATE deliveries SET due_at = $3, outcome = $4, attempts = attempts - 1, claim = NULL, \
         claimed_until_at = NULL WHERE id = $1 AND claim = $2";
    LIST_HELD_ACCOUNTS = "SELECT DISTINCT account_id AS id FROM deliveries WHERE state = 'held' ORDER BY account_id";
    LIST_HELD_NAMES =
        "SELECT checks.name AS name, checks.uuid AS uuid, flips.flipped_at AS since_at FROM deliveries \
         JOIN checks ON checks.id = deliveries.check_id JOIN flips ON flips.id = deliveries.flip_id \
         WHERE deliveries.account_id = $1 AND deliveries.state = 'held' ORDER BY deliveries.id";
    LIST_HELD =
        "SELECT deliveries.id AS id, deliveries.tells AS tells, checks.told_status AS told_status FROM deliveries \
         JOIN checks ON checks.id = deliveries.check_id WHERE deliveries.account_id = $1 \
         AND deliveries.state = 'held' ORDER BY deliveries.id LIMIT $2";
    /// Releases a held delivery. Zero rows: it was released or superseded meanwhile.
    RELEASE = "UPDATE deliveries SET state = 'due', due_at = $2 WHERE id = $1 AND state = 'held'";
    /// Drops a held delivery that is no longer true. Zero rows: as for `RELEASE`.
    DROP_HELD = "UPDATE deliveries SET state = 'superseded', settled_at = $2 WHERE id = $1 AND state = 'held'";
    /// Transfer: what is still to be sent of a project's checks is the new account's, as are its alerts.
    HAND_OVER =
        "UPDATE deliveries SET account_id = $2 WHERE settled_at IS NULL \
         AND check_id IN (SELECT id FROM checks WHERE project_id = $1)";
    COUNT_HELD = "SELECT COUNT(*) AS number FROM deliveries WHERE state = 'held' AND account_id = $1";
    /// Takes back what a clock set back left in the future.
    CLAMP_DUE = "UPDATE deliveries SET due_at = $1 WHERE state = 'due' AND due_at > $1";
    CLAMP_CLAIMS = "UPDATE deliveries SET claimed_until_at = $1 WHERE state = 'due' AND claimed_until_at > $2";
    /// The oldest that somebody could send; one that waits behind another is as late as that one's channel.
    FIND_OLDEST_DUE = concat!(
        "SELECT due_at AS at FROM deliveries AS d WHERE state = 'due' AND due_at <= $1 \
         AND NOT EXISTS (SELECT 1 FROM deliveries AS older WHERE ", in_the_way!(), ") ORDER BY due_at, id LIMIT 1");
    FIND_LAST_DELIVERY = "SELECT MAX(id) AS id FROM deliveries";
    COUNT_OPEN_FLIPS = "SELECT COUNT(DISTINCT flip_id) AS number FROM deliveries WHERE settled_at IS NULL";
    /// Other checks of a project that are down, ten at most: only these are looked at, since after an outage each of
    /// very many deliveries asks.
    LIST_ALSO_DOWN =
        "SELECT checks.name AS name, checks.uuid AS uuid, (SELECT MAX(flips.flipped_at) FROM flips \
         WHERE flips.check_id = checks.id AND flips.new_status = 'down') AS since_at FROM checks \
         WHERE checks.project_id = $1 AND checks.status = 'down' AND checks.id <> $2 AND checks.deleted_at IS NULL \
         AND EXISTS (SELECT 1 FROM flips WHERE flips.check_id = checks.id AND flips.new_status = 'down') \
         ORDER BY checks.id LIMIT 10";
    LIST_ALSO_TOLD =
        "SELECT channels.name AS name, channels.kind AS kind FROM deliveries JOIN channels \
         ON channels.id = deliveries.channel_id WHERE deliveries.flip_id = $1 AND channels.id <> $2 ORDER BY channels.id";
}

/// A delivery as a worker sees it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Claimed {
    pub id: i64,
    pub uuid: Uuid,
    pub flip_id: i64,
    pub channel_id: i64,
    pub check_id: i64,
    pub account_id: i64,
    /// The status it tells: down or up.
    pub tells: Status,
    pub claim: Option<Uuid>,
    /// When it was first claimed, and charged.
    pub charged_at: Option<Time>,
    pub attempts: i64,
    pub created_at: Time,
}

/// A delivery as its neighbours see it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Neighbour {
    pub id: i64,
    pub uuid: Uuid,
    pub state: DeliveryState,
    pub tells: Status,
    pub created_at: Time,
    pub settled_at: Option<Time>,
}

/// Which channel hears of which check.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Assigned {
    pub check_id: i64,
    pub channel_uuid: Uuid,
}

/// A held delivery, with what its check says now.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Held {
    pub id: i64,
    pub tells: Status,
    pub told_status: Status,
}

/// How an attempt ended, as it is written.
#[derive(Clone, Debug)]
pub struct Settlement {
    pub state: DeliveryState,
    /// What the channel answered, for people.
    pub outcome: String,
    /// When the next attempt is due; of no meaning once settled.
    pub due_at: Time,
    pub settled_at: Option<Time>,
}

#[derive(sqlx::FromRow)]
struct Id {
    id: i64,
}

#[derive(sqlx::FromRow)]
struct MaybeId {
    id: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct At {
    at: Time,
}

#[derive(sqlx::FromRow)]
struct Number {
    number: i64,
}

#[derive(sqlx::FromRow)]
struct DownCheck {
    name: String,
    uuid: Uuid,
    since_at: Time,
}

impl DownCheck {
    fn named(self) -> (String, Time) {
        (if self.name.is_empty() { unique_key::stand_in(self.uuid) } else { self.name }, self.since_at)
    }
}

#[derive(sqlx::FromRow)]
struct Named {
    name: String,
    kind: String,
}

pub async fn create_channel(tx: &mut WriteTx, new: NewChannel, now: Time) -> Result<Channel> {
    let change = tx
        .change(CREATE_CHANNEL)
        .bind(new.uuid)
        .bind(new.project_id)
        .bind(new.kind.to_owned())
        .bind(new.name)
        .bind(new.config)
        .bind(new.on_down)
        .bind(new.on_up)
        .bind(new.verified_at)
        .bind(now);
    change.maybe().await?.ok_or_else(|| Error::internal("an insert returned no row"))
}

pub async fn find_channel(tx: &mut ReadTx, id: i64) -> Result<Option<Channel>> {
    Ok(tx.query(FIND_CHANNEL).bind(id).maybe().await?)
}

pub async fn find_channel_by_uuid(tx: &mut ReadTx, uuid: Uuid) -> Result<Option<Channel>> {
    Ok(tx.query(FIND_CHANNEL_BY_UUID).bind(uuid).maybe().await?)
}

pub async fn list_channels(tx: &mut ReadTx, project_id: i64) -> Result<Vec<Channel>> {
    Ok(tx.query(LIST_CHANNELS).bind(project_id).all().await?)
}

/// The channel as it now is: see [`UPDATE_CHANNEL`].
pub async fn update_channel(tx: &mut WriteTx, new: &NewChannel, rev: Option<i64>) -> Result<Option<Channel>> {
    let change = tx.change(UPDATE_CHANNEL).bind(new.uuid).bind(new.project_id).bind(new.name.clone());
    let change = change.bind(new.config.clone()).bind(new.on_down).bind(new.on_up).bind(new.verified_at);
    Ok(change.bind(rev).maybe().await?)
}

/// Whether it was this call that confirmed it: see [`VERIFY_CHANNEL`].
pub async fn verify_channel(tx: &mut WriteTx, channel: &Channel, now: Time) -> Result<bool> {
    let change = tx.change(VERIFY_CHANNEL).bind(channel.id).bind(now).bind(channel.config.clone());
    Ok(change.count().await? == 1)
}

/// Whether the channel was there.
pub async fn delete_channel(tx: &mut WriteTx, id: i64) -> Result<bool> {
    Ok(tx.change(DELETE_CHANNEL).bind(id).count().await? == 1)
}

/// Whether the channel was on: see [`DISABLE_CHANNEL`].
pub async fn disable_channel(tx: &mut WriteTx, id: i64, why: &str, now: Time) -> Result<bool> {
    Ok(tx.change(DISABLE_CHANNEL).bind(id).bind(now).bind(why.to_owned()).count().await? == 1)
}

pub async fn note_sent(tx: &mut WriteTx, channel_id: i64, answer: &str, now: Time) -> Result<()> {
    tx.change(NOTE_SENT).bind(channel_id).bind(now).bind(answer.to_owned()).count().await?;
    Ok(())
}

pub async fn note_error(tx: &mut WriteTx, channel_id: i64, why: &str, now: Time) -> Result<()> {
    tx.change(NOTE_ERROR).bind(channel_id).bind(why.to_owned()).bind(now).count().await?;
    Ok(())
}

pub async fn assign(tx: &mut WriteTx, check_id: i64, channel_id: i64) -> Result<()> {
    tx.change(ASSIGN).bind(check_id).bind(channel_id).count().await?;
    Ok(())
}

/// Whether the channel heard of the check until now.
pub async fn unassign(tx: &mut WriteTx, check_id: i64, channel_id: i64) -> Result<bool> {
    Ok(tx.change(UNASSIGN).bind(check_id).bind(channel_id).count().await? == 1)
}

pub async fn unassign_all(tx: &mut WriteTx, check_id: i64) -> Result<()> {
    tx.change(UNASSIGN_ALL).bind(check_id).count().await?;
    Ok(())
}

pub async fn list_assigned(tx: &mut ReadTx, project_id: i64) -> Result<Vec<Assigned>> {
    Ok(tx.query(LIST_ASSIGNED).bind(project_id).all().await?)
}

pub async fn list_assigned_to_check(tx: &mut ReadTx, check_id: i64) -> Result<Vec<Assigned>> {
    Ok(tx.query(LIST_ASSIGNED_TO_CHECK).bind(check_id).all().await?)
}

pub async fn list_claimable(tx: &mut ReadTx, now: Time, limit: i64) -> Result<Vec<Claimed>> {
    Ok(tx.query(LIST_CLAIMABLE).bind(now).bind(limit).all().await?)
}

/// The delivery under its lease, if it was still free: see [`CLAIM`].
pub async fn claim(
    tx: &mut WriteTx,
    seen: &Claimed,
    token: Uuid,
    until: Time,
    now: Time,
) -> Result<Option<Claimed>> {
    let change = tx.change(CLAIM).bind(now).bind(token).bind(until).bind(seen.id).bind(seen.attempts);
    Ok(change.maybe().await?)
}

pub async fn hold(tx: &mut WriteTx, id: i64, now: Time) -> Result<bool> {
    Ok(tx.change(HOLD).bind(now).bind(id).count().await? == 1)
}

pub async fn supersede(tx: &mut WriteTx, id: i64, now: Time) -> Result<bool> {
    Ok(tx.change(SUPERSEDE).bind(now).bind(id).count().await? == 1)
}

/// Lets an UP overtake the DOWNs before it that wait: see [`SUPERSEDE_WAITING`].
pub async fn supersede_waiting(tx: &mut WriteTx, up: &Claimed, now: Time) -> Result<u64> {
    let change = tx.change(SUPERSEDE_WAITING).bind(now).bind(up.check_id).bind(up.channel_id).bind(up.id);
    Ok(change.count().await?)
}

pub async fn find_delivery_after(
    tx: &mut ReadTx,
    check_id: i64,
    channel_id: i64,
    id: i64,
) -> Result<Option<Neighbour>> {
    Ok(tx.query(FIND_DELIVERY_AFTER).bind(check_id).bind(channel_id).bind(id).maybe().await?)
}

pub async fn find_delivery_before(
    tx: &mut ReadTx,
    check_id: i64,
    channel_id: i64,
    id: i64,
) -> Result<Option<Neighbour>> {
    Ok(tx.query(FIND_DELIVERY_BEFORE).bind(check_id).bind(channel_id).bind(id).maybe().await?)
}

/// Whether the lease was still held: see [`SETTLE`].
pub async fn settle(tx: &mut WriteTx, id: i64, token: Uuid, settlement: &Settlement) -> Result<bool> {
    let change =
        tx.change(SETTLE).bind(id).bind(token).bind(settlement.state).bind(settlement.outcome.clone());
    Ok(change.bind(settlement.due_at).bind(settlement.settled_at).count().await? == 1)
}

/// Whether the lease was still held: see [`POSTPONE`].
pub async fn postpone(tx: &mut WriteTx, id: i64, token: Uuid, due_at: Time, why: &str) -> Result<bool> {
    let change = tx.change(POSTPONE).bind(id).bind(token).bind(due_at).bind(why.to_owned());
    Ok(change.count().await? == 1)
}

pub async fn list_held_accounts(tx: &mut ReadTx) -> Result<Vec<i64>> {
    let rows = tx.query(LIST_HELD_ACCOUNTS).all::<Id>().await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

pub async fn list_held(tx: &mut ReadTx, account_id: i64, limit: i64) -> Result<Vec<Held>> {
    Ok(tx.query(LIST_HELD).bind(account_id).bind(limit).all().await?)
}

pub async fn release(tx: &mut WriteTx, id: i64, now: Time) -> Result<bool> {
    Ok(tx.change(RELEASE).bind(id).bind(now).count().await? == 1)
}

pub async fn drop_held(tx: &mut WriteTx, id: i64, now: Time) -> Result<bool> {
    Ok(tx.change(DROP_HELD).bind(id).bind(now).count().await? == 1)
}

/// Gives what is still to be sent of a project's checks to another account; the checks are locked.
pub async fn hand_over(tx: &mut WriteTx, project_id: i64, account_id: i64) -> Result<()> {
    tx.change(HAND_OVER).bind(project_id).bind(account_id).count().await?;
    Ok(())
}

pub async fn count_held(tx: &mut ReadTx, account_id: i64) -> Result<i64> {
    Ok(tx.query(COUNT_HELD).bind(account_id).maybe::<Number>().await?.map_or(0, |row| row.number))
}

/// Takes back every instant of deliveries that the clock has not reached, after it was set back.
pub async fn clamp(tx: &mut WriteTx, lease: Span, now: Time) -> Result<()> {
    tx.change(CLAMP_DUE).bind(now).count().await?;
    tx.change(CLAMP_CLAIMS).bind(now).bind(now + lease).count().await?;
    Ok(())
}

/// When the oldest delivery that waits to be sent was due.
pub async fn find_oldest_due(tx: &mut ReadTx, now: Time) -> Result<Option<Time>> {
    Ok(tx.query(FIND_OLDEST_DUE).bind(now).maybe::<At>().await?.map(|row| row.at))
}

/// The id of the newest delivery, and the number of flips that somebody is still to be told.
pub async fn count_open(tx: &mut ReadTx) -> Result<(Option<i64>, i64)> {
    let last = tx.query(FIND_LAST_DELIVERY).maybe::<MaybeId>().await?.and_then(|row| row.id);
    let open = tx.query(COUNT_OPEN_FLIPS).maybe::<Number>().await?.map_or(0, |row| row.number);
    Ok((last, open))
}

/// Names (uuids where nameless) of the checks whose messages are held, with the time of their flips.
pub async fn list_held_names(tx: &mut ReadTx, account_id: i64) -> Result<Vec<(String, Time)>> {
    let rows = tx.query(LIST_HELD_NAMES).bind(account_id).all::<DownCheck>().await?;
    Ok(rows.into_iter().map(DownCheck::named).collect())
}

/// Names (uuids where nameless) of at most ten other checks of the project that are down, and since
/// when.
pub async fn list_also_down(tx: &mut ReadTx, project_id: i64, check_id: i64) -> Result<Vec<(String, Time)>> {
    let rows = tx.query(LIST_ALSO_DOWN).bind(project_id).bind(check_id).all::<DownCheck>().await?;
    Ok(rows.into_iter().map(DownCheck::named).collect())
}

/// Names of the other channels that a flip goes to.
pub async fn list_also_told(tx: &mut ReadTx, flip_id: i64, channel_id: i64) -> Result<Vec<String>> {
    let rows = tx.query(LIST_ALSO_TOLD).bind(flip_id).bind(channel_id).all::<Named>().await?;
    Ok(rows.into_iter().map(|row| if row.name.is_empty() { row.kind } else { row.name }).collect())
}
