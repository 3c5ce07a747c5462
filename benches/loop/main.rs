//! What the loop itself costs: `ralphtool loop` beside a shell loop that does the plain git steps,
//! in turns, with an agent that is done at once.
//!
//! `cargo bench --bench loop` · `cargo bench --bench loop -- --large` · `-- --help`

mod agent;
mod contender;
mod figures;
mod fixture;
mod options;

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use contender::{CONTENDERS, Contender, Run};
use fixture::Fixture;
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
    let fixture = Fixture::make(&options)?;
    let mut runs: Vec<(Contender, Run)> = Vec::new();
    for turn in 0..options.runs {
        let mut order = CONTENDERS.to_vec();
        // Whoever goes first may find colder caches: they take turns at that, too.
        order.rotate_left(turn % CONTENDERS.len());
        for contender in order {
            let run = contender.run(&fixture, contender::Git::Plain)?;
            let progress = format!("run {} of {}: {}", turn + 1, options.runs, contender.name());
            writeln!(io::stderr(), "{progress}: {}", figures::one_line(&run))?;
            runs.push((contender, run));
        }
    }
    out.write_all(figures::table(&options, &runs).as_bytes())?;
    if options.count_git {
        for contender in CONTENDERS {
            let run = contender.run(&fixture, contender::Git::Logged)?;
            out.write_all(figures::git_calls(*contender, &run).as_bytes())?;
        }
    }
    Ok(())
}
