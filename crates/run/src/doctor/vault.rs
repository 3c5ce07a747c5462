//! The state directory and the vault: where, how large, how much room is left, who works in it.

use super::{Finding, Place, Scope};
use crate::settings::Settings;
use ralph_base::disk::{free_bytes, measure, try_place};
use ralph_base::size::{SizeLimit, rounded};
use ralph_vault::look::look as look_at;
use ralph_vault::session::JournalHealth;
use ralph_vault::store::{Vault, VaultError, holder};

/// Less room than this is worth a word.
const LITTLE_ROOM: u64 = 1_000_000_000;

/// Whether there is a place for private files that can be written.
pub(super) fn state_directory(scope: &Scope) -> Vec<Finding> {
    let state = match &scope.state {
        Ok(state) => state,
        Err(error) => {
            return vec![Finding::refusal("state", error.to_string()).hint(error.hint())];
        }
    };
    let folder = state.join("ralphtool");
    let present = folder.ancestors().find(|it| it.exists());
    if let Some(Err(error)) = present.map(try_place) {
        let message = format!("`{}` cannot hold a vault: {error}", folder.display());
        let hint = "make it writable, or set `XDG_STATE_HOME` to another folder";
        return vec![Finding::refusal("state", message).hint(hint)];
    }
    let Some(free) = free_bytes(&folder) else {
        return Vec::new();
    };
    let message = format!("`{}`, {} free", folder.display(), rounded(free));
    let finding = if free < LITTLE_ROOM {
        Finding::warning("state", message)
            .hint("make room: checkpoints must be written before an agent may work")
    } else {
        Finding::good("state", message)
    };
    vec![finding]
}

/// What the vault of this work tree holds.
pub(super) fn check(place: &Place<'_>, settings: Option<&Settings>) -> Vec<Finding> {
    let folder = &place.vault;
    if !folder.exists() {
        let message = format!("none yet; the first run makes `{}`", folder.display());
        return vec![Finding::good("vault", message)];
    }
    let mut findings = vec![size(place, settings)];
    match holder(folder) {
        Ok(None) => {}
        Ok(Some(owner)) => findings.push(
            Finding::warning("lock", format!("a run works here: {owner}"))
                .hint("wait until it ends, or stop it with Ctrl-C there"),
        ),
        Err(error) => findings.push(Finding::error("lock", &error.into())),
    }
    let looked = match look_at(folder) {
        Ok(looked) => looked,
        Err(error) => {
            findings.push(Finding::error("journal", &error));
            return findings;
        }
    };
    match looked.journal {
        JournalHealth::Whole => {}
        JournalHealth::Torn => findings.push(Finding::warning(
            "journal",
            "its last line was cut off by a crash; the next start takes it away",
        )),
        JournalHealth::Damaged => findings.push(
            Finding::fault(
                "journal",
                "a line in it is damaged, or was written by a newer ralphtool",
            )
            .hint(format!(
                "use the newer one; else everything is still in `{}`: move it away to start anew",
                folder.display()
            )),
        ),
    }
    let is_ours = Vault::unlocked(folder).belongs_to(place.repository);
    if looked.open.is_some() && !is_ours.unwrap_or(true) {
        let error = VaultError::OtherRepository {
            work_tree: place.repository.work_tree.clone(),
            vault: folder.clone(),
        };
        findings.push(Finding::error("vault", &error.into()));
    }
    findings
}

fn size(place: &Place<'_>, settings: Option<&Settings>) -> Finding {
    let bytes = measure(&place.vault);
    let runs = match look_at(&place.vault).map_or(0, |looked| looked.runs.len()) {
        1 => "1 run".to_owned(),
        many => format!("{many} runs"),
    };
    let limit = settings.map_or(SizeLimit::OFF, |it| it.vault_limit.value);
    let message = format!(
        "`{}`, {runs}, {} of at most {limit}",
        place.vault.display(),
        rounded(bytes)
    );
    match limit.0 {
        Some(limit) if bytes > limit => Finding::warning("vault", message)
            .hint("`ralphtool gc` makes room; so does the end of the next run"),
        _ => Finding::good("vault", message.replace(" of at most off", "")),
    }
}
