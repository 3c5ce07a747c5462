//! The instant agent: ticks the first open box, changes files, says that it is done, and records
//! when it began and ended. It is this program, started with a special first argument.
//!
//! After a given number of stories the first attempt of every further one fails, and leaves files
//! behind.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Result;
use crate::account::Account;
use crate::fixture::TASKS;
use crate::repository::{LEFT_BY_A_FAILURE, Repository};

/// The word that makes this program act as the agent.
pub(crate) const WORD: &str = "__agent";

/// An open box.
pub(crate) const OPEN: &str = "- [ ] ";

/// A box that is ticked.
pub(crate) const DONE: &str = "- [x] ";

/// How an attempt that is meant to fail ends; anything else is a fault of the benchmark.
pub(crate) const FAILED: u8 = 1;

/// Where the files that agents add lie.
const FOLDER: &str = "work";

/// What an attempt came to, as the log has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The story is done.
    Done,
    /// It is not, and there is something to take back.
    Failed,
}

impl End {
    /// The word in the log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// The command line of the agent for a repository.
pub(crate) fn command_line(repository: &Repository, log: &Path) -> Result<Vec<OsString>> {
    Ok(vec![
        std::env::current_exe()?.into(),
        WORD.into(),
        repository.name.clone().into(),
        repository.stories.to_string().into(),
        log.into(),
    ])
}

/// Makes one attempt.
pub(crate) fn work(args: &[OsString]) -> Result<ExitCode> {
    let start = now();
    let parent = employer();
    let before = Account::of(parent).words();
    let [name, stories, log] = args else {
        return Err("the agent needs a repository, a number of stories and a log".into());
    };
    let repository = Repository::named(&name.to_string_lossy())?;
    let stories: usize = stories.to_string_lossy().parse()?;
    let text = fs::read_to_string(TASKS)?;
    let story = text.matches(DONE).count() + 1;
    let failed_once = format!("agent {story} {} ", End::Failed.word());
    let end = if story > stories && !fs::read_to_string(log)?.contains(&failed_once) {
        End::Failed
    } else {
        End::Done
    };
    match end {
        End::Done => {
            finish(&repository, story)?;
            fs::write(TASKS, text.replacen(OPEN, DONE, 1))?;
            let mut out = io::stdout();
            out.write_all(b"<promise>COMPLETE</promise>\n")?;
            out.flush()?;
        }
        End::Failed => spoil(&repository, story)?,
    }
    let after = Account::of(parent).words();
    let own = Account::of(std::process::id()).words();
    let mut log = OpenOptions::new().append(true).create(true).open(log)?;
    let word = end.word();
    let stop = now();
    let line = format!("agent {story} {word} {start} {stop} {before} {after} {own}\n");
    log.write_all(line.as_bytes())?;
    Ok(match end {
        End::Done => ExitCode::SUCCESS,
        End::Failed => ExitCode::from(FAILED),
    })
}

/// The process that runs the loop: the parent, or the one above it where that is the same program,
/// of which the parent is only a supervisor.
fn employer() -> u32 {
    let parent = std::os::unix::process::parent_id();
    let program = |process: u32| fs::read_link(format!("/proc/{process}/exe")).ok();
    let above = fs::read_to_string(format!("/proc/{parent}/stat")).ok();
    // After the name, which is in brackets: the state, then the parent.
    let above = above.and_then(|text| {
        let (_, fields) = text.rsplit_once(')')?;
        fields.split_whitespace().nth(1)?.parse().ok()
    });
    above
        .filter(|above| program(parent).is_some() && program(*above) == program(parent))
        .unwrap_or(parent)
}

fn finish(repository: &Repository, story: usize) -> Result<()> {
    rewrite(repository, repository.rewritten, &format!("story {story}"))?;
    fs::create_dir_all(FOLDER)?;
    let text = format!("story {story}\n");
    Ok(fs::write(format!("{FOLDER}/story-{story}.txt"), text)?)
}

fn spoil(repository: &Repository, story: usize) -> Result<()> {
    rewrite(repository, repository.spoiled(), "spoiled")?;
    let folder = format!("litter-{story}");
    fs::create_dir_all(&folder)?;
    for number in 0..LEFT_BY_A_FAILURE {
        fs::write(format!("{folder}/{number}.txt"), "left behind\n")?;
    }
    Ok(())
}

fn rewrite(repository: &Repository, files: usize, by: &str) -> Result<()> {
    for number in 0..files {
        let text = format!("file {number}, {by}\n").repeat(10);
        fs::write(repository.path(number), text)?;
    }
    Ok(())
}

/// Nanoseconds of the wall clock: the one clock that all processes share.
pub(crate) fn now() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_nanos()
}
