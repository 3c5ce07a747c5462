//! How each agent is called: its command line and its environment. Nothing is started here.

mod environment;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use environment::{Rights, git_scrubbed};

use crate::domain::dialect::Output;
use crate::domain::ids::{AttemptId, RunId};
use crate::edge::isolation::Overlay;
use crate::edge::os;
use crate::edge::process::{Orphans, ProcessSpec, Stderr};

/// The hidden word that makes this program act as the demo agent.
pub(crate) const DEMO_WORD: &str = "__demo-agent";
/// The program of the default agent.
const CLAUDE: &str = "claude";

/// An agent that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Agent {
    /// Claude Code.
    Claude {
        /// The model asked for; its own default if there is none.
        model: Option<String>,
    },
    /// A command of the user's that reads the prompt from standard input.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// What it writes.
        output: Output,
        /// Variables added to its environment.
        env: Vec<(String, String)>,
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
            Self::Claude { .. } => Some(CLAUDE),
            Self::Command { program, .. } => Some(program),
            Self::Demo => None,
        }
    }

    /// What the agent writes.
    pub(crate) fn output(&self) -> Output {
        match self {
            Self::Claude { .. } => Output::ClaudeJson,
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
            Self::Claude { model } => (CLAUDE.into(), claude_arguments(model.as_deref())),
            Self::Command { program, args, .. } => {
                (program.into(), args.iter().map(OsString::from).collect())
            }
            Self::Demo => (own_program.into(), vec![DEMO_WORD.into()]),
        }
    }
}

fn claude_arguments(model: Option<&str>) -> Vec<OsString> {
    let fixed = [
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
    ];
    let model = model.into_iter().flat_map(|model| ["--model", model]);
    fixed.into_iter().chain(model).map(OsString::from).collect()
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
