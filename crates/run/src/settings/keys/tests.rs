#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::fmt::Write as _;

use pretty_assertions::assert_eq;

use super::*;
use crate::settings::file;
use crate::settings::value::Kind;

/// A file with that key and value, and with what else its table needs.
fn file_with(table: &KeyTable, key: &KeyInfo, value: &str) -> String {
    let mut text = format!("{}\n{} = {value}\n", table.header, key.name);
    let given = [key.name];
    let mut add = |name: &str, value: &str| {
        if !given.contains(&name) {
            let _ = writeln!(text, "{name} = {value}");
        }
    };
    match table.header {
        "[[gate]]" => add("run", "\"true\""),
        "[prices.my-model]" => {
            add("input", "1");
            add("output", "2");
        }
        "[escalate]" => {
            add("after", "2");
            add("model", "\"m\"");
        }
        "[[story]]" => {
            add("id", "\"1\"");
            add("model", "\"m\"");
        }
        "[agents.mine]" if key.name == "wrap" => add("like", "\"claude\""),
        "[agents.mine]" if key.name == "resume" => add("command", "[\"x\", \"{session}\"]"),
        "[agents.mine]" if key.name != "like" => add("command", "[\"x\"]"),
        _ => {}
    }
    text
}

#[test]
fn the_reader_takes_what_is_shown_of_each_key() {
    for table in &TABLES {
        for key in table.keys {
            let text = file_with(table, key, &key.without.value());
            let read = file::parse("ralphtool.toml", &text);
            assert_eq!(read.map(|_| ()), Ok(()), "{text}");
        }
        let text = format!("{}\n{}\n", table.header, table.example.unwrap_or_default());
        let read = file::parse("ralphtool.toml", &text);
        let is_whole = table.header != "[[gate]]";
        assert_eq!(read.is_ok(), is_whole, "{text}: {read:?}");
    }
}

/// What the reader says it expected instead of a date.
const fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::OneOf(_) | Kind::Agents => "a string",
        Kind::Count => "a whole number",
        Kind::Flag => "`true` or `false`",
        Kind::Duration => "a duration such as \"15m\"",
        Kind::Size => "a size such as \"50MB\"",
        Kind::Money => "an amount such as 2.50",
        Kind::Tokens => "a number such as 500_000",
        Kind::Command => "an array of strings",
        Kind::Paths => "an array of paths",
        Kind::Patterns => "an array of patterns",
        Kind::SomeOf(_) => "an array such as [\"finished\"]",
        Kind::Environment => "a table",
    }
}

#[test]
fn each_key_is_of_the_kind_that_is_documented() {
    for table in &TABLES {
        for key in table.keys {
            let text = file_with(table, key, "2026-01-01");
            let problem = file::parse("ralphtool.toml", &text).unwrap_err();
            let want = format!("expected {}, found datetime", expected(key.kind));
            assert_eq!(problem.message, want, "{text}");
            if let Kind::OneOf(names) = key.kind {
                let text = file_with(table, key, "\"qqqqqq\"");
                let problem = file::parse("ralphtool.toml", &text).unwrap_err();
                let known = Kind::OneOf(names).words();
                let want = format!("`qqqqqq` is not {known}");
                assert_eq!(problem.message, want, "{text}");
            }
        }
    }
}

/// `UPDATE_DOCS=1 cargo test configuration` writes it again.
#[test]
fn the_page_on_configuration_is_up_to_date() {
    let path = format!(
        "{}/docs/configuration.md",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../..")
    );
    let page = std::fs::read_to_string(&path).unwrap();
    let (start, end) = (
        "<!-- The part below is written by `UPDATE_DOCS=1 cargo test configuration`. -->\n",
        "<!-- The part above is written by a test. -->\n",
    );
    let (before, rest) = page.split_once(start).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let want = format!("{before}{start}{}\n{end}{after}", tables());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, want).unwrap();
        return;
    }
    assert_eq!(
        page, want,
        "docs/configuration.md is out of date: run `UPDATE_DOCS=1 cargo test configuration`"
    );
}

/// The tables of keys, as Markdown.
fn tables() -> String {
    TABLES.iter().map(part).collect()
}

fn part(table: &KeyTable) -> String {
    let title = match table.header {
        "" => "The top of the file".to_owned(),
        header => format!("`{header}`"),
    };
    let about = table.about.replace('\n', " ");
    let mut text = format!("\n### {title}\n\n{about}\n");
    if let Some(example) = table.example {
        let _ = writeln!(text, "\n```toml\n{}\n{example}\n```", table.header);
    }
    text.push_str("\n| key | takes | without it | variable | flag | |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for key in table.keys {
        let code = |name: Option<&str>| name.map_or(String::new(), |name| format!("`{name}`"));
        let cells = [
            code(Some(key.name)),
            key.kind.words(),
            key.without.words(),
            code(key.variable),
            code(key.flag),
            about_with_trust(key),
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// What a key is for, and that it has to be allowed.
fn about_with_trust(key: &KeyInfo) -> String {
    let about = key.about.replace('\n', " ");
    let about = about.replace("; this is an example.", ".");
    match key.asks {
        None => about,
        Some(_) => format!("{about} [Needs a permission](safety.md#trust)."),
    }
}

#[test]
fn what_starts_something_or_sets_a_variable_needs_a_permission() {
    for key in TABLES.iter().flat_map(|table| table.keys) {
        let is_free = key.asks.is_none();
        let is_dangerous = matches!(key.kind, Kind::Command | Kind::Environment);
        assert!(!(is_free && is_dangerous), "{}", key.name);
    }
}

#[test]
fn the_reader_takes_every_example_of_the_guide() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let pages = std::fs::read_dir(format!("{root}/docs")).unwrap();
    let mut pages: Vec<_> = pages.map(|page| page.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|it| it == "md"));
    pages.push(format!("{root}/README.md").into());
    let mut found = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let read = file::parse("ralphtool.toml", block);
            assert_eq!(read.map(|_| ()), Ok(()), "{}:\n{block}", page.display());
            found += 1;
        }
    }
    assert!(found > 10, "{found} examples");
}
