//! The one choice between the repository's files and a git process: reads and effects of an ordinary
//! repository are direct, all others are git's, and the run's log says why git was asked.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::mem::Discriminant;
use std::path::PathBuf;

use crate::error::Result;
use crate::git::access::{Direct, NotDirect, Reason};
use crate::journal::run_state::RunState;
use ralph_base::ids::RunId;

/// The log of a run never gets much larger than this.
const LARGEST_LOG: u64 = 64 * 1024;

/// Why git was asked, in the log of the run that is open or whose move is in progress.
#[derive(Debug)]
pub(crate) struct Reasons {
    runs: PathBuf,
    /// The run whose log it is.
    pub(super) run: Option<RunId>,
    /// What this process has logged, so that no reason is logged twice.
    logged: RefCell<HashSet<(String, Discriminant<Reason>)>>,
}

impl Reasons {
    /// Logs into the folders of runs.
    pub(super) fn new(runs: PathBuf) -> Self {
        Self {
            runs,
            run: None,
            logged: RefCell::default(),
        }
    }

    /// Logs for the run that the journal now names.
    pub(crate) fn follow(&mut self, state: &RunState) {
        self.run = state.unsettled_run();
    }

    /// What a direct effect gave; where it cannot be direct, what git gives instead.
    pub(crate) fn or_git<T>(
        &self,
        effect: &str,
        direct: Direct<T>,
        ask_git: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        match direct {
            Ok(value) => Ok(value),
            Err(NotDirect::Failed(error)) => Err(error.into()),
            Err(NotDirect::AskGit(reason)) => {
                self.log(effect, &reason);
                ask_git()
            }
        }
    }

    /// Notes a reason, once per process. A run without its log is as good: errors are ignored.
    fn log(&self, effect: &str, reason: &Reason) {
        let Some(run) = &self.run else {
            return;
        };
        let kind = (effect.to_owned(), std::mem::discriminant(reason));
        if !self.logged.borrow_mut().insert(kind) {
            return;
        }
        let path = self.runs.join(&run.0).join("git.log");
        if fs::metadata(&path).is_ok_and(|log| log.len() > LARGEST_LOG) {
            return;
        }
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let log = OpenOptions::new().append(true).create(true).open(path);
        let _ =
            log.and_then(|mut log| writeln!(log, "{now} {effect}: asked git, because {reason}"));
    }
}
