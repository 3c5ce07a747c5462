//! How often "done" is true, and what it costs, with an agent that cannot be trusted.
//!
//! `cargo build --release && cargo run --release --example bench_outcome` · `-- --help`

mod bench;
mod options;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bench::figures::{self, Figures};
use bench::setup::Setup;
use bench::{Result, Series};
use options::Options;

/// How long an agent may be silent: less would hit honest ones on a machine that is busy.
const IDLE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match measure(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Says whether everything is done that the user's acceptance said is done.
fn measure(args: &[String]) -> Result<bool> {
    let mut out = io::stdout();
    let Some(options) = Options::parse(args)? else {
        out.write_all(options::HELP.as_bytes())?;
        return Ok(true);
    };
    let program = program()?;
    let series = Series {
        program: &program,
        seed: options.seed,
        changes: options.changes,
        max_retries: options.max_retries,
        repairs: options.repairs,
        odds: options.odds,
        idle: IDLE,
        jobs: options.jobs,
    };
    let mut all = Vec::new();
    for setup in options.setups {
        let start = Instant::now();
        let records = series.run(&setup, |over| tell(&setup, over, options.changes))?;
        all.push(Figures::of(setup, &records, start.elapsed()));
    }
    let text = if options.is_json {
        figures::json(&series, &all)
    } else {
        figures::table(&series, &all)
    };
    out.write_all(text.as_bytes())?;
    Ok(!all.iter().any(Figures::is_broken))
}

fn tell(setup: &Setup, over: u64, all: u64) {
    if over.is_multiple_of(20) || over == all {
        let _ = writeln!(io::stderr(), "{}: {over} of {all}", setup.name);
    }
}

/// The program that was built with this one.
fn program() -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.parent().and_then(Path::parent);
    let program = folder.map(|folder| folder.join("ralphtool"));
    program.filter(|it| it.is_file()).ok_or_else(|| {
        "there is no `ralphtool` beside this program: run `cargo build --release` first, and \
         `cargo run --release --example bench_outcome` again"
            .into()
    })
}
