//! `ralphtool attempts`: parked attempts are listed, shown and restored.

mod text;

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::context::Context;
use super::finishing::{self, MoveFlags};
use super::output;
use super::repository::repository_to_read;
use ralph_run::engine::attempts::{find, of_run};
use ralph_run::failure::Failure;
use ralph_vault::store::state_directory;
use ralph_vault::{CheckpointError, ParkedAttempt, Shelf};
use text::{AttemptRow, AttemptView, write_empty, write_list, write_one};

const EXAMPLES: &str = "\
Examples:
  ralphtool attempts                      parked attempts of the last run
  ralphtool attempts 2                    just those of story 2
  ralphtool attempts show 2.1             why it failed, what it changed
  ralphtool attempts diff 2.1             its changes as a diff
  ralphtool attempts restore 2.1 src      puts what it left in `src` into the tree";

/// Flags of `attempts`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct AttemptsArguments {
    #[command(subcommand)]
    command: Option<AttemptsCommand>,
    /// Just the attempts of this story
    story: Option<String>,
    /// The attempts of this run instead of the last one
    #[arg(long, value_name = "RUN", conflicts_with = "all")]
    run: Option<String>,
    /// The attempts of every run
    #[arg(long)]
    all: bool,
    /// Write a JSON array
    #[arg(long)]
    json: bool,
}

/// What to do with one attempt.
#[derive(Debug, Subcommand)]
enum AttemptsCommand {
    /// Show why an attempt failed and what it had changed
    Show(ShowAttemptArguments),
    /// Print the changes of an attempt as a diff
    Diff(OneAttempt),
    /// Put what an attempt left back into the tree
    Restore(RestoreArguments),
}

/// One attempt by its name.
#[derive(Debug, Args)]
struct OneAttempt {
    /// The attempt, as `ralphtool attempts` lists it: story and number, such as 2.1
    attempt: String,
    /// The run it belongs to; the newest that has one of that name where left out
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
}

/// Flags of `attempts show`.
#[derive(Debug, Args)]
struct ShowAttemptArguments {
    #[command(flatten)]
    which: OneAttempt,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Flags of `attempts restore`.
#[derive(Debug, Args)]
struct RestoreArguments {
    #[command(flatten)]
    which: OneAttempt,
    /// Just this file or folder, from here or from the top of the repository
    path: Option<PathBuf>,
    #[command(flatten)]
    flags: MoveFlags,
}

/// Lists, shows or restores.
pub(super) fn run(arguments: &AttemptsArguments, context: &Context) -> Result<ExitCode, Failure> {
    match &arguments.command {
        None => list(arguments, &shelf(context)?, context),
        Some(AttemptsCommand::Show(given)) => show(given, &shelf(context)?, context),
        Some(AttemptsCommand::Diff(given)) => diff(given, &shelf(context)?, context),
        Some(AttemptsCommand::Restore(given)) => restore(given, context),
    }
}

/// The parked attempts, without the lock: a run may be at work.
fn shelf(context: &Context) -> Result<Shelf, Failure> {
    let repository = repository_to_read(context)?;
    let state = state_directory(&context.environment)?;
    Shelf::open(&state, &repository).map_err(|error| unreadable(&error))
}

fn list(
    arguments: &AttemptsArguments,
    shelf: &Shelf,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let parked = shelf.attempts();
    let last = shelf.last_run().map(|run| run.0);
    let chosen: Vec<&ParkedAttempt> = match (&arguments.run, last) {
        (Some(run), _) => of_run(&parked, Some(run))?,
        (None, Some(last)) if !arguments.all => {
            parked.iter().filter(|it| it.run.0 == last).collect()
        }
        _ => parked.iter().collect(),
    };
    let story = arguments.story.as_deref();
    let mut rows: Vec<AttemptRow> = chosen
        .into_iter()
        .filter(|it| story.is_none_or(|story| it.attempt.story.0 == story))
        .map(AttemptRow::from)
        .collect();
    // The newest run first; within it, as it went.
    let place = |row: &AttemptRow| parked.iter().position(|it| it.run.0 == row.run);
    rows.sort_by_key(|row| std::cmp::Reverse(place(row)));
    if arguments.json {
        return output::json(&rows);
    }
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| {
        if rows.is_empty() {
            return write_empty(out, story, arguments.all);
        }
        write_list(out, paint, &rows, Timestamp::now())
    })
}

fn show(
    given: &ShowAttemptArguments,
    shelf: &Shelf,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let all = shelf.attempts();
    let parked = find(&all, &given.which.attempt, given.which.run.as_deref())?;
    let changes = shelf
        .changes_of(parked)
        .map_err(|error| unreadable(&error))?;
    let newest = find(&all, &given.which.attempt, None)?;
    let diff = shelf.diff_of(parked);
    let view = AttemptView {
        row: AttemptRow::from(parked),
        created: changes.created,
        modified: changes.modified,
        removed: changes.removed,
        ignored: changes.ignored,
        transcript: shelf.transcript_of(parked).to_string_lossy().into_owned(),
        diff: diff.exists().then(|| diff.to_string_lossy().into_owned()),
        is_shadowed: newest.run != parked.run,
    };
    if given.json {
        return output::json(&view);
    }
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| write_one(out, paint, &view))
}

fn diff(given: &OneAttempt, shelf: &Shelf, context: &Context) -> Result<ExitCode, Failure> {
    let all = shelf.attempts();
    let parked = find(&all, &given.attempt, given.run.as_deref())?;
    let path = shelf.diff_of(parked);
    let text = std::fs::read(&path).map_err(|error| {
        Failure::system(format!("attempt `{}` has no diff to read", given.attempt))
            .because(error)
            .hint(format!(
                "`ralphtool attempts show {}` lists what it changed",
                given.attempt
            ))
    })?;
    let changes = shelf
        .changes_of(parked)
        .map_err(|error| unreadable(&error))?;
    let code = output::print(&text)?;
    let ignored = changes.ignored.len();
    if ignored > 0 {
        let names = finishing::files(&changes.ignored);
        output::warn(
            context,
            [format!("ignored by git, kept, and not in the diff: {names}").as_str()],
        );
    }
    Ok(code)
}

fn restore(given: &RestoreArguments, context: &Context) -> Result<ExitCode, Failure> {
    finishing::run(context, given.flags, |session| {
        let paths = match &given.path {
            Some(path) => readings(path, &context.folder()?, session.top()),
            None => Vec::new(),
        };
        if given.path.is_some() && paths.is_empty() {
            return Err(Failure::refused("the path is not inside the repository"));
        }
        let which = &given.which;
        session.restore(&which.attempt, which.run.as_deref(), &paths)
    })
}

/// What a path can mean, from the top: seen from here, then from the top itself.
fn readings(path: &Path, here: &Path, top: &Path) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut found: Vec<Vec<u8>> = Vec::new();
    for base in [here, top] {
        let whole = without_dots(&base.join(path));
        if let Ok(inner) = whole.strip_prefix(top) {
            let bytes = inner.as_os_str().as_bytes().to_vec();
            if !bytes.is_empty() && !found.contains(&bytes) {
                found.push(bytes);
            }
        }
    }
    found
}

/// A path without `.` and `..`: the file itself may not exist.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

fn unreadable(error: &CheckpointError) -> Failure {
    Failure::system(format!("could not look into the vault: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_path_is_read_from_here_and_from_the_top() {
        #[track_caller]
        fn case(path: &str, here: &str, want: &[&str]) {
            let found = readings(Path::new(path), Path::new(here), Path::new("/repo"));
            let want: Vec<Vec<u8>> = want.iter().map(|path| path.as_bytes().to_vec()).collect();
            assert_eq!(found, want);
        }
        case("src", "/repo", &["src"]);
        case("src/", "/repo", &["src"]);
        case("b.txt", "/repo/dir", &["dir/b.txt", "b.txt"]);
        case("../a.txt", "/repo/dir", &["a.txt"]);
        case("./b.txt", "/repo/dir", &["dir/b.txt", "b.txt"]);
        case("/repo/dir/b.txt", "/repo", &["dir/b.txt"]);
        case("/elsewhere", "/repo", &[]);
        case("../..", "/repo/dir", &[]);
    }
}
