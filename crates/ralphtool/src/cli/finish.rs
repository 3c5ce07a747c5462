//! `ralphtool finish`, `rewind` and `undo`, and what they share with `attempts restore`: their flags,
//! and saying what will be done, what was done and how to revert it.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::console::context::{Context, unfit};
use crate::console::output::{self, ask};
use crate::console::runtime::on_runtime;
use crate::ui::page::Page;
use crate::ui::style::{DIM, GOOD, NAME, STRONG, WARN};
use crate::ui::text::clean;
use crate::ui::words::count;
use ralph_base::ids::StoryId;
use ralph_run::failure::Failure;
use ralph_run::finishing::{
    Action, Done, Opening, Plan, Prepared, Recovered, Session, choice_name,
};
use ralph_run::records::event::{FinishChoice, WIRE_VERSION};
use ralph_run::settings::PartialSettings;
use ralph_vault::{BranchChange, MessageTemplate, OpenRun};

/// How many names of files are listed.
const NAMES: usize = 10;

/// How wide the labels of a plan are.
const LABEL: usize = 9;

const EXAMPLES: &str = "\
Examples:
  ralphtool finish --cleanup             bring the changes back to your branch, uncommitted
  ralphtool finish --squash --dry-run    show the commit it would make
  ralphtool finish --reword              give each commit the title of its story
  ralphtool undo                         undo the finish";

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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag, and only one can be given"
)]
#[group(multiple = false)]
struct ChoiceArguments {
    /// Return to your branch with the changes uncommitted, and delete `ralph/CHANGE`
    #[arg(long)]
    cleanup: bool,
    /// Stay on `ralph/CHANGE` with one commit per story
    #[arg(long)]
    keep: bool,
    /// Stay on `ralph/CHANGE` with all work in one commit
    #[arg(long)]
    squash: bool,
    /// Stay on `ralph/CHANGE` with the title of each story as the subject of its commit
    /// (setting `commit_message`)
    #[arg(long)]
    reword: bool,
    /// Restore everything exactly as it was before the run
    #[arg(long)]
    abandon: bool,
}

impl ChoiceArguments {
    const fn given(&self) -> Option<FinishChoice> {
        match self {
            Self { cleanup: true, .. } => Some(FinishChoice::Cleanup),
            Self { keep: true, .. } => Some(FinishChoice::Keep),
            Self { squash: true, .. } => Some(FinishChoice::Squash),
            Self { reword: true, .. } => Some(FinishChoice::Reword),
            Self { abandon: true, .. } => Some(FinishChoice::Abandon),
            _ => None,
        }
    }
}

pub(super) fn run(arguments: &FinishArguments, context: &Context) -> Result<ExitCode, Failure> {
    let flags = arguments.flags;
    let given = arguments.choice.given();
    if given.is_none() && (flags.json || !output::can_ask()) {
        let failure = Failure::refused("choose how to finish");
        return Err(CHOICES.into_iter().fold(failure, |failure, (_, choice)| {
            let name = choice_name(choice);
            failure.hint(format!("`--{name}`: {}", meaning(choice, "`ralph/CHANGE`")))
        }));
    }
    let abandons = given == Some(FinishChoice::Abandon);
    open(context, flags, abandons, |session| {
        let choice = match given {
            Some(choice) => Some(choice),
            None => ask_for_choice(context, session)?,
        };
        let Some(choice) = choice else {
            return Ok(None);
        };
        let template = match choice {
            FinishChoice::Reword => commit_message(context, session.top())?,
            _ => MessageTemplate::default(),
        };
        session.finish(choice, &template).map(Some)
    })
}

/// The template of the settings.
fn commit_message(context: &Context, top: &Path) -> Result<MessageTemplate, Failure> {
    let loaded = context.load(top, false)?;
    // A message starts nothing, so that it needs no permission.
    let settings = loaded.shown(PartialSettings::default()).map_err(unfit)?;
    output::warn(context, loaded.warnings);
    Ok(settings.commit_message.value.clone())
}

/// The choices, each with the key that makes it, here and on the screen.
const CHOICES: [(&str, FinishChoice); 5] = [
    ("c", FinishChoice::Cleanup),
    ("b", FinishChoice::Keep),
    ("o", FinishChoice::Squash),
    ("w", FinishChoice::Reword),
    ("a", FinishChoice::Abandon),
];

/// What a choice leads to.
fn meaning(choice: FinishChoice, branch: &str) -> String {
    match choice {
        FinishChoice::Cleanup => "return to your branch with the changes uncommitted".to_owned(),
        FinishChoice::Keep => format!("stay on {branch} with one commit per story"),
        FinishChoice::Squash => format!("stay on {branch} with all work in one commit"),
        FinishChoice::Reword => format!("stay on {branch} with story titles as commit subjects"),
        FinishChoice::Abandon => "restore everything as it was before the run".to_owned(),
    }
}

fn ask_for_choice(context: &Context, session: &Session) -> Result<Option<FinishChoice>, Failure> {
    let run = session.run_to_finish()?;
    let mut page = Page::new(context.paint_for(&io::stdout()));
    write_question(&mut page, &run);
    let answer = match ask(&page.text)?.as_deref() {
        None | Some("q") => return Ok(None),
        Some("") => "b".to_owned(),
        Some(answer) => answer.to_owned(),
    };
    let found = CHOICES.into_iter().find(|(key, _)| *key == answer);
    let unknown = || Failure::refused(format!("`{answer}` is not one of c, b, o, w, a and q"));
    found.map_or_else(|| Err(unknown()), |(_, choice)| Ok(Some(choice)))
}

/// Writes the choices and a prompt for the answer.
fn write_question(page: &mut Page, run: &OpenRun) {
    let question = format!("how do you want to finish the run of `{}`?", run.change);
    page.styled(STRONG, clean(&question));
    let mut line = |key: &str, name: &str, what: &str| {
        let key = page.paint(NAME, key);
        page.line(format!("  {key}  {name}: {}", clean(what)));
    };
    let branch = format!("`{}`", run.branch);
    for (key, choice) in CHOICES {
        line(key, choice_name(choice), &meaning(choice, &branch));
    }
    line("q", "quit", "leave the run as it is");
    page.text += "[b] ";
}

/// Flags of `rewind`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool rewind 3 --dry-run      show which checkpoints would be removed
  ralphtool rewind 3                go back to before story 3; then edit the plan, or
  ralphtool resume                  do the story again")]
pub(super) struct RewindArguments {
    /// The story to do again; its checkpoint and all later ones are removed
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
  ralphtool undo --dry-run          show what would be undone
  ralphtool undo                    undo it")]
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
    /// Show what would be done, and change nothing
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
        output::page(context, |page| {
            page.styled(STRONG, clean(&headline(&plan)));
            if flags.dry_run {
                write_details(page, &plan, Tense::Planned);
            }
        })?;
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
        None => page.styled(DIM, "dry run: nothing was changed"),
        Some(_) if plan.already => write_details(page, &plan, Tense::Done),
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

/// Whether a plan is yet to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tense {
    Planned,
    Done,
}

fn write_details(page: &mut Page, plan: &Plan, tense: Tense) {
    page.facts(&details(plan, tense), LABEL);
}

fn write_done(page: &mut Page, plan: &Plan, done: &Done) {
    write_details(page, plan, Tense::Done);
    let notices: Vec<(&str, &String)> = done.notices.iter().map(|it| ("note", it)).collect();
    page.facts(&notices, LABEL);
    let result = clean(&result(plan));
    page.line(format!("{} {result}", page.paint(GOOD, "done:")));
    let what = match plan.action {
        Action::Undo { .. } => "do it again",
        _ => "undo this",
    };
    let mut next = vec![(clean(&done.way_back), what)];
    let is_start_undone = matches!(&plan.action, Action::Undo { of } if **of == Action::StartOver);
    if done.is_open || is_start_undone {
        next.push(("ralphtool resume".to_owned(), "resume the run"));
        next.push(("ralphtool finish".to_owned(), "end it"));
    }
    page.commands(&next);
}

fn headline(plan: &Plan) -> String {
    let Plan { change, branch, .. } = plan;
    match &plan.action {
        Action::Finish { choice } => {
            let what = match choice {
                _ if plan.already => format!("the run of `{change}` is already kept"),
                FinishChoice::Cleanup => {
                    let to = plan.head.as_deref().unwrap_or("your branch");
                    format!("move the work of `{change}` to `{to}` as uncommitted changes")
                }
                FinishChoice::Keep => format!("keep the commits of `{change}` on `{branch}`"),
                FinishChoice::Squash => {
                    format!("put all work of `{change}` into one commit on `{branch}`")
                }
                FinishChoice::Reword => {
                    format!("write new messages for the commits of `{change}` on `{branch}`")
                }
                FinishChoice::Abandon => {
                    format!("restore everything as it was before the run of `{change}`")
                }
            };
            format!("{}: {what}", choice_name(*choice))
        }
        Action::Rewind { story } => {
            format!("rewind: return the run of `{change}` to the checkpoint before story {story}")
        }
        Action::Restore { attempt, path, .. } => match path {
            Some(path) => format!("restore: `{path}` as attempt {attempt} left it"),
            None => format!("restore: the files as attempt {attempt} left them"),
        },
        Action::StartOver => format!("start over: leave the run of `{change}` on its branch"),
        Action::Undo { of } => format!("undo: revert {}", noun(of)),
    }
}

fn details(plan: &Plan, tense: Tense) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(head) = &plan.head {
        let verb = match (&plan.action, tense) {
            (Action::Finish { choice }, _) if choice.keeps_branch() => "stays",
            (_, Tense::Planned) => "will be",
            (_, Tense::Done) => "is",
        };
        details.push(("HEAD", format!("{verb} on `{head}`")));
    }
    let branch: fn(&BranchChange) -> String = match tense {
        Tense::Planned => BranchChange::planned,
        Tense::Done => BranchChange::done,
    };
    details.extend(plan.branches.iter().map(|it| ("branch", branch(it))));
    if !plan.stories.is_empty() {
        let verb = match tense {
            Tense::Planned => "will be",
            Tense::Done => "were",
        };
        let stories = plan.stories.join(", ");
        let text = format!("{stories}: their checkpoints {verb} removed (they stay in the vault)");
        details.push(("stories", text));
    }
    details.extend(commits(&plan.commits));
    if !plan.written.is_empty() {
        let label = match tense {
            Tense::Planned => "writes",
            Tense::Done => "wrote",
        };
        details.push((label, files(&plan.written)));
    }
    if !plan.removed.is_empty() {
        details.push(("to vault", files(&plan.removed)));
    }
    if plan.written.is_empty() && plan.removed.is_empty() && plan.head.is_some() {
        details.push(("files", "unchanged".to_owned()));
    }
    details.extend(plan.notices.iter().map(|it| ("note", it.clone())));
    details
}

/// The subjects of commits; of a single one all of its message.
fn commits(messages: &[String]) -> Vec<(&'static str, String)> {
    let lines: Vec<&str> = match messages {
        [message] => message.lines().filter(|line| !line.is_empty()).collect(),
        messages => messages.iter().filter_map(|it| it.lines().next()).collect(),
    };
    let labels = std::iter::once("commit").chain(std::iter::repeat(""));
    let lines = lines.into_iter().map(str::to_owned);
    let mut found: Vec<_> = labels.zip(lines).collect();
    if let ([_, _, ..], Some(first)) = (messages, found.first_mut()) {
        first.0 = "commits";
    }
    found
}

fn result(plan: &Plan) -> String {
    let head = plan.head.as_deref().unwrap_or(&plan.branch);
    match &plan.action {
        Action::Finish { choice } => match choice {
            FinishChoice::Cleanup => {
                format!("you are on `{head}`, with the changes uncommitted")
            }
            FinishChoice::Keep => format!("the commits are on `{}`", plan.branch),
            FinishChoice::Squash => format!("`{}` has all work in one commit", plan.branch),
            FinishChoice::Reword => format!("`{}` has the new messages", plan.branch),
            FinishChoice::Abandon => {
                format!("you are on `{head}`, and everything is as it was before the run")
            }
        },
        Action::Rewind { story } => format!("the run is at the checkpoint before story {story}"),
        Action::Restore { attempt, .. } => {
            format!("the files of attempt {attempt} are in the tree")
        }
        Action::StartOver => format!("HEAD is on `{head}`"),
        Action::Undo { of } => match of.as_ref() {
            Action::StartOver => "the earlier run can be resumed".to_owned(),
            Action::Finish { .. } => format!("{} is undone, and the run is open again", noun(of)),
            of => format!("{} is undone", noun(of)),
        },
    }
}

fn noun(action: &Action) -> String {
    match action {
        Action::Finish { choice } => format!("the {}", choice_name(*choice)),
        Action::Rewind { story } => format!("the rewind to before story {story}"),
        Action::Restore { attempt, .. } => format!("the restore of attempt {attempt}"),
        Action::StartOver => "the fresh start".to_owned(),
        Action::Undo { .. } => "the undo".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use ralph_base::ids::RunId;
    use ralph_vault::git::object_id::ObjectFormat;

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
            branches: vec![BranchChange::deleted(
                "ralph/add-retry",
                ObjectFormat::Sha1.zero(),
            )],
            stories: vec!["2".to_owned(), "3".to_owned()],
            commits: Vec::new(),
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
            in_run: None,
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
            finish(FinishChoice::Squash),
            finish(FinishChoice::Reword),
            finish(FinishChoice::Abandon),
            undo(&finish(FinishChoice::Abandon)),
            undo(&rewind),
            rewind,
            restore,
        ];
        let mut page = Page::new(Paint::Plain);
        for action in actions {
            let mut plan = plan(action);
            plan.commits = match plan.action {
                Action::Finish {
                    choice: FinishChoice::Squash,
                } => {
                    vec!["Add retry\n\n- Count\n- Wait\n".to_owned()]
                }
                Action::Finish {
                    choice: FinishChoice::Reword,
                } => {
                    vec!["Count\n\nStory: 1\n".to_owned(), "Wait\n".to_owned()]
                }
                _ => Vec::new(),
            };
            let done = Done {
                is_open: matches!(plan.action, Action::Undo { .. } | Action::Rewind { .. }),
                way_back: plan.action.way_back(),
                notices: vec!["something else".to_owned()],
            };
            page.styled(STRONG, headline(&plan));
            write_details(&mut page, &plan, Tense::Planned);
            write_done(&mut page, &plan, &done);
            page.blank();
        }
        insta::assert_snapshot!(page.text);
    }
}
