//! The README says what the program has.

use flatline::config::{PREFIX, TABLE};

const README: &str = include_str!("../../README.md");

#[test]
fn the_settings_table_is_the_program_s_own() {
    let written: Vec<&str> = README.lines().filter(|line| line.starts_with("| `FLATLINE_")).collect();
    let rows: Vec<String> = TABLE
        .iter()
        .map(|row| {
            let default = if row.default.is_empty() { String::new() } else { format!("`{}`", row.default) };
            format!("| `{PREFIX}{}` | {default} | {} |", row.name, row.meaning)
        })
        .collect();
    assert_eq!(written, rows);
}
