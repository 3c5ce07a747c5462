//! `ralphtool attempts`: parked attempts are listed, shown and restored.

mod transcript;

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anstyle::Style;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;

use super::finish::{self, MoveFlags};
use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::repository_to_read;
use crate::ui::page::Page;
use crate::ui::reason;
use crate::ui::style::{DIM, NAME, STRONG};
use crate::ui::text::{clean, clean_lines, truncate};
use crate::ui::words::{self, shell};
use ralph_run::engine::attempts::{find, of_run};
use ralph_run::failure::Failure;
use ralph_run::history::lookup::read_run;
use ralph_run::records::event::FailureKind;
use ralph_run::records::outcome::reason_beside;
use ralph_run::records::progress::Progress;
use ralph_vault::{CheckpointError, ParkedAttempt, ParkedCommits, Shelf};

const EXAMPLES: &str = "\
Examples:
  ralphtool attempts                      parked attempts of the last run
  ralphtool attempts 2                    only those of story 2
  ralphtool attempts show 2.1             why it failed, what it changed
  ralphtool attempts diff 2.1             its changes as a diff
  ralphtool attempts transcript 2.1       what the agent said and did
  ralphtool attempts restore 2.1 src      restore what it left in `src`";

/// Flags of `attempts`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct AttemptsArguments {
    #[command(subcommand)]
    command: Option<AttemptsCommand>,
    /// Only the attempts of this story
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
    /// Print what the agent said and did in an attempt, parked or not
    Transcript(transcript::TranscriptArguments),
    /// Restore the files an attempt left
    Restore(RestoreArguments),
}

/// One attempt by its name.
#[derive(Debug, Args)]
struct OneAttempt {
    /// The attempt, as `ralphtool attempts` lists it: story and number, such as 2.1
    attempt: String,
    /// The run it belongs to; without it, the newest that has an attempt of that name
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
    /// Only this file or folder, seen from here or from the top of the repository
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
        Some(AttemptsCommand::Transcript(given)) => transcript::show(given, context),
        Some(AttemptsCommand::Restore(given)) => restore(given, context),
    }
}

/// The parked attempts, without the lock: a run may be at work.
fn shelf(context: &Context) -> Result<Shelf, Failure> {
    let repository = repository_to_read(context)?;
    let state = context.state()?;
    Shelf::open(&state, &repository).map_err(unreadable)
}

fn list(
    arguments: &AttemptsArguments,
    shelf: &Shelf,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let parked = shelf.attempts();
    let mut chosen = of_run(&parked, arguments.run.as_deref())?;
    if arguments.run.is_none() && !arguments.all {
        let last = shelf.last_run();
        chosen.retain(|it| last.as_ref().is_none_or(|last| it.run == *last));
    }
    let story = arguments.story.as_deref();
    if let Some(story) = story {
        check_story(story, &parked, shelf, context)?;
    }
    chosen.retain(|it| story.is_none_or(|story| it.attempt.story.0 == story));
    let mut rows: Vec<AttemptRow> = chosen.into_iter().map(AttemptRow::from).collect();
    // The newest run first; within it, as it went.
    let place = |row: &AttemptRow| parked.iter().position(|it| it.run.0 == row.run);
    rows.sort_by_key(|row| std::cmp::Reverse(place(row)));
    output::json_or_page(arguments.json, &rows, context, |page, rows| {
        if rows.is_empty() {
            return write_empty(page, story, arguments.all);
        }
        write_list(page, rows, Timestamp::now());
    })
}

/// Refuses a story that neither a parked attempt nor the last run knows.
fn check_story(
    story: &str,
    parked: &[ParkedAttempt],
    shelf: &Shelf,
    context: &Context,
) -> Result<(), Failure> {
    let mut known: Vec<String> = match shelf.last_run() {
        Some(run) => {
            let vault = context.vault(&repository_to_read(context)?)?;
            let progress = Progress::of(&read_run(&vault, &run));
            let stories = progress.stories.into_iter();
            stories.map(|it| it.id.to_string()).collect()
        }
        None => Vec::new(),
    };
    for it in parked {
        if !known.contains(&it.attempt.story.0) {
            known.push(it.attempt.story.0.clone());
        }
    }
    if known.iter().any(|id| id == story) {
        return Ok(());
    }
    let failure = Failure::refused(format!("no run here has a story `{story}`"));
    Err(if known.is_empty() {
        failure.hint("`ralphtool attempts` lists the attempts that are parked")
    } else {
        failure.hint(format!("known stories: {}", known.join(", ")))
    })
}

fn show(
    given: &ShowAttemptArguments,
    shelf: &Shelf,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let all = shelf.attempts();
    let parked = find(&all, &given.which.attempt, given.which.run.as_deref())?;
    let changes = shelf.changes_of(parked).map_err(unreadable)?;
    let newest = find(&all, &given.which.attempt, None)?;
    let diff = shelf.diff_of(parked);
    let view = AttemptView {
        row: AttemptRow::from(parked),
        created: changes.created,
        modified: changes.modified,
        removed: changes.removed,
        ignored: changes.ignored,
        elsewhere: changes.elsewhere,
        transcript: shelf.transcript_of(parked).to_string_lossy().into_owned(),
        diff: diff.exists().then(|| diff.to_string_lossy().into_owned()),
        commits: shelf.commits_of(parked).map_err(unreadable)?.map(range),
        is_shadowed: newest.run != parked.run,
    };
    output::json_or_page(given.json, &view, context, write_one)
}

fn diff(given: &OneAttempt, shelf: &Shelf, context: &Context) -> Result<ExitCode, Failure> {
    let all = shelf.attempts();
    let parked = find(&all, &given.attempt, given.run.as_deref())?;
    let path = shelf.diff_of(parked);
    let name = &given.attempt;
    let text = std::fs::read(&path).map_err(|error| {
        let hint = format!("`ralphtool attempts show {name}` lists what it changed");
        let failure = Failure::system(format!("attempt `{name}` has no diff to read"));
        failure.because(error).hint(hint)
    })?;
    let changes = shelf.changes_of(parked).map_err(unreadable)?;
    let code = output::print(&text)?;
    if !changes.ignored.is_empty() {
        let names = finish::files(&changes.ignored);
        let text = format!("ignored by git, kept, and not in the diff: {names}");
        output::warn(context, [text]);
    }
    if !changes.elsewhere.is_empty() {
        let names = finish::files(&changes.elsewhere);
        let text =
            format!("in a submodule or repository of its own, kept, and not in the diff: {names}");
        output::warn(context, [text]);
    }
    Ok(code)
}

fn restore(given: &RestoreArguments, context: &Context) -> Result<ExitCode, Failure> {
    finish::carry_out(context, given.flags, |session| {
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

/// What a path can mean, relative to the top: it may be relative to `here` or to the top.
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

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn unreadable(error: CheckpointError) -> Failure {
    Failure::system(format!("could not read the vault: {error}"))
}

/// How much of a reason the table shows.
const REASON_WIDTH: usize = 80;

/// How wide the labels of one attempt are.
const LABEL: usize = 10;

/// One parked attempt in the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct AttemptRow {
    /// Its name, such as `2.1`.
    attempt: String,
    run: String,
    story: String,
    at: Timestamp,
    kind: FailureKind,
    reason: String,
    changed_files: usize,
    /// Agent processes it had, one after the other in one session: each repair is one more.
    rounds: u32,
}

/// One parked attempt in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct AttemptView {
    #[serde(flatten)]
    row: AttemptRow,
    created: Vec<String>,
    modified: Vec<String>,
    removed: Vec<String>,
    /// Those of them that git ignores.
    ignored: Vec<String>,
    /// Those in a submodule or a repository of its own.
    elsewhere: Vec<String>,
    /// The folder with prompt, stdout and stderr.
    transcript: String,
    /// The diff, where there is one.
    diff: Option<String>,
    /// The range of the commits it had made.
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<String>,
    /// A newer run has an attempt of that name: this one must be asked for with its run.
    is_shadowed: bool,
}

/// The range of commits, as git takes it.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map` gives")]
fn range(commits: ParkedCommits) -> String {
    format!("{}..{}", commits.from, commits.to)
}

impl From<&ParkedAttempt> for AttemptRow {
    fn from(parked: &ParkedAttempt) -> Self {
        Self {
            attempt: parked.note.label.clone(),
            run: parked.run.0.clone(),
            story: parked.attempt.story.0.clone(),
            at: parked.at,
            kind: parked.note.kind,
            reason: parked.note.why.clone(),
            changed_files: parked.note.changed_files,
            rounds: parked.note.rounds,
        }
    }
}

/// Writes a table for each run; the rows of a run stand together.
fn write_list(page: &mut Page, rows: &[AttemptRow], now: Timestamp) {
    let header = ["attempt", "parked", "rounds", "files", "kind", "reason"];
    for (place, rows) in rows.chunk_by(|one, two| one.run == two.run).enumerate() {
        let gap = if place == 0 { "" } else { "\n" };
        let run = rows.first().map_or("", |row| row.run.as_str());
        let title = page.paint(DIM, format!("run {}", clean(run)));
        page.line(format!("{gap}{title}"));
        let rows: Vec<_> = rows.iter().map(|row| cells(row, now)).collect();
        page.table(header, &rows);
    }
}

fn cells(row: &AttemptRow, now: Timestamp) -> [(Style, String); 6] {
    let plain = Style::new();
    let reason = reason::brief(row.kind, &row.reason);
    let parked = words::ago(row.at, now);
    [
        (STRONG, clean(&row.attempt)),
        (plain, parked),
        (plain, row.rounds.to_string()),
        (plain, row.changed_files.to_string()),
        (plain, kind(row.kind)),
        (plain, truncate(&reason, REASON_WIDTH)),
    ]
}

/// The kind as the records call it: short, and what one would search for.
fn kind(kind: FailureKind) -> String {
    let text = serde_json::to_value(kind).unwrap_or_default();
    text.as_str().unwrap_or_default().to_owned()
}

/// Writes that there is none.
fn write_empty(page: &mut Page, story: Option<&str>, all: bool) {
    let of = match (story, all) {
        (Some(story), _) => format!(" of story {}", clean(story)),
        (None, false) => " of the last run".to_owned(),
        (None, true) => String::new(),
    };
    page.line(format!("no attempt{of} failed: none is parked"));
}

/// Writes one attempt.
fn write_one(page: &mut Page, view: &AttemptView) {
    let row = &view.row;
    page.styled(STRONG, format!("attempt {}", clean(&row.attempt)));
    let parked = row.at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    let kind = format!("{}: {}", kind(row.kind), words::failure(row.kind));
    let rounds = row.rounds.to_string();
    let mut facts = vec![
        ("run", &row.run),
        ("story", &row.story),
        ("parked", &parked),
        ("kind", &kind),
        ("rounds", &rounds),
        ("transcript", &view.transcript),
    ];
    facts.extend(view.diff.iter().map(|diff| ("diff", diff)));
    page.facts(&facts, LABEL);
    page.blank();
    if let Some(reason) = reason_beside(row.kind, &row.reason) {
        for line in clean_lines(reason) {
            page.line(format!("  {line}"));
        }
        page.blank();
    }
    for (mark, paths) in [
        ("A", &view.created),
        ("M", &view.modified),
        ("D", &view.removed),
    ] {
        for path in paths {
            let note = if view.ignored.contains(path) {
                page.paint(DIM, "  (ignored by git, not in the diff)")
            } else if view.elsewhere.contains(path) {
                page.paint(
                    DIM,
                    "  (in a submodule or repository of its own, not in the diff)",
                )
            } else {
                String::new()
            };
            let mark = page.paint(NAME, mark);
            page.line(format!("  {mark} {}{note}", clean(path)));
        }
    }
    let changed_none =
        view.created.is_empty() && view.modified.is_empty() && view.removed.is_empty();
    if changed_none {
        page.line("  it changed no file");
    }
    let commands = commands(view, changed_none);
    if !commands.is_empty() {
        page.blank();
        page.commands(&commands);
    }
}

/// What shows and restores more of an attempt.
fn commands(view: &AttemptView, changed_none: bool) -> Vec<(String, &'static str)> {
    let row = &view.row;
    let mut which = shell(&row.attempt);
    if view.is_shadowed {
        which = format!("{which} --run {}", shell(&row.run));
    }
    let of_attempt = |verb: &str| format!("ralphtool attempts {verb} {which}");
    let mut commands = Vec::new();
    if !changed_none {
        commands.extend([
            (of_attempt("diff"), "shows the changes"),
            (
                of_attempt("transcript"),
                "shows what the agent said and did",
            ),
            (of_attempt("restore"), "restores the files it left"),
        ]);
    }
    if let Some(range) = &view.commits {
        commands.extend([
            (format!("git log -p {range}"), "shows what it had committed"),
            (
                format!("git cherry-pick {range}"),
                "applies it here; may conflict",
            ),
        ]);
    }
    commands
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
