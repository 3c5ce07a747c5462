//! No key, flag or variable without a test that shows what it does.
//!
//! The keys are those the program names when it meets one it does not know, the flags those of
//! its help, the variables those its source mentions. A new one fails here until the table names
//! its test; so does one that was removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pretty_assertions::assert_eq;

use crate::sandbox::Sandbox;
use crate::settings::layers::VARIABLES;
use crate::settings::tables::{FLAGS, GLOBAL, KEYS, NO_SETTINGS};

/// No key looks like it, so that all are named where it is met.
const NO_KEY: &str = "qqqq";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Every key of the configuration file, as the program itself knows them.
pub(crate) fn keys() -> &'static [String] {
    static KNOWN: OnceLock<Vec<String>> = OnceLock::new();
    KNOWN.get_or_init(ask_for_keys)
}

fn ask_for_keys() -> Vec<String> {
    let sandbox = Sandbox::new();
    let known_after = |text: String| -> Option<Vec<String>> {
        sandbox.write("ralphtool.toml", &text);
        let said = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(2).stderr;
        let (_, names) = said.split_once("known keys: ")?;
        let names = names.lines().next().unwrap_or_default();
        Some(names.split(", ").map(str::to_owned).collect())
    };
    let mut keys = Vec::new();
    for top in known_after(format!("{NO_KEY} = 1\n")).unwrap() {
        // A table, tables of the user's own names, a list of tables, or a plain value.
        let ways = [
            (format!("[{top}]\n"), format!("{top}.")),
            (format!("[{top}.{NO_KEY}]\n"), format!("{top}.NAME.")),
            (format!("[[{top}]]\n"), format!("{top}.")),
        ];
        let found = ways.into_iter().find_map(|(header, prefix)| {
            let names = known_after(format!("{header}{NO_KEY} = 1\n"))?;
            Some(names.into_iter().map(move |name| format!("{prefix}{name}")))
        });
        match found {
            Some(inner) => keys.extend(inner),
            None => keys.push(top),
        }
    }
    keys
}

/// Every command with the flags its help names.
fn commands_and_flags() -> Vec<(String, Vec<String>)> {
    let sandbox = Sandbox::bare_folder();
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(command) = open.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = sandbox.run(&words).ends_with(0).stdout;
        let inner = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in inner.take_while(|line| !line.is_empty()) {
            // A description that continues on the next line is indented further.
            if let Some(name) = line.strip_prefix("  ").filter(|it| !it.starts_with(' ')) {
                let name = name.split(' ').next().unwrap();
                open.push(format!("{command} {name}").trim().to_owned());
            }
        }
        let flags = help
            .lines()
            .filter(|line| line.trim_start().starts_with('-'));
        // A value is listed as `- auto: …`.
        let flags = flags.filter(|line| !line.trim_start().starts_with("- "));
        let names = flags.flat_map(|line| {
            let words = line
                .split_whitespace()
                .map(|word| word.trim_end_matches(','));
            words
                .take_while(|word| word.starts_with('-'))
                .map(str::to_owned)
        });
        found.push((command.clone(), names.collect()));
    }
    found
}

/// Checks that a test of this name is there, is run, and mentions what it is to be about.
#[track_caller]
fn is_about(test: &str, what: &str, words: &[String]) {
    let (file, name) = test.split_once("::").unwrap();
    let path = root()
        .join("crates/ralphtool/tests/program")
        .join(format!("{file}.rs"));
    let source =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{what}: {file}: {error}"));
    let Some((before, _)) = source.split_once(&format!("\nfn {name}() {{")) else {
        panic!("{what}: there is no test `{name}` in tests/program/{file}.rs");
    };
    let attributes = before.rsplit("\n\n").next().unwrap();
    let is_run = attributes.contains("#[test]") && !attributes.contains("#[ignore");
    assert!(
        is_run,
        "{what}: `{name}` in tests/program/{file}.rs is not run"
    );
    let is_mentioned = words.iter().any(|word| source.contains(word));
    assert!(
        is_mentioned,
        "{what}: tests/program/{file}.rs does not mention it"
    );
}

/// Checks that two lists have the same members.
#[track_caller]
fn same(known: impl IntoIterator<Item = String>, listed: &[&str], what: &str) {
    let known: BTreeSet<String> = known.into_iter().collect();
    let unique: BTreeSet<String> = listed.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(unique.len(), listed.len(), "{what}: one is listed twice");
    let missing: Vec<&String> = known.difference(&unique).collect();
    assert!(
        missing.is_empty(),
        "{what}: no test is named for {missing:?}"
    );
    let gone: Vec<&String> = unique.difference(&known).collect();
    assert!(
        gone.is_empty(),
        "{what}: there is no such thing as {gone:?}"
    );
}

#[test]
fn each_key_has_a_test() {
    let listed: Vec<&str> = KEYS.iter().map(|it| it.0).collect();
    same(keys().to_vec(), &listed, "keys");
    for (key, test) in KEYS {
        let name = key.rsplit('.').next().unwrap();
        is_about(test, key, &[format!("{name} ="), format!("\"{name}\"")]);
    }
}

#[test]
fn each_flag_has_a_test() {
    let found = commands_and_flags();
    let listed: Vec<&str> = FLAGS.iter().map(|it| it.0).collect();
    same(found.iter().map(|it| it.0.clone()), &listed, "commands");
    for (command, flags) in FLAGS {
        let (_, known) = found.iter().find(|it| it.0 == *command).unwrap();
        let listed: Vec<&str> = GLOBAL.iter().chain(*flags).map(|it| it.0).collect();
        same(
            known.iter().cloned(),
            &listed,
            &format!("`ralphtool {command}`"),
        );
        for (flag, test) in GLOBAL.iter().chain(*flags) {
            let what = format!("{command} {flag}");
            is_about(test, &what, &[format!("\"{flag}\""), format!("\"{flag}=")]);
        }
    }
}

#[test]
fn each_variable_has_a_test() {
    let mut mentioned = BTreeSet::new();
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let folders = crates.map(|it| it.unwrap().path().join("src"));
    for file in folders.flat_map(|folder| sources(&folder)) {
        let text = fs::read_to_string(file).unwrap();
        let words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        let ours = words.filter(|word| word.len() > "RALPHTOOL_".len());
        mentioned.extend(
            ours.filter(|it| it.starts_with("RALPHTOOL_"))
                .map(str::to_owned),
        );
    }
    let settings = VARIABLES.iter().map(|it| it.0);
    let others = ["RALPHTOOL_CONFIG", "RALPHTOOL_ISOLATE", "RALPHTOOL_TRUST"];
    let settings = settings.chain(others);
    let listed: Vec<&str> = settings.chain(NO_SETTINGS.iter().copied()).collect();
    same(mentioned, &listed, "variables");
    let once = "trust::a_flag_or_a_variable_allows_it_once";
    is_about(once, "RALPHTOOL_TRUST", &["\"RALPHTOOL_TRUST\"".to_owned()]);
    let test = "settings/layers::a_later_layer_wins_and_a_file_asked_for_replaces_both_others";
    is_about(
        test,
        "RALPHTOOL_CONFIG",
        &["\"RALPHTOOL_CONFIG\"".to_owned()],
    );
}

/// The files of the program itself, without its tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|it| it == "rs") && name != "tests" {
            found.push(path);
        }
    }
    found
}
