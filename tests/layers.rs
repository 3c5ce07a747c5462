//! Keeps the arrows between the layers one-way, by reading the source.
//!
//! `cli → {engine, ui, edge, domain}` · `engine → {edge, domain}` · `ui → domain` ·
//! `edge → domain` · `domain → nothing of ours`, and `domain` and `ui` never touch the world.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const LAYERS: [&str; 5] = ["cli", "domain", "edge", "engine", "ui"];

/// The production part of a file may not be longer.
const LONGEST_FILE: usize = 500;

/// A layer, the layers it may use, and what of the outside it may not.
struct Rule {
    layer: &'static str,
    may_use: &'static [&'static str],
    never: &'static [&'static str],
}

const RULES: [Rule; 4] = [
    Rule {
        layer: "domain",
        may_use: &["domain"],
        never: &[
            "std::fs",
            "std::process",
            "std::env",
            "std::net",
            "std::thread",
            "tokio",
            "rustix",
            "tempfile",
            "Timestamp::now",
            "Instant::now",
            "SystemTime::now",
            "crate::failure",
        ],
    },
    Rule {
        layer: "ui",
        may_use: &["ui", "domain"],
        never: &[
            "std::fs",
            "std::process",
            "std::env",
            "std::net",
            "tokio",
            "rustix",
            "Timestamp::now",
            "Instant::now",
            "SystemTime::now",
            "crate::failure",
        ],
    },
    Rule {
        layer: "edge",
        may_use: &["edge", "domain"],
        never: &[],
    },
    Rule {
        layer: "engine",
        may_use: &["engine", "edge", "domain"],
        never: &[],
    },
];

#[test]
fn every_layer_uses_only_the_layers_below_it() {
    let mut wrong = Vec::new();
    for rule in &RULES {
        for file in files_of(rule.layer) {
            let used = names_used(&production(&file));
            for other in LAYERS {
                if used.contains(&format!("crate::{other}")) && !rule.may_use.contains(&other) {
                    wrong.push(format!("{} uses crate::{other}", name(&file)));
                }
            }
            for never in rule.never {
                if used.contains(*never) {
                    wrong.push(format!("{} uses {never}", name(&file)));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = source_files()
        .iter()
        .map(|file| (name(file), production(file).lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(name, lines)| format!("{name} has {lines} lines"))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<String> = source_files()
        .iter()
        .filter(|file| !read(file).starts_with("//! "))
        .map(|file| name(file))
        .collect();
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn the_reader_sees_through_groups() {
    let used = names_used(
        "use crate::{edge::{git, os}, ui};\nuse std::{fmt, fs as files};\ntokio::spawn(x)",
    );
    for want in ["crate::edge", "crate::ui", "std::fmt", "std::fs", "tokio"] {
        assert!(used.contains(want), "{want} is not in {used:?}");
    }
    assert!(!used.contains("crate::git"));
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn name(file: &Path) -> String {
    let short = file.strip_prefix(source()).unwrap_or(file);
    short.display().to_string()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

/// All source files, test-only ones excepted.
fn source_files() -> Vec<PathBuf> {
    let mut folders = vec![source()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") && !is_test(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// A file that its parent, or the file it tests, declares below `#[cfg(test)]`.
fn is_test(file: &Path) -> bool {
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let folder = file.parent().unwrap();
    if let Some(tested) = stem.strip_suffix("_tests") {
        let sibling = folder.join(format!("{tested}.rs"));
        let declared = format!("#[cfg(test)]\n#[path = \"{stem}.rs\"]\n");
        if sibling.is_file() && read(&sibling).contains(&declared) {
            return true;
        }
    }
    let declaration = format!("mod {stem};");
    let parents = [folder.with_extension("rs"), folder.join("mod.rs")];
    parents.iter().filter(|it| it.is_file()).any(|parent| {
        let text = read(parent);
        let mut lines = text.lines().map(str::trim);
        let mut under_test = false;
        lines.any(|line| {
            let found = under_test && line.ends_with(&declaration);
            under_test = line == "#[cfg(test)]";
            found
        })
    })
}

/// The files of a layer.
fn files_of(layer: &str) -> Vec<PathBuf> {
    let (file, folder) = (source().join(format!("{layer}.rs")), source().join(layer));
    let all = source_files().into_iter();
    all.filter(|path| *path == file || path.starts_with(&folder))
        .collect()
}

/// The text of a file without its inline tests and comments.
fn production(file: &Path) -> String {
    let text = read(file);
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let code = text[..end]
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// Every first and second segment of a path: `std::fs::read` gives `std` and `std::fs`.
fn names_used(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (at, _) in code.match_indices("::") {
        let head = last_word(&code[..at]);
        if head.is_empty() {
            continue;
        }
        used.insert(head.to_owned());
        for tail in following(&code[at + 2..]) {
            used.insert(format!("{head}::{tail}"));
        }
    }
    used
}

fn last_word(text: &str) -> &str {
    let start = text.rfind(|c: char| !is_word(c)).map_or(0, |at| {
        at + text[at..].chars().next().map_or(1, char::len_utf8)
    });
    &text[start..]
}

/// The word that follows, or the first words of the group that follows.
fn following(text: &str) -> Vec<&str> {
    let Some(group) = text.strip_prefix('{') else {
        return vec![first_word(text)];
    };
    let mut depth = 0_usize;
    let mut words = vec![first_word(group.trim_start())];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => words.push(first_word(group[at + 1..].trim_start())),
            _ => {}
        }
    }
    words
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
