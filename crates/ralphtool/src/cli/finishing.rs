//! What `finish`, `rewind`, `undo` and `attempts restore` share: their flags, and saying what will
//! be done, what was done and how to revert it.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::context::Context;
use super::output;
use super::runtime::on_runtime;
use crate::ui::rows::{write_commands, write_facts};
use crate::ui::style::{DIM, GOOD, Paint, STRONG, WARN};
use crate::ui::text::clean;
use crate::ui::words::{Count, Noun, shell};
use ralph_run::failure::Failure;
use ralph_run::finishing::{
    Action, Done, Opening, Plan, Prepared, Recovered, Session, choice_name,
};
use ralph_run::records::event::{FinishChoice, WIRE_VERSION};
use ralph_vault::store::state_directory;

/// How many names of files are listed.
const NAMES: usize = 10;

/// How wide the labels of a plan are.
const LABEL: usize = 9;

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

impl MoveFlags {
    const fn opening(self) -> Opening {
        Opening {
            dry_run: self.dry_run,
            abandons: false,
        }
    }
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
pub(super) fn run(
    context: &Context,
    flags: MoveFlags,
    prepare: impl FnOnce(&mut Session) -> Result<Prepared, Failure>,
) -> Result<ExitCode, Failure> {
    run_opened(context, flags, flags.opening(), |session| {
        prepare(session).map(Some)
    })
}

/// As [`run`], with a way to open the checkpoints, and with nothing done if nothing is prepared.
pub(super) fn run_opened(
    context: &Context,
    flags: MoveFlags,
    opening: Opening,
    prepare: impl FnOnce(&mut Session) -> Result<Option<Prepared>, Failure>,
) -> Result<ExitCode, Failure> {
    let directory = context.folder()?;
    let state = state_directory(&context.environment)?;
    let mut session = on_runtime(Session::open(&directory, &state, opening))?;
    if !flags.json {
        let paint = context.paint_for(&io::stdout());
        output::present(|out| write_recovered(out, paint, &session.recovered))?;
    }
    match prepare(&mut session) {
        Ok(Some(prepared)) => carry_out(context, flags, session, prepared),
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

fn carry_out(
    context: &Context,
    flags: MoveFlags,
    session: Session,
    prepared: Prepared,
) -> Result<ExitCode, Failure> {
    let paint = context.paint_for(&io::stdout());
    let plan = prepared.plan.clone();
    let recovered = session.recovered.clone();
    if !flags.json {
        output::present(|out| write_plan(out, paint, &plan))?;
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
    output::present(|out| match &done {
        None => writeln!(out, "{}", paint.apply(DIM, "dry run: nothing was touched")),
        Some(_) if plan.already => Ok(()),
        Some(done) => write_done(out, paint, &plan, done),
    })
}

/// A number of files, and the names of the first few.
pub(super) fn files(paths: &[String]) -> String {
    let shown: Vec<&str> = paths.iter().take(NAMES).map(String::as_str).collect();
    let more = paths.len() - shown.len();
    let count = Count(paths.len() as u64, Noun::File);
    let names = shown.join(", ");
    match more {
        0 => format!("{count}: {names}"),
        _ => format!("{count}: {names} and {more} more"),
    }
}

fn write_recovered(out: &mut dyn Write, paint: Paint, recovered: &[Recovered]) -> io::Result<()> {
    for it in recovered {
        let label = paint.apply(WARN, "recovered:");
        writeln!(out, "{label} {}: {}", clean(&it.found), clean(&it.done))?;
    }
    Ok(())
}

fn write_plan(out: &mut dyn Write, paint: Paint, plan: &Plan) -> io::Result<()> {
    writeln!(out, "{}", paint.apply(STRONG, clean(&headline(plan))))?;
    write_facts(out, paint, &details(plan), LABEL)
}

fn write_done(out: &mut dyn Write, paint: Paint, plan: &Plan, done: &Done) -> io::Result<()> {
    let notices: Vec<(&str, &String)> = done.notices.iter().map(|it| ("note", it)).collect();
    write_facts(out, paint, &notices, LABEL)?;
    let result = clean(&result(plan));
    writeln!(out, "{} {result}", paint.apply(GOOD, "done:"))?;
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
    write_commands(out, paint, &next)
}

fn headline(plan: &Plan) -> String {
    let Plan { change, branch, .. } = plan;
    match &plan.action {
        Action::Finish { choice } if plan.already => {
            let choice = choice_name(*choice);
            format!("{choice}: the run of `{change}` is kept already")
        }
        Action::Finish { choice } => match choice {
            FinishChoice::Cleanup => {
                format!("cleanup: the work of `{change}` goes home as uncommitted changes")
            }
            FinishChoice::Keep => format!("keep: the commits of `{change}` stay on `{branch}`"),
            FinishChoice::Abandon => {
                format!("abandon: everything goes back to before the run of `{change}`")
            }
        },
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
        let stories = plan.stories.join(", ");
        let text = format!("their checkpoints go, and stay in the vault: {stories}");
        details.push(("stories", text));
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
    fn everything_is_said_before_and_after() {
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
        let mut out = Vec::new();
        for action in actions {
            let plan = plan(action);
            let done = Done {
                is_open: matches!(plan.action, Action::Undo { .. } | Action::Rewind { .. }),
                way_back: plan.action.way_back(),
                notices: vec!["something else".to_owned()],
            };
            write_plan(&mut out, Paint::Plain, &plan).unwrap();
            write_done(&mut out, Paint::Plain, &plan, &done).unwrap();
            writeln!(out).unwrap();
        }
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
