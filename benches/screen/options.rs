//! The flags of the benchmark.

use std::ffi::OsString;

use crate::Result;
use crate::agent::Flood;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Measures the terminal UI: from a key to the screen, memory, processor and redraws, while an agent
floods it with words and while nothing happens.

Usage: cargo bench --bench screen -- [OPTIONS]

  --large        a terminal of 200x60 instead of 80x24
  --only WHAT    events (1,000,000 of them), text (200 MB) or idle (5,000 events, then silence)
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
            floods: Flood::ALL.to_vec(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.to_string_lossy().as_ref() {
                "--help" | "-h" => return Ok(None),
                "--bench" => options.is_bench = true,
                "--large" => options.size = (60, 200),
                "--only" => {
                    let name = args.next().ok_or("`--only` needs a value")?;
                    options.floods = vec![Flood::named(&name.to_string_lossy())?];
                }
                other => return Err(format!("unknown option `{other}`; try `--help`").into()),
            }
        }
        Ok(Some(options))
    }
}
