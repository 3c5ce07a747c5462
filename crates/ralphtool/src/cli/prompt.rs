//! `ralphtool prompt`: the prompt an agent would get.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::console::context::{Context, unfit};
use crate::console::output;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_base::ids::StoryId;
use ralph_plan::change::{Change, SourceKind, Story, StoryState};
use ralph_run::failure::Failure;
use ralph_run::preview::gather::prompt_of;
use ralph_run::settings::{PartialSettings, nearest};
use ralph_vault::git::object_id::ObjectFormat;
use ralph_vault::git::repository::Repository;

/// The most story ids that are named in a hint.
const MOST_IDS: usize = 20;

/// Flags of `prompt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool prompt add-retry              of the next open story
  ralphtool prompt add-retry --story 3    of this one")]
pub(super) struct PromptArguments {
    /// The change: its name in `list`, or the path of its folder or file
    #[arg(value_name = "CHANGE|PATH")]
    pub(super) change: String,
    /// The story, instead of the next open one
    #[arg(long, value_name = "ID")]
    pub(super) story: Option<String>,
}

/// Prints the prompt of a story.
pub(super) fn run(arguments: &PromptArguments, context: &Context) -> Result<ExitCode, Failure> {
    let change = context.change(&arguments.change)?;
    output::warn(context, change.warnings.iter().map(|it| &it.message));
    if change.stories.is_empty() {
        return Err(no_tasks(&change));
    }
    let Some(story) = chosen(&change, arguments.story.as_deref(), context)? else {
        let stories = change.story_tally();
        let message = words::nothing_left(&change.name, stories.done, stories.total);
        // Not to stdout: what is there is meant for an agent.
        let _ = writeln!(std::io::stderr(), "{}", clean(&message));
        return Ok(ExitCode::SUCCESS);
    };
    print(&first_prompt(&change, story, context)?)
}

/// The story asked for, or the next open one; none where nothing is left to do.
fn chosen<'a>(
    change: &'a Change,
    asked: Option<&str>,
    context: &Context,
) -> Result<Option<&'a Story>, Failure> {
    let Some(id) = asked else {
        return Ok(change.next_open());
    };
    let story = change.story(&StoryId(id.to_owned()));
    let story = story.ok_or_else(|| no_story(change, id))?;
    let note = match story.state {
        StoryState::Open => None,
        StoryState::Done => Some(format!("story `{id}` is done already")),
        StoryState::Deferred => Some(format!("story `{id}` is deferred: a run does not do it")),
    };
    output::warn(context, note);
    Ok(Some(story))
}

fn no_tasks(change: &Change) -> Failure {
    let message = format!("the change `{}` has no tasks", change.name);
    let failure = Failure::refused(message);
    if change.source == SourceKind::PrdJson {
        return failure.hint(change.source.example());
    }
    match change.task_files.first() {
        Some(file) => failure.hint(format!(
            "write lines such as `- [ ] 1.1 Do something` into `{}`",
            file.path.display()
        )),
        None => failure.hint("write a task file with lines such as `- [ ] 1.1 Do something`"),
    }
}

fn no_story(change: &Change, id: &str) -> Failure {
    let ids: Vec<&str> = change.stories.iter().map(|it| it.id.0.as_str()).collect();
    let named = ids[..ids.len().min(MOST_IDS)].join("`, `");
    let more = match ids.len().saturating_sub(MOST_IDS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let failure = Failure::refused(format!("found no story `{id}` in `{}`", change.name));
    let near = nearest(id, &ids).map(|near| format!("did you mean `{near}`?"));
    let failure = near.into_iter().fold(failure, Failure::hint);
    failure.hint(format!("there are `{named}`{more}"))
}

/// The prompt of the first attempt at a story.
fn first_prompt(change: &Change, story: &Story, context: &Context) -> Result<String, Failure> {
    // A prompt can be printed without a repository.
    let repository = Repository::discover(&context.folder()?).ok();
    let root = repository.as_ref().map_or(&change.root, |it| &it.work_tree);
    let loaded = context.load(root, false)?;
    let settings = loaded.shown(PartialSettings::default()).map_err(unfit)?;
    output::warn(context, loaded.warnings);
    let place = repository.unwrap_or_else(|| yet_to_be_made(&change.root));
    let vault = context.vault(&place)?;
    prompt_of(change, story, &settings, &vault, None)
}

/// The repository there would be, if one were made here.
fn yet_to_be_made(folder: &Path) -> Repository {
    Repository {
        work_tree: folder.to_owned(),
        git_dir: folder.join(".git"),
        common_dir: folder.join(".git"),
        format: ObjectFormat::Sha1,
    }
}

/// Prints the prompt: as it is for a program, made harmless for a terminal.
fn print(text: &str) -> Result<ExitCode, Failure> {
    if !std::io::stdout().is_terminal() {
        return output::print(text.as_bytes());
    }
    output::present(|out| {
        text.lines()
            .try_for_each(|line| writeln!(out, "{}", clean(line)))
    })
}
