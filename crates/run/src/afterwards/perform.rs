//! What follows a run: it is finished, rewound, an attempt of it is put back, or the last of these
//! is taken back. Each is made ready first, so that it can be said what it will do.

use std::path::{Path, PathBuf};

use crate::afterwards::{Deed, Done, Plan, Recovered};
use crate::engine::attempts::find;
use crate::engine::gaps::append;
use crate::engine::refusal::refusal;
use crate::engine::repair::repair;
use crate::engine::{MENDING_TIMEOUT, chain, outside};
use crate::failure::Failure;
use crate::records::event::{Event, FinishChoice};
use ralph_base::ids::{RunId, StoryId};
use ralph_vault::journal::steps::{Line, MoveKind, Step};
use ralph_vault::session::{
    CheckpointError, Checkpoints, FinishReport, Notice, OpenRun, Outline, PreparedFinish,
    PreparedMove, PreparedUndo, Undone,
};

/// The checkpoints of a work tree, mended, between two runs.
pub struct Afterwards {
    checkpoints: Checkpoints,
    /// What an interrupted run had left.
    pub recovered: Vec<Recovered>,
}

/// Something that is ready to be done; nothing is touched yet.
pub struct Ready {
    /// What it will do.
    pub plan: Plan,
    work: Work,
    /// Where task files outside of the work tree are kept as they are to be.
    outside: Option<PathBuf>,
}

enum Work {
    Nothing,
    Finish(PreparedFinish),
    Move(PreparedMove),
    Undo(PreparedUndo),
}

impl Afterwards {
    /// Opens the checkpoints and mends what an interrupted run left; a dry run mends nothing.
    pub async fn open(
        directory: &Path,
        state: &Path,
        (dry_run, abandons): (bool, bool),
    ) -> Result<Self, Failure> {
        let mut checkpoints = Checkpoints::open(directory, state, MENDING_TIMEOUT)
            .map_err(|error| refusal(&error))?;
        if abandons {
            checkpoints.is_to_be_abandoned();
        }
        if dry_run {
            refuse_unmended(&checkpoints)?;
            return Ok(Self {
                checkpoints,
                recovered: Vec::new(),
            });
        }
        let said = repair(&mut checkpoints, None, false).await?;
        let recovered = said.into_iter().filter_map(|event| match event {
            Event::Recovered { found, done } => Some(Recovered { found, done }),
            _ => None,
        });
        Ok(Self {
            recovered: recovered.collect(),
            checkpoints,
        })
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        &self.checkpoints.repository().work_tree
    }

    /// The run that can be finished: the open one, else the one whose branch was kept.
    pub fn run_to_finish(&self) -> Result<OpenRun, Failure> {
        let open = self.checkpoints.open_run();
        open.or_else(|| self.checkpoints.kept_run())
            .ok_or_else(|| self.no_run("there is no run to finish here"))
    }

    /// Makes a finish ready.
    pub fn finish(&mut self, choice: FinishChoice) -> Result<Ready, Failure> {
        let run = self.run_to_finish()?;
        let deed = Deed::Finish { choice };
        if self.checkpoints.open_run().is_none() && choice == FinishChoice::Keep {
            let plan = Plan {
                already: true,
                ..plan(deed, &run)
            };
            return Ok(Ready {
                plan,
                work: Work::Nothing,
                outside: None,
            });
        }
        self.reopen_kept()?;
        let prepared = self.checkpoints.prepare_finish(choice);
        let prepared = prepared.map_err(|error| refusal(&error))?;
        let report = prepared.report();
        let deed = Deed::Finish {
            choice: report.choice,
        };
        let mut plan = plan(deed, &run);
        plan.notices = told(&report.notices);
        let outside = match report.choice {
            FinishChoice::Abandon => {
                let lines = self.lines()?;
                outside::at_start(&self.checkpoints, &lines, &run.run, None)
            }
            FinishChoice::Cleanup | FinishChoice::Keep => None,
        };
        if let Some(outline) = prepared.outline() {
            tell(&mut plan, outline);
        }
        Ok(Ready {
            plan,
            work: Work::Finish(prepared),
            outside,
        })
    }

    /// Makes the way back to before a story ready.
    pub fn rewind(&mut self, story: &StoryId) -> Result<Ready, Failure> {
        let open = self.checkpoints.open_run();
        let run = open
            .or_else(|| self.checkpoints.kept_run())
            .ok_or_else(|| self.no_run("there is no run to rewind here"))?;
        self.reopen_kept()?;
        let prepared = self.checkpoints.prepare_rewind(story);
        let prepared = prepared.map_err(|error| refusal(&error))?;
        let deed = Deed::Rewind {
            story: story.0.clone(),
        };
        let mut plan = plan(deed, &run);
        plan.stories = prepared.stories;
        tell(&mut plan, &prepared.prepared.outline);
        let lines = self.lines()?;
        Ok(Ready {
            plan,
            work: Work::Move(prepared.prepared),
            outside: outside::at_start(&self.checkpoints, &lines, &run.run, Some(story)),
        })
    }

    /// Makes it ready to put files of a parked attempt back; of several ways to read a path, the
    /// first at which the attempt changed something counts.
    pub fn restore(
        &mut self,
        label: &str,
        run: Option<&str>,
        paths: &[Vec<u8>],
    ) -> Result<Ready, Failure> {
        let attempts = self.checkpoints.parked_attempts();
        let attempts = attempts.map_err(|error| refusal(&error))?;
        let parked = find(&attempts, label, run)?;
        let mut chosen = None;
        let mut prepared = match paths.split_first() {
            None => self.checkpoints.prepare_put_back(parked, None),
            Some((first, _)) => {
                chosen = Some(first);
                self.checkpoints.prepare_put_back(parked, Some(first))
            }
        };
        for path in paths.iter().skip(1) {
            if !prepared.as_ref().is_err_and(CheckpointError::is_refusal) {
                break;
            }
            let other = self.checkpoints.prepare_put_back(parked, Some(path));
            if other.is_ok() {
                prepared = other;
                chosen = Some(path);
            }
        }
        let prepared = prepared.map_err(|error| refusal(&error))?;
        let deed = Deed::Restore {
            attempt: label.to_owned(),
            path: chosen.map(|path| String::from_utf8_lossy(path).into_owned()),
        };
        let run = begun(&self.lines()?, &parked.run);
        let mut plan = Plan {
            run: parked.run.clone(),
            change: run.0,
            branch: run.1,
            ..bare(deed)
        };
        tell(&mut plan, &prepared.outline);
        plan.head = None;
        Ok(Ready {
            plan,
            work: Work::Move(prepared),
            outside: None,
        })
    }

    /// Makes it ready to take back what was done last.
    pub fn undo(&mut self) -> Result<Ready, Failure> {
        let prepared = self.checkpoints.prepare_undo();
        let prepared = prepared.map_err(|error| refusal(&error))?;
        let of = Box::new(deed_of(&prepared.of));
        let run = begun(&self.lines()?, &prepared.run);
        let mut plan = Plan {
            run: prepared.run.clone(),
            change: run.0,
            branch: run.1,
            ..bare(Deed::Undo { of })
        };
        if let Some(outline) = prepared.outline() {
            tell(&mut plan, outline);
        }
        if matches!(prepared.of, Undone::Move(MoveKind::PutBack { .. })) {
            plan.head = None;
        }
        let folder = self.checkpoints.run_folder(&prepared.run);
        let outside = prepared.undoes().map(|id| outside::before(&folder, id));
        Ok(Ready {
            plan,
            work: Work::Undo(prepared),
            outside,
        })
    }

    /// Does what was made ready.
    pub fn carry_out(&mut self, ready: Ready) -> Result<Done, Failure> {
        let Ready {
            plan,
            work,
            outside,
        } = ready;
        let folder = self.checkpoints.run_folder(&plan.run);
        let move_id = work.move_id().map(str::to_owned);
        if let (Some(wanted), Some(id)) = (&outside, &move_id) {
            outside::keep(&folder, id, wanted)?;
        }
        let mut notices = match work {
            Work::Nothing => Vec::new(),
            Work::Finish(prepared) => {
                let report = self.checkpoints.carry_out_finish(prepared);
                let report = report.map_err(|error| cut_short(&error))?;
                self.note_finish(&plan.run, report)
            }
            Work::Move(prepared) => {
                let notices = self.checkpoints.carry_out(prepared);
                told(&notices.map_err(|error| cut_short(&error))?)
            }
            Work::Undo(prepared) => {
                let notices = self.checkpoints.carry_out_undo(prepared);
                told(&notices.map_err(|error| cut_short(&error))?)
            }
        };
        if let Some(id) = &move_id {
            outside::put(&folder, id)?;
        }
        notices.retain(|notice| !plan.notices.contains(notice));
        Ok(Done {
            is_open: self.checkpoints.open_run().is_some(),
            way_back: plan.deed.way_back(),
            notices,
        })
    }

    /// Tells the record of the run; the finish itself is done, whatever comes of that.
    fn note_finish(&self, run: &RunId, report: FinishReport) -> Vec<String> {
        let mut notices = told(&report.notices);
        let event = Event::Finished {
            choice: report.choice,
            head: report.head,
            branch: report.branch,
            changed_files: report.changed_files,
        };
        let folder = self.checkpoints.run_folder(run);
        if let Err(error) = append(&folder, run, vec![event]) {
            notices.push(format!(
                "the record of the run could not be completed: {}",
                chain(&error)
            ));
        }
        notices
    }

    fn reopen_kept(&mut self) -> Result<(), Failure> {
        if self.checkpoints.open_run().is_some() {
            return Ok(());
        }
        let reopened = self.checkpoints.reopen();
        reopened.map_err(|error| refusal(&error))
    }

    fn no_run(&self, message: &str) -> Failure {
        let failure = Failure::refused(message);
        if self.checkpoints.can_undo() {
            return failure.hint("`ralphtool undo` takes the last finish back");
        }
        failure.hint("start one with `ralphtool loop CHANGE`")
    }

    fn lines(&self) -> Result<Vec<Line>, Failure> {
        let lines = self.checkpoints.journal_lines();
        lines.map_err(|error| Failure::system("could not read the journal").because(error))
    }
}

impl Work {
    /// What the folder of a move is called.
    fn move_id(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Finish(prepared) => prepared.move_id(),
            Self::Move(prepared) => Some(prepared.id()),
            Self::Undo(prepared) => prepared.move_id(),
        }
    }
}

fn refuse_unmended(checkpoints: &Checkpoints) -> Result<(), Failure> {
    if !checkpoints.needs_mending() {
        return Ok(());
    }
    Err(Failure::refused(
        "an interrupted run must be recovered first, and a dry run touches nothing",
    )
    .hint("leave out `--dry-run`: it is recovered first, and what is done can be undone"))
}

/// The change and the branch a run began with.
fn begun(lines: &[Line], run: &RunId) -> (String, String) {
    let found = lines.iter().find_map(|line| match &line.step {
        Step::BeginIntent { intent } if line.run == *run => Some(intent),
        _ => None,
    });
    found.map_or_else(Default::default, |intent| {
        let branch = intent.branch.strip_prefix("refs/heads/");
        let branch = branch.unwrap_or(&intent.branch);
        (intent.change.clone(), branch.to_owned())
    })
}

fn deed_of(undone: &Undone) -> Deed {
    let finish = |choice| Deed::Finish { choice };
    match undone {
        Undone::Keep => finish(FinishChoice::Keep),
        Undone::Move(MoveKind::Cleanup { .. }) => finish(FinishChoice::Cleanup),
        Undone::Move(MoveKind::Abandon) => finish(FinishChoice::Abandon),
        Undone::Move(MoveKind::Rewind { story, .. }) => Deed::Rewind {
            story: story.clone(),
        },
        Undone::Move(MoveKind::PutBack { label }) => Deed::Restore {
            attempt: label.clone(),
            path: None,
        },
        Undone::Move(MoveKind::Undo) => Deed::Undo {
            of: Box::new(finish(FinishChoice::Keep)),
        },
    }
}

fn plan(deed: Deed, run: &OpenRun) -> Plan {
    Plan {
        run: run.run.clone(),
        change: run.change.clone(),
        branch: run.branch.clone(),
        ..bare(deed)
    }
}

fn bare(deed: Deed) -> Plan {
    Plan {
        deed,
        run: RunId(String::new()),
        change: String::new(),
        branch: String::new(),
        already: false,
        head: None,
        branches: Vec::new(),
        stories: Vec::new(),
        written: Vec::new(),
        removed: Vec::new(),
        notices: Vec::new(),
    }
}

fn tell(plan: &mut Plan, outline: &Outline) {
    plan.head = Some(outline.head.clone());
    plan.branches.clone_from(&outline.branches);
    plan.written.clone_from(&outline.written);
    plan.removed.clone_from(&outline.removed);
    plan.notices.extend(told(&outline.notices));
}

fn told(notices: &[Notice]) -> Vec<String> {
    notices.iter().map(|it| it.message.clone()).collect()
}

/// Something failed on the way; the next command goes on with it.
fn cut_short(error: &CheckpointError) -> Failure {
    let failure = Failure::system(format!("it could not be carried out: {}", chain(error)));
    let failure = match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    };
    failure.hint("nothing is lost: mend the cause, then any ralphtool command here goes on with it")
}
