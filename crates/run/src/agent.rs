//! How each agent is called: its command line and its environment. Only short questions (`question`)
//! are started here.

mod environment;
pub(crate) mod question;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use environment::git_scrubbed;

use crate::settings::Variable;
use crate::settings::agents::{CommandSettings, PromptBy};
use ralph_agents::adapters::{Adapter, Role, SESSION, SessionArg};
use ralph_agents::dialect::Output;
use ralph_base::ids::{AttemptId, RunId};
use ralph_base::os;
use ralph_base::random_name::random_uuid;
use ralph_process::{EnvChange, ProcessSpec, Stderr};

/// The hidden word that makes this program act as the demo agent.
pub const DEMO_WORD: &str = "__demo-agent";
/// The name of the file in an attempt's folder that holds its prompt.
pub(crate) const PROMPT_FILE: &str = "prompt.md";
/// The place of the model in a command.
const MODEL: &str = "{model}";

/// An agent that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub program: Program,
    /// The model asked for; its own default if there is none.
    pub model: Option<String>,
    /// What the user says about its environment.
    pub env: Vec<(String, Variable)>,
}

/// What is started for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// One that needs no configuration.
    BuiltIn {
        adapter: &'static Adapter,
        /// What stands before its own command line.
        wrap: Vec<String>,
    },
    /// A command of the user's.
    Command(CommandSettings),
    /// The embedded agent of the demo.
    Demo,
}

/// One attempt, as far as its agent has to know about it.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The attempt.
    pub attempt: &'a AttemptId,
    /// The change that is worked through.
    pub change: &'a str,
    /// The top folder of the working tree.
    pub root: &'a Path,
    /// The notes file the agent may add to.
    pub learnings: &'a Path,
    /// The folder with `stdout` and `stderr`, which must exist. The processes of an attempt add to the
    /// same files: they share one session.
    pub transcript: &'a Path,
    /// The file that holds the prompt.
    pub prompt_file: &'a Path,
    /// The folder where the git commands of the whole attempt are recorded, which must exist.
    pub git_trace: &'a Path,
    /// What the agent is asked.
    pub prompt: &'a str,
    /// The session it starts or continues.
    pub session: SessionArg<'a>,
    /// What it may do.
    pub role: Role,
}

impl Work<'_> {
    /// The session's id, where it is known before the agent starts.
    fn session_id(&self) -> Option<&str> {
        match self.session {
            SessionArg::New { id } => id,
            SessionArg::Continue { id } => Some(id),
        }
    }
}

impl Agent {
    /// The program that must be found before a run; the demo needs none.
    pub fn program(&self, role: Role) -> Option<&str> {
        match &self.program {
            Program::BuiltIn { adapter, wrap } => {
                Some(wrap.first().map_or(adapter.name, String::as_str))
            }
            Program::Command(command) => {
                let review = command.review.as_ref().filter(|_| role == Role::Reviewer);
                let words = review.unwrap_or(&command.words);
                words.first().map(String::as_str)
            }
            Program::Demo => None,
        }
    }

    /// How it is called, if it is built in.
    pub(crate) fn adapter(&self) -> Option<&'static Adapter> {
        match self.program {
            Program::BuiltIn { adapter, .. } => Some(adapter),
            Program::Command(_) | Program::Demo => None,
        }
    }

    /// Whether an earlier session of it can be continued in this role.
    pub fn can_continue(&self, role: Role) -> bool {
        match &self.program {
            Program::BuiltIn { adapter, .. } => adapter.sessions.resume.is_some(),
            // What continues its work is not what reviews.
            Program::Command(command) if role == Role::Reviewer && command.review.is_some() => {
                false
            }
            Program::Command(command) => command.resume.is_some(),
            Program::Demo => false,
        }
    }

    /// The id for a new session, if the agent takes one. It then holds for the whole session;
    /// otherwise the id is the one that the agent's stream reports.
    pub fn new_session_id(&self) -> Option<String> {
        let takes_id = match &self.program {
            Program::BuiltIn { adapter, .. } => adapter.sessions.takes_id(),
            Program::Command(command) => command.takes_session_id(),
            Program::Demo => false,
        };
        takes_id.then(random_uuid)
    }

    /// Whether it can run commands such as `git diff` in this role. If not, its prompt has to hold
    /// what it should see.
    pub fn has_shell(&self, role: Role) -> bool {
        match self.adapter() {
            Some(adapter) => adapter.rights(role).has_shell,
            // Of a command of the user's it is not known.
            None => role == Role::Worker,
        }
    }

    fn command(&self) -> Option<&CommandSettings> {
        match &self.program {
            Program::Command(command) => Some(command),
            Program::BuiltIn { .. } | Program::Demo => None,
        }
    }

    /// What the agent writes.
    pub fn output(&self) -> Output {
        match &self.program {
            Program::BuiltIn { adapter, .. } => adapter.output,
            Program::Command(command) => command.output,
            Program::Demo => Output::Text,
        }
    }

    /// The process that makes one attempt.
    pub fn process(&self, work: Work<'_>) -> io::Result<ProcessSpec> {
        let own_program = os::own_program()?;
        let (program, args) = self.command_line(&own_program, &work);
        Ok(ProcessSpec {
            program,
            args,
            cwd: self.folder(work.root),
            env: environment::of(self, &work, os::is_root()),
            stdin: match self.prompt_by() {
                PromptBy::Stdin => work.prompt.as_bytes().to_vec(),
                PromptBy::File => Vec::new(),
            },
            stdout: work.transcript.join("stdout"),
            stderr: Stderr::File(work.transcript.join("stderr")),
            line_cap: self.output().line_cap(),
            marker: format!("{}/{}", work.run, work.attempt),
        })
    }

    /// What is changed in the environment of every process of it, whatever that is for.
    pub fn environment(&self, root: &Path) -> Vec<EnvChange> {
        let fill = |value: &str| placed(value, root);
        environment::always(self, Role::Worker, os::is_root(), fill)
    }

    /// The folder it starts in.
    pub fn folder(&self, root: &Path) -> PathBuf {
        let folder = self.command().and_then(|command| command.cwd.as_ref());
        folder.map_or_else(|| root.to_owned(), |folder| root.join(folder))
    }

    /// Whether its command or environment has a place for a model, and none is named.
    pub(crate) fn lacks_model(&self) -> bool {
        let words: Vec<&String> = match &self.program {
            Program::BuiltIn { wrap, .. } => wrap.iter().collect(),
            Program::Command(command) => command.all_words().collect(),
            Program::Demo => return false,
        };
        let values = self.env.iter().filter_map(|(_, how)| match how {
            Variable::Set(value) => Some(value),
            Variable::Remove | Variable::Pass => None,
        });
        let mut texts = words.into_iter().chain(values);
        self.model.is_none() && texts.any(|text| text.contains(MODEL))
    }

    fn prompt_by(&self) -> PromptBy {
        self.command().map_or(PromptBy::Stdin, |it| it.prompt)
    }

    fn command_line(&self, own_program: &Path, work: &Work<'_>) -> (OsString, Vec<OsString>) {
        let model = self.model.as_deref();
        let fill = |word: &String| filled(word, model, work);
        match &self.program {
            Program::BuiltIn { adapter, wrap } => {
                let own = adapter.command_line(model, work.session, work.role);
                split(wrap.iter().map(fill).chain(own))
            }
            Program::Command(command) => split(words_of(command, work).iter().map(fill)),
            Program::Demo => (own_program.into(), vec![DEMO_WORD.into()]),
        }
    }
}

/// The command for what is to be done. One that cannot continue a session starts a new one.
fn words_of<'c>(command: &'c CommandSettings, work: &Work<'_>) -> &'c [String] {
    let other = match (work.role, work.session) {
        (Role::Reviewer, _) if command.review.is_some() => &command.review,
        (_, SessionArg::Continue { .. }) => &command.resume,
        (_, SessionArg::New { .. }) => &None,
    };
    other.as_ref().unwrap_or(&command.words)
}

/// A program and its arguments.
fn split(words: impl Iterator<Item = String>) -> (OsString, Vec<OsString>) {
    let mut words = words.map(OsString::from);
    (words.next().unwrap_or_default(), words.collect())
}

/// A word of a command with the facts of the attempt in it.
fn filled(text: &str, model: Option<&str>, work: &Work<'_>) -> String {
    if !text.contains('{') {
        return text.to_owned();
    }
    let label = format!("{}-{}", work.run, work.attempt);
    let notes = work.learnings.parent().unwrap_or(work.learnings);
    placed(text, work.root)
        .replace("{prompt_file}", &work.prompt_file.to_string_lossy())
        .replace(MODEL, model.unwrap_or_default())
        .replace("{change}", work.change)
        .replace("{story}", &work.attempt.story.0)
        .replace("{attempt}", &label)
        .replace("{learnings}", &notes.to_string_lossy())
        .replace("{git_trace}", &work.git_trace.to_string_lossy())
        .replace(SESSION, work.session_id().unwrap_or_default())
}

/// A word with the facts in it that are known outside of an attempt, too.
fn placed(text: &str, root: &Path) -> String {
    let home = std::env::home_dir().unwrap_or_default();
    text.replace("{root}", &root.to_string_lossy())
        .replace("{home}", &home.to_string_lossy())
}

/// Finds a program as the system would, without starting it: in the folders of `path` if it is
/// a bare name, else as a path seen from `cwd`.
pub fn find_program(name: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
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
