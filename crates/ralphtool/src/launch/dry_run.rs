//! `--dry-run`: what a run would do.

use std::process::ExitCode;

use super::{Inputs, RunRequest, trust};
use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::usable_repository;
use crate::ui::page::Page;
use crate::ui::style::{DIM, NAME, STRONG};
use crate::ui::text::{clean, columns, pad};
use crate::ui::words::{self, count};
use ralph_plan::change::{Story, StoryState};
use ralph_run::failure::Failure;
use ralph_run::gate::GatePlace;
use ralph_run::settings::Settings;
use ralph_vault::git::process::GitError;
use ralph_vault::git::repository::Repository;
use ralph_vault::look::{peek, peek_last};

/// Shows what a run would do, and repairs nothing.
pub(crate) fn show(request: &RunRequest<'_>, context: &Context) -> Result<ExitCode, Failure> {
    let repository = usable_repository(context)?;
    let last = request.last_run(|| {
        peek_last(&context.state()?, &repository)
            .map_err(|error| Failure::system("could not look for a run").because(error))
    })?;
    let inputs = Inputs::read(request, context, &repository.work_tree, last.as_ref())?;
    let (change, settings) = (&inputs.change, &inputs.settings);
    GatePlace {
        root: &repository.work_tree,
        environment: &context.environment,
    }
    .refuse_broken(&settings.gates.value)?;
    output::warn(context, &inputs.loaded.warnings);
    output::warn(context, inputs.loaded.unallowed().map(trust::warning));
    let open = match last {
        Some(last) => Some(last),
        None => peek(&context.state()?, &repository)
            .map_err(|error| Failure::system("could not look for an open run").because(error))?
            .filter(|open| open.change == change.name),
    };
    let git = repository.git(settings.command_timeout.value.or_zero());
    let refs = repository.refs(&git).map_err(broken_git)?;
    let head = Repository::ask_head(&git, &refs).map_err(broken_git)?;
    let resumes = open.as_ref().map(|open| open.run.0.as_str());
    output::page(context, |page| {
        write_facts(page, &change.name, &head.shown(), resumes, settings);
        write_stories(page, &change.stories, request.flags.story.as_deref());
        write_settings(page, settings);
    })
}

fn broken_git(error: GitError) -> Failure {
    Failure::system("could not look at the repository").because(error)
}

/// Writes what the run would be; `original` is where HEAD is, a branch or a commit.
fn write_facts(
    page: &mut Page,
    change: &str,
    original: &str,
    resumes: Option<&str>,
    settings: &Settings,
) {
    let head = format!("`{}` would be run; nothing is touched", clean(change));
    page.styled(STRONG, head);
    let attempts = u64::from(settings.max_retries.value) + 1;
    let gates: Vec<&str> = settings
        .gates
        .value
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let mut facts = vec![
        ("branch", format!("ralph/{change} from {original}")),
        ("agent", settings.agent.value.names().join(", else ")),
        ("attempts", format!("at most {attempts} a story")),
        ("gates", words::gates(&gates)),
    ];
    facts.extend(resumes.map(|run| ("resumes", format!("the interrupted run {run}"))));
    page.facts(&facts, 10);
}

fn write_stories(page: &mut Page, stories: &[Story], only: Option<&str>) {
    let is_planned = |story: &&Story| {
        story.state == StoryState::Open && only.is_none_or(|only| story.id.0 == only)
    };
    let stories: Vec<&Story> = stories.iter().filter(is_planned).collect();
    page.heading(count(stories.len(), "story"));
    for story in stories {
        let id = page.paint(NAME, clean(&story.id.0));
        let open = format!("{} open", count(story.open_tasks().count(), "task"));
        let open = page.paint(DIM, open);
        page.line(format!("  {id} {}  {open}", clean(&story.title)));
    }
}

fn write_settings(page: &mut Page, settings: &Settings) {
    let lines = settings.lines();
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
    use ralph_plan::change::{SourceKind, TaskFile};
    use ralph_plan::source::read_stories;
    use ralph_run::settings::file;

    #[test]
    fn the_plan_names_stories_and_the_origin_of_every_setting() {
        let text = "max_retries = 1\n[[gate]]\nname = \"tests\"\nrun = \"cargo test\"\n";
        let layer = file::parse("ralphtool.toml", text).unwrap();
        let settings = Settings::resolve([layer]).unwrap();
        let tasks = "## 1. Read it\n- [x] 1.1 Read\n## 2. Retry the upload\n- [ ] 2.1 Try again\n";
        let file = TaskFile {
            path: "tasks.md".into(),
            label: "tasks.md".to_owned(),
            bytes: tasks.into(),
        };
        let (stories, _) = read_stories(&[file], SourceKind::OpenSpec);
        let mut page = Page::new(Paint::Plain);
        let run = Some("20261115-215900-x7k2");
        write_facts(&mut page, "add-retry", "main", run, &settings);
        write_stories(&mut page, &stories, None);
        write_settings(&mut page, &settings);
        insta::assert_snapshot!(page.text);
    }
}
