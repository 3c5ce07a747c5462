//! How `loop` starts a run: finds the change, reads the settings, shows the plan or runs it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::audience;
use super::context::Context;
use super::loop_command::LoopArguments;
use super::{output, terminal};
use crate::domain::change::{Change, StoryState};
use crate::domain::event::Event;
use crate::domain::ids::StoryId;
use crate::domain::settings::Settings;
use crate::domain::summary::ChangeState;
use crate::edge::checkpoint::peek;
use crate::edge::repository::{Repository, RepositoryError};
use crate::edge::source::{self, Surroundings};
use crate::edge::vault::state_directory;
use crate::engine::launch::{Order, Prepared, Ready, prepare};
use crate::engine::mend::{Mending, mend};
use crate::failure::Failure;
use crate::ui::Face;
use crate::ui::plan::{self, PlanView, PlannedStory};
use crate::ui::words;

/// Runs the loop, or says what it would do.
pub(super) fn run(arguments: &LoopArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(start(arguments, context))
}

/// Waits for something on this thread.
pub(super) fn on_runtime(
    work: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::system("could not start").because(error))?;
    let code = runtime.block_on(work);
    // Whatever is still on a blocking thread must not hold up the exit.
    runtime.shutdown_background();
    code
}

async fn start(arguments: &LoopArguments, context: &Context) -> Result<ExitCode, Failure> {
    let directory = context.folder()?;
    let repository = Repository::discover(&directory)
        .await
        .map_err(|error| no_repository(&error))?;
    let mended = mend_first(arguments, context, &directory).await?;
    let started = start_in(arguments, context, directory, repository, &mended).await;
    // What was mended is told by the run; where there is none, it must not go unsaid.
    started.map_err(|failure| mended.iter().filter_map(told).fold(failure, Failure::hint))
}

/// Mends an interrupted run, before anything in the tree is believed.
async fn mend_first(
    arguments: &LoopArguments,
    context: &Context,
    directory: &Path,
) -> Result<Vec<Event>, Failure> {
    if arguments.dry_run {
        return Ok(Vec::new());
    }
    let surroundings = context.surroundings()?;
    let change = arguments
        .change
        .as_deref()
        .map(|target| name_of(target, &surroundings));
    let mending = Mending {
        directory,
        state: &state_directory(&context.environment)?,
        change: change.as_deref(),
        fresh: arguments.fresh,
    };
    mend(mending).await
}

/// The name of a change that may not be readable just now.
fn name_of(target: &str, around: &Surroundings) -> String {
    match source::read_target(target, around) {
        Ok(change) => change.name,
        Err(_) => Path::new(target)
            .file_stem()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
    }
}

fn told(event: &Event) -> Option<String> {
    match event {
        Event::Recovered { found, done } => Some(format!("recovered: {found}: {done}")),
        _ => None,
    }
}

async fn start_in(
    arguments: &LoopArguments,
    context: &Context,
    directory: PathBuf,
    repository: Repository,
    mended: &[Event],
) -> Result<ExitCode, Failure> {
    let (settings, warnings) = context.settings(&repository.work_tree, arguments.settings())?;
    let surroundings = context.surroundings()?;
    let change = match &arguments.change {
        Some(target) => context.change(target)?,
        None => only_change(&surroundings)?,
    };
    if change.task_tally().total == 0 {
        return Err(Failure::refused(format!("`{}` has no tasks", change.name))
            .hint("a task is a line such as `- [ ] 1.1 Add the retry`"));
    }
    if arguments.dry_run {
        return dry_run(
            &change,
            &settings,
            context,
            (&repository, arguments.story.as_deref()),
        )
        .await;
    }
    let order = Order {
        state: state_directory(&context.environment)?,
        environment: context.environment.clone(),
        only_story: arguments.story.clone().map(StoryId),
        mended: mended.to_vec(),
        change: change.clone(),
        directory,
        surroundings,
        settings,
        warnings,
    };
    match prepare(order).await? {
        Prepared::NothingLeft => nothing_left(&change, arguments, mended),
        Prepared::Ready(ready) => {
            let code = show_run(ready, terminal::face(arguments, context)).await?;
            Ok(code.into())
        }
    }
}

/// Runs what is ready while a face shows it; gives the run's exit code.
pub(super) async fn show_run(ready: Box<Ready>, face: Box<dyn Face + Send>) -> Result<u8, Failure> {
    let (sender, shown) = audience::start(face);
    let end = Box::pin(ready.run(sender)).await;
    finish_showing(shown)?;
    let end = end.map_err(|error| Failure::system("the run could not go on").because(error))?;
    Ok(end.exit_code)
}

fn finish_showing(shown: std::thread::JoinHandle<std::io::Result<()>>) -> Result<(), Failure> {
    match shown.join() {
        Ok(result) => {
            result.map_err(|error| Failure::system("could not write the output").because(error))
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The only change with work left.
fn only_change(around: &Surroundings) -> Result<Change, Failure> {
    let root = source::find_root(around)?;
    let ready: Vec<String> = source::list_changes(&root, around)?
        .into_iter()
        .filter(|change| change.state == ChangeState::Ready)
        .map(|change| change.name)
        .collect();
    match ready.as_slice() {
        [only] => Ok(source::read_change(&root, only, around)?),
        [] => {
            Err(Failure::refused("no change has work left")
                .hint("`ralphtool list` shows all changes"))
        }
        several => Err(
            Failure::refused("several changes have work left: say which one")
                .hint(format!("they are: {}", several.join(", "))),
        ),
    }
}

fn nothing_left(
    change: &Change,
    arguments: &LoopArguments,
    mended: &[Event],
) -> Result<ExitCode, Failure> {
    let tally = change.story_tally();
    let mut lines: Vec<String> = mended.iter().filter_map(told).collect();
    lines.push(words::nothing_left(&change.name, tally.done, tally.total));
    if arguments.json {
        // Only records may appear on stdout, and no run took place.
        return Ok(ExitCode::SUCCESS);
    }
    output::print(format!("{}\n", lines.join("\n")).as_bytes())
}

async fn dry_run(
    change: &Change,
    settings: &Settings,
    context: &Context,
    (repository, only): (&Repository, Option<&str>),
) -> Result<ExitCode, Failure> {
    let open = peek(&state_directory(&context.environment)?, repository)
        .map_err(|error| Failure::system("could not look for an open run").because(error))?
        .filter(|open| open.change == change.name);
    let git = repository.git(settings.command_timeout.value.or_zero());
    let refs = repository.refs(&git).await.map_err(broken_git)?;
    let head = repository.head(&git, &refs).await.map_err(broken_git)?;
    let stories = change
        .stories
        .iter()
        .filter(|story| story.state == StoryState::Open)
        .filter(|story| only.is_none_or(|only| story.id.0 == only))
        .map(|story| PlannedStory {
            id: &story.id.0,
            title: &story.title,
            open_tasks: story.open_tasks().count(),
        })
        .collect();
    let view = PlanView {
        change: &change.name,
        branch: &format!("ralph/{}", change.name),
        original: &head.shown(),
        resumes: open.as_ref().map(|open| open.run.0.as_str()),
        stories,
        command: std::slice::from_ref(&settings.agent.value),
        settings,
    };
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| plan::write(out, paint, &view))
}

fn no_repository(error: &RepositoryError) -> Failure {
    let hint = match error {
        RepositoryError::NotARepository(_) => Some("run `git init` first, or pass `-C DIR`"),
        RepositoryError::Bare(_) => {
            Some("clone it, or add a work tree with `git worktree add DIR`")
        }
        RepositoryError::InsideGitDir(_) => Some("go to the work tree"),
        RepositoryError::Refused { .. } | RepositoryError::Git(_) => None,
    };
    let failure = Failure::refused(error.to_string());
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn broken_git(error: crate::edge::git::GitError) -> Failure {
    Failure::system("could not look at the repository").because(error)
}
