//! One change in full: its stories with their tasks, and the scenarios it must meet.

use std::io::{self, Write};

use serde::Serialize;

use super::style::{DIM, GOOD, NAME, Paint, STRONG, WARN};
use super::text::{clean, clean_lines};
use super::words::{Count, Noun};

/// Where a task or a story stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemState {
    /// To be done.
    Open,
    /// Done.
    Done,
    /// Set aside.
    Deferred,
}

/// A change as `show` prints it; its JSON form is a promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ShowView {
    /// The change's name.
    pub(crate) change: String,
    /// The folder it was found under.
    pub(crate) root: String,
    /// The file with its tasks.
    pub(crate) source: String,
    /// Its stories, in the order of the file.
    pub(crate) stories: Vec<StoryView>,
    /// What its specs ask for.
    pub(crate) scenarios: Vec<ScenarioView>,
}

/// A story of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StoryView {
    /// What people call it.
    pub(crate) id: String,
    /// Its title.
    pub(crate) title: String,
    /// Where it stands.
    pub(crate) state: ItemState,
    /// Its tasks.
    pub(crate) tasks: Vec<TaskView>,
}

/// A task of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TaskView {
    /// Its number, where it has one.
    pub(crate) id: Option<String>,
    /// The description as written.
    pub(crate) raw: String,
    /// The description without its number.
    pub(crate) text: String,
    /// Its box is ticked.
    pub(crate) done: bool,
    /// Where it stands.
    pub(crate) state: ItemState,
}

/// A scenario of a requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ScenarioView {
    /// The capability it belongs to.
    pub(crate) capability: String,
    /// The requirement it belongs to.
    pub(crate) requirement: String,
    /// Its name.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// Writes the change as one JSON object.
pub(crate) fn write_json(out: &mut dyn Write, view: &ShowView) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, view)?;
    writeln!(out)
}

/// Writes the change for people.
pub(crate) fn write(out: &mut dyn Write, paint: Paint, view: &ShowView) -> io::Result<()> {
    let done = |state| state == ItemState::Done;
    let stories_done = view.stories.iter().filter(|it| done(it.state)).count();
    let tasks = || view.stories.iter().flat_map(|story| &story.tasks);
    let tasks_done = tasks().filter(|task| task.done).count();
    writeln!(
        out,
        "{}  {stories_done} of {}, {tasks_done} of {} done",
        paint.apply(STRONG, clean(&view.change)),
        Count(view.stories.len(), Noun::Story),
        Count(tasks().count(), Noun::Task),
    )?;
    writeln!(out, "{}", paint.apply(DIM, clean(&view.source)))?;
    let next = view
        .stories
        .iter()
        .position(|story| story.state == ItemState::Open);
    for (index, story) in view.stories.iter().enumerate() {
        write_story(out, paint, story, next == Some(index))?;
    }
    write_scenarios(out, paint, &view.scenarios)
}

fn write_story(
    out: &mut dyn Write,
    paint: Paint,
    story: &StoryView,
    is_next: bool,
) -> io::Result<()> {
    let (style, mark) = match story.state {
        ItemState::Done => (GOOD, "done"),
        ItemState::Deferred => (WARN, "set aside"),
        ItemState::Open if is_next => (NAME, "next"),
        ItemState::Open => (DIM, "open"),
    };
    let done = story.tasks.iter().filter(|task| task.done).count();
    writeln!(out)?;
    writeln!(
        out,
        "{} {}  {}",
        paint.apply(style, clean(&story.id)),
        paint.apply(STRONG, clean(&story.title)),
        paint.apply(style, format!("{done}/{} {mark}", story.tasks.len())),
    )?;
    for task in &story.tasks {
        let (style, mark) = match task.state {
            ItemState::Done => (GOOD, "[x]"),
            ItemState::Open => (anstyle::Style::new(), "[ ]"),
            ItemState::Deferred => (WARN, "[~]"),
        };
        writeln!(out, "  {} {}", paint.apply(style, mark), clean(&task.raw))?;
    }
    Ok(())
}

fn write_scenarios(
    out: &mut dyn Write,
    paint: Paint,
    scenarios: &[ScenarioView],
) -> io::Result<()> {
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

    fn task(raw: &str, state: ItemState) -> TaskView {
        let (id, text) = raw.split_once(' ').unwrap();
        TaskView {
            id: Some(id.to_owned()),
            raw: raw.to_owned(),
            text: text.to_owned(),
            done: state == ItemState::Done,
            state,
        }
    }

    fn story(id: &str, title: &str, state: ItemState, tasks: Vec<TaskView>) -> StoryView {
        StoryView {
            id: id.to_owned(),
            title: title.to_owned(),
            state,
            tasks,
        }
    }

    fn view() -> ShowView {
        use ItemState::{Deferred, Done, Open};
        let scenario = |name: &str| ScenarioView {
            capability: "upload".to_owned(),
            requirement: "Failed uploads are retried".to_owned(),
            name: name.to_owned(),
            text: "- **WHEN** the server answers 503\n- **THEN** it is tried again".to_owned(),
        };
        ShowView {
            change: "add-retry".to_owned(),
            root: "openspec".to_owned(),
            source: "openspec/changes/add-retry/tasks.md".to_owned(),
            stories: vec![
                story("1", "Setup", Done, vec![task("1.1 Add the crate", Done)]),
                story(
                    "2",
                    "Retry the upload",
                    Open,
                    vec![
                        task("2.1 Wrap the client", Done),
                        task("2.2 Add a \u{1b}[31mdelay", Open),
                        task("2.3 Add jitter", Deferred),
                    ],
                ),
                story("3", "Docs", Open, vec![task("3.1 Document it", Open)]),
                story("4", "Metrics", Deferred, vec![task("4.1 Count", Deferred)]),
            ],
            scenarios: vec![scenario("Server is busy"), scenario("Server is down")],
        }
    }

    #[test]
    fn a_change_is_shown_with_stories_tasks_and_scenarios() {
        let mut out = Vec::new();
        write(&mut out, Paint::Plain, &view()).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn the_json_of_a_change_has_the_promised_keys() {
        let mut view = view();
        view.stories.truncate(1);
        view.scenarios.truncate(1);
        view.stories[0].tasks[0].id = None;
        let mut out = Vec::new();
        write_json(&mut out, &view).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
