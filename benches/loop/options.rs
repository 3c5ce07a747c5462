//! The flags of the benchmark.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Result;
use crate::repository::{Repository, number};

/// What `--help` says.
pub(crate) const HELP: &str = "\
Measures what the loop itself costs beside a plain shell loop, with an agent that is done at once.

Usage: cargo bench --bench loop -- [OPTIONS]

Repositories (several may be named) [default: small, 50k]:
  --repo small     10 files
  --repo 50k       so many files; any number
  --repo 200k      the same, larger: about 4 GB of disk for a while
  --repo changed   20,000 files, of which every story changes 10,000
  --repo deep      2,000 files in folders 60 levels deep
  --all            all of these

How much:
  --stories N      stories that are done at once, in each run
  --restores N     further stories whose first attempt fails, in each run
  --runs N         runs of each contender, in turns
  --git            also list the git processes of one story and of one restore, in runs of their own
  --dir DIR        where to work; its file system counts [default: the system's temporary folder]
";

/// What is to be measured.
#[derive(Debug)]
pub(crate) struct Options {
    /// Started by `cargo bench`.
    pub(crate) is_bench: bool,
    /// The repositories, one after the other.
    pub(crate) repositories: Vec<Repository>,
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
            repositories: Vec::new(),
            count_git: false,
            folder: std::env::temp_dir(),
        };
        let (mut stories, mut restores, mut runs) = (None, None, None);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let word = arg.to_string_lossy();
            let mut value = || args.next().ok_or(format!("`{word}` needs a value"));
            match word.as_ref() {
                "--help" | "-h" => return Ok(None),
                "--bench" => options.is_bench = true,
                "--repo" => options.add(value()?.to_string_lossy().split(','))?,
                "--all" => options.add(Repository::ALL.iter().copied())?,
                "--git" => options.count_git = true,
                "--stories" => stories = Some(count(value()?)?),
                "--restores" => restores = Some(count(value()?)?),
                "--runs" => runs = Some(count(value()?)?),
                "--dir" => options.folder = PathBuf::from(value()?),
                other => return Err(format!("unknown option `{other}`; try `--help`").into()),
            }
        }
        if options.repositories.is_empty() {
            options.add(Repository::DEFAULT.iter().copied())?;
        }
        for repository in &mut options.repositories {
            repository.stories = stories.unwrap_or(repository.stories);
            repository.restores = restores.unwrap_or(repository.restores);
            repository.runs = runs.unwrap_or(repository.runs);
            if repository.stories < 2 || repository.runs == 0 {
                return Err("there must be two stories and one run at the least".into());
            }
        }
        Ok(Some(options))
    }

    fn add<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<()> {
        for name in names {
            let repository = Repository::named(name)?;
            if !self.repositories.contains(&repository) {
                self.repositories.push(repository);
            }
        }
        Ok(())
    }
}

fn count(word: &OsString) -> Result<usize> {
    number(&word.to_string_lossy())
}
