//! Task files outside of the work tree, which no checkpoint reaches: when everything is moved back
//! to an earlier moment they go along, from what the attempts kept of them.
//!
//! Each move has a folder of its own with how they were before it and how they are to be after, so
//! that a move can be resumed and taken back.

use std::path::{Path, PathBuf};

use super::chain;
use super::start::OUTSIDE_FOLDER;
use crate::failure::Failure;
use ralph_base::ids::{AttemptId, RunId, StoryId};
use ralph_plan::source::{self, SourceError};
use ralph_vault::journal::steps::{Line, MoveKind, Step};
use ralph_vault::{PreparedFinish, Vault};

/// Keeps the task files before the open run is abandoned; returns where they go afterwards, if
/// there are any.
pub(crate) fn keep_for_abandon(
    vault: &Vault,
    prepared: &PreparedFinish,
) -> Result<Option<Displaced>, Failure> {
    let (Some(open), Some(id)) = (vault.open_run(), prepared.move_id()) else {
        return Ok(None);
    };
    let lines = vault.journal_lines();
    let lines =
        lines.map_err(|error| Failure::system("could not read the journal").because(error))?;
    let Some(wanted) = before_run(vault, &lines, &open.run) else {
        return Ok(None);
    };
    let run_folder = vault.run_folder(&open.run);
    keep(&run_folder, id, &wanted)?;
    Ok(Some(Displaced {
        run_folder,
        move_id: id.to_owned(),
    }))
}

/// Task files that are kept for a move and not put where it leads yet.
pub(crate) struct Displaced {
    run_folder: PathBuf,
    move_id: String,
}

impl Displaced {
    /// Puts them where the move leads.
    pub(crate) fn put(&self) -> Result<(), Failure> {
        put(&self.run_folder, &self.move_id)
    }
}

/// Where task files are kept as they were before the last run: to abandon one that was started over
/// leads to where everything was before that.
pub(crate) fn before_run(vault: &Vault, lines: &[Line], run: &RunId) -> Option<PathBuf> {
    match vault.before_start_over() {
        Some(earlier) => Some(before(&vault.run_folder(&earlier.run), &earlier.snapshot)),
        None => at_start(vault, lines, run, None),
    }
}

/// Where task files are kept as they were when a story, or the run, was begun.
pub(crate) fn at_start(
    checkpoints: &Vault,
    lines: &[Line],
    run: &RunId,
    story: Option<&StoryId>,
) -> Option<PathBuf> {
    let first = first_attempt(lines, run, story)?;
    Some(checkpoints.attempt_folder(run, first).join(OUTSIDE_FOLDER))
}

/// The first attempt of a story since the last rewind, if there was any since; of the run where no
/// story is named.
fn first_attempt<'a>(
    lines: &'a [Line],
    run: &RunId,
    story: Option<&StoryId>,
) -> Option<&'a AttemptId> {
    let mut first = None;
    let mut rewound = false;
    for line in lines.iter().filter(|line| line.run == *run) {
        match &line.step {
            Step::MoveIntent { intent } => {
                rewound |= story.is_some() && matches!(intent.kind, MoveKind::Rewind { .. });
            }
            Step::AttemptStarted { attempt, .. }
                if story.is_none_or(|story| *story == attempt.story)
                    && (first.is_none() || rewound) =>
            {
                first = Some(attempt);
                rewound = false;
            }
            _ => {}
        }
    }
    first
}

/// Where the task files of a move are kept, as they were before it.
pub(crate) fn before(run_folder: &Path, move_id: &str) -> PathBuf {
    of_move(run_folder, move_id).join("before")
}

/// Keeps what a move will displace, and what it will put there.
pub(crate) fn keep(run_folder: &Path, move_id: &str, wanted: &Path) -> Result<(), Failure> {
    source::keep_outside_again(
        wanted,
        &before(run_folder, move_id),
        &after(run_folder, move_id),
    )
    .map_err(|error| failed(&error))
}

/// Puts the task files of a move where it leads.
pub(crate) fn put(run_folder: &Path, move_id: &str) -> Result<(), Failure> {
    source::restore_outside(&after(run_folder, move_id)).map_err(|error| failed(&error))
}

fn after(run_folder: &Path, move_id: &str) -> PathBuf {
    of_move(run_folder, move_id).join("after")
}

fn of_move(run_folder: &Path, move_id: &str) -> PathBuf {
    run_folder.join("moves").join(move_id)
}

fn failed(error: &SourceError) -> Failure {
    Failure::system(format!("could not restore the task file: {}", chain(error)))
        .hint("no work was lost: the saved copy is in the vault")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ralph_base::ids::AttemptNumber;
    use ralph_vault::git::object_id::ObjectId;
    use ralph_vault::git::repository::Head;
    use ralph_vault::journal::steps::MoveIntent;

    fn started(story: &str, attempt: u32) -> Step {
        Step::AttemptStarted {
            attempt: AttemptId {
                story: StoryId(story.to_owned()),
                attempt: AttemptNumber(attempt),
            },
            retries_used: 0,
        }
    }

    fn rewound() -> Step {
        let commit = ObjectId::parse(&[b'a'; 40]).unwrap();
        Step::MoveIntent {
            intent: Box::new(MoveIntent {
                kind: MoveKind::Rewind {
                    story: "1".to_owned(),
                    left: 0,
                },
                before: "b".to_owned(),
                after: "a".to_owned(),
                refs: Vec::new(),
                head_from: Head::Detached { commit },
                head_to: Head::Detached { commit },
                with_control: true,
            }),
        }
    }

    #[test]
    fn a_story_begins_with_its_first_attempt_since_the_last_rewind() {
        let run = RunId("r".to_owned());
        let line = |step| Line {
            run: run.clone(),
            at: jiff::Timestamp::UNIX_EPOCH,
            uptime: None,
            step,
        };
        let mut lines: Vec<Line> = [started("1", 1), started("2", 1), started("2", 2)]
            .into_iter()
            .map(line)
            .collect();
        let first = |lines: &[Line], story: Option<&str>| {
            let story = story.map(|story| StoryId(story.to_owned()));
            first_attempt(lines, &run, story.as_ref()).map(ToString::to_string)
        };
        assert_eq!(first(&lines, Some("2")).as_deref(), Some("2.1"));
        assert_eq!(first(&lines, Some("3")), None);
        lines.push(line(rewound()));
        assert_eq!(first(&lines, Some("2")).as_deref(), Some("2.1"));
        lines.extend([started("1", 2), started("2", 3), started("2", 4)].map(line));
        assert_eq!(first(&lines, Some("2")).as_deref(), Some("2.3"));
        assert_eq!(first(&lines, None).as_deref(), Some("1.1"));
    }
}
