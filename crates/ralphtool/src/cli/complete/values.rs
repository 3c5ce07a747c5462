//! The values an argument can have. Where something cannot be read, there are none.

use clap::Arg;

use super::{Candidate, Line, commands};
use crate::console::context::Context;
use crate::console::repository::readable_repository;
use crate::launch::only_change;
use crate::ui::text::{clean, truncate};
use ralph_plan::change::{Change, StoryState};
use ralph_plan::source;
use ralph_run::history::lookup::{past_runs, read_run, run_names};
use ralph_run::records::event::Event;
use ralph_run::settings::{PartialSettings, built_in_agents};
use ralph_vault::look::look;
use ralph_vault::{ParkedAttempt, Shelf};

/// How much of a reason is shown.
const REASON_WIDTH: usize = 60;

/// The values of an argument of the command that is typed.
pub(super) fn values_of(argument: &Arg, line: &Line) -> Vec<Candidate> {
    let context = &line.context;
    match argument.get_id().as_str() {
        "change" => changes(context).unwrap_or_default(),
        "story" => stories(line).unwrap_or_default(),
        "run" => runs(context, line.command.get_name() == "log").unwrap_or_default(),
        "attempt" if line.command.get_name() == "transcript" => {
            started_attempts(context).unwrap_or_default()
        }
        "attempt" => parked_attempts(context).unwrap_or_default(),
        "agent" => agents(context),
        "command" => subcommands(line),
        _ => argument
            .get_possible_values()
            .iter()
            .filter(|it| !it.is_hide_set())
            .map(|it| {
                let help = it.get_help().map(ToString::to_string);
                Candidate::new(it.get_name(), help.unwrap_or_default())
            })
            .collect(),
    }
}

fn changes(context: &Context) -> Option<Vec<Candidate>> {
    let survey = source::survey(&context.surroundings().ok()?).ok()?;
    let rows = survey.changes.into_iter().map(|row| {
        let about = format!("{} of {} stories done", row.stories_done, row.stories_total);
        Candidate::new(row.target, about)
    });
    Some(rows.collect())
}

/// The stories of the change that is typed, or else of that of the last run, or of the only open one.
fn stories(line: &Line) -> Option<Vec<Candidate>> {
    let context = &line.context;
    let around = context.surroundings().ok()?;
    let names_change = line
        .command
        .get_positionals()
        .any(|it| it.get_id() == "change");
    let typed = line.positional.first().filter(|_| names_change).cloned();
    let change: Change = match typed.or_else(|| last_change(context)) {
        Some(name) => context.change(&name).ok()?,
        None => only_change(&around).ok()?,
    };
    let stories = change.stories.iter().map(|story| {
        let done = if story.state == StoryState::Done {
            " (done)"
        } else {
            ""
        };
        Candidate::new(&story.id.0, format!("{}{done}", clean(&story.title)))
    });
    Some(stories.collect())
}

/// The change of the open or kept run.
fn last_change(context: &Context) -> Option<String> {
    let (repository, _) = readable_repository(context).ok()?;
    let found = look(&context.vault(&repository).ok()?).ok()?;
    found.open.map(|run| run.change).or(found.kept)
}

fn runs(context: &Context, has_last: bool) -> Option<Vec<Candidate>> {
    let (repository, _) = readable_repository(context).ok()?;
    let vault = context.vault(&repository).ok()?;
    let names = run_names(&repository, &vault).ok()?;
    let last = has_last.then(|| Candidate::new("last", "the newest run"));
    let runs = names
        .into_iter()
        .map(|(run, change)| Candidate::new(run.0, clean(&change)));
    Some(last.into_iter().chain(runs).collect())
}

/// The agents that are built in, and those of the settings.
fn agents(context: &Context) -> Vec<Candidate> {
    let mut names: Vec<String> = built_in_agents().map(str::to_owned).collect();
    for name in own_agents(context).unwrap_or_default() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let candidates = names.into_iter();
    candidates.map(|name| Candidate::new(name, "")).collect()
}

fn own_agents(context: &Context) -> Option<Vec<String>> {
    let (repository, _) = readable_repository(context).ok()?;
    let loaded = context.load(&repository.work_tree, false).ok()?;
    let settings = loaded.shown(PartialSettings::default()).ok()?;
    Some(settings.agents.into_keys().collect())
}

/// The commands of the program, or of the command that is typed, for `help` and `man`.
fn subcommands(line: &Line) -> Vec<Candidate> {
    let mut command = Some(&line.program);
    for word in &line.positional {
        command = command.and_then(|it| it.find_subcommand(word));
    }
    command.into_iter().flat_map(commands).collect()
}

/// The attempts that have a transcript, parked or not, the newest first.
fn started_attempts(context: &Context) -> Option<Vec<Candidate>> {
    let (repository, _) = readable_repository(context).ok()?;
    let vault = context.vault(&repository).ok()?;
    let mut found: Vec<Candidate> = Vec::new();
    for run in past_runs(&repository, &vault).ok()? {
        for record in read_run(&vault, &run.run).into_iter().rev() {
            let Event::AttemptStarted(started) = record.event else {
                continue;
            };
            let name = format!("{}.{}", started.story.0, started.attempt.0);
            if !found.iter().any(|it| it.value == name) {
                found.push(Candidate::new(name, clean(&run.change)));
            }
        }
    }
    Some(found)
}

/// The parked attempts, the newest first.
fn parked_attempts(context: &Context) -> Option<Vec<Candidate>> {
    let (repository, _) = readable_repository(context).ok()?;
    let shelf = Shelf::open(&context.state().ok()?, &repository).ok()?;
    let mut found: Vec<Candidate> = Vec::new();
    for parked in shelf.attempts().iter().rev() {
        if !found.iter().any(|it| it.value == parked.note.label) {
            found.push(Candidate::new(&parked.note.label, reason(parked)));
        }
    }
    Some(found)
}

fn reason(parked: &ParkedAttempt) -> String {
    let first = parked.note.why.lines().next().unwrap_or_default();
    truncate(&clean(first), REASON_WIDTH)
}
