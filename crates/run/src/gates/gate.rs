//! Gates: the user's own shell lines, run in the repository's top folder to check an attempt.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::agent::{find_program, git_scrubbed};
use crate::records::event::GateResult;
use ralph_base::ids::{RunId, StoryId};
use ralph_process::{Ending, EnvChange, Exit, ProcessSpec, RUN_VARIABLE, Stderr};

/// How much of a line is held; a gate's lines are only looked at for signs of life.
const LINE_CAP: usize = 4 * 1024;

/// One run of a gate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GateRun<'a> {
    /// The shell line.
    pub line: &'a str,
    /// The top folder of the working tree.
    pub root: &'a Path,
    /// The file both of its outputs go to; a new one for each run.
    pub log: &'a Path,
    /// The run of the loop.
    pub run: &'a RunId,
    /// The change.
    pub change: &'a str,
    /// The story it judges, or the last one of the whole change.
    pub story: &'a StoryId,
    /// Tells this run of the gate from all others of the run, such as `2.1/tests`.
    pub name: &'a str,
}

impl GateRun<'_> {
    /// The process of this gate in the given shell.
    pub(crate) fn process(&self, shell: OsString) -> ProcessSpec {
        let mut env: Vec<EnvChange> = git_scrubbed().collect();
        env.push(EnvChange::set(RUN_VARIABLE, &self.run.0));
        env.push(EnvChange::set("RALPHTOOL_CHANGE", self.change));
        env.push(EnvChange::set("RALPHTOOL_STORY", &self.story.0));
        ProcessSpec {
            program: shell,
            args: vec!["-c".into(), self.line.into()],
            cwd: self.root.to_owned(),
            env,
            stdin: Vec::new(),
            stdout: self.log.to_owned(),
            stderr: Stderr::WithStdout,
            line_cap: LINE_CAP,
            // A run that is resumed may use the same name for a gate again.
            marker: format!("{}/gate/{}/{}", self.run, self.name, std::process::id()),
        }
    }
}

/// The shell for gates: the user's own if it can be run, else `sh`.
pub(crate) fn shell(own: Option<&OsStr>) -> OsString {
    own.filter(|own| find_program(own, None, Path::new("/")).is_some())
        .unwrap_or(OsStr::new("sh"))
        .to_owned()
}

/// What a gate's end means.
pub(crate) fn result(ending: &Ending) -> GateResult {
    let how = match ending.exit {
        Exit::Code(0) => return GateResult::Passed,
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::Unknown => "unknown end".to_owned(),
    };
    GateResult::Failed {
        how,
        tail: ending.stderr_tail.clone(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use ralph_process::Swept;

    #[test]
    fn a_gate_is_a_shell_line_with_one_log() {
        let gate = GateRun {
            line: "cargo test && true",
            root: Path::new("/repo"),
            log: Path::new("/vault/gate.log"),
            run: &RunId("r1".into()),
            change: "c",
            story: &StoryId("2".into()),
            name: "2.1/tests",
        };
        let spec = gate.process("sh".into());
        assert_eq!(spec.args, ["-c", "cargo test && true"]);
        let own = std::process::id();
        assert_eq!(spec.marker, format!("r1/gate/2.1/tests/{own}"));
        assert_eq!(spec.stderr, Stderr::WithStdout);
    }

    #[test]
    fn the_users_shell_is_used_if_it_can_be_run() {
        assert_eq!(shell(Some(OsStr::new("/bin/sh"))), "/bin/sh");
        assert_eq!(shell(Some(OsStr::new("/no/such/shell"))), "sh");
        assert_eq!(shell(None), "sh");
    }

    #[test]
    fn only_exit_code_0_passes() {
        let end = |exit| {
            result(&Ending {
                exit,
                swept: Swept::default(),
                stderr_tail: "last words".into(),
            })
        };
        let failed = |how: &str| GateResult::Failed {
            how: how.into(),
            tail: "last words".into(),
        };
        assert_eq!(end(Exit::Code(0)), GateResult::Passed);
        assert_eq!(end(Exit::Code(2)), failed("exit code 2"));
        assert_eq!(end(Exit::Signal(9)), failed("signal 9"));
    }
}
