//! Which run made which branch, as far as the journal knows.

use std::collections::BTreeMap;
use std::path::Path;

use crate::git::object_id::ObjectId;
use crate::git::repository::short;
use crate::journal::run_state::{Current, RunState};
use crate::journal::steps::{Line, MoveIntent, MoveKind, Step, read};
use ralph_base::files::FileError;
use ralph_base::ids::{RunId, StoryId};

/// The last run of every branch that the journal knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchRuns(BTreeMap<String, BranchRun>);

/// A run, and what it left on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchRun {
    pub run: RunId,
    pub change: String,
    /// Where the change was read from, as it was written down.
    pub plan: Option<String>,
    /// Where HEAD was before it, as people say it.
    pub original: String,
    /// Its last checkpoint.
    pub tip: ObjectId,
    /// The stories it has done.
    pub stories: Vec<StoryId>,
}

impl BranchRuns {
    /// Reads them from the lines of a journal.
    pub fn of(lines: &[Line]) -> Self {
        let mut runs = Self::default();
        let mut state = RunState::default();
        // Where a squash or a reword moved the branch of a run.
        let mut rewritten = BTreeMap::new();
        for line in lines {
            match (&line.step, &state.moving) {
                (Step::BeginIntent { .. }, _) => runs.note(&state),
                (Step::Moved, Some((run, intent))) => {
                    rewritten.remove(run);
                    rewritten.extend(new_tip(intent).map(|tip| (run.clone(), tip)));
                }
                _ => {}
            }
            state.apply(line);
        }
        runs.note(&state);
        for run in runs.0.values_mut() {
            run.tip = rewritten.get(&run.run).copied().unwrap_or(run.tip);
        }
        runs
    }

    /// Reads them from the folder of a vault, without the lock.
    pub fn read(vault: &Path) -> Result<Self, FileError> {
        Ok(Self::of(&read(&vault.join("journal"))?))
    }

    /// The run that made a branch, by its short name.
    pub fn on(&self, branch: &str) -> Option<&BranchRun> {
        self.0.get(branch)
    }

    fn note(&mut self, state: &RunState) {
        let ended = state.ended.as_ref().map(|ended| &ended.run);
        for run in ended.into_iter().chain(&state.current) {
            let name = short(&run.intent.branch).to_owned();
            self.0.insert(name, BranchRun::of(run));
        }
    }
}

/// Where a move that rewrites the commits of a run leads its branch.
fn new_tip(intent: &MoveIntent) -> Option<ObjectId> {
    let rewrites = matches!(
        intent.kind,
        MoveKind::Squash { .. } | MoveKind::Reword { .. }
    );
    let mut moved = intent.refs.iter().filter(|it| it.from != it.to);
    moved.next().filter(|_| rewrites)?.to
}

impl BranchRun {
    /// How many stories it has done, as people say it.
    pub fn stories_done(&self) -> String {
        match self.stories.len() {
            1 => "1 story done".to_owned(),
            stories => format!("{stories} stories done"),
        }
    }

    pub(crate) fn of(run: &Current) -> Self {
        let stories = run.saved.iter().filter_map(|saved| saved.work.story());
        Self {
            run: run.intent.run.clone(),
            change: run.intent.change.clone(),
            plan: run.intent.plan.clone(),
            original: run.intent.original.shown(),
            tip: run.commit,
            stories: stories.cloned().collect(),
        }
    }
}
