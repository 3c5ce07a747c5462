//! What can be done after a run: finish it, rewind it, restore files of a parked attempt, or undo
//! the last of these. Each is prepared first, so that the user sees what it will do.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::engine::attempts::find;
use crate::engine::gaps::{append, fill_gaps};
use crate::engine::repair::{RepairFor, repair};
use crate::engine::{REPAIR_TIMEOUT, outside};
use crate::failure::{Failure, chain};
use crate::records::event::{Event, FinishChoice, Finished};
use ralph_base::files::FileError;
use ralph_base::ids::{RunId, StoryId};
use ralph_base::shell;
use ralph_vault::Vault;
use ralph_vault::error::Notice;
use ralph_vault::journal::steps::{Line, MoveKind, Step};
use ralph_vault::{
    self as vault, AfterRecovery, BranchChange, CheckpointError, FinishReport, MessageTemplate,
    OpenRun, Outline, PreparedFinish, PreparedMove, PreparedUndo, Settled, Undone,
};

/// What an interrupted run left, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recovered {
    pub found: String,
    pub done: String,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    Finish {
        choice: FinishChoice,
    },
    /// Back to before a story.
    Rewind {
        story: String,
    },
    /// Files of a parked attempt come back: all of them, or those at a path.
    Restore {
        attempt: String,
        path: Option<String>,
        /// The run of the attempt, where a newer one has an attempt of that name.
        #[serde(skip)]
        in_run: Option<RunId>,
    },
    /// The last run was left, to start over from where it began.
    StartOver,
    /// The last of the others is reverted.
    Undo {
        of: Box<Action>,
    },
}

impl Action {
    /// The command that does it to the last run.
    fn command(&self) -> String {
        match self {
            Self::Finish { choice } => format!("ralphtool finish --{}", choice_name(*choice)),
            Self::Rewind { story } => format!("ralphtool rewind {}", word(story)),
            Self::Restore {
                attempt,
                path,
                in_run,
            } => {
                let mut words = vec!["ralphtool attempts restore".to_owned(), word(attempt)];
                words.extend(path.as_deref().map(word));
                words.extend(in_run.as_ref().map(|run| format!("--run {run}")));
                words.join(" ")
            }
            // Its own way back is an undo as well: everything is as before it.
            Self::StartOver | Self::Undo { .. } => "ralphtool undo".to_owned(),
        }
    }

    /// The command that reverts it, once it is done.
    pub fn way_back(&self) -> String {
        match self {
            Self::Undo { of } => of.command(),
            _ => "ralphtool undo".to_owned(),
        }
    }

    /// Whether it leaves HEAD where it is.
    fn keeps_head(&self) -> bool {
        match self {
            Self::Restore { .. } => true,
            Self::Undo { of } => matches!(**of, Self::Restore { .. }),
            Self::Finish { .. } | Self::Rewind { .. } | Self::StartOver => false,
        }
    }

    /// What an undo reverts; `in_run` names the run of a restored attempt where its name does not.
    fn undone(undone: &Undone, in_run: Option<RunId>) -> Self {
        match undone {
            Undone::Keep | Undone::Move(MoveKind::Undo) => Self::Finish {
                choice: FinishChoice::Keep,
            },
            Undone::Move(MoveKind::StartOver { .. }) => Self::StartOver,
            Undone::Move(MoveKind::Rewind { story, .. }) => Self::Rewind {
                story: story.clone(),
            },
            Undone::Move(MoveKind::RestoreAttempt { label, path }) => Self::Restore {
                attempt: label.clone(),
                path: path.clone(),
                in_run,
            },
            Undone::Move(kind) => Self::Finish {
                choice: kind.finish().unwrap_or(FinishChoice::Keep),
            },
        }
    }
}

/// A word of a command line.
fn word(text: &str) -> String {
    shell::quoted(Path::new(text))
}

/// What a choice is called, also as a flag.
pub const fn choice_name(choice: FinishChoice) -> &'static str {
    match choice {
        FinishChoice::Cleanup => "cleanup",
        FinishChoice::Keep => "keep",
        FinishChoice::Squash => "squash",
        FinishChoice::Reword => "reword",
        FinishChoice::Abandon => "abandon",
    }
}

/// What is about to be done; nothing is touched yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    #[serde(flatten)]
    pub action: Action,
    pub run: RunId,
    pub change: String,
    /// The checkpoint branch of the run.
    pub branch: String,
    /// There is nothing to do: it is so already.
    pub already: bool,
    /// Where HEAD will be; none where it stays.
    pub head: Option<String>,
    /// Branches that change.
    #[serde(serialize_with = "sentences")]
    pub branches: Vec<BranchChange>,
    /// Stories whose checkpoints go.
    pub stories: Vec<String>,
    /// The messages of the commits the branch will have, where they are written again.
    pub commits: Vec<String>,
    /// Files that will be written.
    pub written: Vec<String>,
    /// Files that will go to the vault.
    pub removed: Vec<String>,
    pub notices: Vec<String>,
}

/// What will become of each branch, a sentence each.
fn sentences<S: Serializer>(branches: &[BranchChange], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(branches.iter().map(BranchChange::planned))
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Done {
    /// A run is open now, and can be resumed or finished.
    pub is_open: bool,
    /// The command that reverts it, or does it again after an undo.
    pub way_back: String,
    /// Notices that the plan did not have.
    pub notices: Vec<String>,
}

/// Something that is ready to be done; nothing is touched yet.
pub struct Prepared {
    pub plan: Plan,
    work: Work,
    /// The wanted state of task files outside of the work tree.
    outside: Option<PathBuf>,
}

enum Work {
    Nothing,
    Finish(PreparedFinish),
    Move(PreparedMove),
    Undo(PreparedUndo),
}

impl Work {
    /// The name of the move's folder.
    fn move_id(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Finish(prepared) => prepared.move_id(),
            Self::Move(prepared) => Some(prepared.id()),
            Self::Undo(prepared) => prepared.move_id(),
        }
    }
}

/// How the checkpoints are opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Opening {
    /// Nothing is recovered or changed.
    pub dry_run: bool,
    /// The run will be abandoned.
    pub abandons: bool,
}

/// The checkpoints of a work tree between two runs, recovered.
pub struct Session {
    vault: vault::Session<Settled>,
    /// What an interrupted run had left.
    pub recovered: Vec<Recovered>,
}

impl Session {
    /// Opens the checkpoints and recovers what an interrupted run left.
    pub async fn open(directory: &Path, state: &Path, opening: Opening) -> Result<Self, Failure> {
        let opened = vault::Session::open(directory, state, REPAIR_TIMEOUT)?;
        let (vault, events) = if opening.dry_run {
            let settled = opened.if_settled().ok_or_else(unrecovered)?;
            (settled, Vec::new())
        } else {
            let wanted = RepairFor {
                change: None,
                fresh: false,
                after: if opening.abandons {
                    AfterRecovery::Abandon
                } else {
                    AfterRecovery::Continue
                },
            };
            repair(opened, wanted).await?
        };
        let recovered = events.into_iter().filter_map(|event| match event {
            Event::Recovered { found, done } => Some(Recovered { found, done }),
            _ => None,
        });
        Ok(Self {
            recovered: recovered.collect(),
            vault,
        })
    }

    fn checkpoints(&self) -> &Vault {
        self.vault.vault()
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        &self.checkpoints().repository().work_tree
    }

    /// The run that can be finished: the open one, else the one whose branch was kept.
    pub fn run_to_finish(&self) -> Result<OpenRun, Failure> {
        self.last_run("there is no run to finish here")
    }

    /// Prepares a finish; `template` is for the messages of reworded commits.
    pub fn finish(
        &mut self,
        choice: FinishChoice,
        template: &MessageTemplate,
    ) -> Result<Prepared, Failure> {
        let run = self.run_to_finish()?.run;
        if self.checkpoints().open_run().is_none() && choice == FinishChoice::Keep {
            let mut plan = self.plan(Action::Finish { choice }, &run, None)?;
            plan.already = true;
            plan.notices = messages(&self.vault.notices_of_kept_branch());
            return Ok(Prepared {
                plan,
                work: Work::Nothing,
                outside: None,
            });
        }
        self.reopen_kept()?;
        let prepared = self.vault.prepare_finish(choice, template)?;
        let report = prepared.report();
        let choice = report.choice;
        let mut plan = self.plan(Action::Finish { choice }, &run, prepared.outline())?;
        plan.notices.splice(0..0, messages(&report.notices));
        if choice == FinishChoice::Keep {
            let notices = self.vault.notices_of_kept_branch();
            plan.notices.extend(messages(&notices));
        }
        let outside = match choice {
            FinishChoice::Abandon => outside::before_run(self.checkpoints(), &self.lines()?, &run),
            FinishChoice::Cleanup
            | FinishChoice::Keep
            | FinishChoice::Squash
            | FinishChoice::Reword => None,
        };
        Ok(Prepared {
            plan,
            work: Work::Finish(prepared),
            outside,
        })
    }

    /// Prepares the way back to before a story.
    pub fn rewind(&mut self, story: &StoryId) -> Result<Prepared, Failure> {
        let run = self.last_run("there is no run to rewind here")?.run;
        self.reopen_kept()?;
        let prepared = self.vault.prepare_rewind(story)?;
        let action = Action::Rewind {
            story: story.0.clone(),
        };
        let mut plan = self.plan(action, &run, Some(&prepared.prepared.outline))?;
        plan.stories = prepared.stories;
        Ok(Prepared {
            plan,
            work: Work::Move(prepared.prepared),
            outside: outside::at_start(self.checkpoints(), &self.lines()?, &run, Some(story)),
        })
    }

    /// Prepares to restore files of a parked attempt. Of several ways to read a path, the first
    /// at which the attempt changed something counts; without any, all its files are restored.
    pub fn restore(
        &mut self,
        label: &str,
        run: Option<&str>,
        paths: &[Vec<u8>],
    ) -> Result<Prepared, Failure> {
        let attempts = self.checkpoints().parked_attempts()?;
        let parked = find(&attempts, label, run)?;
        let (first, others) = match paths.split_first() {
            Some((first, others)) => (Some(first), others),
            None => (None, paths),
        };
        let mut chosen = first;
        let mut prepared = self.vault.prepare_restore(parked, first.map(Vec::as_slice));
        for path in others {
            if !prepared.as_ref().is_err_and(CheckpointError::is_refusal) {
                break;
            }
            if let Ok(other) = self.vault.prepare_restore(parked, Some(path)) {
                (chosen, prepared) = (Some(path), Ok(other));
            }
        }
        let prepared = prepared?;
        let action = Action::Restore {
            attempt: label.to_owned(),
            path: chosen.map(|path| String::from_utf8_lossy(path).into_owned()),
            in_run: None,
        };
        Ok(Prepared {
            plan: self.plan(action, &parked.run, Some(&prepared.outline))?,
            work: Work::Move(prepared),
            outside: None,
        })
    }

    /// Prepares to revert what was done last. Where that is that a run was started over, everything
    /// goes back to the run before it.
    pub fn undo(&mut self) -> Result<Prepared, Failure> {
        if self.checkpoints().can_undo_start_over() {
            let mut prepared = self.finish(FinishChoice::Abandon, &MessageTemplate::default())?;
            prepared.plan.action = Action::Undo {
                of: Box::new(Action::StartOver),
            };
            return Ok(prepared);
        }
        self.undo_last()
    }

    /// Prepares to revert the last finish, rewind or restored attempt; the run stays, even if it was
    /// started over.
    pub fn undo_last(&mut self) -> Result<Prepared, Failure> {
        let prepared = self.vault.prepare_undo()?;
        let in_run = self.run_to_name(&prepared)?;
        let action = Action::Undo {
            of: Box::new(Action::undone(&prepared.of, in_run)),
        };
        let folder = self.checkpoints().run_folder(&prepared.run);
        Ok(Prepared {
            plan: self.plan(action, &prepared.run, prepared.outline())?,
            outside: prepared.undoes().map(|id| outside::before(&folder, id)),
            work: Work::Undo(prepared),
        })
    }

    /// The run of a restored attempt, if the attempt's name means one of a newer run.
    fn run_to_name(&self, undo: &PreparedUndo) -> Result<Option<RunId>, Failure> {
        let Undone::Move(MoveKind::RestoreAttempt { label, .. }) = &undo.of else {
            return Ok(None);
        };
        let attempts = self.checkpoints().parked_attempts()?;
        let is_meant = find(&attempts, label, None).is_ok_and(|found| found.run == undo.run);
        Ok((!is_meant).then(|| undo.run.clone()))
    }

    /// Does what was prepared.
    pub fn carry_out(self, prepared: Prepared) -> Result<Done, Failure> {
        let Prepared {
            plan,
            work,
            outside,
        } = prepared;
        let folder = self.checkpoints().run_folder(&plan.run);
        let move_id = work.move_id().map(str::to_owned);
        if let (Some(wanted), Some(id)) = (&outside, &move_id) {
            outside::keep(&folder, id, wanted)?;
        }
        let done = match work {
            Work::Nothing => Ok((self.vault, Vec::new())),
            Work::Finish(prepared) => self.vault.finish(prepared).map(|(vault, report)| {
                let notices = record_finish(&folder, &plan.run, report);
                (vault, notices)
            }),
            Work::Move(prepared) => {
                let moved = self.vault.carry_out(prepared);
                moved.map(|(vault, notices)| (vault, messages(&notices)))
            }
            Work::Undo(prepared) => {
                let undone = self.vault.undo(prepared);
                undone.map(|(vault, notices)| (vault, messages(&notices)))
            }
        };
        let (vault, mut notices) = done.map_err(|failed| cut_short(&failed.error))?;
        if let Some(id) = &move_id {
            outside::put(&folder, id)?;
        }
        if matches!(plan.action, Action::Rewind { .. } | Action::Undo { .. }) {
            notices.extend(record_move(vault.vault()));
        }
        notices.retain(|notice| !plan.notices.contains(notice));
        Ok(Done {
            is_open: vault.vault().open_run().is_some(),
            way_back: plan.action.way_back(),
            notices,
        })
    }

    fn last_run(&self, message: &str) -> Result<OpenRun, Failure> {
        let run = self.checkpoints().open_run();
        run.or_else(|| self.checkpoints().kept_run())
            .ok_or_else(|| {
                Failure::refused(message).hint(if self.checkpoints().can_undo() {
                    "`ralphtool undo` reverts the last finish"
                } else {
                    "start one with `ralphtool run CHANGE`"
                })
            })
    }

    fn reopen_kept(&mut self) -> Result<(), Failure> {
        if self.checkpoints().open_run().is_none() {
            self.vault.reopen_kept()?;
        }
        Ok(())
    }

    fn lines(&self) -> Result<Vec<Line>, Failure> {
        let lines = self.checkpoints().journal_lines();
        lines.map_err(|error| Failure::system("could not read the journal").because(error))
    }

    /// What will be done; without an outline nothing is moved.
    fn plan(
        &self,
        action: Action,
        run: &RunId,
        outline: Option<&Outline>,
    ) -> Result<Plan, Failure> {
        let lines = self.lines()?;
        let begun = lines.iter().find_map(|line| match &line.step {
            Step::BeginIntent { intent } if line.run == *run => Some(intent),
            _ => None,
        });
        let branch = begun.map_or("", |intent| intent.branch.as_str());
        let head = outline.map(|outline| outline.head.clone());
        let outline = outline.cloned().unwrap_or_default();
        Ok(Plan {
            run: run.clone(),
            change: begun.map_or_else(String::new, |intent| intent.change.clone()),
            branch: branch.trim_start_matches("refs/heads/").to_owned(),
            already: false,
            head: head.filter(|_| !action.keeps_head()),
            action,
            branches: outline.branches,
            stories: Vec::new(),
            commits: outline.commits,
            written: outline.written,
            removed: outline.removed,
            notices: messages(&outline.notices),
        })
    }
}

/// Adds the finish to the record of the run. It is done even if that fails.
fn record_finish(folder: &Path, run: &RunId, report: FinishReport) -> Vec<String> {
    let mut notices = messages(&report.notices);
    let event = Event::Finished(Finished {
        choice: report.choice,
        head: report.head,
        branch: report.branch,
        changed_files: report.changed_files,
    });
    if let Err(error) = append(folder, run, vec![event]) {
        notices.push(incomplete(&error));
    }
    notices
}

/// Adds a rewind or an undo to the record of the run. It is done even if that fails.
fn record_move(checkpoints: &Vault) -> Option<String> {
    let error = fill_gaps(checkpoints).err()?;
    Some(incomplete(&error))
}

fn incomplete(error: &FileError) -> String {
    format!(
        "the record of the run could not be completed: {}",
        chain(error)
    )
}

fn unrecovered() -> Failure {
    Failure::refused("an interrupted run must be recovered first, and a dry run touches nothing")
        .hint("leave out `--dry-run`: it is recovered first, and what is done can be undone")
}

fn messages(notices: &[Notice]) -> Vec<String> {
    notices.iter().map(|it| it.message.clone()).collect()
}

/// Something failed midway; the next command continues.
fn cut_short(error: &CheckpointError) -> Failure {
    Failure::system(format!("it could not be carried out: {}", chain(error)))
        .maybe_hint(error.hint())
        .hint("no work was lost: fix the problem, then any ralphtool command here continues it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_action_has_a_way_back() {
        let finish = Action::Finish {
            choice: FinishChoice::Abandon,
        };
        assert_eq!(finish.way_back(), "ralphtool undo");
        let undo = Action::Undo {
            of: Box::new(finish),
        };
        assert_eq!(undo.way_back(), "ralphtool finish --abandon");
        let rewind = Action::Rewind {
            story: "2".to_owned(),
        };
        let undo = Action::Undo {
            of: Box::new(rewind),
        };
        assert_eq!(undo.way_back(), "ralphtool rewind 2");
        let restore = Action::Restore {
            attempt: "2.1".to_owned(),
            path: Some("my src".to_owned()),
            in_run: Some(RunId("run-1".to_owned())),
        };
        let undo = Action::Undo {
            of: Box::new(restore),
        };
        let again = "ralphtool attempts restore 2.1 'my src' --run run-1";
        assert_eq!(undo.way_back(), again);
    }
}
