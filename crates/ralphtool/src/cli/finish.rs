//! `ralphtool finish`, `rewind` and `undo`, and what they share with `attempts restore`: their flags,
//! and saying what will be done, what was done and how to revert it.

use std::io;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::console::context::Context;
use crate::console::output::{self, ask};
use crate::console::runtime::on_runtime;
use crate::ui::page::Page;
use crate::ui::style::{DIM, GOOD, NAME, STRONG, WARN};
use crate::ui::text::clean;
use crate::ui::words::{count, shell};
use ralph_base::ids::StoryId;
use ralph_run::failure::Failure;
use ralph_run::finishing::{
    Action, Done, Opening, Plan, Prepared, Recovered, Session, choice_name,
};
use ralph_run::records::event::{FinishChoice, WIRE_VERSION};
use ralph_vault::OpenRun;

/// How many names of files are listed.
const NAMES: usize = 10;

/// How wide the labels of a plan are.
const LABEL: usize = 9;

const EXAMPLES: &str = "\
Examples:
  ralphtool finish --cleanup             the work on your branch, uncommitted
  ralphtool finish --abandon --dry-run   what going back to before the run would do
  ralphtool undo                         takes a finish back";

/// Flags of `finish`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FinishArguments {
    #[command(flatten)]
    choice: ChoiceArguments,
    #[command(flatten)]
    flags: MoveFlags,
}

/// How a run is ended; a terminal is asked where none is given.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct ChoiceArguments {
    /// Back to the original branch, the work as uncommitted changes; `ralph/CHANGE` goes
    #[arg(long)]
    cleanup: bool,
    /// Stay on `ralph/CHANGE` with all commits
    #[arg(long)]
    keep: bool,
    /// Put everything back exactly as it was before the run
    #[arg(long)]
    abandon: bool,
}

impl ChoiceArguments {
    const fn given(&self) -> Option<FinishChoice> {
        match (self.cleanup, self.keep, self.abandon) {
            (true, _, _) => Some(FinishChoice::Cleanup),
            (_, true, _) => Some(FinishChoice::Keep),
            (_, _, true) => Some(FinishChoice::Abandon),
            (false, false, false) => None,
        }
    }
}

pub(super) fn run(arguments: &FinishArguments, context: &Context) -> Result<ExitCode, Failure> {
    let flags = arguments.flags;
    let given = arguments.choice.given();
    if given.is_none() && (flags.json || !output::can_ask()) {
        return Err(Failure::refused("say how the run is to be finished")
            .hint("`--cleanup`: back to your branch, the work as uncommitted changes")
            .hint("`--keep`: the commits stay on the checkpoint branch")
            .hint("`--abandon`: everything as it was before the run"));
    }
    let abandons = given == Some(FinishChoice::Abandon);
    open(context, flags, abandons, |session| {
        let choice = match given {
            Some(choice) => Some(choice),
            None => ask_for_choice(context, session)?,
        };
        choice.map(|choice| session.finish(choice)).transpose()
    })
}

fn ask_for_choice(context: &Context, session: &Session) -> Result<Option<FinishChoice>, Failure> {
    let run = session.run_to_finish()?;
    let mut page = Page::new(context.paint_for(&io::stdout()));
    write_question(&mut page, &run);
    match ask(&page.text)?.as_deref() {
        None | Some("q") => Ok(None),
        Some("" | "k") => Ok(Some(FinishChoice::Keep)),
        Some("c") => Ok(Some(FinishChoice::Cleanup)),
        Some("a") => Ok(Some(FinishChoice::Abandon)),
        Some(other) => Err(Failure::refused(format!(
            "`{other}` is none of c, k, a and q"
        ))),
    }
}

/// Writes the choices and a prompt for the answer.
fn write_question(page: &mut Page, run: &OpenRun) {
    let question = format!("what becomes of the run of `{}`?", run.change);
    page.styled(STRONG, clean(&question));
    let keep = format!("keep: its commits stay on `{}`", run.branch);
    let cleanup = "cleanup: back to your branch, the work as uncommitted changes";
    for (key, what) in [
        ("c", cleanup),
        ("k", keep.as_str()),
        ("a", "abandon: everything as it was before the run"),
        ("q", "nothing: the run stays as it is"),
    ] {
        page.line(format!("  {}  {}", page.paint(NAME, key), clean(what)));
    }
    page.text += "[k] ";
}

/// Flags of `rewind`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool rewind 3 --dry-run      which checkpoints would go
  ralphtool rewind 3                back to before story 3; then edit the plan, or
  ralphtool resume                  do it again from there")]
pub(super) struct RewindArguments {
    /// The story that is to be done again; it and all after it go
    story: String,
    #[command(flatten)]
    flags: MoveFlags,
}

/// Goes back to before a story.
pub(super) fn rewind(arguments: &RewindArguments, context: &Context) -> Result<ExitCode, Failure> {
    carry_out(context, arguments.flags, |session| {
        session.rewind(&StoryId(arguments.story.clone()))
    })
}

/// Flags of `undo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool undo --dry-run          what would be taken back
  ralphtool undo                    takes it back")]
pub(super) struct UndoArguments {
    #[command(flatten)]
    flags: MoveFlags,
}

/// Reverts the last of these.
pub(super) fn undo(arguments: &UndoArguments, context: &Context) -> Result<ExitCode, Failure> {
    carry_out(context, arguments.flags, Session::undo)
}

/// Flags of every command that moves something.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct MoveFlags {
    /// Say what would be done, and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Write one JSON object with the plan and the result, and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

/// The whole output as one JSON object.
#[derive(Serialize)]
struct Report<'a> {
    v: u32,
    recovered: &'a [Recovered],
    plan: &'a Plan,
    dry_run: bool,
    /// None in a dry run.
    result: Option<&'a Done>,
}

/// Opens the checkpoints, prepares something, says what it will do, and does it.
pub(super) fn carry_out(
    context: &Context,
    flags: MoveFlags,
    prepare: impl FnOnce(&mut Session) -> Result<Prepared, Failure>,
) -> Result<ExitCode, Failure> {
    open(context, flags, false, |session| prepare(session).map(Some))
}

/// As [`carry_out`], but `prepare` may decide to do nothing. `abandons` says that the run is about
/// to be abandoned, which is known before the vault is opened.
fn open(
    context: &Context,
    flags: MoveFlags,
    abandons: bool,
    prepare: impl FnOnce(&mut Session) -> Result<Option<Prepared>, Failure>,
) -> Result<ExitCode, Failure> {
    let directory = context.folder()?;
    let state = context.state()?;
    let opening = Opening {
        dry_run: flags.dry_run,
        abandons,
    };
    let mut session = on_runtime(Session::open(&directory, &state, opening))?;
    if !flags.json {
        output::page(context, |page| write_recovered(page, &session.recovered))?;
    }
    match prepare(&mut session) {
        Ok(Some(prepared)) => do_prepared(context, flags, session, prepared),
        Ok(None) => Ok(ExitCode::SUCCESS),
        // In JSON mode nothing else says what was recovered before it.
        Err(failure) if flags.json => {
            let recovered = session.recovered.iter();
            let lines = recovered.map(|it| format!("recovered: {}: {}", it.found, it.done));
            Err(lines.fold(failure, Failure::hint))
        }
        Err(failure) => Err(failure),
    }
}

fn do_prepared(
    context: &Context,
    flags: MoveFlags,
    session: Session,
    prepared: Prepared,
) -> Result<ExitCode, Failure> {
    let plan = prepared.plan.clone();
    let recovered = session.recovered.clone();
    if !flags.json {
        output::page(context, |page| write_plan(page, &plan))?;
    }
    let done = if flags.dry_run {
        None
    } else {
        Some(session.carry_out(prepared)?)
    };
    if flags.json {
        return output::json(&Report {
            v: WIRE_VERSION,
            recovered: &recovered,
            plan: &plan,
            dry_run: flags.dry_run,
            result: done.as_ref(),
        });
    }
    output::page(context, |page| match &done {
        None => page.styled(DIM, "dry run: nothing was touched"),
        Some(_) if plan.already => {}
        Some(done) => write_done(page, &plan, done),
    })
}

/// A number of files, and the names of the first few.
pub(super) fn files(paths: &[String]) -> String {
    let names = paths[..paths.len().min(NAMES)].join(", ");
    let count = count(paths.len(), "file");
    match paths.len().saturating_sub(NAMES) {
        0 => format!("{count}: {names}"),
        more => format!("{count}: {names} and {more} more"),
    }
}

fn write_recovered(page: &mut Page, recovered: &[Recovered]) {
    for it in recovered {
        let label = page.paint(WARN, "recovered:");
        page.line(format!("{label} {}: {}", clean(&it.found), clean(&it.done)));
    }
}

fn write_plan(page: &mut Page, plan: &Plan) {
    page.styled(STRONG, clean(&headline(plan)));
    page.facts(&details(plan), LABEL);
}

fn write_done(page: &mut Page, plan: &Plan, done: &Done) {
    let notices: Vec<(&str, &String)> = done.notices.iter().map(|it| ("note", it)).collect();
    page.facts(&notices, LABEL);
    let result = clean(&result(plan));
    page.line(format!("{} {result}", page.paint(GOOD, "done:")));
    // A story's id may need quotes.
    let way_back: Vec<String> = done.way_back.split(' ').map(shell).collect();
    let what = match plan.action {
        Action::Undo { .. } => "does it again",
        _ => "takes it back",
    };
    let mut next = vec![(way_back.join(" "), what)];
    if done.is_open {
        next.push(("ralphtool resume".to_owned(), "goes on with the run"));
        next.push(("ralphtool finish".to_owned(), "ends it"));
    }
    page.commands(&next);
}

fn headline(plan: &Plan) -> String {
    let Plan { change, branch, .. } = plan;
    match &plan.action {
        Action::Finish { choice } => {
            let what = match choice {
                _ if plan.already => format!("the run of `{change}` is kept already"),
                FinishChoice::Cleanup => {
                    format!("the work of `{change}` goes home as uncommitted changes")
                }
                FinishChoice::Keep => format!("the commits of `{change}` stay on `{branch}`"),
                FinishChoice::Abandon => {
                    format!("everything goes back to before the run of `{change}`")
                }
            };
            format!("{}: {what}", choice_name(*choice))
        }
        Action::Rewind { story } => {
            format!("rewind: the run of `{change}` goes back to before story {story}")
        }
        Action::Restore { attempt, path } => match path {
            Some(path) => format!("restore: `{path}` as attempt {attempt} left it"),
            None => format!("restore: the files as attempt {attempt} left them"),
        },
        Action::Undo { of } => format!("undo: {} is taken back", noun(of)),
    }
}

fn details(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(head) = &plan.head {
        details.push(("HEAD", format!("will be on `{head}`")));
    }
    details.extend(plan.branches.iter().map(|it| ("branch", it.clone())));
    if !plan.stories.is_empty() {
        let text = "their checkpoints go, and stay in the vault";
        details.push(("stories", format!("{text}: {}", plan.stories.join(", "))));
    }
    if !plan.written.is_empty() {
        details.push(("writes", files(&plan.written)));
    }
    if !plan.removed.is_empty() {
        details.push(("to vault", files(&plan.removed)));
    }
    if plan.written.is_empty() && plan.removed.is_empty() && plan.head.is_some() {
        details.push(("files", "none is touched".to_owned()));
    }
    details.extend(plan.notices.iter().map(|it| ("note", it.clone())));
    details
}

fn result(plan: &Plan) -> String {
    let head = plan.head.as_deref().unwrap_or(&plan.branch);
    match &plan.action {
        Action::Finish { choice } => match choice {
            FinishChoice::Cleanup => {
                format!("HEAD is on `{head}`, the work is there as uncommitted changes")
            }
            FinishChoice::Keep => format!("the commits are on `{}`", plan.branch),
            FinishChoice::Abandon => {
                format!("HEAD is on `{head}`, everything is as it was before the run")
            }
        },
        Action::Rewind { story } => format!("the run is at the checkpoint before story {story}"),
        Action::Restore { attempt, .. } => {
            format!("the files of attempt {attempt} are in the tree")
        }
        Action::Undo { of } => match of.as_ref() {
            Action::Finish { .. } => format!("{} is taken back, the run is open again", noun(of)),
            of => format!("{} is taken back", noun(of)),
        },
    }
}

fn noun(action: &Action) -> String {
    match action {
        Action::Finish { choice } => format!("the {}", choice_name(*choice)),
        Action::Rewind { story } => format!("the rewind to before story {story}"),
        Action::Restore { attempt, .. } => format!("the restore of attempt {attempt}"),
        Action::Undo { .. } => "the undo".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use ralph_base::ids::RunId;

    fn plan(action: Action) -> Plan {
        let names = |count: usize, kind: &str| {
            let names = (1..=count).map(|number| format!("{kind}-{number}.txt"));
            names.collect::<Vec<String>>()
        };
        Plan {
            action,
            run: RunId("20261115-194501-x7k2".to_owned()),
            change: "add-retry".to_owned(),
            branch: "ralph/add-retry".to_owned(),
            already: false,
            head: Some("main".to_owned()),
            branches: vec!["`ralph/add-retry` goes; its tip abc is kept in the vault".to_owned()],
            stories: vec!["2".to_owned(), "3".to_owned()],
            written: names(12, "new"),
            removed: names(1, "old"),
            notices: vec!["\u{1b}[2Jsomething to know".to_owned()],
        }
    }

    #[test]
    fn plans_and_results_of_finish_rewind_restore_and_undo() {
        let finish = |choice| Action::Finish { choice };
        let restore = Action::Restore {
            attempt: "2.1".to_owned(),
            path: Some("src".to_owned()),
        };
        let rewind = Action::Rewind {
            story: "2".to_owned(),
        };
        let undo = |of: &Action| Action::Undo {
            of: Box::new(of.clone()),
        };
        let actions = [
            finish(FinishChoice::Cleanup),
            finish(FinishChoice::Keep),
            finish(FinishChoice::Abandon),
            undo(&finish(FinishChoice::Abandon)),
            undo(&rewind),
            rewind,
            restore,
        ];
        let mut page = Page::new(Paint::Plain);
        for action in actions {
            let plan = plan(action);
            let done = Done {
                is_open: matches!(plan.action, Action::Undo { .. } | Action::Rewind { .. }),
                way_back: plan.action.way_back(),
                notices: vec!["something else".to_owned()],
            };
            write_plan(&mut page, &plan);
            write_done(&mut page, &plan, &done);
            page.blank();
        }
        insta::assert_snapshot!(page.text);
    }
}
