//! One change in full, for people: its stories with their tasks, and the scenarios it must meet.

use std::io::{self, Write};
use std::path::Path;

use super::style::{DIM, GOOD, NAME, Paint, STRONG, WARN};
use super::text::{clean, clean_lines};
use super::words::{Count, Noun};
use ralph_plan::change::{Change, Scenario, SourceKind, Story, StoryState};
use ralph_plan::tasks::{Task, TaskKind, TaskState};

/// Writes the change; files below `here` are named from there.
pub(crate) fn write(
    out: &mut dyn Write,
    paint: Paint,
    change: &Change,
    here: &Path,
) -> io::Result<()> {
    let (stories, tasks) = (change.story_tally(), change.task_tally());
    writeln!(
        out,
        "{}{}  {} of {}, {} of {} done",
        paint.apply(STRONG, clean(&change.name)),
        kind(paint, change.source),
        stories.done,
        Count(stories.total, Noun::Story),
        tasks.done,
        Count(tasks.total, Noun::Task),
    )?;
    for file in &change.task_files {
        let path = file.path.strip_prefix(here).unwrap_or(&file.path);
        let path = clean(&path.to_string_lossy());
        writeln!(out, "{}", paint.apply(DIM, path))?;
    }
    if change.stories.is_empty() {
        let note = format!("no tasks: {}", change.source.example());
        writeln!(out, "\n{}", paint.apply(WARN, note))?;
    }
    let next = change.next_open().map(|story| &story.id);
    for story in &change.stories {
        write_story(out, paint, story, next == Some(&story.id))?;
    }
    write_scenarios(out, paint, &change.scenarios)
}

/// What kind of plan it is, where that has to be said.
fn kind(paint: Paint, source: SourceKind) -> String {
    match source {
        SourceKind::OpenSpec => String::new(),
        other => format!("  {}", paint.apply(DIM, other.word())),
    }
}

fn write_story(out: &mut dyn Write, paint: Paint, story: &Story, is_next: bool) -> io::Result<()> {
    let (style, mark) = match story.state {
        StoryState::Done => (GOOD, "done"),
        StoryState::Deferred => (WARN, "set aside"),
        StoryState::Open if is_next => (NAME, "next"),
        StoryState::Open => (DIM, "open"),
    };
    let is_done = |task: &&Task| task.state == TaskState::Done;
    let done = story.tasks.iter().filter(is_done).count();
    writeln!(out)?;
    writeln!(
        out,
        "{} {}  {}",
        paint.apply(style, clean(&story.id.0)),
        paint.apply(STRONG, clean(&story.title)),
        paint.apply(style, format!("{done}/{} {mark}", story.tasks.len())),
    )?;
    for task in &story.tasks {
        write_task(out, paint, task, depth(task, &story.tasks))?;
    }
    Ok(())
}

/// How many tasks it is nested under.
fn depth(task: &Task, tasks: &[Task]) -> usize {
    let parent = |task: &&Task| tasks.get(task.parent?);
    std::iter::successors(parent(&task), parent).count()
}

fn write_task(out: &mut dyn Write, paint: Paint, task: &Task, depth: usize) -> io::Result<()> {
    let (style, mark) = match task.state {
        TaskState::Done => (GOOD, "[x]"),
        TaskState::Open => (anstyle::Style::new(), "[ ]"),
        TaskState::Deferred if task.kind == TaskKind::Optional => (DIM, "[ ]"),
        TaskState::Deferred => (WARN, "[~]"),
    };
    let text = match task.kind {
        TaskKind::Work => clean(&task.raw),
        TaskKind::Optional => format!("{} {}", clean(&task.raw), paint.apply(DIM, "(optional)")),
        TaskKind::Textless => paint.apply(DIM, "(no text)"),
        TaskKind::Fenced => {
            let note = paint.apply(DIM, "(in a code fence, never run)");
            format!("{} {note}", clean(&task.raw))
        }
    };
    let margin = "  ".repeat(depth + 1);
    writeln!(out, "{margin}{} {text}", paint.apply(style, mark))
}

fn write_scenarios(out: &mut dyn Write, paint: Paint, scenarios: &[Scenario]) -> io::Result<()> {
    if scenarios.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let title = Count(scenarios.len(), Noun::Scenario).to_string();
    writeln!(out, "{}", paint.apply(STRONG, title))?;
    let mut last: Option<(&str, &str)> = None;
    for scenario in scenarios {
        let here = (scenario.capability.as_str(), scenario.requirement.as_str());
        if last != Some(here) {
            let capability = paint.apply(DIM, clean(here.0));
            writeln!(out, "  {capability}: {}", clean(here.1))?;
            last = Some(here);
        }
        writeln!(out, "    {}", paint.apply(NAME, clean(&scenario.name)))?;
        for line in clean_lines(&scenario.text) {
            writeln!(out, "      {}", paint.apply(DIM, line))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let mut out = Vec::new();
        write(&mut out, Paint::Plain, change, Path::new("/repo")).unwrap();
        String::from_utf8(out).unwrap()
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
