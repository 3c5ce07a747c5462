//! What a repository is made of, as far as its tests are concerned: which commands check it.
//!
//! Commands are proposed only where the repository shows that it uses them: a manifest, a lock file, a
//! script, a target, a configuration. `survey` reads the files, `trial` runs a command once.

mod rules;
mod scripts;
pub mod survey;
#[cfg(test)]
mod tests;
pub mod text;
pub mod trial;

use std::collections::{BTreeMap, BTreeSet};

/// One folder of a repository, as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// Relative to the top folder; empty for the top folder itself.
    pub path: String,
    /// Names of its files, and of its folders with a `/` at the end.
    pub entries: BTreeSet<String>,
    /// The content of those files that are read.
    pub contents: BTreeMap<String, String>,
}

impl Folder {
    /// Whether rules read files of this name; the others matter by their name alone.
    fn is_read(name: &str) -> bool {
        rules::reads(name) || scripts::reads(name)
    }

    fn entry(&self, name: &str) -> Option<&String> {
        self.entries.get(name)
    }

    fn content(&self, name: &str) -> &str {
        self.contents.get(name).map_or("", String::as_str)
    }
}

/// What a command checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Tests,
    Lint,
    Types,
    Format,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::Lint => "lint",
            Self::Types => "types",
            Self::Format => "format",
        }
    }
}

/// A command the repository shows that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    folder: String,
    kind: Kind,
    tool: &'static str,
    /// The shell line, in its folder.
    run: String,
    /// The file that shows it.
    because: String,
    /// The program that must be installed; none where it is part of the repository.
    pub program: Option<String>,
    /// It is the project's own entry point, which usually calls the tools below it.
    is_runner: bool,
    /// What does the same if the program is not installed.
    fallback: Option<Fallback>,
    /// Why it should not run as it is.
    doubt: Option<&'static str>,
}

/// Another command for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fallback {
    run: String,
    /// What must be installed; none where it is part of the repository.
    program: Option<String>,
}

impl Candidate {
    /// The programs it may need.
    fn programs(&self) -> impl Iterator<Item = &String> {
        let fallback = self.fallback.as_ref().and_then(|it| it.program.as_ref());
        self.program.iter().chain(fallback)
    }

    fn new(folder: &Folder, tool: &'static str, kind: Kind, run: String, because: &str) -> Self {
        let mut words = run.split(' ');
        let program = match (words.next(), words.next()) {
            (Some("cargo"), Some(part @ ("clippy" | "fmt"))) => Some(format!("cargo-{part}")),
            (first, _) => first.filter(|it| !it.contains('/')).map(str::to_owned),
        };
        Self {
            folder: folder.path.clone(),
            kind,
            tool,
            run,
            because: because.to_owned(),
            program,
            is_runner: false,
            fallback: None,
            doubt: None,
        }
    }
}

/// A gate that is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// What it is called.
    pub name: String,
    /// The shell line, in the top folder.
    pub run: String,
    /// The file that shows it, seen from the top folder.
    pub because: String,
    /// Why it is written as a comment only; none where it is active.
    pub inactive: Option<String>,
}

/// The commands of all folders, the top folder first.
pub fn candidates(folders: &[Folder]) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for folder in folders {
        let mut found = scripts::find(folder);
        let of_tools = rules::find(folder);
        let is_scripted = |tool: &Candidate| {
            let mut scripts = found.iter().filter(|it| it.doubt.is_none());
            scripts.any(|it| it.tool == tool.tool && it.kind == tool.kind)
        };
        let others: Vec<Candidate> = of_tools.into_iter().filter(|it| !is_scripted(it)).collect();
        found.extend(others);
        // The tool of the top folder takes care of the folders below it.
        let is_covered = |it: &Candidate| {
            let mut top = all.iter().filter(|it| it.folder.is_empty());
            top.any(|top| top.tool == it.tool)
        };
        found.retain(|it| it.folder.is_empty() || !is_covered(it));
        all.extend(found);
    }
    all
}

/// Decides which of them are gates; `installed` are the programs that are there.
pub fn decide(candidates: &[Candidate], installed: &BTreeSet<String>) -> Vec<Proposal> {
    let mut proposals: Vec<Proposal> = Vec::new();
    for candidate in candidates {
        let name = name_of(candidate, candidates);
        let (change_folder, place) = match candidate.folder.as_str() {
            "" => (String::new(), String::new()),
            folder => (format!("cd {folder} && "), format!("{folder}/")),
        };
        let doubt = candidate.doubt.map(str::to_owned);
        proposals.push(Proposal {
            name: unused(name, &proposals),
            run: format!("{change_folder}{}", usable(candidate, installed)),
            because: format!("{place}{}", candidate.because),
            inactive: doubt
                .or_else(|| missing(candidate, installed))
                .or_else(|| covered(candidate, candidates, installed)),
        });
    }
    proposals
}

/// The shell line, or that of the fallback if only that can run.
fn usable<'a>(candidate: &'a Candidate, installed: &BTreeSet<String>) -> &'a str {
    let has = |program: &Option<String>| program.as_ref().is_none_or(|it| installed.contains(it));
    match &candidate.fallback {
        Some(fallback) if !has(&candidate.program) && has(&fallback.program) => &fallback.run,
        _ => &candidate.run,
    }
}

fn missing(candidate: &Candidate, installed: &BTreeSet<String>) -> Option<String> {
    let program = candidate.program.as_ref()?;
    let is_there = installed.contains(program) || usable(candidate, installed) != candidate.run;
    (!is_there).then(|| format!("`{program}` was not found in PATH"))
}

/// The project's own entry point that does the same already.
fn covered(
    candidate: &Candidate,
    all: &[Candidate],
    installed: &BTreeSet<String>,
) -> Option<String> {
    let covers = |it: &&Candidate| {
        let is_usable = it.doubt.is_none() && missing(it, installed).is_none();
        let is_above = it.folder.is_empty() || it.folder == candidate.folder;
        it.is_runner && is_usable && is_above && it.kind == candidate.kind
    };
    let first = all.iter().find(covers)?;
    let is_itself = std::ptr::eq(first, candidate);
    (!is_itself).then(|| format!("`{}` is run already, and usually does this", first.run))
}

/// What is checked; with the folder and the tool where that alone would not tell.
fn name_of(candidate: &Candidate, all: &[Candidate]) -> String {
    let kind = candidate.kind.name();
    let same = |it: &&Candidate| it.folder == candidate.folder && it.kind == candidate.kind;
    let name = match all.iter().filter(same).count() {
        1 => kind.to_owned(),
        _ => format!("{} {kind}", candidate.tool),
    };
    match candidate.folder.as_str() {
        "" => name,
        folder => format!("{folder} {name}"),
    }
}

fn unused(name: String, proposals: &[Proposal]) -> String {
    let is_used = |name: &str| proposals.iter().any(|it| it.name == name);
    let numbered = (2..).map(|number| format!("{name} {number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !is_used(name)).unwrap_or(name)
}
