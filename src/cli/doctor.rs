//! `flatline doctor`: every stored counter against the rows it counts.

use std::collections::HashMap;
use std::process::ExitCode;

use super::{Failure, say};
use crate::accounts;
use crate::checks;
use crate::db::{self, Db};
use crate::error::Error;

pub async fn run(db: &Db) -> Result<ExitCode, Failure> {
    let findings = examine(db).await?;
    for finding in &findings {
        say(finding);
    }
    if findings.is_empty() {
        say("every counter agrees with its rows");
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

/// What is wrong, a sentence each; read from one snapshot.
///
/// # Errors
/// The database's.
pub async fn examine(db: &Db) -> Result<Vec<String>, Error> {
    db::read!(db, |tx| {
        let accounts = accounts::store::list_accounts(tx).await?;
        let counted = checks::store::count_by_account(tx).await?;
        let counted: HashMap<i64, i64> = counted.into_iter().map(|row| (row.id, row.number)).collect();
        let mut findings = Vec::new();
        for account in accounts {
            let really = counted.get(&account.id).copied().unwrap_or(0);
            if account.checks_used != really {
                let (uuid, stored) = (account.uuid, account.checks_used);
                findings.push(format!("account {uuid}: {stored} checks counted, {really} there"));
            }
        }
        for project in accounts::projects::store::list_miscounted(tx).await? {
            let accounts::projects::store::Miscounted { uuid, members_used, keys_used, members, keys } =
                project;
            findings.push(format!(
                "project {uuid}: {members_used} members and {keys_used} keys counted, {members} and {keys} there"
            ));
        }
        let users = accounts::passkeys::store::count_mismatches(tx).await?;
        if users > 0 {
            findings.push(format!("{users} users count other passkeys than they have"));
        }
        let runs = checks::store::count_run_mismatches(tx).await?;
        if runs > 0 {
            findings.push(format!("{runs} checks count other open runs than there are"));
        }
        Ok(findings)
    })
}
