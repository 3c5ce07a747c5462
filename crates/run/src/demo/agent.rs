//! The embedded agent: this very program, started with a hidden word. It reads the prompt as any
//! agent would, and knows how to do the three stories of the demo. Of any other change it does
//! nothing but leave a line a story in `DEMO.md`, so that the loop can be tried without a key.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{CHANGE, SCRIPT, stories};
use crate::agent::DEMO_WORD;
use ralph_base::files::{FileError, Tried};
use ralph_base::ids::StoryId;
use ralph_plan::source::{self, SourceError, Surroundings};

/// The exit code for being started by hand.
const BAD_USAGE: u8 = 2;
/// What a prompt has only where an attempt failed before.
const RETRY_HEADING: &str = "\n## Previous Attempt Failed\n";
/// The file for changes that are not the demo's.
const GENERIC_FILE: &str = "DEMO.md";

/// Why a story could not be worked on.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentError {
    /// Reading or writing a file failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// Reading or ticking the tasks failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A program could not be run.
    #[error("could not run `{program}`")]
    Program {
        /// Which.
        program: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Nobody listens any more.
    #[error("could not speak")]
    Speech(#[from] io::Error),
}

/// The agent's closing word.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// All is done.
    Complete,
    /// It is not, for this reason.
    Failed(String),
}

/// What the agent is to do, and where it speaks.
pub(super) struct Assignment<'a> {
    /// The repository's top.
    pub(super) folder: PathBuf,
    /// The change.
    pub(super) change: String,
    /// The story.
    pub(super) story: StoryId,
    /// The notes file.
    pub(super) learnings: Option<PathBuf>,
    /// An attempt failed before.
    pub(super) is_retry: bool,
    /// Where it speaks.
    pub(super) out: &'a mut dyn Write,
}

/// Acts as the agent if the arguments, the program's name first, ask for it.
pub fn dispatch(args: &[OsString]) -> Option<ExitCode> {
    let word = args.get(1)?;
    if word != DEMO_WORD {
        return None;
    }
    Some(act(&mut io::stdout(), &mut io::stderr()))
}

fn act(out: &mut dyn Write, complaints: &mut dyn Write) -> ExitCode {
    let mut prompt = Vec::new();
    let variable = |name: &str| std::env::var_os(name);
    let (Some(story), Some(change)) = (variable("RALPHTOOL_STORY"), variable("RALPHTOOL_CHANGE"))
    else {
        let usage = "this word is for `ralphtool loop CHANGE --agent demo`, not for people";
        // There is no further place to complain to.
        let _ = writeln!(complaints, "error: {usage}");
        return BAD_USAGE.into();
    };
    let told = io::stdin()
        .read_to_end(&mut prompt)
        .and_then(|_| std::env::current_dir())
        .map_err(AgentError::Speech)
        .and_then(|folder| {
            let mut assignment = Assignment {
                folder,
                change: change.to_string_lossy().into_owned(),
                story: StoryId(story.to_string_lossy().into_owned()),
                learnings: variable("RALPHTOOL_LEARNINGS").map(PathBuf::from),
                is_retry: String::from_utf8_lossy(&prompt).contains(RETRY_HEADING),
                out,
            };
            let promise = assignment.work()?;
            assignment.promise(&promise)
        });
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(complaints, "error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

impl Assignment<'_> {
    /// Does the story and gives the promise.
    fn work(&mut self) -> Result<Promise, AgentError> {
        if self.change == CHANGE && self.folder.join(SCRIPT).is_file() {
            return stories::work(self);
        }
        self.work_on_anything()
    }

    /// Leaves a line in a file, and says that this is all.
    fn work_on_anything(&mut self) -> Result<Promise, AgentError> {
        self.say("the demo agent implements nothing: it leaves a line in `DEMO.md`")?;
        let line = format!("- story {} of `{}`\n", self.story, self.change);
        append(&self.folder.join(GENERIC_FILE), &line)?;
        let around = Surroundings::from_environment(self.folder.clone());
        let by_name = source::find_root(&around)
            .and_then(|root| source::read_change(&root, &self.change, &around));
        // A checklist is not found by its name; the loop ticks its boxes after the promise.
        if by_name.is_ok() {
            self.tick()?;
        }
        Ok(Promise::Complete)
    }

    /// Says a line.
    pub(super) fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// Ticks the open boxes of the story.
    pub(super) fn tick(&mut self) -> Result<(), AgentError> {
        let around = Surroundings::from_environment(self.folder.clone());
        let change = source::read_change(&source::find_root(&around)?, &self.change, &around)?;
        let ticked = source::tick_story(&change, &self.story)?;
        for task in ticked {
            self.say(&format!("ticking {task}"))?;
        }
        Ok(())
    }

    /// Writes a line down for later attempts.
    pub(super) fn learn(&mut self, line: &str) -> Result<(), AgentError> {
        let Some(path) = &self.learnings else {
            return Ok(());
        };
        append(path, &format!("- {line}\n"))?;
        Ok(self.say("noting down what I learned")?)
    }

    fn promise(&mut self, promise: &Promise) -> Result<(), AgentError> {
        let word = match promise {
            Promise::Complete => "COMPLETE".to_owned(),
            Promise::Failed(reason) => format!("FAILED: {reason}"),
        };
        Ok(self.say(&format!("<promise>{word}</promise>"))?)
    }
}

/// Adds text at the end of a file, which is made where it is missing.
pub(super) fn append(path: &Path, text: &str) -> Result<(), FileError> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .tried("add to", path)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
