//! What the loop itself costs: `ralphtool run` beside a shell loop that does the plain git steps,
//! in turns, with an agent that is done at once.
//!
//! `cargo bench --bench loop` · `cargo bench --bench loop -- --all` · `-- --help`

mod account;
mod agent;
mod command;
mod contender;
mod figures;
mod fixture;
#[path = "../shared/flood.rs"]
mod flood;
mod git_calls;
mod interrupt;
mod listen;
mod options;
mod repository;
mod run;
mod spread;
mod start;
mod surroundings;
mod talker;
mod walks;
mod watch;

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use contender::{Git, contenders};
use figures::Runs;
use fixture::Place;
use options::Options;
use repository::Repository;

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// How the program ends after an error, be it as the agent or not.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match args.split_first() {
        Some((word, rest)) if word == agent::WORD => agent::work(rest),
        Some((word, rest)) if word == talker::WORD => talker::work(rest),
        _ => measure(&args).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error}");
        ExitCode::from(ERROR)
    })
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
    interrupt::watch()?;
    out.write_all(surroundings::described(&options.folder)?.as_bytes())?;
    if !options.repositories.is_empty() {
        loops(&options, &mut out)?;
    }
    if !options.speeches.is_empty() {
        out.write_all(listen::measured(&options)?.as_bytes())?;
    }
    if options.start {
        out.write_all(start::measured(&options)?.as_bytes())?;
    }
    Ok(writeln!(out, "\n{}", surroundings::load())?)
}

/// Rows are written as they come: what was measured is not lost where the rest is interrupted.
fn loops(options: &Options, out: &mut impl Write) -> Result<()> {
    let mut git = String::new();
    out.write_all(figures::HEAD.as_bytes())?;
    // Removed together at the end, for the reason given in `Place::renew`.
    let mut measured = Vec::new();
    for repository in &options.repositories {
        let make = |_| Place::make(&options.folder, fixture::files(repository));
        let places: Vec<Place> = contenders().iter().map(make).collect::<Result<_>>()?;
        let rows = figures::rows(repository, &runs(repository, &places)?);
        out.write_all(rows.as_bytes())?;
        if options.count_git {
            git.push_str(&git_calls::listed(repository, &places)?);
        }
        measured.push(places);
    }
    out.write_all(figures::LEGEND.as_bytes())?;
    Ok(out.write_all(git.as_bytes())?)
}

fn runs(repository: &Repository, places: &[Place]) -> Result<Runs> {
    let mut runs = Runs::new();
    let contenders = contenders();
    for turn in 0..repository.runs {
        let mut order: Vec<_> = contenders.iter().zip(places).collect();
        // The first one may find colder caches, so they take turns at being first.
        order.rotate_left(turn % contenders.len());
        for (contender, place) in order {
            let run = contender.run(repository, place, Git::Plain)?;
            let what = format!(
                "{}, run {} of {}",
                repository.name,
                turn + 1,
                repository.runs
            );
            let figures = figures::one_line(&run);
            writeln!(io::stderr(), "{what}: {}: {figures}", contender.name())?;
            runs.push((*contender, run));
        }
    }
    Ok(runs)
}
