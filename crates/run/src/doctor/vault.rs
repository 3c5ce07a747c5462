//! The state directory and the vault: how large, how much room is left, who works in it, and what
//! runs left behind that no longer exist.

use std::path::Path;

use jiff::Zoned;

use super::{Finding, Place, Scope};
use crate::engine::start::recorded;
use crate::failure::{Failure, chain};
use crate::records::event::FinishChoice;
use crate::records::progress::NO_GATES;
use crate::records::state::{RunState, with_finish};
use crate::settings::Settings;
use crate::status::Status;
use crate::status::lookup::Watch;
use crate::words::counted;
use ralph_base::disk::{free_bytes, measure, try_place};
use ralph_base::ids::RunId;
use ralph_base::size::{SizeLimit, rounded};
use ralph_process::leftovers::find_leftovers;
use ralph_vault::gc::policy::VaultKind;
use ralph_vault::git::locks::holder as lock_holder;
use ralph_vault::look::look;
use ralph_vault::other_vaults::{Scope as OtherVaults, others};
use ralph_vault::store::{VaultError, VaultFolder, holder};
use ralph_vault::{JournalHealth, Look, strays};

/// The folder for private files of all work trees.
const DISK: &str = "disk";

/// The vault of the work tree, in the words of users.
const FILES: &str = "private files";

/// Less room than this is worth a warning.
const LITTLE_ROOM: u64 = 1_000_000_000;

/// Whether there is a place for private files that can be written.
pub(super) fn state_directory(scope: &Scope) -> Option<Finding> {
    let state = match &scope.state {
        Ok(state) => state,
        Err(error) => return Some(Finding::refusal(DISK, error.to_string()).hint(error.hint())),
    };
    let folder = state.join("ralphtool");
    let shown = folder.display();
    let present = folder.ancestors().find(|it| it.exists());
    if let Some(Err(error)) = present.map(try_place) {
        let message = format!("`{shown}` cannot hold private files: {error}");
        let hint = "make it writable, or set `XDG_STATE_HOME` to another folder";
        return Some(Finding::refusal(DISK, message).hint(hint));
    }
    let free = free_bytes(&folder)?;
    let message = format!("`{shown}`, {} free", rounded(free));
    Some(if free < LITTLE_ROOM {
        Finding::warning(DISK, message)
            .hint("free some space: a checkpoint must be written before an agent starts")
    } else {
        Finding::good(DISK, message)
    })
}

/// Whether a ralphtool is at work in this work tree.
pub(super) fn is_busy(place: &Place<'_>) -> bool {
    !matches!(holder(&place.vault), Ok(None))
}

/// What the vault of this work tree holds, and what is left over in it and beside it.
pub(super) fn check(place: &Place<'_>, settings: Option<&Settings>) -> Vec<Finding> {
    let folder = &place.vault;
    let looked = look(folder);
    let owner = holder(folder);
    let is_free = matches!(owner, Ok(None));
    let mut findings = Vec::new();
    if folder.exists() {
        let runs = looked.as_ref().map_or(0, |looked| looked.runs.len());
        findings.push(size(place, runs, settings));
        match owner {
            Ok(None) => {}
            Ok(Some(owner)) => findings.push(
                Finding::refusal("lock", format!("ralphtool is at work here: {owner}")).hint(
                    "`ralphtool attach` shows it; wait until it ends, or stop it with Ctrl-C there",
                ),
            ),
            Err(error) => findings.push(Finding::error("lock", &error.into())),
        }
        match &looked {
            Ok(looked) => {
                findings.extend(journal(folder, looked.journal));
                findings.extend(other_repository(place, looked));
            }
            Err(error) => findings.push(Finding::error("journal", error)),
        }
        if looked.is_ok() {
            findings.extend(last_run(place));
        }
    } else {
        let message = format!("none yet; the first run makes `{}`", folder.display());
        findings.push(Finding::good(FILES, message));
    }
    if let (true, Ok(looked)) = (is_free, &looked) {
        findings.extend(processes(place, looked));
        findings.extend(index_lock(place, looked.open.is_some()));
        findings.extend(files_of_no_run(place));
    }
    findings.extend(other_vaults(place));
    findings
}

fn size(place: &Place<'_>, runs: usize, settings: Option<&Settings>) -> Finding {
    let bytes = measure(&place.vault);
    let limit = settings.map_or(SizeLimit::OFF, |it| it.vault_limit.value);
    let at_most = limit
        .0
        .map_or_else(String::new, |_| format!(" of at most {limit}"));
    let message = format!(
        "`{}`, {}, {}{at_most}",
        place.vault.display(),
        counted(runs, "run"),
        rounded(bytes)
    );
    match limit.0 {
        Some(most) if bytes > most => Finding::warning(FILES, message)
            .hint("`ralphtool gc` removes old runs; so does the end of the next run"),
        _ => Finding::good(FILES, message),
    }
}

fn journal(folder: &Path, health: JournalHealth) -> Option<Finding> {
    match health {
        JournalHealth::Whole => None,
        JournalHealth::Torn => Some(Finding::warning(
            "journal",
            "its last line was cut off by a crash; the next start removes it",
        )),
        JournalHealth::Damaged => {
            let message = "a line in it is damaged, or was written by a newer ralphtool";
            let hint = format!(
                "use the newer one; else everything is still in `{}`: move it away to start again",
                folder.display()
            );
            Some(Finding::fault("journal", message).hint(hint))
        }
    }
}

fn other_repository(place: &Place<'_>, looked: &Look) -> Option<Finding> {
    let is_ours = VaultFolder::unlocked(&place.vault).belongs_to(place.repository);
    if looked.open.is_none() || is_ours.unwrap_or(true) {
        return None;
    }
    let error = VaultError::OtherRepository {
        work_tree: place.repository.work_tree.clone(),
        vault: place.vault.clone(),
    };
    Some(Finding::error(FILES, &error.into()))
}

/// How the last run stands, as `status` says it.
fn last_run(place: &Place<'_>) -> Option<Finding> {
    match last_status(place) {
        Ok(status) => of_status(&status),
        Err(failure) => Some(Finding::fault("run", chain(&failure))),
    }
}

fn last_status(place: &Place<'_>) -> Result<Status, Failure> {
    let now = Zoned::now();
    let mut watch = Watch::open(place.repository.clone(), place.vault.clone())?;
    watch.refresh(now.timestamp())?;
    Ok(watch.status(&now))
}

fn of_status(status: &Status) -> Option<Finding> {
    let (change, state) = (status.change.as_ref()?, status.state?);
    let headline = with_finish(&status.headline, status.finish);
    let stories = status.stories.in_full();
    let mut message = format!("`{change}`: {headline}; {stories}");
    let unverified = unverified(status);
    if let Some(unverified) = &unverified {
        message = format!("{message}; {unverified}");
    }
    let is_decided = status.finish.is_some_and(|it| it != FinishChoice::Keep);
    let is_done = matches!(state, RunState::Done | RunState::StoryDone) && unverified.is_none();
    if state.is_live() || is_decided || is_done {
        return Some(Finding::good("run", message));
    }
    if let Some(interruption) = status.interrupted {
        let message = format!("{message}; {}", interruption.found);
        let hint = format!("`ralphtool resume` {}", interruption.then);
        return Some(Finding::warning("run", message).hint(hint));
    }
    let finding = Finding::warning("run", message);
    Some(match status.next.first() {
        Some(next) => finding.hint(format!("`{}` {}", next.command, next.why)),
        None => finding,
    })
}

/// What keeps the work from being verified, unless the headline says it, or the finding about gates.
fn unverified(status: &Status) -> Option<&String> {
    let unverified = status.unverified.as_ref()?;
    let is_said = unverified == NO_GATES || status.headline.ends_with(unverified.as_str());
    (!is_said).then_some(unverified)
}

fn processes(place: &Place<'_>, looked: &Look) -> Option<Finding> {
    let open = looked.open.as_ref();
    let identity = open.and_then(|open| {
        let attempt = &open.last_attempt.as_ref()?.attempt;
        let folder = place.vault.join("runs").join(&open.run.0);
        recorded(&folder.join("attempts").join(attempt.to_string()))
    });
    let known: Vec<RunId> = looked.runs.iter().map(|run| run.run.clone()).collect();
    let found = find_leftovers(&known, identity.as_slice());
    if found.is_empty() {
        return None;
    }
    let found = found.join(", ");
    let message = format!("left running by a run that has ended: {found}");
    let hint = match open {
        Some(_) => "`ralphtool resume` ends them first",
        None => "end them",
    };
    Some(Finding::warning("processes", message).hint(hint))
}

fn index_lock(place: &Place<'_>, is_open: bool) -> Option<Finding> {
    let lock = place.repository.git_dir.join("index.lock");
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
    let message = format!("`{shown}` was left by a git process that has ended");
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
        Err(error) => return Some(Finding::error(FILES, &error)),
    };
    let what = match stray.count {
        1 => "1 snapshot, trash or log folder".to_owned(),
        many => format!("{many} snapshots, trash or log folders"),
    };
    let bytes = rounded(stray.bytes);
    let message = format!("{what} in the vault belong to no run: {bytes}");
    Some(Finding::warning(FILES, message).hint("`ralphtool gc` removes them"))
}

fn other_vaults(place: &Place<'_>) -> Option<Finding> {
    let mut found = match others(place.state, Some(&place.vault), OtherVaults::All) {
        Ok(found) => found,
        Err(error) => return Some(Finding::error(FILES, &error)),
    };
    found.retain(|it| it.kind != VaultKind::Elsewhere);
    if found.is_empty() {
        return None;
    }
    let name = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default();
        format!("`{}`", name.to_string_lossy())
    };
    let names: Vec<String> = found.iter().map(|it| name(&it.folder)).collect();
    let bytes = rounded(found.iter().map(|it| it.bytes).sum());
    let message = format!("no work tree uses {}: {bytes}", names.join(", "));
    let hint = "`ralphtool gc --all-vaults --dry-run` says what is in them; a repository that was moved \
                finds its vault again at its next run";
    Some(Finding::warning(FILES, message).hint(hint))
}
