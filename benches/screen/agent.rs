//! The agent: this program with a word in front. It says very much, notes how long that took, and
//! is silent from then on.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::Result;

/// The word.
pub(crate) const WORD: &str = "flood";

/// The file in which it notes the bytes it wrote and the milliseconds that took.
pub(crate) const NOTE: &str = "flooded";

/// How the last thing it says begins.
pub(crate) const LAST: &str = "the flood is over";

/// How long it is silent before it ends by itself.
const SILENCE: Duration = Duration::from_secs(900);

/// What an agent says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flood {
    /// A million lines of Claude Code's.
    Events,
    /// 200 MB of text.
    Text,
    /// A little, and then nothing.
    Idle,
}

impl Flood {
    /// All there are.
    pub(crate) const ALL: &[Self] = &[Self::Events, Self::Text, Self::Idle];

    /// The one of a name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|flood| flood.name() == name);
        Ok(*found.ok_or("`--only` takes `events`, `text` or `idle`")?)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Text => "text",
            Self::Idle => "idle",
        }
    }

    /// How its lines are read.
    pub(crate) fn output(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Events | Self::Idle => "claude-json",
        }
    }
}

/// Writes the flood.
pub(crate) fn work(args: &[OsString]) -> Result<()> {
    let [name, folder] = args else {
        return Err("a flood and a folder are needed".into());
    };
    io::stdin().read_to_end(&mut Vec::new())?;
    let begun = Instant::now();
    let mut out = Counted {
        inner: BufWriter::with_capacity(64 * 1024, io::stdout()),
        bytes: 0,
    };
    match Flood::named(&name.to_string_lossy())? {
        Flood::Events => events(&mut out, 1_000_000)?,
        Flood::Idle => events(&mut out, 5_000)?,
        Flood::Text => text(&mut out, 200_000_000)?,
    }
    out.flush()?;
    let note = format!("{} {}", out.bytes, begun.elapsed().as_millis());
    let folder = PathBuf::from(folder);
    fs::write(folder.join("note"), note)?;
    fs::rename(folder.join("note"), folder.join(NOTE))?;
    std::thread::sleep(SILENCE);
    Ok(())
}

fn events(out: &mut impl Write, count: u64) -> Result<()> {
    writeln!(
        out,
        r#"{{"type":"system","subtype":"init","session_id":"flood","model":"none"}}"#
    )?;
    for number in 0..count {
        let usage = r#"{"input_tokens":3,"output_tokens":80,"cache_read_input_tokens":9000}"#;
        let said = match number % 3 {
            0 => format!(
                r#"{{"type":"assistant","message":{{"id":"m{number}","content":[{{"type":"text","text":"Event {number}: the **parser** is right, so `src/lib.rs` has to be looked at again."}}],"usage":{usage}}},"parent_tool_use_id":null}}"#
            ),
            1 => format!(
                r#"{{"type":"assistant","message":{{"id":"m{number}","content":[{{"type":"tool_use","name":"Bash","input":{{"command":"cargo test parser_{number} --quiet"}}}}],"usage":{usage}}},"parent_tool_use_id":null}}"#
            ),
            _ => format!(
                r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","content":"{}","is_error":false}}]}},"parent_tool_use_id":null}}"#,
                "test parser ... ok. ".repeat(8)
            ),
        };
        writeln!(out, "{said}")?;
    }
    writeln!(
        out,
        r#"{{"type":"assistant","message":{{"id":"last","content":[{{"type":"text","text":"{LAST}"}}]}},"parent_tool_use_id":null}}"#
    )?;
    Ok(())
}

fn text(out: &mut impl Write, bytes: usize) -> Result<()> {
    let mut written = 0;
    let mut number = 0_u64;
    while written < bytes {
        let line = format!(
            "line {number}: compiling the parser, which takes its time, as it has done before now\n"
        );
        out.write_all(line.as_bytes())?;
        written += line.len();
        number += 1;
    }
    Ok(writeln!(out, "{LAST}")?)
}

/// Counts what is written.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
