//! What a browser calls itself, as people would: `Firefox on Linux`.
//!
//! Pure. It only helps to recognise a session; nothing is decided by it. What it does not know it leaves as it is.

/// What marks a browser, and its name. Most call themselves Chrome and Safari too, so those come last.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// What marks a system, and its name: phones before the systems that they name too.
const SYSTEMS: [(&str, &str); 8] = [
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"),
    ("BSD", "BSD"),
    ("Linux", "Linux"),
];

/// The browser and its system, or the text as it came.
pub fn words(user_agent: &str) -> String {
    let found = |marks: &[(&str, &'static str)]| {
        marks.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| *name)
    };
    match (found(&BROWSERS), found(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        _ => user_agent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_told_by_name_and_system_and_others_left_as_they_are() {
        let said = [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 \
                 Safari/537.36 Edg/141.0.0.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                 Version/18.5 Mobile/15E148 Safari/604.1",
                "Safari on an iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile \
                 Safari/537.36",
                "Chrome on Android",
            ),
            ("curl/8.14.1", "curl/8.14.1"),
            ("", ""),
        ];
        for (user_agent, expected) in said {
            assert_eq!(words(user_agent), expected);
        }
    }
}
