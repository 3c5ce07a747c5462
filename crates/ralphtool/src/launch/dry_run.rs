//! `--dry-run`: what a run would do.

use std::process::ExitCode;

use crate::console::context::Context;
use crate::console::output;
use crate::ui::page::Page;
use crate::ui::style::{DIM, NAME, STRONG};
use crate::ui::text::{clean, columns, pad};
use crate::ui::words::{Count, Noun};
use ralph_plan::change::{Change, StoryState};
use ralph_run::failure::Failure;
use ralph_run::settings::Settings;
use ralph_vault::OpenRun;
use ralph_vault::git::process::GitError;
use ralph_vault::git::repository::Repository;
use ralph_vault::look::peek;
use ralph_vault::store::state_directory;

struct PlanView<'a> {
    change: &'a str,
    /// Where HEAD is: a branch name or a commit.
    original: &'a str,
    /// The interrupted run that would be resumed.
    resumes: Option<&'a str>,
    /// The stories that would be worked on, in order.
    stories: Vec<PlannedStory<'a>>,
    settings: &'a Settings,
}

struct PlannedStory<'a> {
    id: &'a str,
    title: &'a str,
    open_tasks: usize,
}

/// Shows what a run would do; `last` is the run it would resume, where one is asked for.
pub(crate) fn show(
    change: &Change,
    settings: &Settings,
    context: &Context,
    (repository, only, last): (&Repository, Option<&str>, Option<OpenRun>),
) -> Result<ExitCode, Failure> {
    let open = match last {
        Some(last) => Some(last),
        None => peek(&state_directory(&context.environment)?, repository)
            .map_err(|error| Failure::system("could not look for an open run").because(error))?
            .filter(|open| open.change == change.name),
    };
    let git = repository.git(settings.command_timeout.value.or_zero());
    let refs = repository.refs(&git).map_err(broken_git)?;
    let head = repository.head(&git, &refs).map_err(broken_git)?;
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
        original: &head.shown(),
        resumes: open.as_ref().map(|open| open.run.0.as_str()),
        stories,
        settings,
    };
    output::page(context, |page| write(page, &view))
}

fn broken_git(error: GitError) -> Failure {
    Failure::system("could not look at the repository").because(error)
}

fn write(page: &mut Page, plan: &PlanView<'_>) {
    let retries = u64::from(plan.settings.max_retries.value);
    let head = format!("`{}` would be run; nothing is touched", clean(plan.change));
    page.styled(STRONG, head);
    let branch = format!("ralph/{} from {}", plan.change, plan.original);
    let mut facts = vec![
        ("branch", branch),
        ("agent", plan.settings.agent.value.names().join(", else ")),
        ("attempts", format!("at most {} a story", retries + 1)),
    ];
    if let Some(run) = plan.resumes {
        facts.push(("resumes", format!("the interrupted run {run}")));
    }
    page.facts(&facts, 10);
    page.heading(Count(plan.stories.len(), Noun::Story));
    for story in &plan.stories {
        let id = page.paint(NAME, clean(story.id));
        let open = format!("{} open", Count(story.open_tasks, Noun::Task));
        let open = page.paint(DIM, open);
        page.line(format!("  {id} {}  {open}", clean(story.title)));
    }
    let lines = plan.settings.lines();
    let widest = |pick: fn(&(&str, String, String)) -> usize| lines.iter().map(pick).max();
    let name_width = widest(|(name, _, _)| columns(name)).unwrap_or(0);
    let value_width = widest(|(_, value, _)| columns(value)).unwrap_or(0).min(40);
    page.heading("settings");
    for (name, value, origin) in &lines {
        let (name, value) = (pad(name, name_width), pad(&clean(value), value_width));
        let origin = page.paint(DIM, clean(origin));
        page.line(format!("  {name}  {value}  {origin}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use ralph_run::settings::file;

    #[test]
    fn the_plan_names_stories_and_the_origin_of_every_setting() {
        let text = "max_retries = 1\n[[gate]]\nname = \"tests\"\nrun = \"cargo test\"\n";
        let layer = file::parse("ralphtool.toml", text).unwrap();
        let settings = Settings::resolve([layer]).unwrap();
        let plan = PlanView {
            change: "add-retry",
            original: "main",
            resumes: Some("20261115-215900-x7k2"),
            stories: vec![PlannedStory {
                id: "2",
                title: "Retry the upload",
                open_tasks: 1,
            }],
            settings: &settings,
        };
        let mut page = Page::new(Paint::Plain);
        write(&mut page, &plan);
        insta::assert_snapshot!(page.text);
    }
}
