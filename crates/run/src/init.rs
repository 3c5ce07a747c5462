//! What a repository is made of, as far as its tests are concerned: which commands check it.
//!
//! Nothing is run and nothing is looked at here. Commands are proposed only where the repository
//! shows that it uses them: a manifest, a lock file, a script, a target, a configuration.

mod compiled;
mod node;
mod python;
mod runners;
mod scripted;
pub mod survey;
#[cfg(test)]
mod tests;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};

/// The files whose content says something; the others say it with their name.
pub const READ: &[&str] = &[
    "Cargo.toml",
    "package.json",
    "deno.json",
    "deno.jsonc",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
    "Pipfile",
    "mypy.ini",
    "GNUmakefile",
    "makefile",
    "Makefile",
    "justfile",
    "Justfile",
    ".justfile",
    "Taskfile.yml",
    "Taskfile.yaml",
    "CMakeLists.txt",
    "Gemfile",
    "Rakefile",
    "composer.json",
    "pubspec.yaml",
];

/// Folders that hold what others made, or what is not the project's own.
pub const PASSED_OVER: &[&str] = &[
    "node_modules",
    "target",
    "vendor",
    "third_party",
    "dist",
    "build",
    "out",
    "venv",
    "env",
    "deps",
    "testdata",
    "fixtures",
    "examples",
    "example",
    "fuzz",
    "openspec",
    "specs",
    "docs",
];

/// One folder of a repository, as it was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// Seen from the top folder; empty for the top folder itself.
    pub path: String,
    /// Names of its files, and of its folders with a `/` at the end.
    pub entries: BTreeSet<String>,
    /// The content of those files that are read.
    pub contents: BTreeMap<String, String>,
}

impl Folder {
    fn has(&self, name: &str) -> bool {
        self.entries.contains(name)
    }

    fn first_of<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().find(|name| self.has(name)).copied()
    }

    fn has_ending(&self, ending: &str) -> Option<&str> {
        let found = self.entries.iter().find(|name| name.ends_with(ending));
        found.map(String::as_str)
    }

    fn content(&self, name: &str) -> &str {
        self.contents.get(name).map_or("", String::as_str)
    }

    fn says(&self, name: &str, text: &str) -> bool {
        self.content(name).contains(text)
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
    /// The folder it belongs to.
    folder: String,
    /// What it checks.
    kind: Kind,
    /// Which family of tools it is of.
    tool: &'static str,
    /// The shell line, in its folder.
    run: String,
    /// The file that tells of it.
    because: String,
    /// The program that must be installed; none where it is part of the repository.
    pub program: Option<String>,
    /// It is the project's own entry point, which usually calls the tools below it.
    is_runner: bool,
    /// Why it is better not run as it is.
    doubt: Option<String>,
}

/// A gate that is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// What it is called.
    pub name: String,
    /// The shell line, in the top folder.
    pub run: String,
    /// The file that tells of it, seen from the top folder.
    pub because: String,
    /// Why it is written as a comment only; none where it is active.
    pub inactive: Option<String>,
}

/// Collects the commands of one folder.
struct Finds<'a> {
    folder: &'a Folder,
    found: Vec<Candidate>,
}

impl Finds<'_> {
    /// Notes a command of a tool that has to be installed.
    fn add(&mut self, tool: &'static str, kind: Kind, run: &str, because: &str) {
        let program = run.split(' ').next().unwrap_or_default();
        let is_own = program.contains('/');
        self.found.push(Candidate {
            folder: self.folder.path.clone(),
            kind,
            tool,
            run: run.to_owned(),
            because: because.to_owned(),
            program: (!is_own).then(|| program.to_owned()),
            is_runner: false,
            doubt: None,
        });
    }

    /// The command noted last.
    fn last(&mut self) -> Option<&mut Candidate> {
        self.found.last_mut()
    }
}

/// The commands of all folders, the top folder first.
pub fn candidates(folders: &[Folder]) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for folder in folders {
        let mut finds = Finds {
            folder,
            found: Vec::new(),
        };
        runners::find(&mut finds);
        compiled::find(&mut finds);
        node::find(&mut finds);
        python::find(&mut finds);
        scripted::find(&mut finds);
        let is_of_top = |it: &Candidate| {
            let same = |top: &&Candidate| top.folder.is_empty() && top.tool == it.tool;
            all.iter().find(same).is_some()
        };
        // The tool of the top folder takes care of the folders below it.
        let own: Vec<Candidate> = finds
            .found
            .into_iter()
            .filter(|it| it.folder.is_empty() || !is_of_top(it))
            .collect();
        all.extend(own);
    }
    all
}

/// Decides which of them are gates; `installed` are the programs that are there.
pub fn decide(candidates: &[Candidate], installed: &BTreeSet<String>) -> Vec<Proposal> {
    let reasons: Vec<Option<String>> = candidates
        .iter()
        .map(|it| {
            it.doubt
                .clone()
                .or_else(|| missing(it, installed))
                .or_else(|| covered(it, candidates, installed))
        })
        .collect();
    let mut proposals: Vec<Proposal> = Vec::new();
    for (candidate, inactive) in candidates.iter().zip(reasons) {
        let name = name_of(candidate, candidates);
        let place = match candidate.folder.as_str() {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        proposals.push(Proposal {
            name: unused(name, &proposals),
            run: match candidate.folder.as_str() {
                "" => candidate.run.clone(),
                folder => format!("cd {folder} && {}", candidate.run),
            },
            because: format!("{place}{}", candidate.because),
            inactive,
        });
    }
    proposals
}

fn missing(candidate: &Candidate, installed: &BTreeSet<String>) -> Option<String> {
    let program = candidate.program.as_ref()?;
    (!installed.contains(program)).then(|| format!("`{program}` was not found in PATH"))
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

fn unused(name: String, taken: &[Proposal]) -> String {
    let is_taken = |name: &str| taken.iter().any(|it| it.name == name);
    if !is_taken(&name) {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name} {number}"));
    numbered
        .into_iter()
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}
