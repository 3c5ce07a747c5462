//! The flags of the benchmark.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Result;
use crate::flood;
use crate::repository::{Repository, number};
use crate::talker::Speech;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Measures what the loop itself costs beside a plain shell loop, with an agent that is done at once.

Usage: cargo bench --bench loop -- [OPTIONS]

Repositories (several may be named) [default: small, 50k, if nothing else is asked for]:
  --repo small           10 files
  --repo 50k             50,000 files; any number works
  --repo 200k            the same, larger: about 2 GB of disk for a while
  --repo changed         20,000 files, of which every story changes 10,000
  --repo deep            2,000 files in folders 60 levels deep
  --all                  all of these

How much:
  --stories N            stories that are done at once, in each run
  --restores N           further stories whose first attempt fails, in each run
  --runs N               runs of each contender, in turns
  --gate                 each repository once more with a gate that passes at once, which both loops run
  --git                  also list the git processes of a story and of a restore, in runs of their own

Agent output, read without a screen; `cargo bench --bench screen` measures it with one:
  --agent-output SIZE    an agent that prints this much text, such as 200MB
  --events N             an agent that prints this number of Claude Code events, such as 1000000

Start:
  --start                `--version`, `list` of 500 changes, `list` of many task files, the size
  --tasks DIR            with the files `*.md` of a folder, each as a change [default: made-up ones]

  --dir DIR              where to work; its file system counts [default: the temporary folder]

RALPHTOOL_PROGRAM=FILE measures another ralphtool beside this one, such as an older build.
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
    /// What agents say.
    pub(crate) speeches: Vec<Speech>,
    /// The start is measured.
    pub(crate) start: bool,
    /// A folder with task files.
    pub(crate) tasks: Option<PathBuf>,
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
            speeches: Vec::new(),
            start: false,
            tasks: None,
            folder: std::env::temp_dir(),
        };
        let (mut stories, mut restores, mut runs) = (None, None, None);
        let mut gate = false;
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
                "--repo" => options.add(value()?.split(','))?,
                "--all" => options.add(Repository::ALL.iter().copied())?,
                "--gate" => gate = true,
                "--git" => options.count_git = true,
                "--stories" => stories = Some(number(&value()?)?),
                "--restores" => restores = Some(number(&value()?)?),
                "--runs" => runs = Some(number(&value()?)?),
                "--agent-output" => {
                    let bytes = flood::bytes(&value()?)?;
                    options.speeches.push(Speech::Text(bytes));
                }
                "--events" => {
                    let count = flood::count(&value()?)?;
                    options.speeches.push(Speech::Events(count));
                }
                "--start" => options.start = true,
                "--tasks" => options.tasks = Some(PathBuf::from(value()?.as_ref())),
                "--dir" => options.folder = PathBuf::from(value()?.as_ref()),
                other => return Err(format!("unknown option `{other}`; try `--help`").into()),
            }
        }
        options.start |= options.tasks.is_some();
        if options.repositories.is_empty() && options.speeches.is_empty() && !options.start {
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
        if gate {
            let pairs = options.repositories.iter();
            options.repositories = pairs.flat_map(|it| [it.clone(), it.with_gate()]).collect();
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
