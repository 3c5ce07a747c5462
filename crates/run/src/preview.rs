//! What a user should know before a run is started: what keeps it from starting, and what it does
//! with files that are changed.

pub mod forecast;
pub mod gather;

use crate::engine::prepare::refuse_template;
use crate::failure::{Failure, chain};
use crate::words::uncommitted;
use ralph_base::size::SizeLimit;
use ralph_plan::change::{Change, StoryState};
use ralph_vault::git::status::TreeState;
use ralph_vault::tree::guard::{Guard, guard};

/// How many files are named.
const NAMED: usize = 5;

/// Something to know before a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub weight: Weight,
    pub text: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How much something matters, what matters most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A run would refuse to start.
    Stops,
    /// A run would start, but the user should check this.
    Warns,
    /// It is as it should be, and good to know.
    Tells,
}

impl Remark {
    /// Something that keeps a run from starting.
    pub fn stops(text: impl Into<String>) -> Self {
        Self::new(Weight::Stops, text)
    }

    /// Something the user should check.
    pub fn warns(text: impl Into<String>) -> Self {
        Self::new(Weight::Warns, text)
    }

    /// Something that is good to know.
    pub fn tells(text: impl Into<String>) -> Self {
        Self::new(Weight::Tells, text)
    }

    fn new(weight: Weight, text: impl Into<String>) -> Self {
        Self {
            weight,
            text: text.into(),
            hint: None,
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// What stays out of commits although git does not ignore it.
pub(crate) fn about_guarded(tree: &TreeState, largest_file: SizeLimit) -> Vec<Remark> {
    let mut secrets = Vec::new();
    let mut large = Vec::new();
    for (path, size) in &tree.untracked {
        match guard(path, *size, largest_file) {
            Some(Guard::Secret) => secrets.push(path.as_slice()),
            Some(Guard::Large) => large.push(path.as_slice()),
            None => {}
        }
    }
    let mut remarks = Vec::new();
    for (paths, why, hint) in [
        (
            secrets,
            "their names look like secrets".to_owned(),
            "the agent can read them; add them to `.gitignore` if they belong here",
        ),
        (
            large,
            format!("they are larger than {largest_file}"),
            "add them to `.gitignore`, or set `largest_file`",
        ),
    ] {
        if !paths.is_empty() {
            let text = format!("not committed, for {why}: {}", named(&paths));
            remarks.push(Remark::warns(text).hint(hint));
        }
    }
    remarks
}

/// What a new run does with the tree it finds.
pub(crate) fn about_dirty(tree: &TreeState) -> Option<Remark> {
    let files = uncommitted(tree)?;
    Some(Remark::tells(format!(
        "uncommitted: {files}; a commit on the branch will have them, and only cleanup and abandon \
         make them uncommitted again"
    )))
}

fn named(paths: &[&[u8]]) -> String {
    let mut names: Vec<String> = paths
        .iter()
        .take(NAMED)
        .map(|path| format!("`{}`", String::from_utf8_lossy(path)))
        .collect();
    if paths.len() > NAMED {
        names.push(format!("and {} more", paths.len() - NAMED));
    }
    names.join(", ")
}

/// A failure of the start.
pub(crate) fn failed(failure: &Failure) -> Remark {
    let hints = failure.hints();
    Remark {
        hint: (!hints.is_empty()).then(|| hints.join("; ")),
        ..Remark::stops(chain(failure))
    }
}

/// What a change itself has to say.
pub(crate) fn about_change(change: &Change) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let tally = change.story_tally();
    let is_open = |state: StoryState| state == StoryState::Open;
    if change.task_tally().total == 0 {
        remarks.push(
            Remark::stops(format!("`{}` has no tasks", change.name))
                .hint("a task is a line such as `- [ ] 1.1 Add the retry`"),
        );
    } else if !change.stories.iter().any(|story| is_open(story.state)) {
        remarks.push(Remark::stops(format!(
            "nothing is left to do in `{}`: stories done: {} of {}",
            change.name, tally.done, tally.total
        )));
    }
    let unwritten = refuse_template(change, None).err();
    remarks.extend(unwritten.map(|failure| failed(&failure)));
    let warnings = change.warnings.iter();
    remarks.extend(warnings.map(|it| Remark::warns(it.message.clone())));
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn tree(staged: usize, changed: usize, untracked: &[(&str, u64)]) -> Vec<String> {
        let untracked = untracked.iter();
        let state = TreeState {
            staged,
            changed,
            untracked: untracked
                .map(|(path, size)| (path.as_bytes().to_vec(), *size))
                .collect(),
        };
        let guarded = about_guarded(&state, SizeLimit::bytes(1000));
        about_dirty(&state)
            .into_iter()
            .chain(guarded)
            .map(|it| format!("{:?}: {}", it.weight, it.text))
            .collect()
    }

    const THEN: &str = "a commit on the branch will have them, and only cleanup and abandon \
        make them uncommitted again";

    #[test]
    fn the_tree_is_summarized_in_a_line() {
        assert_eq!(tree(0, 0, &[]), Vec::<String>::new());
        assert_eq!(
            tree(0, 1, &[]),
            [format!("Tells: uncommitted: 1 changed file; {THEN}")]
        );
        assert_eq!(
            tree(2, 1, &[("a", 1)]),
            [format!(
                "Tells: uncommitted: 2 staged files, 1 changed file, 1 untracked file; {THEN}"
            )]
        );
    }

    #[test]
    fn what_stays_out_of_commits_is_named() {
        let keys = [
            "a.pem", "b.pem", "c.pem", "d.pem", "e.pem", "f.pem", "g.pem",
        ];
        let mut files: Vec<(&str, u64)> = keys.map(|name| (name, 10)).to_vec();
        files.push(("video", 1001));
        let remarks = tree(0, 0, &files);
        assert_eq!(
            remarks[1..],
            [
                "Warns: not committed, for their names look like secrets: `a.pem`, `b.pem`, \
                 `c.pem`, `d.pem`, `e.pem`, and 2 more",
                "Warns: not committed, for they are larger than 1kB: `video`",
            ]
        );
    }
}
