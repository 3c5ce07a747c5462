//! What runs left behind that are no more: an open run, processes, locks, files of no run, vaults
//! without a work tree.

use std::path::{Path, PathBuf};

use super::{Finding, Place};
use crate::engine::start::recorded;
use ralph_base::ids::RunId;
use ralph_base::size::rounded;
use ralph_process::leftovers::find_leftovers;
use ralph_vault::gc::other_vaults::{Scope, others};
use ralph_vault::gc::policy::VaultKind;
use ralph_vault::git::locks::holder as lock_holder;
use ralph_vault::look::look as look_at;
use ralph_vault::session::{OpenRun, strays};
use ralph_vault::store::holder;

/// Looks for everything that no living run of ours is behind.
pub(super) fn check(place: &Place<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_free = matches!(holder(&place.vault), Ok(None));
    if is_free {
        findings.extend(runs(place));
    }
    findings.extend(other_vaults(place));
    findings
}

fn runs(place: &Place<'_>) -> Vec<Finding> {
    let Ok(looked) = look_at(&place.vault) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if let Some(open) = &looked.open {
        findings.push(interrupted(open, looked.half_way));
    }
    let known: Vec<RunId> = looked.runs.iter().map(|run| run.run.clone()).collect();
    findings.extend(processes(place, looked.open.as_ref(), &known));
    findings.extend(lock(place, looked.open.is_some()));
    findings.extend(files_of_no_run(place));
    findings
}

fn interrupted(open: &OpenRun, half_way: Option<(&str, &str)>) -> Finding {
    let change = &open.change;
    let (found, done) = half_way.unwrap_or(("it is at a checkpoint", "it goes on from there"));
    Finding::warning(
        "run",
        format!("a run of `{change}` is not finished: {found}"),
    )
    .hint(format!("`ralphtool resume`: {done}"))
}

fn processes(place: &Place<'_>, open: Option<&OpenRun>, known: &[RunId]) -> Option<Finding> {
    let last = open.and_then(|open| Some((open, open.last_attempt.as_ref()?)));
    let identity = last.and_then(|(open, last)| {
        let folder = place.vault.join("runs").join(&open.run.0);
        recorded(&folder.join("attempts").join(last.attempt.to_string()))
    });
    let found = find_leftovers(known, identity.as_slice());
    if found.is_empty() {
        return None;
    }
    let message = format!(
        "left running by a run that is no more: {}",
        found.join(", ")
    );
    let hint = match open {
        Some(_) => "`ralphtool resume` ends them first".to_owned(),
        None => "end them".to_owned(),
    };
    Some(Finding::warning("processes", message).hint(hint))
}

fn lock(place: &Place<'_>, is_open: bool) -> Option<Finding> {
    let lock: PathBuf = place.repository.git_dir.join("index.lock");
    if !lock.exists() {
        return None;
    }
    let shown = lock.display();
    if let Some(found) = lock_holder(&lock, place.repository) {
        let message = format!(
            "`{shown}` exists: another git process is at work: {} (`{}`)",
            found.pid, found.command
        );
        return Some(Finding::refusal("lock", message).hint("wait for it to end"));
    }
    let message = format!("`{shown}` was left by a git that is no more");
    Some(if is_open {
        Finding::warning("lock", message).hint("the next start moves it aside")
    } else {
        Finding::refusal("lock", message).hint(format!("remove it: `rm {shown}`"))
    })
}

fn files_of_no_run(place: &Place<'_>) -> Option<Finding> {
    let stray = match strays(&place.vault) {
        Ok(stray) if stray.count > 0 => stray,
        Ok(_) => return None,
        Err(error) => return Some(Finding::error("vault", &error)),
    };
    let message = format!(
        "{} in the vault belong to no run: {}",
        match stray.count {
            1 => "1 snapshot, trash or log folder".to_owned(),
            many => format!("{many} snapshots, trash or log folders"),
        },
        rounded(stray.bytes)
    );
    Some(Finding::warning("vault", message).hint("`ralphtool gc` removes them"))
}

fn other_vaults(place: &Place<'_>) -> Option<Finding> {
    let found = match others(place.state, Some(&place.vault), Scope::All) {
        Ok(found) => found,
        Err(error) => return Some(Finding::error("vaults", &error)),
    };
    let lost = found
        .iter()
        .filter(|it| it.facts.kind != VaultKind::Elsewhere);
    let bytes: u64 = lost.clone().map(|it| it.bytes).sum();
    let names: Vec<String> = lost.map(|it| name(&it.folder)).collect();
    if names.is_empty() {
        return None;
    }
    let message = format!(
        "no work tree is behind {}: {}",
        names.join(", "),
        rounded(bytes)
    );
    let hint = "`ralphtool gc --all-vaults --dry-run` says what is in them; a repository that was moved \
                finds its vault again at its next run";
    Some(Finding::warning("vaults", message).hint(hint))
}

fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    format!("`{}`", name.to_string_lossy())
}
