//! What a list is narrowed to and how it is sorted, as its address says.

use serde::Deserialize;

use super::row::Row;
use crate::http::web::shown::Shown;

/// The query of the list's address; what cannot be read narrows nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Filter {
    pub status: String,
    pub tag: String,
    pub q: String,
    pub sort: String,
    /// When the checks were deleted whose deletion can be undone.
    pub deleted: Option<String>,
}

/// How a list can be sorted: the word in the address, and for people.
pub const SORTS: [(&str, &str); 4] =
    [("", "Trouble first"), ("name", "Name"), ("last", "Last ping"), ("next", "Next expected")];

impl Filter {
    pub fn status(&self) -> Option<Shown> {
        Shown::from_word(&self.status)
    }

    pub fn is_at(&self, shown: &Shown) -> bool {
        self.status() == Some(*shown)
    }

    fn takes(&self, row: &Row) -> bool {
        let sought = self.q.trim().to_lowercase();
        let found = |text: &str| text.to_lowercase().contains(&sought);
        self.status().is_none_or(|status| status == row.shown)
            && (self.tag.is_empty() || row.tags.contains(&self.tag))
            && (sought.is_empty()
                || found(&row.name)
                || row.tags.iter().any(|tag| found(tag))
                || row.reason.as_deref().is_some_and(found))
    }

    /// Narrows and sorts; within equals by name.
    pub fn apply(&self, rows: &mut Vec<Row>) {
        rows.retain(|row| self.takes(row));
        rows.sort_by(|one, other| one.sort_name.cmp(&other.sort_name));
        match self.sort.as_str() {
            "name" => {}
            "last" => rows.sort_by_key(|row| std::cmp::Reverse(row.last_at)),
            "next" => rows.sort_by_key(|row| (row.next_at.is_none(), row.next_at)),
            _ => rows.sort_by_key(|row| row.shown),
        }
    }

    /// The query that keeps everything but the status.
    pub fn with_status(&self, status: &str) -> String {
        query(&[("status", status), ("tag", &self.tag), ("q", self.q.trim()), ("sort", &self.sort)])
    }

    /// The filter in words.
    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.status().map(|status| format!("is {}", status.title().to_lowercase())));
        parts.extend(Some(format!("has the tag {}", self.tag)).filter(|_| !self.tag.is_empty()));
        parts.extend(Some(format!("says “{}”", self.q.trim())).filter(|_| !self.q.trim().is_empty()));
        parts.join(" and ")
    }
}

/// `?a=b&c=d` of the pairs that have a value; `?` alone if none has.
fn query(pairs: &[(&str, &str)]) -> String {
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    let text = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
    format!("?{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_only_what_narrows() {
        let filter = Filter { tag: "a&b".into(), q: " x y ".into(), ..Filter::default() };
        assert_eq!(filter.with_status("down"), "?status=down&tag=a%26b&q=x+y");
        assert_eq!(Filter::default().with_status(""), "?");
        assert_eq!(filter.in_words(), "has the tag a&b and says “x y”");
    }
}
