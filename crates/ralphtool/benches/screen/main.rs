//! What the terminal UI costs while agents flood it with words, and while nothing happens: the real
//! program in a real terminal, with keys pressed all the while.
//!
//! `cargo bench --bench screen` · `cargo bench --bench screen -- --large` · `-- --help`

mod agent;
mod figures;
#[path = "../shared/flood.rs"]
mod flood;
mod options;
mod process;
mod show;
#[path = "../../tests/terminal/mod.rs"]
#[allow(
    clippy::unwrap_used,
    reason = "it is made for tests, which end where they cannot go on"
)]
mod terminal;

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use options::Options;

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match args.split_first() {
        Some((word, rest)) if word == agent::WORD => agent::work(rest),
        _ => measure(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &[OsString]) -> Result<()> {
    let mut out = io::stdout();
    let Some(options) = Options::parse(args)? else {
        return Ok(out.write_all(options::HELP.as_bytes())?);
    };
    if !options.is_bench {
        // `cargo test --benches` starts this too; figures of a debug build say nothing.
        return Ok(());
    }
    let (rows, cols) = options.size;
    writeln!(out, "terminal of {cols}x{rows}\n")?;
    for flood in &options.floods {
        let figures = show::show(*flood, &options)?;
        writeln!(out, "{figures}")?;
    }
    Ok(())
}
