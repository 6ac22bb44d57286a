//! SQL of the table `deliveries`, where flips add to it.

use crate::checks::{Check, Status};
use crate::db::{ReadTx, Value, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

macro_rules! list_told {
    ($wants:literal) => {
        concat!(
            "SELECT check_channels.check_id AS check_id, channels.id AS channel_id FROM {rows BIGINT} AS asked \
             JOIN check_channels ON check_channels.check_id = asked.column1 \
             JOIN channels ON channels.id = check_channels.channel_id WHERE channels.",
            $wants,
            " AND channels.verified_at IS NOT NULL AND channels.disabled_at IS NULL"
        )
    };
}

statements! {
    /// The channels that are told of checks that went down, by check.
    LIST_TOLD_DOWN = list_told!("on_down");
    LIST_TOLD_UP = list_told!("on_up");
    /// One delivery for each flip and channel; one that is there stays.
    CREATE_DELIVERIES =
        "INSERT INTO deliveries (uuid, flip_id, channel_id, check_id, account_id, tells, due_at, created_at) \
         SELECT column1, column2, column3, column4, column5, column6, column7, column7 \
         FROM {rows UUID, BIGINT, BIGINT, BIGINT, BIGINT, TEXT, BIGINT} AS new WHERE column2 IS NOT NULL \
         ORDER BY column2, column3 ON CONFLICT (flip_id, channel_id) DO NOTHING";
}

/// A channel that is told of a check.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Told {
    pub check_id: i64,
    pub channel_id: i64,
}

/// A delivery about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewDelivery<'a> {
    pub flip_id: i64,
    pub channel_id: i64,
    pub check: &'a Check,
    pub tells: Status,
}

/// The channels that hear of checks whose status becomes `new`: assigned, verified, on, and to be told of that.
pub async fn list_told(tx: &mut ReadTx, checks: &[i64], new: Status) -> Result<Vec<Told>> {
    let statement = if new == Status::Down { LIST_TOLD_DOWN } else { LIST_TOLD_UP };
    let checks: Vec<[Value; 1]> = checks.iter().map(|&check| [check.into()]).collect();
    Ok(tx.query_rows(statement, &checks).await?)
}

pub async fn create_deliveries(tx: &mut WriteTx, new: &[NewDelivery<'_>], now: Time) -> Result<()> {
    let row = |new: &NewDelivery<'_>| {
        let NewDelivery { flip_id, channel_id, check, tells } = *new;
        let (id, tells) = (crate::id::uuid(), tells.word());
        [
            id.into(),
            flip_id.into(),
            channel_id.into(),
            check.id.into(),
            check.account_id.into(),
            tells.into(),
            now.into(),
        ]
    };
    let rows: Vec<[Value; 7]> = new.iter().map(row).collect();
    tx.count_rows(CREATE_DELIVERIES, &rows).await?;
    Ok(())
}
