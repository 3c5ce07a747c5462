//! The flags of the bench.

use crate::bench::Result;
use crate::bench::chance::Odds;
use crate::bench::setup::Setup;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Runs the same changes with an agent that lies, fails, crashes, hangs and damages earlier work, with and
without repairs, a reviewer and gates that run again, and asks an independent judge what is really done.
Ends with 1 if something is not that the user's acceptance said is done.

Usage: cargo build --release && cargo run --release --example bench_outcome -- [OPTIONS]

  --changes N      changes of four stories [default: 200]
  --seed N         what all chance hangs on [default: 1]
  --max-retries N  attempts of a story after the first [default: 3, as in ralphtool]
  --repairs N      repairs of an attempt in the same session [default: 2, as in ralphtool]
  --fix P          with which chance in hundred an agent fixes what it is told in its session [default: 70]
  --flake P        how many of a hundred runs of the project's tests are red for no reason [default: 5]
  --only SETUP     may be repeated [default: retry, +repair, +review and all]
                   off: no gates · own: the agent's own tests and tamper checks · own+review: and a reviewer ·
                   retry: and the user's acceptance · +repair: and repairs · +review: and a reviewer · all: and
                   red gates run again
  --jobs N         changes at the same time [default: as many as there are cores]
  --json           one object instead of a table
";

/// What is to be measured.
#[derive(Debug)]
pub(crate) struct Options {
    /// What all chance hangs on.
    pub(crate) seed: u64,
    /// How many changes.
    pub(crate) changes: u64,
    /// Attempts of a story after the first.
    pub(crate) max_retries: u32,
    /// Repairs of an attempt.
    pub(crate) repairs: u32,
    /// What else hangs on chance.
    pub(crate) odds: Odds,
    /// What is compared, in turns.
    pub(crate) setups: Vec<Setup>,
    /// Changes at the same time.
    pub(crate) jobs: usize,
    /// For programs.
    pub(crate) is_json: bool,
}

impl Options {
    /// Reads the flags; none where help is asked for.
    pub(crate) fn parse(args: &[String]) -> Result<Option<Self>> {
        let mut options = Self {
            seed: 1,
            changes: 200,
            max_retries: 3,
            repairs: 2,
            odds: Odds::USUAL,
            setups: Vec::new(),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            is_json: false,
        };
        let mut args = args.iter();
        while let Some(word) = args.next() {
            let mut value = || args.next().ok_or(format!("`{word}` needs a value"));
            match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--json" => options.is_json = true,
                "--seed" => options.seed = number(value()?)?,
                "--changes" => options.changes = number(value()?)?,
                "--max-retries" => options.max_retries = number(value()?)?,
                "--repairs" => options.repairs = number(value()?)?,
                "--fix" => options.odds.fix = hundredths(value()?)?,
                "--flake" => options.odds.flake = hundredths(value()?)?,
                "--jobs" => options.jobs = number(value()?)?,
                "--only" => options.setups.push(setup(value()?)?),
                other => return Err(format!("unknown option `{other}`; try `--help`").into()),
            }
        }
        if options.setups.is_empty() {
            options.setups = Setup::COMPARED.to_vec();
        }
        Ok(Some(options))
    }
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T> {
    let number = word.parse();
    Ok(number.map_err(|_| format!("`{word}` is not a number"))?)
}

fn hundredths(word: &str) -> Result<u64> {
    let number = number(word)?;
    if number > 100 {
        return Err(format!("`{word}` is more than 100").into());
    }
    Ok(number)
}

fn setup(word: &str) -> Result<Setup> {
    let names: Vec<&str> = Setup::EVERY.iter().map(|setup| setup.name).collect();
    let found = Setup::named(word);
    Ok(found.ok_or_else(|| format!("`{word}` is none of {}", names.join(", ")))?)
}
