//! How each agent is called: its command line and its environment. Nothing is started here.

mod environment;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use environment::{Rights, git_scrubbed};

use crate::domain::agents::Adapter;
use crate::domain::dialect::Output;
use crate::domain::ids::{AttemptId, RunId};
use crate::domain::settings::Variable;
use crate::edge::isolation::Overlay;
use crate::edge::os;
use crate::edge::process::{Orphans, ProcessSpec, Stderr};

/// The hidden word that makes this program act as the demo agent.
pub(crate) const DEMO_WORD: &str = "__demo-agent";
/// An agent that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Agent {
    /// One that needs no configuration.
    BuiltIn {
        /// How it is called.
        adapter: &'static Adapter,
        /// The model asked for; its own default if there is none.
        model: Option<String>,
        /// What the user says about its environment.
        env: Vec<(String, Variable)>,
    },
    /// A command of the user's that reads the prompt from standard input.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// What it writes.
        output: Output,
        /// What the user says about its environment.
        env: Vec<(String, Variable)>,
    },
    /// The embedded agent of the demo.
    Demo,
}

/// One attempt, as far as its agent has to know about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    /// The run.
    pub(crate) run: &'a RunId,
    /// The attempt.
    pub(crate) attempt: &'a AttemptId,
    /// The change that is worked through.
    pub(crate) change: &'a str,
    /// The top folder of the working tree.
    pub(crate) root: &'a Path,
    /// The overlay it works on instead of the tree itself.
    pub(crate) overlay: Option<&'a Overlay>,
    /// The notes file the agent may add to.
    pub(crate) learnings: &'a Path,
    /// The attempt's folder: `stdout`, `stderr` and `git` (which must exist) are in it.
    pub(crate) transcript: &'a Path,
    /// What the agent is asked.
    pub(crate) prompt: &'a str,
}

impl Agent {
    /// The program that must be found before a run; the demo needs none.
    pub(crate) fn program(&self) -> Option<&str> {
        match self {
            Self::BuiltIn { adapter, .. } => Some(adapter.program),
            Self::Command { program, .. } => Some(program),
            Self::Demo => None,
        }
    }

    /// What the agent writes.
    pub(crate) fn output(&self) -> Output {
        match self {
            Self::BuiltIn { adapter, .. } => adapter.output,
            Self::Command { output, .. } => *output,
            Self::Demo => Output::Text,
        }
    }

    /// The process that makes one attempt.
    pub(crate) fn process(&self, work: Work<'_>) -> io::Result<ProcessSpec> {
        let guard = os::own_program()?;
        let (program, args) = self.command_line(&guard);
        Ok(ProcessSpec {
            program,
            args,
            cwd: work.root.to_owned(),
            env: environment::of(self, &work, Rights::of_this_process()),
            stdin: work.prompt.as_bytes().to_vec(),
            stdout: work.transcript.join("stdout"),
            stderr: Stderr::File(work.transcript.join("stderr")),
            line_cap: self.output().line_cap(),
            marker: format!("{}/{}", work.run, work.attempt),
            orphans: Orphans::All,
            overlay: work.overlay.map(|overlay| overlay.mount(work.root)),
            guard,
        })
    }

    fn command_line(&self, own_program: &Path) -> (OsString, Vec<OsString>) {
        match self {
            Self::BuiltIn { adapter, model, .. } => {
                let args = (adapter.arguments)(model.as_deref());
                (
                    adapter.program.into(),
                    args.into_iter().map(OsString::from).collect(),
                )
            }
            Self::Command { program, args, .. } => {
                (program.into(), args.iter().map(OsString::from).collect())
            }
            Self::Demo => (own_program.into(), vec![DEMO_WORD.into()]),
        }
    }
}

/// Finds a program as the system would, without starting it: in the folders of `path` if it is
/// a bare name, else as a path seen from `cwd`.
pub(crate) fn find_program(name: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(cwd.join(name)).filter(|file| is_executable(file));
    }
    // An empty entry means the current folder, as does a relative one.
    std::env::split_paths(path?)
        .map(|folder| cwd.join(folder).join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use rustix::fs::{Access, access};
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests;
