//! `ralphtool show`: one change in full.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::console::context::Context;
use crate::console::output;
use crate::ui::page::Page;
use crate::ui::style::{DIM, GOOD, NAME, STRONG, WARN};
use crate::ui::text::{clean, clean_lines};
use crate::ui::words::count;
use ralph_plan::change::{Change, Scenario, SourceKind, Story, StoryState};
use ralph_plan::show::ChangeView;
use ralph_plan::tasks::{Task, TaskKind, TaskState};
use ralph_run::failure::Failure;

/// The note at a box that is part of an example.
const FENCED: &str = "(in a code fence, never run)";

/// Flags of `show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool show add-retry          its stories, with the ids that other commands take
  ralphtool show PRD.md             the same for a checklist

Next: `ralphtool prompt CHANGE` prints the prompt the agent gets.")]
pub(super) struct ShowArguments {
    /// The change: its name in `list`, or the path of its folder or file
    #[arg(value_name = "CHANGE|PATH")]
    pub(super) change: String,
    /// Write a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(arguments: &ShowArguments, context: &Context) -> Result<ExitCode, Failure> {
    let change = context.change(&arguments.change)?;
    output::warn(context, change.warnings.iter().map(|it| &it.message));
    if arguments.json {
        return output::json(&ChangeView::of(&change));
    }
    let here = context.folder()?;
    output::page(context, |page| write(page, &change, &here))
}

/// Writes the change; files below `here` are named from there.
fn write(page: &mut Page, change: &Change, here: &Path) {
    let (stories, tasks) = (change.story_tally(), change.task_tally());
    page.line(format!(
        "{}{}  {} of {}, {} of {} done",
        page.paint(STRONG, clean(&change.name)),
        kind(page, change.source),
        stories.done,
        count(stories.total, "story"),
        tasks.done,
        count(tasks.total, "task")
    ));
    for file in &change.task_files {
        let path = file.path.strip_prefix(here).unwrap_or(&file.path);
        let path = clean(&path.to_string_lossy());
        page.styled(DIM, path);
    }
    if change.stories.is_empty() {
        let note = format!("no tasks: {}", change.source.example());
        page.line(format!("\n{}", page.paint(WARN, note)));
    }
    let next = change.next_open().map(|story| &story.id);
    for story in &change.stories {
        write_story(page, story, next == Some(&story.id));
    }
    write_scenarios(page, &change.scenarios);
}

/// The kind of plan, unless it is the usual one.
fn kind(page: &Page, source: SourceKind) -> String {
    match source {
        SourceKind::OpenSpec => String::new(),
        other => format!("  {}", page.paint(DIM, other.word())),
    }
}

fn write_story(page: &mut Page, story: &Story, is_next: bool) {
    let (style, mark) = match story.state {
        StoryState::Done => (GOOD, "done"),
        StoryState::Deferred if story.is_done() => (GOOD, "done, the rest deferred"),
        StoryState::Deferred => (WARN, "deferred"),
        StoryState::Open if is_next => (NAME, "next"),
        StoryState::Open => (DIM, "open"),
    };
    let is_done = |task: &&Task| task.state == TaskState::Done;
    let done = story.tasks.iter().filter(is_done).count();
    page.blank();
    page.line(format!(
        "{} {}  {}",
        page.paint(style, clean(&story.id.0)),
        page.paint(STRONG, clean(&story.title)),
        page.paint(style, format!("{done}/{} {mark}", story.tasks.len()))
    ));
    for task in &story.tasks {
        write_task(page, task, depth(task, &story.tasks));
    }
}

/// How many tasks it is nested under.
fn depth(task: &Task, tasks: &[Task]) -> usize {
    let parent = |task: &&Task| tasks.get(task.parent?);
    std::iter::successors(parent(&task), parent).count()
}

fn write_task(page: &mut Page, task: &Task, depth: usize) {
    let (style, mark) = match task.state {
        TaskState::Done => (GOOD, "[x]"),
        TaskState::Open => (anstyle::Style::new(), "[ ]"),
        TaskState::Deferred if task.kind == TaskKind::Optional => (DIM, "[ ]"),
        TaskState::Deferred => (WARN, "[~]"),
    };
    let text = match task.kind {
        TaskKind::Work => clean(&task.raw),
        TaskKind::Optional => format!("{} {}", clean(&task.raw), page.paint(DIM, "(optional)")),
        TaskKind::Textless => page.paint(DIM, "(no text)"),
        TaskKind::Fenced => format!("{} {}", clean(&task.raw), page.paint(DIM, FENCED)),
    };
    let margin = "  ".repeat(depth + 1);
    page.line(format!("{margin}{} {text}", page.paint(style, mark)));
}

fn write_scenarios(page: &mut Page, scenarios: &[Scenario]) {
    if scenarios.is_empty() {
        return;
    }
    page.blank();
    let title = count(scenarios.len(), "scenario");
    page.styled(STRONG, title);
    let mut last: Option<(&str, &str)> = None;
    for scenario in scenarios {
        let here = (scenario.capability.as_str(), scenario.requirement.as_str());
        if last != Some(here) {
            let capability = page.paint(DIM, clean(here.0));
            page.line(format!("  {capability}: {}", clean(here.1)));
            last = Some(here);
        }
        page.line(format!("    {}", page.paint(NAME, clean(&scenario.name))));
        for line in clean_lines(&scenario.text) {
            page.line(format!("      {}", page.paint(DIM, line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use pretty_assertions::assert_eq;
    use ralph_plan::change::TaskFile;
    use ralph_plan::source::read_stories;

    const TASKS: &str = "\
## 1. Setup
- [x] 1.1 Add the crate

## 2. Retry the upload
- [x] 2.1 Wrap the client
- [ ] 2.2 Add a \u{1b}[31mdelay
    - [ ] 2.2.1 Let it grow
        * [x] 2.2.1.1 Cap it
- [~] 2.3 Add jitter
- [ ]

```
- [ ] An example
```

## 3. Docs
- [ ] 3.1 Document it

## 4. Metrics
- [/] 4.1 Count
";

    fn change(tasks: &str) -> Change {
        let scenario = |name: &str| Scenario {
            capability: "upload".to_owned(),
            requirement: "Failed uploads are retried".to_owned(),
            name: name.to_owned(),
            text: "- **WHEN** the server answers 503\n- **THEN** it is tried again".to_owned(),
            line: 5,
        };
        let task_files = vec![TaskFile {
            path: "/repo/openspec/changes/add-retry/tasks.md".into(),
            label: "tasks.md".to_owned(),
            bytes: tasks.into(),
        }];
        let (stories, _) = read_stories(&task_files, SourceKind::OpenSpec);
        Change {
            name: "add-retry".to_owned(),
            root: "/repo".into(),
            source: SourceKind::OpenSpec,
            stories,
            scenarios: vec![scenario("Server is busy"), scenario("Server is down")],
            documents: Vec::new(),
            context: None,
            guidance: Vec::new(),
            warnings: Vec::new(),
            task_files,
        }
    }

    fn shown(change: &Change) -> String {
        let mut page = Page::new(Paint::Plain);
        write(&mut page, change, Path::new("/repo"));
        page.text
    }

    #[test]
    fn a_change_is_shown_with_stories_tasks_and_scenarios() {
        insta::assert_snapshot!(shown(&change(TASKS)));
    }

    #[test]
    fn a_change_without_tasks_says_so() {
        let mut change = change("Nothing yet.\n");
        change.scenarios.clear();
        assert_eq!(
            shown(&change),
            "add-retry  0 of 0 stories, 0 of 0 tasks done\n\
             openspec/changes/add-retry/tasks.md\n\n\
             no tasks: a task is a line such as `- [ ] 1.1 Add the retry`\n"
        );
    }
}
