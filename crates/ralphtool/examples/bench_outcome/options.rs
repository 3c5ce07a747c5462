//! The flags of the bench.

use crate::bench::{Result, Setting};

/// What `--help` says.
pub(crate) const HELP: &str = "\
Runs changes with an agent that lies, fails, crashes, hangs and damages earlier work, once with gates
and once without, and asks an independent judge what is really done. Ends with 1 if something is not
that gates said is done.

Usage: cargo build --release && cargo run --release --example bench_outcome -- [OPTIONS]

  --changes N      changes of four stories [default: 200]
  --seed N         what all chance hangs on [default: 1]
  --max-retries N  attempts of a story after the first [default: 3, as in ralphtool]
  --only SETTING   off: no gates · on: the user's acceptance, the agent's own tests, tamper checks ·
                   own: the same without the acceptance [default: off and on]; may be repeated
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
    /// What is checked, in turns.
    pub(crate) settings: Vec<Setting>,
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
            settings: Vec::new(),
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
                "--jobs" => options.jobs = number(value()?)?,
                "--only" => options.settings.push(setting(value()?)?),
                other => return Err(format!("unknown option `{other}`; try `--help`").into()),
            }
        }
        if options.settings.is_empty() {
            options.settings = vec![Setting::Off, Setting::On];
        }
        Ok(Some(options))
    }
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T> {
    let number = word.parse();
    Ok(number.map_err(|_| format!("`{word}` is not a number"))?)
}

fn setting(word: &str) -> Result<Setting> {
    let mut all = Setting::ALL.into_iter();
    let found = all.find(|setting| setting.name() == word);
    Ok(found.ok_or_else(|| format!("`{word}` is none of off, own and on"))?)
}
