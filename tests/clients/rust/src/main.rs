//! Drives the crate `healthchecks` against the server that `test_compiled.py` started; prints what it saw.
//! Its `list_status_changes` is left out: it reads another shape than the API, also the original's, answers with.
//! Arguments: API URL, API key, ping URL, uuid of a check.

use healthchecks::manage::{UpsertResult, get_client_with_url as manage};
use healthchecks::model::{NewCheck, UpdatedCheck};
use healthchecks::ping::get_client_with_url as ping;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [api, key, ping_url, uuid] = arguments.as_slice() else { return Err("four arguments".into()) };
    let manage = manage(key.clone(), None, api.clone())?;
    let listed = manage.get_checks()?.iter().any(|check| check.name == "from Rust");
    println!("checks: from Rust {}", if listed { "listed" } else { "missing" });
    let kinds: Vec<String> = manage.get_channels()?.into_iter().map(|channel| channel.kind).collect();
    println!("channels: {}", kinds.join(", "));

    let new = || NewCheck {
        name: Some("from the crate".to_owned()),
        unique: Some(vec!["name".to_owned()]),
        ..NewCheck::default()
    };
    let (first, made) = manage.upsert_check(new())?;
    let (second, again) = manage.upsert_check(new())?;
    let word = |result: &UpsertResult| match result {
        UpsertResult::Created => "Created",
        UpsertResult::Updated => "Updated",
    };
    let count = if made.id() == again.id() { "one check" } else { "two checks" };
    println!("upsert: {}, then {}, {count}", word(&first), word(&second));
    let id = made.id().ok_or("a check has an id")?;
    let change = UpdatedCheck { desc: Some("nightly".to_owned()), ..UpdatedCheck::default() };
    println!("updated: {}", manage.update_check(change, &id)?.desc);
    println!("paused: {}", manage.pause(&id)?.status);
    println!("deleted: {}", manage.delete(&id)?.name);

    let ping = ping(uuid, ping_url)?;
    let taken = [
        ping.start_timer(),
        ping.report_success(),
        ping.report_failure(),
        ping.report_failure_with_logs("disk full"),
    ];
    if taken.contains(&false) {
        return Err("a ping was not taken".into());
    }
    let kinds: Vec<String> = manage.list_logged_pings(uuid)?.into_iter().map(|ping| ping.type_field).collect();
    println!("pings: {}", kinds.join(", "));
    Ok(())
}
