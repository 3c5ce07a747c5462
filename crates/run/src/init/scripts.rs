//! A project's own entry points: the targets of make, just and task, and the scripts of a
//! `package.json`.

use serde_json::Value;

use super::{Candidate, Folder, Kind};

/// What targets are called, the best first, and what they check.
const TARGETS: &[(Kind, &[&str])] = &[
    (Kind::Tests, &["test", "tests", "check"]),
    (Kind::Lint, &["lint"]),
    (Kind::Types, TYPES),
];
/// What scripts of a package are called; there, `check` can mean anything.
const SCRIPTS: &[(Kind, &[&str])] = &[
    (Kind::Tests, &["test"]),
    (Kind::Lint, &["lint"]),
    (Kind::Types, TYPES),
];
const TYPES: &[&str] = &["typecheck", "type-check", "check-types", "types", "tsc"];

/// A program that runs the targets of a file.
struct Runner {
    program: &'static str,
    /// What its file is called, in the order the program looks for it.
    files: &'static [&'static str],
    targets: fn(&str) -> Vec<&str>,
}

const RUNNERS: &[Runner] = &[
    Runner {
        program: "just",
        files: &["justfile", "Justfile", ".justfile"],
        targets: just_recipes,
    },
    Runner {
        program: "make",
        files: &["GNUmakefile", "makefile", "Makefile"],
        targets: make_targets,
    },
    Runner {
        program: "task",
        files: &["Taskfile.yml", "Taskfile.yaml"],
        targets: task_names,
    },
];

const PACKAGE: &str = "package.json";

/// What `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";

/// Lock files, and whose they are.
const LOCKS: &[(&str, &str)] = &[
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

/// The targets and scripts of a folder that check something.
pub(super) fn find(folder: &Folder) -> Vec<Candidate> {
    let mut found = Vec::new();
    for runner in RUNNERS {
        let Some(file) = runner.files.iter().find_map(|name| folder.entry(name)) else {
            continue;
        };
        let targets = (runner.targets)(folder.content(file));
        for (kind, names) in TARGETS {
            let Some(name) = names.iter().find(|name| targets.contains(name)) else {
                continue;
            };
            let run = format!("{} {name}", runner.program);
            found.push(Candidate {
                is_runner: true,
                ..Candidate::new(folder, runner.program, *kind, run, file)
            });
        }
    }
    found.extend(package_scripts(folder));
    found
}

/// Whether files of this name are read.
pub(super) fn reads(name: &str) -> bool {
    name == PACKAGE || RUNNERS.iter().any(|runner| runner.files.contains(&name))
}

/// The targets of a makefile.
fn make_targets(text: &str) -> Vec<&str> {
    let heads = text
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '#', '.']));
    heads
        .filter_map(|line| line.split_once(':'))
        // `name := value` and `name ::= value` are variables.
        .filter(|(_, rest)| !rest.trim_start_matches(':').starts_with('='))
        .filter(|(names, _)| !names.contains('='))
        .flat_map(|(names, _)| names.split_whitespace())
        .collect()
}

/// The recipes of a justfile that need no arguments.
fn just_recipes(text: &str) -> Vec<&str> {
    let heads = text
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '#', '[']));
    heads
        .filter_map(|line| line.split_once(':'))
        .filter(|(_, rest)| !rest.starts_with('='))
        .filter_map(|(head, _)| {
            let mut words = head.trim_start_matches('@').split_whitespace();
            let name = words.next()?;
            let is_optional = |word: &str| word.contains('=') || word.starts_with('*');
            words.all(is_optional).then_some(name)
        })
        .collect()
}

/// The tasks of a taskfile: the keys right below `tasks:`.
fn task_names(text: &str) -> Vec<&str> {
    let below = text
        .lines()
        .skip_while(|line| line.trim_end() != "tasks:")
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with([' ', '\t', '#']));
    let mut indent = None;
    below
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .filter_map(|line| {
            let depth = line.len() - line.trim_start().len();
            let first = *indent.get_or_insert(depth);
            let (name, _) = line.trim_start().split_once(':')?;
            (depth == first).then_some(name)
        })
        .collect()
}

/// The scripts of a `package.json`, run by the manager whose lock file is there.
fn package_scripts(folder: &Folder) -> Vec<Candidate> {
    let Ok(package) = serde_json::from_str::<Value>(folder.content(PACKAGE)) else {
        return Vec::new();
    };
    let manager = manager(folder, &package);
    let mut found = Vec::new();
    for (kind, names) in SCRIPTS {
        let script = |name: &str| package["scripts"][name].as_str();
        let first = names.iter().find_map(|name| Some((*name, script(name)?)));
        let Some((name, text)) = first.filter(|(_, text)| !text.contains(NO_TESTS)) else {
            continue;
        };
        // `bun test` would be the runner of bun itself, whatever the script says.
        let run = match (manager, name) {
            ("bun", _) => format!("bun run {name}"),
            (_, "test") => format!("{manager} test"),
            _ => format!("{manager} run {name}"),
        };
        // This test runner watches unless `CI` is set.
        let watches_without_ci = text.contains("react-scripts test") && !text.contains("CI=");
        let ci = if watches_without_ci { "CI=true " } else { "" };
        found.push(Candidate {
            program: Some(manager.to_owned()),
            doubt: watches(text).then_some("the script watches and would not end"),
            ..Candidate::new(folder, "node", *kind, format!("{ci}{run}"), PACKAGE)
        });
    }
    found
}

fn watches(script: &str) -> bool {
    let mut words = script.split([' ', '=']);
    words.any(|word| matches!(word, "--watch" | "--watchAll" | "watch"))
        && !script.contains("--watch=false")
        && !script.contains("--watchAll=false")
}

fn manager(folder: &Folder, package: &Value) -> &'static str {
    let named = package["packageManager"].as_str().unwrap_or("");
    let named = named.split('@').next();
    let by_name = LOCKS.iter().find(|(_, manager)| Some(*manager) == named);
    let by_lock = || LOCKS.iter().find(|(lock, _)| folder.entry(lock).is_some());
    by_name
        .or_else(by_lock)
        .map_or("npm", |(_, manager)| manager)
}
