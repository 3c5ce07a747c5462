//! What the journal says: the fold of its lines into the one run that may be open, the one that
//! ended last, and what can be undone.

use std::collections::BTreeMap;

use crate::git::object_id::ObjectId;
use crate::git::repository::Head;
use crate::journal::steps::{
    BeginIntent, Durable, Line, MoveIntent, MoveKind, SavedWork, Step, StoryNote,
};
use crate::outcome::FinishChoice;
use ralph_base::ids::{AttemptId, RunId, StoryId};

/// How far an open run got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Branch, HEAD or index may be old or new; the work tree is untouched.
    Beginning,
    /// At a checkpoint, nothing in progress.
    Still,
    /// An attempt is in progress; its agent may still run.
    Working,
    /// The checkpoint is being restored: the tree may hold files of it and of the attempt or gate
    /// before it. An attempt is in the vault.
    Restoring,
    /// A story is done and verified, but its commit may not be made.
    Verified(StoryNote),
    /// The commit exists; branch, HEAD and index may be old or new.
    Saving(Saved),
}

/// A checkpoint of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub work: SavedWork,
    pub commit: ObjectId,
    pub snapshot: String,
}

/// Where a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    pub intent: BeginIntent,
    /// The commit of the last checkpoint.
    pub commit: ObjectId,
    /// The snapshot of the last checkpoint.
    pub snapshot: String,
    /// How far it got.
    pub phase: Phase,
    /// The last attempt that was started.
    pub last_attempt: Option<LastAttempt>,
    /// The last attempts at other stories that are not done.
    pub left_attempts: BTreeMap<StoryId, LastAttempt>,
    /// All checkpoints after the first.
    pub saved: Vec<Saved>,
    /// The highest attempt of each story, whatever became of it.
    pub attempts: BTreeMap<StoryId, u32>,
    /// The run that had ended before this one began.
    followed: Option<Box<Ended>>,
}

/// The last attempt of an open run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    pub attempt: AttemptId,
    /// Retries of its story used up, this attempt included where it counts.
    pub retries_used: u32,
    /// What the prompt of the next attempt says.
    pub reason: Option<String>,
    /// Where it is, once it is parked.
    pub parked: Option<ParkedAs>,
    /// How many agent processes it had so far.
    pub rounds: u32,
}

/// Where a parked attempt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedAs {
    pub snapshot: String,
    pub label: String,
    /// Its commit in the store, where one could be made.
    pub commit: Option<ObjectId>,
}

/// A run that has begun and not been finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    pub run: RunId,
    pub change: String,
    pub plan: Option<String>,
    /// Short name of its branch.
    pub branch: String,
    /// The last attempt, where its story is not done.
    pub last_attempt: Option<LastAttempt>,
    /// The last attempts at other stories that are not done.
    pub left_attempts: BTreeMap<StoryId, LastAttempt>,
    /// The highest attempt of each story so far.
    pub attempts: BTreeMap<StoryId, u32>,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Where it was.
    pub run: Current,
    /// How it was finished.
    pub choice: FinishChoice,
}

/// A step that can be undone, and the state before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undoable {
    pub act: Act,
    /// The run it belongs to.
    pub run: RunId,
    current: Option<Current>,
    ended: Option<Ended>,
}

/// The kinds of steps that can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// A run was ended and its branch kept.
    Kept,
    /// Everything was moved.
    Moved(Box<MoveIntent>),
}

/// What the journal says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunState {
    /// The open run.
    pub current: Option<Current>,
    /// The run that ended last, while its branch may still be asked for.
    pub ended: Option<Ended>,
    /// Kept runs before that one, the last one on each branch, the newest at the end.
    shelf: Vec<Current>,
    /// What can be undone, the last one first.
    pub undoable: Vec<Undoable>,
    /// A move that is in progress, and the run it belongs to.
    pub moving: Option<(RunId, MoveIntent)>,
    /// The last line.
    pub last: Option<Line>,
    /// A time before which everything is durable.
    pub durable_at: Option<jiff::Timestamp>,
}

impl RunState {
    /// Folds the lines of a journal.
    pub(crate) fn from_journal(lines: &[Line]) -> Self {
        let mut state = Self::default();
        for line in lines {
            state.apply(line);
        }
        state
    }

    /// The run that is open, or whose move is in progress.
    pub(crate) fn unsettled_run(&self) -> Option<RunId> {
        let moving = self.moving.as_ref().map(|(run, _)| run.clone());
        moving.or_else(|| Some(self.current.as_ref()?.intent.run.clone()))
    }

    /// The open run.
    pub(crate) fn open_run(&self) -> Option<OpenRun> {
        self.current.as_ref().map(Current::to_open_run)
    }

    /// The run whose branch was kept last.
    pub(crate) fn kept(&self) -> Option<&Current> {
        let ended = self.ended.as_ref()?;
        (ended.choice == FinishChoice::Keep).then_some(&ended.run)
    }

    /// The kept runs that can be opened again, the newest first.
    pub(crate) fn kept_runs(&self) -> impl Iterator<Item = &Current> {
        let last = self.last_run().map(|run| run.intent.run.clone());
        let others = self.shelf.iter().rev();
        let others = others.filter(move |run| Some(&run.intent.run) != last.as_ref());
        self.kept().into_iter().chain(others)
    }

    /// Makes a kept run the one that ended last. Returns false if there is none of this id.
    pub(crate) fn recall(&mut self, run: &RunId) -> bool {
        if self.kept().is_some_and(|last| last.intent.run == *run) {
            return true;
        }
        let Some(place) = self.shelf.iter().position(|it| it.intent.run == *run) else {
            return false;
        };
        let mut recalled = self.shelf.remove(place);
        let last = self.ended.take();
        // To abandon it makes the run that was the last before it the last again; a run that was
        // started over leads back to the one it replaced.
        if !recalled.intent.is_started_over() {
            recalled.followed = last.clone().map(Box::new);
        }
        self.shelve(last, &recalled.intent.branch);
        self.ended = Some(Ended {
            run: recalled,
            choice: FinishChoice::Keep,
        });
        self.undoable.clear();
        true
    }

    /// Remembers the run that ended last before the one on this branch, which replaces any other
    /// there.
    fn shelve(&mut self, last: Option<Ended>, branch: &str) {
        let last = last.filter(|it| it.choice == FinishChoice::Keep);
        if let Some(Ended { run, .. }) = last {
            self.shelf
                .retain(|it| it.intent.branch != run.intent.branch);
            self.shelf.push(run);
        }
        self.shelf.retain(|it| it.intent.branch != branch);
    }

    /// The run that ended last and left its work on its branch.
    pub(crate) fn on_branch(&self) -> Option<&Current> {
        let ended = self.ended.as_ref()?;
        ended.choice.keeps_branch().then_some(&ended.run)
    }

    /// The run that is open, that ended last, or whose end can be undone.
    pub(crate) fn last_run(&self) -> Option<&Current> {
        let ended = self.ended.as_ref().map(|ended| &ended.run);
        let undoable = self.undoable.last().and_then(|last| last.current.as_ref());
        self.current.as_ref().or(ended).or(undoable)
    }

    /// The move that left the last run to start over, if that was done last, and the run.
    pub(crate) fn last_start_over(&self) -> Option<(&RunId, &MoveIntent)> {
        let last = self.undoable.last()?;
        let Act::Moved(intent) = &last.act else {
            return None;
        };
        matches!(intent.kind, MoveKind::StartOver { .. }).then_some((&last.run, intent))
    }

    /// Runs that can still be resumed, finished in another way, or undone.
    pub(crate) fn needed_runs(&self) -> Vec<RunId> {
        let open = self.current.iter().map(|current| &current.intent.run);
        let ended = self.ended.iter().map(|ended| &ended.run.intent.run);
        let undoable = self.undoable.iter().map(|last| &last.run);
        let moving = self.moving.iter().map(|(run, _)| run);
        // To abandon a run that was started over makes the one before it the last again.
        let current = self.current.as_ref();
        let last = current.or(self.ended.as_ref().map(|ended| &ended.run));
        let followed = last
            .filter(|run| run.intent.is_started_over())
            .and_then(|run| run.followed.as_ref());
        let followed = followed.map(|ended| &ended.run.intent.run);
        let all = open
            .chain(ended)
            .chain(undoable)
            .chain(moving)
            .chain(followed);
        all.cloned().collect()
    }

    /// True where both have the same present state; what came before a run may differ.
    pub(crate) fn has_same_present(&self, other: &Self) -> bool {
        self.without_past() == other.without_past()
    }

    fn without_past(&self) -> Self {
        let mut state = self.clone();
        state.shelf.clear();
        for last in &mut state.undoable {
            last.ended = None;
        }
        let remembered = state.undoable.iter_mut();
        let remembered = remembered.filter_map(|last| last.current.as_mut());
        let ended = state.ended.as_mut().map(|ended| &mut ended.run);
        for run in remembered.chain(&mut state.current).chain(ended) {
            run.followed = None;
        }
        state
    }

    /// Takes one line into account.
    pub(crate) fn apply(&mut self, line: &Line) {
        self.last = Some(line.clone());
        let durable = line.step.durable();
        if matches!(durable, Durable::FilesThenLine | Durable::Files) {
            self.durable_at = Some(line.at);
        }
        match &line.step {
            Step::BeginIntent { intent } => {
                self.current = Some(Current::beginning(intent, self.ended.clone()));
            }
            Step::BeginTakenBack => self.current = None,
            Step::Kept { .. } => {
                self.remember(&line.run, Act::Kept);
                self.end(FinishChoice::Keep);
            }
            Step::Reopened => {
                self.recall(&line.run);
                self.reopen();
            }
            Step::MoveIntent { intent } => {
                self.moving = Some((line.run.clone(), intent.as_ref().clone()));
            }
            Step::Moved => {
                if let Some((run, intent)) = self.moving.take() {
                    self.moved(&run, &intent);
                }
            }
            Step::MoveGivenUp => {
                if let Some((_, intent)) = self.moving.take()
                    && intent.kind.finish().is_some()
                {
                    self.end(FinishChoice::Keep);
                }
            }
            step => self.step(step),
        }
    }

    fn step(&mut self, step: &Step) {
        // A new run or attempt is built on what came before, which can no longer be undone.
        if matches!(step, Step::Begun | Step::AttemptStarted { .. }) {
            self.undoable.clear();
        }
        if let Some(current) = &mut self.current {
            current.apply(step);
        }
    }

    fn remember(&mut self, run: &RunId, act: Act) {
        self.undoable.push(Undoable {
            act,
            run: run.clone(),
            current: self.current.clone(),
            ended: self.ended.clone(),
        });
    }

    fn end(&mut self, choice: FinishChoice) {
        if let Some(run) = self.current.take() {
            let last = self.ended.take();
            self.shelve(last, &run.intent.branch);
            self.ended = Some(Ended { run, choice });
        }
    }

    /// The run that ended last is open again.
    pub(crate) fn reopen(&mut self) {
        self.undoable.pop_if(|last| last.act == Act::Kept);
        if let Some(ended) = self.ended.take() {
            self.current = Some(ended.run);
        }
    }

    fn moved(&mut self, run: &RunId, intent: &MoveIntent) {
        if intent.kind == MoveKind::Undo {
            if let Some(last) = self.undoable.pop() {
                self.current = last.current;
                self.ended = last.ended;
            }
            return;
        }
        self.remember(run, Act::Moved(Box::new(intent.clone())));
        match &intent.kind {
            MoveKind::Cleanup { .. }
            | MoveKind::Squash { .. }
            | MoveKind::Reword { .. }
            | MoveKind::StartOver { .. } => {
                if let Some(choice) = intent.kind.finish() {
                    self.end(choice);
                }
            }
            MoveKind::Abandon => {
                let abandoned = self.current.take();
                self.ended = abandoned.and_then(|run| run.followed.map(|it| *it));
            }
            MoveKind::Rewind { left, .. } => {
                if let Some(current) = &mut self.current {
                    current.rewind(*left);
                }
            }
            MoveKind::RestoreAttempt { .. } | MoveKind::Undo => {}
        }
    }
}

impl Current {
    fn beginning(intent: &BeginIntent, followed: Option<Ended>) -> Self {
        Self {
            intent: intent.clone(),
            commit: intent.commit,
            snapshot: intent.checkpoint.clone(),
            phase: Phase::Beginning,
            last_attempt: None,
            left_attempts: BTreeMap::new(),
            saved: Vec::new(),
            attempts: BTreeMap::new(),
            followed: followed.map(Box::new),
        }
    }

    /// What the caller may know of it.
    pub fn to_open_run(&self) -> OpenRun {
        OpenRun {
            run: self.intent.run.clone(),
            change: self.intent.change.clone(),
            plan: self.intent.plan.clone(),
            branch: crate::git::repository::short(&self.intent.branch).to_owned(),
            last_attempt: self.last_attempt.clone(),
            left_attempts: self.left_attempts.clone(),
            attempts: self.attempts.clone(),
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Begun | Step::RestoredUnsynced | Step::Restored => self.phase = Phase::Still,
            Step::AttemptStarted {
                attempt,
                retries_used,
            } => self.attempt_started(attempt, *retries_used),
            Step::RoundStarted { round, .. } => {
                if let Some(last) = &mut self.last_attempt {
                    last.rounds = *round;
                }
            }
            Step::Parked {
                reason,
                counts,
                snapshot,
                note,
                ..
            } => {
                if let Some(last) = &mut self.last_attempt {
                    // A stop or a limit is no judgement of the work: the reason of the attempt before
                    // it still holds.
                    if *counts || last.reason.is_none() {
                        last.reason.clone_from(reason);
                    }
                    last.retries_used += u32::from(*counts);
                    last.parked = Some(ParkedAs {
                        snapshot: snapshot.clone(),
                        label: note.label.clone(),
                        commit: note.commit,
                    });
                }
                self.phase = Phase::Restoring;
            }
            Step::RestoreIntent => self.phase = Phase::Restoring,
            Step::Verified { story } => self.phase = Phase::Verified(story.clone()),
            Step::SaveIntent {
                commit,
                snapshot,
                work,
                ..
            } => {
                self.phase = Phase::Saving(Saved {
                    work: work.clone(),
                    commit: *commit,
                    snapshot: snapshot.clone(),
                });
            }
            Step::Saved => self.saved(),
            Step::BeginIntent { .. }
            | Step::BeginTakenBack
            | Step::Kept { .. }
            | Step::Reopened
            | Step::MoveIntent { .. }
            | Step::Moved
            | Step::MoveGivenUp => {}
        }
    }

    fn attempt_started(&mut self, attempt: &AttemptId, retries_used: u32) {
        if let Some(last) = self.last_attempt.take() {
            self.left_attempts.insert(last.attempt.story.clone(), last);
        }
        // Until this attempt is parked with a reason of its own, that of the one before it holds.
        let before = self.left_attempts.remove(&attempt.story);
        let reason = before.and_then(|last| last.reason);
        let highest = self.attempts.entry(attempt.story.clone()).or_default();
        *highest = attempt.attempt.0.max(*highest);
        self.last_attempt = Some(LastAttempt {
            attempt: attempt.clone(),
            retries_used,
            reason,
            parked: None,
            rounds: 1,
        });
        self.phase = Phase::Working;
    }

    fn saved(&mut self) {
        if let Phase::Saving(saved) = std::mem::replace(&mut self.phase, Phase::Still) {
            self.commit = saved.commit;
            self.snapshot.clone_from(&saved.snapshot);
            // A checkpoint that is not the story's does not end the attempts at it.
            self.last_attempt
                .take_if(|last| Some(&last.attempt.story) == saved.work.story());
            if let Some(story) = saved.work.story() {
                self.left_attempts.remove(story);
            }
            self.saved.push(saved);
        }
    }

    fn rewind(&mut self, left: usize) {
        (self.commit, self.snapshot) = self.checkpoint_after(left);
        self.saved.truncate(left);
        self.last_attempt = None;
        self.left_attempts.clear();
    }

    /// Commit and snapshot of the checkpoint number `count`; the first is number 0.
    pub fn checkpoint_after(&self, count: usize) -> (ObjectId, String) {
        let last = count.checked_sub(1).and_then(|last| self.saved.get(last));
        match last {
            Some(last) => (last.commit, last.snapshot.clone()),
            None => (self.intent.commit, self.intent.checkpoint.clone()),
        }
    }

    /// True where HEAD is on the run's branch.
    pub fn is_on_branch(&self, head: &Head) -> bool {
        matches!(head, Head::Branch { name, .. } if *name == self.intent.branch)
    }
}
