//! The agent: this program with a special first argument. It prints a lot, records how long that
//! took, and is silent from then on.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::Result;
use crate::flood::{self, Counted};

/// The word.
pub(crate) const WORD: &str = "flood";

/// The file in which it notes the bytes it wrote and the milliseconds that took.
pub(crate) const NOTE: &str = "flooded";

/// How the last thing it says begins.
pub(crate) const LAST: &str = "the flood is over";

/// How long it is silent before it ends by itself.
const SILENCE: Duration = Duration::from_secs(900);

/// What an agent prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flood {
    /// This number of Claude Code events.
    Events(u64),
    /// This number of bytes of text.
    Text(u64),
    /// A little, and then nothing.
    Idle,
}

impl Flood {
    /// All there are, as large as they are where nothing else is asked for.
    pub(crate) const ALL: &[Self] = &[Self::Events(1_000_000), Self::Text(200_000_000), Self::Idle];

    /// The one of a name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|flood| flood.name() == name);
        Ok(*found.ok_or("`--only` takes `events`, `text` or `idle`")?)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Events(_) => "events",
            Self::Text(_) => "text",
            Self::Idle => "idle",
        }
    }

    /// How its lines are read.
    pub(crate) fn output(self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Events(_) | Self::Idle => "claude-json",
        }
    }

    /// How much of it there is.
    pub(crate) fn amount(self) -> u64 {
        match self {
            Self::Events(amount) | Self::Text(amount) => amount,
            Self::Idle => 5_000,
        }
    }

    fn read(name: &str, amount: u64) -> Result<Self> {
        Ok(match Self::named(name)? {
            Self::Events(_) => Self::Events(amount),
            Self::Text(_) => Self::Text(amount),
            Self::Idle => Self::Idle,
        })
    }

    fn write(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Events(_) | Self::Idle => {
                flood::events(out, self.amount())?;
                writeln!(
                    out,
                    r#"{{"type":"assistant","message":{{"id":"last","content":[{{"type":"text","text":"{LAST}"}}]}},"parent_tool_use_id":null}}"#
                )
            }
            Self::Text(bytes) => {
                flood::text(out, bytes)?;
                writeln!(out, "{LAST}")
            }
        }
    }
}

/// Writes the flood.
pub(crate) fn work(args: &[OsString]) -> Result<()> {
    let [name, amount, folder] = args else {
        return Err("a flood, how much of it, and a folder are needed".into());
    };
    let amount = amount.to_string_lossy().parse()?;
    let flood = Flood::read(&name.to_string_lossy(), amount)?;
    io::stdin().read_to_end(&mut Vec::new())?;
    let begun = Instant::now();
    let mut out = Counted::new(BufWriter::with_capacity(64 * 1024, io::stdout()));
    flood.write(&mut out)?;
    out.flush()?;
    let note = format!("{} {}", out.bytes, begun.elapsed().as_millis());
    let folder = PathBuf::from(folder);
    fs::write(folder.join("note"), note)?;
    fs::rename(folder.join("note"), folder.join(NOTE))?;
    std::thread::sleep(SILENCE);
    Ok(())
}
