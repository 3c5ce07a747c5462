//! The check before a start: everything a user should know, found without the lock and without
//! changing anything, and the prompt an agent would get.

use std::ffi::OsString;
use std::path::Path;

use crate::engine::entry::StartMode;
use crate::engine::{REPAIR_TIMEOUT, agents};
use crate::failure::{Failure, chain};
use crate::gate::{self, GatePlace};
use crate::learnings::file;
use crate::policy::roster::never_asked;
use crate::preview::forecast::{AskedFor, Forecast, Question};
use crate::preview::{Remark, about_change, about_dirty, about_guarded, failed};
use crate::prompt::{Previous, PromptInput, prompt};
use crate::records::progress::NO_GATES;
use crate::settings::Settings;
use crate::tamper::TamperPolicy;
use ralph_base::ids::{AttemptNumber, StoryId};
use ralph_base::shell::quoted;
use ralph_plan::change::{Change, Story};
use ralph_vault::git::process::Git;
use ralph_vault::git::repository::Repository;
use ralph_vault::git::status::tree_state;
use ralph_vault::look::look as look_at;
use ralph_vault::look::peek;
use ralph_vault::store::repository_lock::owner;
use ralph_vault::store::{VaultFolder, holder};
use ralph_vault::{CheckpointError, OpenRun, obstacles, passing_obstacles};

/// What might be started.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// Where the command was given.
    pub directory: &'a Path,
    /// The user's state directory.
    pub state: &'a Path,
    /// The change.
    pub change: &'a Change,
    /// All settings.
    pub settings: &'a Settings,
    /// Warnings from reading the settings.
    pub warnings: &'a [String],
    /// The environment.
    pub environment: &'a [(OsString, OsString)],
}

/// Checks everything a start would check; what matters most comes first.
pub fn look(plan: &Plan<'_>) -> Vec<Remark> {
    let mut remarks = match Repository::discover(plan.directory) {
        Ok(repository) => in_repository(plan, &repository),
        Err(error) => vec![refused(&error.into())],
    };
    remarks.extend(about_change(plan.change));
    if plan.settings.gates.value.is_empty() && plan.settings.reviews.value.is_empty() {
        let hint = "`ralphtool init` finds commands that check this repository";
        remarks.push(Remark::warns(NO_GATES).hint(hint));
    }
    remarks.extend(
        gate::warnings(&plan.settings.gates.value)
            .into_iter()
            .map(Remark::warns),
    );
    remarks.extend(plan.warnings.iter().map(Remark::warns));
    let ids: Vec<&StoryId> = plan.change.stories.iter().map(|it| &it.id).collect();
    let idle = never_asked(plan.settings, &plan.change.name, &ids);
    remarks.extend(idle.iter().map(Remark::warns));
    remarks.sort_by_key(|remark| remark.weight);
    remarks
}

fn in_repository(plan: &Plan<'_>, repository: &Repository) -> Vec<Remark> {
    let vault = VaultFolder::folder_for(plan.state, repository);
    let here = holder(&vault).ok().flatten();
    let busy = here.map(|owner| format!("this tree: {owner}")).or_else(|| {
        let owner = owner(plan.state, repository)?;
        Some(format!(
            "`{}`, which shares the git directory of this work tree: {}",
            owner.work_tree.display(),
            owner.process
        ))
    });
    if let Some(place) = busy {
        // Everything else may be the doing of that run.
        let text = format!("another ralphtool is at work in {place}");
        let hint = "wait until it ends, or stop it with Ctrl-C there";
        return vec![Remark::stops(text).hint(hint)];
    }
    let git = repository.git(REPAIR_TIMEOUT);
    let limits = plan.settings.limits();
    let mut found = obstacles(repository, &git, &vault);
    found.extend(passing_obstacles(repository, &vault, limits.least_free));
    let mut remarks: Vec<Remark> = found.iter().map(refused).collect();
    let open = peek(plan.state, repository).ok().flatten();
    remarks.extend(about_start(plan, repository, &git));
    remarks.extend(agent(plan, repository));
    remarks.extend(gates(plan, repository));
    match tree_state(&git, &repository.work_tree) {
        Ok(tree) => {
            // What lies in the tree of a run that goes on may be its last attempt's.
            remarks.extend(about_dirty(&tree).filter(|_| open.is_none()));
            remarks.extend(about_guarded(&tree, limits.largest_file));
        }
        Err(error) => remarks.push(refused(&error.into())),
    }
    remarks
}

/// Whether there is a run of the change that a fresh start would leave.
pub fn has_earlier_run(repository: &Repository, state: &Path, change: &Change) -> bool {
    let forecast = Forecast::of(Question {
        repository,
        git: &repository.git(REPAIR_TIMEOUT),
        state,
        change,
        asked: AskedFor::Change,
        mode: StartMode::default(),
    });
    forecast.is_ok_and(|forecast| forecast.has_earlier_run())
}

/// What a start does with an earlier run and with the branch.
fn about_start(plan: &Plan<'_>, repository: &Repository, git: &Git) -> Vec<Remark> {
    let question = Question {
        repository,
        git,
        state: plan.state,
        change: plan.change,
        asked: AskedFor::Change,
        mode: StartMode::default(),
    };
    let forecast = match Forecast::of(question) {
        Ok(forecast) => forecast,
        Err(error) => return vec![refused(&error)],
    };
    let vault = VaultFolder::folder_for(plan.state, repository);
    let half_way = look_at(&vault).ok().and_then(|looked| looked.half_way);
    let obstacle = forecast.obstacle(question);
    let mut remarks: Vec<Remark> = obstacle.iter().map(refused).collect();
    remarks.extend(forecast.remark());
    remarks.extend(
        half_way.map(|(what, then)| Remark::tells(format!("{what}; the next start {then}"))),
    );
    remarks
}

fn agent(plan: &Plan<'_>, repository: &Repository) -> Option<Remark> {
    let root = &repository.work_tree;
    agents::check(plan.settings, &plan.change.name, plan.environment, root)
        .err()
        .map(|failure| failed(&failure))
}

fn gates(plan: &Plan<'_>, repository: &Repository) -> Option<Remark> {
    let place = GatePlace {
        root: &repository.work_tree,
        environment: plan.environment,
    };
    let refused = place.refuse_broken(&plan.settings.gates.value).err();
    refused.map(|failure| failed(&failure))
}

fn refused(error: &CheckpointError) -> Remark {
    Remark {
        hint: error.hint(),
        ..Remark::stops(chain(error))
    }
}

/// The prompt of the next attempt at a story, as an agent would get it: the first, or the next one in
/// the run that would be resumed. The vault is neither opened nor created.
pub fn prompt_of(
    change: &Change,
    story: &Story,
    settings: &Settings,
    vault: &Path,
    open: Option<&OpenRun>,
) -> Result<String, Failure> {
    let path = file::path(vault, &change.name);
    let notes = file::newest(&path, settings.learnings_limit.value)
        .map_err(|error| Failure::refused(error.to_string()).because(error))?;
    let (attempt, previous) = match open {
        Some(open) => following(open, story),
        None => (AttemptNumber(1), None),
    };
    let parked = previous.as_ref().and_then(|it| it.parked.as_ref());
    let show_diff = open.zip(parked).map(|(open, parked)| {
        let attempts = vault.join("runs").join(&open.run.0).join("attempts");
        let diff = attempts.join(parked.to_string()).join("changes.diff");
        format!("cat {}", quoted(&diff))
    });
    Ok(prompt(&PromptInput {
        change,
        story,
        attempt,
        gates: &settings.gates.value,
        learnings: notes.as_deref(),
        learnings_path: &path.to_string_lossy(),
        previous: previous.as_ref(),
        show_diff: show_diff.as_deref(),
        notes: &[],
        strict_tasks: settings.strict_tasks.value,
        tamper: &TamperPolicy::of(settings),
    }))
}

/// The next attempt at a story of a run, and what its prompt says of the last one.
fn following(open: &OpenRun, story: &Story) -> (AttemptNumber, Option<Previous>) {
    let made = open.attempts.get(&story.id).copied().unwrap_or(0);
    let last = open.last_attempt.as_ref();
    let last = last.filter(|last| last.attempt.story == story.id);
    let last = last.or_else(|| open.left_attempts.get(&story.id)).cloned();
    let previous = last.map(|last| Previous {
        reason: last.reason,
        parked: Some(last.attempt),
    });
    (AttemptNumber(made.saturating_add(1)), previous)
}

#[cfg(test)]
mod tests;
