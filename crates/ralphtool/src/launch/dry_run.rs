//! `--dry-run`: what a run would do.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde::Serialize;

use super::{ChangeSelector, Inputs, RunRequest, nothing_to_resume, trust};
use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::usable_repository;
use crate::ui::page::Page;
use crate::ui::plain::Verbosity;
use crate::ui::style::{DIM, NAME, STRONG};
use crate::ui::text::{clean, columns, pad};
use crate::ui::words::{self, count, depends_on};
use ralph_base::ids::StoryId;
use ralph_plan::change::{Change, Story, StoryState};
use ralph_run::engine::entry::Entry;
use ralph_run::engine::prepare::{open_dependencies, refuse_template};
use ralph_run::failure::Failure;
use ralph_run::gate::{self, GatePlace};
use ralph_run::policy::{Budget, after_exhausted};
use ralph_run::preview::forecast::{AskedFor, Forecast, Question, all_done};
use ralph_run::records::event::BudgetLimits;
use ralph_run::settings::Settings;
use ralph_vault::look::peek_last;

/// The origin of a setting that has its default.
const DEFAULT: &str = "default";

/// Shows what a run would do, and repairs nothing.
pub(crate) fn show(request: &RunRequest<'_>, context: &Context) -> Result<ExitCode, Failure> {
    let repository = usable_repository(context)?;
    let state = context.state()?;
    let last = request.last_run(|| {
        peek_last(&state, &repository)
            .map_err(|error| Failure::system("could not look for a run").because(error))
    })?;
    let inputs = Inputs::read(request, context, &repository.work_tree, last.as_ref())?;
    let (change, settings) = (&inputs.change, &inputs.settings);
    GatePlace {
        root: &repository.work_tree,
        environment: &context.environment,
    }
    .refuse_broken(&settings.gates.value)?;
    let only = request.flags.story.clone().map(StoryId);
    refuse_template(change, only.as_ref())?;
    output::warn(context, &inputs.loaded.warnings);
    output::warn(context, change.warnings.iter().map(|it| &it.message));
    output::warn(context, open_dependencies(change, only.as_ref()));
    output::warn(context, gate::warnings(&settings.gates.value));
    output::warn(context, inputs.loaded.unallowed().map(trust::warning));
    let git = repository.git(settings.command_timeout.value.or_zero());
    let forecast = Forecast::of_allowed(Question {
        repository: &repository,
        git: &git,
        state: &state,
        change,
        asked: match request.change {
            ChangeSelector::LastRun => AskedFor::LastRun,
            ChangeSelector::Named(_) | ChangeSelector::OnlyOpen => AskedFor::Change,
        },
        mode: request.mode,
    })?;
    if let Ok(Entry::DoneOnBranch(done)) = &forecast.entry
        && matches!(request.change, ChangeSelector::LastRun)
    {
        return Err(nothing_to_resume(done));
    }
    let stories = planned(change, &forecast, request.flags.story.as_deref());
    let start = PlannedStart::of(request, change, &forecast);
    if request.flags.json {
        return output::json(&Plan::of(change, &forecast, &start, settings, &stories));
    }
    let is_verbose = request.flags.verbosity() == Verbosity::Verbose;
    output::page(context, |page| {
        let name = clean(&change.name);
        let what = match &start {
            PlannedStart::Nothing(why) => return page.line(clean(why)),
            PlannedStart::Resume => {
                format!("the run of `{name}` would be resumed; nothing is touched")
            }
            PlannedStart::Begin => format!("`{name}` would be run; nothing is touched"),
        };
        page.styled(STRONG, what);
        page.facts(&facts(change, &forecast, settings), 10);
        write_stories(page, &stories);
        write_settings(page, settings, is_verbose);
    })
}

/// The stories that would be worked on; only the one that is asked for, if one is.
fn planned<'a>(change: &'a Change, forecast: &Forecast, only: Option<&str>) -> Vec<&'a Story> {
    let is_left = |it: &&Story| {
        let is_open = it.state == StoryState::Open && !forecast.is_done_in_run(&it.id);
        is_open || forecast.is_redone(&it.id)
    };
    let is_asked = |it: &&Story| only.is_none_or(|only| it.id.0 == only);
    let stories = change.stories.iter().filter(is_left);
    stories.filter(is_asked).collect()
}

/// What the start would do.
enum PlannedStart {
    Begin,
    Resume,
    /// No story is left, for this reason.
    Nothing(String),
}

impl PlannedStart {
    fn of(request: &RunRequest<'_>, change: &Change, forecast: &Forecast) -> Self {
        // `resume` may still have its gates at the end to run.
        let is_last = matches!(request.change, ChangeSelector::LastRun);
        let is_over = change.next_open().is_none() && !is_last && !request.mode.fresh;
        match &forecast.entry {
            Ok(Entry::DoneOnBranch(done)) => Self::Nothing(all_done(done)),
            _ if is_over => {
                let tally = change.story_tally();
                Self::Nothing(words::nothing_left(&change.name, tally.done, tally.total))
            }
            Ok(Entry::Resume) => Self::Resume,
            _ => Self::Begin,
        }
    }

    /// The word for it in JSON.
    const fn word(&self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Resume => "resume",
            Self::Nothing(_) => "nothing",
        }
    }
}

/// What a run would do, for a program.
#[derive(Debug, Serialize)]
struct Plan {
    change: String,
    /// What the start would do: `begin`, `resume`, or `nothing` where all stories are done.
    start: &'static str,
    branch: String,
    /// Agents in order of preference.
    agents: Vec<String>,
    attempts_per_story: u64,
    gates: Vec<PlannedGate>,
    budget: BudgetLimits,
    stories: Vec<PlannedStory>,
    settings: Vec<PlannedSetting>,
}

#[derive(Debug, Serialize)]
struct PlannedGate {
    name: String,
    run: String,
    retries: u32,
    /// The patterns of files without which it does not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    /// The pattern of its test report.
    #[serde(skip_serializing_if = "Option::is_none")]
    junit: Option<String>,
}

#[derive(Debug, Serialize)]
struct PlannedStory {
    id: StoryId,
    title: String,
    open_tasks: usize,
    /// The stories that must be done before it; null where that is not known.
    depends_on: Option<BTreeSet<StoryId>>,
}

#[derive(Debug, Serialize)]
struct PlannedSetting {
    name: &'static str,
    value: String,
    origin: String,
}

impl Plan {
    fn of(
        change: &Change,
        forecast: &Forecast,
        start: &PlannedStart,
        settings: &Settings,
        stories: &[&Story],
    ) -> Self {
        let is_nothing = matches!(start, PlannedStart::Nothing(_));
        let stories = if is_nothing { &[] } else { stories };
        let gates = settings.gates.value.iter();
        let lines = settings.lines().into_iter();
        Self {
            change: change.name.clone(),
            start: start.word(),
            branch: forecast.branch.clone(),
            agents: settings.agent.value.names().to_vec(),
            attempts_per_story: attempts(settings),
            gates: gates
                .map(|it| PlannedGate {
                    name: it.name.clone(),
                    run: it.run.clone(),
                    retries: it.retries,
                    paths: it.path_texts(),
                    junit: it.junit.as_ref().map(ToString::to_string),
                })
                .collect(),
            budget: BudgetLimits::from(Budget::of_run(settings)),
            stories: stories
                .iter()
                .map(|it| PlannedStory {
                    id: it.id.clone(),
                    title: it.title.clone(),
                    open_tasks: it.open_tasks().count(),
                    depends_on: it.depends_on.known().cloned(),
                })
                .collect(),
            settings: lines
                .map(|(name, value, origin)| PlannedSetting {
                    name,
                    value,
                    origin,
                })
                .collect(),
        }
    }
}

/// How many attempts a story may have.
fn attempts(settings: &Settings) -> u64 {
    u64::from(settings.max_retries.value) + 1
}

/// What matters most about the run.
fn facts(change: &Change, forecast: &Forecast, settings: &Settings) -> Vec<(&'static str, String)> {
    let attempts = attempts(settings);
    let then = after_exhausted(settings.on_exhausted.as_ref().map(|it| it.value), change);
    let gates = settings.gates.value.iter().map(|it| it.name.as_str());
    let reviews = settings.reviews.value.iter().map(|it| it.name.as_str());
    let reviews: Vec<&str> = reviews.collect();
    let limits = BudgetLimits::from(Budget::of_run(settings));
    let budget = words::budget(&limits).unwrap_or_else(|| "no maximum".to_owned());
    let mut facts = vec![
        ("branch", clean(&forecast.branch_line())),
        ("agent", settings.agent.value.names().join(", else ")),
        (
            "attempts",
            format!("at most {attempts} per story; then the run {then}"),
        ),
        ("gates", words::gates(&gates.collect::<Vec<_>>(), &reviews)),
        ("budget", budget),
    ];
    facts.extend(words::reviews(&reviews).map(|reviews| ("reviews", reviews)));
    facts
}

fn write_stories(page: &mut Page, stories: &[&Story]) {
    page.heading(count(stories.len(), "story"));
    for story in stories {
        let id = page.paint(NAME, clean(&story.id.0));
        let open = match story.open_tasks().count() {
            // A fresh start opens the boxes of a story that is done.
            0 => count(story.tasks.len(), "task"),
            open => format!("{} open", count(open, "task")),
        };
        let facts: Vec<String> = std::iter::once(open).chain(depends_on(story)).collect();
        let facts = page.paint(DIM, facts.join(", "));
        page.line(format!("  {id} {}  {facts}", clean(&story.title)));
    }
}

/// Writes the settings that are not the default, or all.
fn write_settings(page: &mut Page, settings: &Settings, all: bool) {
    let mut lines = settings.lines();
    let known = lines.len();
    lines.retain(|(_, _, origin)| all || origin != DEFAULT);
    let defaults = known - lines.len();
    let widest = |pick: fn(&(&str, String, String)) -> usize| lines.iter().map(pick).max();
    let name_width = widest(|(name, _, _)| columns(name)).unwrap_or(0);
    let value_width = widest(|(_, value, _)| columns(value)).unwrap_or(0).min(40);
    page.heading("settings");
    for (name, value, origin) in &lines {
        let (name, value) = (pad(name, name_width), pad(&clean(value), value_width));
        let origin = page.paint(DIM, clean(origin));
        page.line(format!("  {name}  {value}  {origin}"));
    }
    if defaults > 0 {
        let rest = format!("  {defaults} have their default; `-v` shows them");
        page.line(page.paint(DIM, rest));
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
        write_stories(&mut page, &stories.iter().collect::<Vec<_>>());
        write_settings(&mut page, &settings, false);
        write_settings(&mut page, &settings, true);
        insta::assert_snapshot!(page.text);
    }
}
