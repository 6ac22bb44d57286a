//! A channel of Healthchecks as one of ours, where its kind exists here; else the reason why not. Pure.

use serde_json::{Value, json};
use uuid::Uuid;

use super::OldChannel;
use crate::alerts::send::{KINDS, Kind, email};

/// A channel as it was read.
#[derive(Debug)]
pub(super) struct Read {
    pub uuid: Uuid,
    pub kind: String,
    pub name: String,
    /// Its settings: JSON, in old rows a bare address.
    pub value: String,
    /// Whether its address was confirmed; of meaning for mail alone.
    pub is_confirmed: bool,
    pub is_disabled: bool,
}

/// Translates a channel of Healthchecks.
///
/// # Errors
/// A sentence that names the channel and says why it stays behind.
pub(super) fn translate(read: &Read) -> Result<OldChannel, String> {
    let value: Value = serde_json::from_str(&read.value).unwrap_or(Value::String(read.value.clone()));
    let (config, down, up) = match read.kind.as_str() {
        "email" => email(&value),
        "webhook" => webhook(&value),
        _ => (value, true, true),
    };
    checked(read, &config, down, up)
}

/// Takes a channel over whose settings have our form already; `down` and `up` are what it is told.
///
/// # Errors
/// As for [`translate`].
pub(super) fn checked(read: &Read, config: &Value, down: bool, up: bool) -> Result<OldChannel, String> {
    let title = if read.name.is_empty() { read.uuid.to_string() } else { format!("'{}'", read.name) };
    let stays = |why: &str| format!("channel {title} ({}): {why}", read.kind);
    let kind = Kind::find(&read.kind).ok_or_else(|| stays(&no_such_kind()))?;
    if kind.name == email::NAME && !read.is_confirmed {
        return Err(stays("its address was never confirmed"));
    }
    let checked = kind.check(&config.to_string()).map_err(|fault| stays(&fault.words))?;
    let (on_down, on_up) = checked.told.map_or((down, up), |told| (told.down, told.up));
    Ok(OldChannel {
        uuid: read.uuid,
        kind: kind.name,
        name: read.name.clone(),
        config: checked.config,
        on_down,
        on_up,
        is_disabled: read.is_disabled,
    })
}

fn no_such_kind() -> String {
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    format!("channels of this kind do not exist here; there are {}", kinds.join(", "))
}

fn email(value: &Value) -> (Value, bool, bool) {
    let told = |field: &str| value.get(field).and_then(Value::as_bool).unwrap_or(true);
    let address = value.get("value").unwrap_or(value);
    (json!({ "address": address }), told("down"), told("up"))
}

fn webhook(value: &Value) -> (Value, bool, bool) {
    let text = |field: String| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let side = |side: &str| {
        let method = text(format!("method_{side}"));
        let method = if method.is_empty() { "GET".to_owned() } else { method };
        // A body that a GET request never sent.
        let body = if method == "GET" { String::new() } else { text(format!("body_{side}")) };
        let headers = value.get(format!("headers_{side}")).cloned().unwrap_or_else(|| json!({}));
        json!({ "method": method, "url": text(format!("url_{side}")), "headers": headers, "body": body })
    };
    (json!({ "down": side("down"), "up": side("up") }), true, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, value: &str) -> Read {
        Read {
            uuid: Uuid::nil(),
            kind: kind.to_owned(),
            name: "Ops".to_owned(),
            value: value.to_owned(),
            is_confirmed: true,
            is_disabled: false,
        }
    }

    #[test]
    fn mail_and_webhooks_become_channels_of_ours() {
        let mail = translate(&read("email", "ann@example.org")).unwrap();
        assert_eq!((mail.config.as_str(), mail.on_up), (r#"{"address":"ann@example.org"}"#, true));
        let mail =
            translate(&read("email", r#"{"value": "a@b.example", "up": false, "down": true}"#)).unwrap();
        assert_eq!((mail.on_down, mail.on_up), (true, false));
        let hook = r#"{"method_down": "POST", "url_down": "http://r.example/d", "body_down": "$NAME",
            "headers_down": {"X-A": "b"}, "method_up": "GET", "url_up": "", "body_up": "x", "headers_up": {}}"#;
        let hook = translate(&read("webhook", hook)).unwrap();
        assert_eq!((hook.on_down, hook.on_up), (true, false));
        let config: Value = serde_json::from_str(&hook.config).unwrap();
        let down = json!({ "method": "POST", "url": "http://r.example/d", "headers": {"X-A": "b"}, "body": "$NAME" });
        assert_eq!(config["down"], down);
    }

    #[test]
    fn what_stays_behind_is_named_with_the_reason() {
        let why = |read: Read| translate(&read).unwrap_err();
        assert!(
            why(read("slack", "{}")).starts_with("channel 'Ops' (slack): channels of this kind do not exist")
        );
        let unconfirmed = Read { is_confirmed: false, ..read("email", "a@b.example") };
        assert_eq!(why(unconfirmed), "channel 'Ops' (email): its address was never confirmed");
        assert!(why(read("webhook", "http://r.example")).contains("Enter a Down URL"));
        assert!(why(read("email", "nobody")).starts_with("channel 'Ops' (email): Address: "));
    }
}
