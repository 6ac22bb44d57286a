//! A walk over the pages: from some addresses to every address of this site that a page holds.

use std::collections::{BTreeMap, BTreeSet};

use super::browser::Browser;
use crate::support::Answer;

/// More addresses than the pages hold.
const PAGES_MAX: usize = 600;

/// Everything that can be reached by looking, by address; what does not end and what never changes is left out.
pub async fn walk(browser: &Browser, from: &[&str]) -> BTreeMap<String, Answer> {
    let mut answers = BTreeMap::new();
    let mut ahead: Vec<String> = from.iter().map(|path| (*path).to_owned()).collect();
    while let Some(asked) = ahead.pop() {
        let path = asked.split('?').next().unwrap_or_default().to_owned();
        if path.ends_with("/events") || path.starts_with("/static/") || answers.contains_key(&asked) {
            continue;
        }
        assert!(answers.len() < PAGES_MAX, "the walk ends: {:?}", answers.keys());
        let answer = browser.get(&asked).await;
        let mut found = addresses(&answer.text());
        found.extend(answer.header("location").map(str::to_owned));
        ahead
            .extend(found.into_iter().map(|to| if to.starts_with('?') { format!("{path}{to}") } else { to }));
        answers.insert(asked, answer);
    }
    answers
}

/// The addresses of this site that a page holds, without what follows `#`.
fn addresses(html: &str) -> BTreeSet<String> {
    let attributes = ["href=\"", "src=\"", "action=\"", "data-live=\""];
    let values = attributes.into_iter().flat_map(|attribute| html.split(attribute).skip(1));
    let values = values.filter_map(|rest| rest.split('"').next());
    let plain = |value: &str| value.split('#').next().unwrap_or_default().replace("&amp;", "&");
    values
        .map(|value| plain(&value.replace("&#38;", "&")))
        .filter(|to| (to.starts_with('/') && !to.starts_with("//")) || to.starts_with('?'))
        .collect()
}
