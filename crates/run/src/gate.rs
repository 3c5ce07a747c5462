//! The shell line of a gate: the shell that runs it, and whether it can run at all.
//!
//! A gate that cannot run must not look like one that is red. Before a start a line is refused only if
//! it surely fails: what a story may still create, or what only the shell can tell, is left to the
//! first run of the gate.

mod line;
pub(crate) mod process;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use self::line::{Program, first_programs, hidden_by_pipe, is_plain};
use crate::agent::find_program;
use crate::failure::Failure;
use crate::policy::Gate;

/// How long the shell may take to say whether it knows a program.
const SHELL_LIMIT: Duration = Duration::from_secs(5);
/// Folders of a repository that programs are installed in.
const LOCAL_PROGRAMS: [&str; 3] = [".venv/bin", "venv/bin", "node_modules/.bin"];
/// Shells that have `-n` and `command -v`.
const POSIX_SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "mksh"];

/// What is known of a gate before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// The file of its program.
    Program(PathBuf),
    /// Only running it can tell.
    Unknown,
    /// A file in the repository that is not there, or not executable; a story may change that.
    NotYet(String),
}

/// Why a gate cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CannotRun {
    /// No such program; perhaps there is one in a folder of the repository.
    NotFound {
        program: String,
        local: Option<String>,
    },
    /// The shell does not understand the line.
    Syntax(String),
}

impl CannotRun {
    /// What is wrong.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::NotFound { program, .. } => format!("`{program}`: command not found"),
            Self::Syntax(message) => format!("the shell does not understand it: {message}"),
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::NotFound {
                local: Some(local), ..
            } => format!("`{local}` exists: write that in the gate's `run`, or activate its environment"),
            Self::NotFound { local: None, .. } => {
                "correct the gate's `run`, install the program, or activate the environment that has it"
                    .to_owned()
            }
            Self::Syntax(_) => "correct the gate's `run`".to_owned(),
        }
    }
}

/// Where gates run.
#[derive(Debug, Clone, Copy)]
pub struct GatePlace<'a> {
    /// The top folder of the work tree.
    pub root: &'a Path,
    pub environment: &'a [(OsString, OsString)],
}

impl GatePlace<'_> {
    /// Refuses to start with a gate that cannot run.
    pub fn refuse_broken(&self, gates: &[Gate]) -> Result<(), Failure> {
        for gate in gates {
            self.check(&gate.run).map_err(|problem| {
                let reason = problem.reason();
                Failure::refused(format!("gate `{}` cannot run: {reason}", gate.name))
                    .hint(problem.hint())
                    .hint("`ralphtool doctor --gates` runs every gate")
            })?;
        }
        Ok(())
    }

    /// Whether a line can run, as far as that can be told without running it.
    pub(crate) fn check(&self, run: &str) -> Result<Readiness, CannotRun> {
        if let Some(message) = self.syntax_error(run) {
            return Err(CannotRun::Syntax(message));
        }
        let mut readiness = Readiness::Unknown;
        for (place, program) in first_programs(run).into_iter().enumerate() {
            let found = match program {
                Program::Path(path) => self.check_path(path)?,
                Program::Name(name) => self.check_name(name)?,
            };
            if place == 0 || matches!(found, Readiness::NotYet(_)) {
                readiness = found;
            }
        }
        Ok(readiness)
    }

    fn check_path(&self, path: &str) -> Result<Readiness, CannotRun> {
        let file = self.root.join(path);
        if let Some(found) = find_program(path.as_ref(), None, self.root) {
            return Ok(Readiness::Program(found));
        }
        if file.starts_with(self.root) {
            return Ok(Readiness::NotYet(path.to_owned()));
        }
        Err(self.not_found(path))
    }

    fn check_name(&self, name: &str) -> Result<Readiness, CannotRun> {
        let path = self.variable("PATH");
        if let Some(found) = find_program(name.as_ref(), path, self.root) {
            return Ok(Readiness::Program(found));
        }
        // It may be built in, or a start-up file of the shell may extend the path.
        if self.shell_knows(name) != Some(false) {
            return Ok(Readiness::Unknown);
        }
        let mut folders = path.into_iter().flat_map(std::env::split_paths);
        if folders.any(|folder| self.root.join(folder).starts_with(self.root)) {
            return Ok(Readiness::NotYet(name.to_owned()));
        }
        Err(self.not_found(name))
    }

    fn not_found(&self, program: &str) -> CannotRun {
        let mut local = LOCAL_PROGRAMS
            .iter()
            .map(|folder| format!("{folder}/{program}"));
        CannotRun::NotFound {
            program: program.to_owned(),
            local: local.find(|it| find_program(it.as_ref(), None, self.root).is_some()),
        }
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut environment = self.environment.iter();
        let found = environment.find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Whether the shell finds a program; none where it does not say.
    fn shell_knows(&self, name: &str) -> Option<bool> {
        let asked = ["-c", "command -v \"$0\" >/dev/null", name];
        self.ask_shell(&asked).map(|(knows, _)| knows)
    }

    /// What the shell finds wrong in a line, which it reads without running it. Lines that may change
    /// how later lines are read are not asked about.
    fn syntax_error(&self, run: &str) -> Option<String> {
        if is_plain(run) || run.contains('\n') {
            return None;
        }
        let (is_fine, said) = self.ask_shell(&["-n", "-c", run])?;
        let first = said.lines().find(|line| !line.trim().is_empty());
        (!is_fine).then(|| first.unwrap_or("syntax error").trim().to_owned())
    }

    /// Whether the shell succeeds, and its complaints; none where it is of another family, or takes
    /// too long.
    fn ask_shell(&self, arguments: &[&str]) -> Option<(bool, String)> {
        let shell = shell(self.environment);
        let kind = Path::new(&shell).file_name()?.to_str()?;
        if !POSIX_SHELLS.contains(&kind) {
            return None;
        }
        let mut command = Command::new(&shell);
        command
            .args(arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = command.spawn().ok()?;
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || send.send(child.wait_with_output()));
        let output = receive.recv_timeout(SHELL_LIMIT).ok()?.ok()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Some((output.status.success(), said))
    }
}

/// What is hidden by the pipe of a gate's line, and what to do about it; none without one.
pub(crate) fn pipe_warning(gate: &Gate) -> Option<PipeWarning> {
    let hidden = hidden_by_pipe(&gate.run)?;
    Some(PipeWarning {
        text: format!(
            "the exit code of a pipe is that of its last program: `{hidden}` may fail unnoticed"
        ),
        hint: "start the line with `set -o pipefail;` (bash and zsh have it), or drop the pipe",
    })
}

/// A pipe that hides how a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PipeWarning {
    pub(crate) text: String,
    pub(crate) hint: &'static str,
}

/// Whether a gate passes whatever an agent has done.
pub(crate) fn checks_nothing(gate: &Gate) -> bool {
    line::checks_nothing(&gate.run)
}

/// What is worth a warning in the lines of gates, in a sentence each.
pub fn warnings(gates: &[Gate]) -> Vec<String> {
    let warnings = gates.iter().filter_map(|gate| {
        let PipeWarning { text, hint } = pipe_warning(gate)?;
        Some(format!("gate `{}`: {text}; {hint}", gate.name))
    });
    warnings.collect()
}

/// The shell for gates: the user's own if it can be run, else `sh`.
pub(crate) fn shell(environment: &[(OsString, OsString)]) -> OsString {
    let own = environment.iter().find(|(name, _)| name == "SHELL");
    own.map(|(_, value)| value.as_os_str())
        .filter(|own| find_program(own, None, Path::new("/")).is_some())
        .unwrap_or(OsStr::new("sh"))
        .to_owned()
}
