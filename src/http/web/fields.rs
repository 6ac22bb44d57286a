//! The fields of a form as they were posted, kept so that a page can show them again, also beside what somebody else
//! saved meanwhile.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Names and values in the order of the form.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded`. Line ends become single line feeds; NUL, which no text of ours
    /// can hold, is dropped.
    pub fn read(body: &[u8]) -> Self {
        let plain = |text: &str| text.replace("\r\n", "\n").replace('\0', "");
        Self(url::form_urlencoded::parse(body).map(|(name, value)| (plain(&name), plain(&value))).collect())
    }

    /// The first value of a name; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value)
    }

    /// The first value without white space around it.
    pub fn trimmed(&self, name: &str) -> &str {
        self.get(name).trim()
    }

    /// Whether a box is ticked, or a button of that name pressed.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(one, _)| one == name)
    }

    /// The bytes that the first value of a name stands for in base64url; none where it stands for none.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(self.get(name)).unwrap_or_default()
    }

    /// All values of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

/// One field in two versions, where somebody saved while a form was open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub field: &'static str,
    pub yours: String,
    pub theirs: String,
}

impl Difference {
    /// The fields of which the two versions (yours, theirs) differ.
    pub fn of(all: impl IntoIterator<Item = (&'static str, String, String)>) -> Vec<Self> {
        let differing = all.into_iter().filter(|(_, yours, theirs)| yours != theirs);
        differing.map(|(field, yours, theirs)| Self { field, yours, theirs }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_send_them() {
        let fields = Fields::read(b"name=a+b&check=1&check=2&text=x%0D%0Ay%00&ticked=");
        assert_eq!(fields.get("name"), "a b");
        assert_eq!(fields.all("check").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.get("text"), "x\ny");
        assert!(fields.has("ticked") && !fields.has("other"));
        assert_eq!(fields.get("other"), "");
    }
}
