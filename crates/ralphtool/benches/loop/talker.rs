//! The agent that prints a lot as fast as it can, and then says that the story is done.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::Result;
use crate::agent::{DONE, OPEN, now};
use crate::fixture::TASKS;
use crate::flood::{self, Counted};

/// The word that makes this program act as this agent.
pub(crate) const WORD: &str = "__talk";

/// What the agent prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speech {
    /// This number of bytes of text.
    Text(u64),
    /// This number of Claude Code events.
    Events(u64),
}

/// When it was printed, and how much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    /// Before the first byte.
    pub(crate) start: u128,
    /// After the last one was read.
    pub(crate) end: u128,
    /// How many bytes.
    pub(crate) bytes: u64,
}

impl Speech {
    /// The same kind, with no output.
    pub(crate) fn empty(self) -> Self {
        match self {
            Self::Text(_) => Self::Text(0),
            Self::Events(_) => Self::Events(0),
        }
    }

    /// How its lines are read.
    pub(crate) fn output(self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Events(_) => "claude-json",
        }
    }

    /// The command line of the agent, which notes in a file when it said what.
    pub(crate) fn command_line(self, note: &Path) -> Result<Vec<OsString>> {
        let (kind, amount) = match self {
            Self::Text(bytes) => ("text", bytes),
            Self::Events(count) => ("events", count),
        };
        Ok(vec![
            std::env::current_exe()?.into(),
            WORD.into(),
            kind.into(),
            amount.to_string().into(),
            note.into(),
        ])
    }

    fn read(kind: &OsString, amount: &OsString) -> Result<Self> {
        let amount = amount.to_string_lossy().parse()?;
        match kind.to_string_lossy().as_ref() {
            "text" => Ok(Self::Text(amount)),
            "events" => Ok(Self::Events(amount)),
            other => Err(format!("`{other}` is nothing to say").into()),
        }
    }

    fn say(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Text(bytes) => {
                flood::text(out, bytes)?;
                out.write_all(b"<promise>COMPLETE</promise>\n")
            }
            Self::Events(count) => {
                flood::events(out, count)?;
                out.write_all(
                    br#"{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>"}"#,
                )?;
                out.write_all(b"\n")
            }
        }
    }
}

/// Says it all.
pub(crate) fn work(args: &[OsString]) -> Result<ExitCode> {
    let [kind, amount, note] = args else {
        return Err("the agent needs to know what to say, how much, and where to note it".into());
    };
    let speech = Speech::read(kind, amount)?;
    let tasks = fs::read_to_string(TASKS)?;
    fs::write(TASKS, tasks.replacen(OPEN, DONE, 1))?;
    let start = now();
    let mut out = Counted::new(BufWriter::with_capacity(64 * 1024, io::stdout()));
    speech.say(&mut out)?;
    out.flush()?;
    let bytes = out.bytes;
    fs::write(note, format!("{start} {} {bytes}", now()))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the note.
pub(crate) fn said(note: &Path) -> Result<Said> {
    let text = fs::read_to_string(note)?;
    let words: Vec<&str> = text.split(' ').collect();
    let [start, end, bytes] = words[..] else {
        return Err("the agent's note is cut".into());
    };
    Ok(Said {
        start: start.parse()?,
        end: end.parse()?,
        bytes: bytes.parse()?,
    })
}
