//! A project's own entry points: make, just and task.

use super::{Finds, Folder, Kind};

/// What targets are called, the best first, and what they check.
const TARGETS: &[(Kind, &[&str])] = &[
    (Kind::Tests, &["test", "tests", "check"]),
    (Kind::Lint, &["lint"]),
    (
        Kind::Types,
        &["typecheck", "type-check", "types", "check-types"],
    ),
];

/// Notes targets that are really there.
pub(super) fn find(finds: &mut Finds<'_>) {
    let folder = finds.folder;
    let just = ["justfile", "Justfile", ".justfile"];
    let make = ["GNUmakefile", "makefile", "Makefile"];
    let task = ["Taskfile.yml", "Taskfile.yaml"];
    add(finds, "just", folder.first_of(&just), just_recipes);
    add(finds, "make", folder.first_of(&make), make_targets);
    add(finds, "task", folder.first_of(&task), task_names);
}

fn add(
    finds: &mut Finds<'_>,
    tool: &'static str,
    file: Option<&str>,
    names_in: fn(&str) -> Vec<&str>,
) {
    let Some(file) = file else {
        return;
    };
    let folder: &Folder = finds.folder;
    let names = names_in(folder.content(file));
    for (kind, wanted) in TARGETS {
        let Some(name) = wanted.iter().find(|name| names.contains(name)) else {
            continue;
        };
        finds.add(tool, *kind, &format!("{tool} {name}"), file);
        if let Some(last) = finds.last() {
            last.is_runner = true;
        }
    }
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

/// The recipes of a justfile that can be run without saying more.
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
