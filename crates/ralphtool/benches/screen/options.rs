//! The flags of the benchmark.

use std::ffi::OsString;

use crate::agent::Flood;
use crate::{Result, flood};

/// What `--help` says.
pub(crate) const HELP: &str = "\
Measures the terminal UI: from a key to the screen, memory, processor and redraws, while an agent
floods it with words and while nothing happens.

Usage: cargo bench --bench screen -- [OPTIONS]

  --large                a terminal of 200x60 instead of 80x24
  --only WHAT            events (1,000,000 of them), text (200 MB) or idle (5,000, then silence)
  --agent-output SIZE    only text, of this size, such as 200MB
  --events N             only events, this number of them
";

/// What is to be measured.
pub(crate) struct Options {
    /// Started by `cargo bench`.
    pub(crate) is_bench: bool,
    /// Lines and columns of the terminal.
    pub(crate) size: (u16, u16),
    /// What agents do.
    pub(crate) floods: Vec<Flood>,
}

impl Options {
    /// Reads the flags; none where help is asked for.
    pub(crate) fn parse(args: &[OsString]) -> Result<Option<Self>> {
        let mut options = Self {
            is_bench: false,
            size: (24, 80),
            floods: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let flag = arg.to_string_lossy();
            let mut value = || {
                let word = args.next().ok_or(format!("`{flag}` needs a value"))?;
                Ok::<_, String>(word.to_string_lossy())
            };
            match flag.as_ref() {
                "--help" | "-h" => return Ok(None),
                "--bench" => options.is_bench = true,
                "--large" => options.size = (60, 200),
                "--only" => options.floods.push(Flood::named(&value()?)?),
                "--agent-output" => {
                    let bytes = flood::bytes(&value()?)?;
                    options.floods.push(Flood::Text(bytes));
                }
                "--events" => {
                    let count = flood::count(&value()?)?;
                    options.floods.push(Flood::Events(count));
                }
                other => return Err(format!("unknown option `{other}`; try `--help`").into()),
            }
        }
        if options.floods.is_empty() {
            options.floods = Flood::ALL.to_vec();
        }
        Ok(Some(options))
    }
}
