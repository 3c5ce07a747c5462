//! The flags of the benchmark.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Result;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Measures what the loop itself costs beside a plain shell loop, with an agent that is done at once.

Usage: cargo bench --bench loop -- [OPTIONS]

  --large        a repository of 50,000 files instead of 10
  --files N      a repository of N files
  --stories N    stories a run [default: 50]
  --runs N       runs of each contender, in turns [default: 5]
  --git          also list the git processes of one story (not part of the timed runs)
  --dir DIR      where to work; its file system counts [default: the system's temporary folder]
";

/// Files of the large repository.
const LARGE: usize = 50_000;

/// What is to be measured.
#[derive(Debug)]
pub(crate) struct Options {
    /// Started by `cargo bench`.
    pub(crate) is_bench: bool,
    /// Files in the repository.
    pub(crate) files: usize,
    /// Stories a run.
    pub(crate) stories: usize,
    /// Runs of each contender.
    pub(crate) runs: usize,
    /// The git processes are listed.
    pub(crate) count_git: bool,
    /// Where to work.
    pub(crate) folder: PathBuf,
}

impl Options {
    /// Reads the flags; none where help is asked for.
    pub(crate) fn parse(args: &[OsString]) -> Result<Option<Self>> {
        let mut options = Self {
            is_bench: false,
            files: 10,
            stories: 50,
            runs: 5,
            count_git: false,
            folder: std::env::temp_dir(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let word = arg.to_string_lossy();
            let mut value = || args.next().ok_or(format!("`{word}` needs a value"));
            match word.as_ref() {
                "--help" | "-h" => return Ok(None),
                "--bench" => options.is_bench = true,
                "--large" => options.files = LARGE,
                "--git" => options.count_git = true,
                "--files" => options.files = count(value()?)?,
                "--stories" => options.stories = count(value()?)?,
                "--runs" => options.runs = count(value()?)?,
                "--dir" => options.folder = PathBuf::from(value()?),
                other => return Err(format!("unknown option `{other}`; try `--help`").into()),
            }
        }
        if options.stories < 2 || options.runs == 0 {
            return Err("there must be two stories and one run at the least".into());
        }
        Ok(Some(options))
    }
}

fn count(word: &OsString) -> Result<usize> {
    let word = word.to_string_lossy();
    let number = word.parse();
    Ok(number.map_err(|_| format!("`{word}` is not a number"))?)
}
