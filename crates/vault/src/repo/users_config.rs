//! What the user adds to the repository's config while an agent works: remotes, and branches with what
//! they follow. It stays where none of the agent's git commands can have written it; everything else in
//! the config is restored, because a config can name programs to run.

use std::sync::Arc;

use crate::error::Notice;
use crate::journal::run_state::Current;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use ralph_base::files::read_plain;

/// Commands of git that can write a section of a remote.
const ADDS_REMOTES: &[&str] = &["config", "remote", "clone", "init", "submodule", "lfs"];

/// Commands of git that can write a section of a branch.
const ADDS_BRANCHES: &[&str] = &[
    "config",
    "remote",
    "clone",
    "init",
    "submodule",
    "branch",
    "checkout",
    "switch",
    "push",
    "pull",
    "fetch",
    "worktree",
    "rebase",
    "stash",
    "bisect",
];

/// Keys that name no program.
const HARMLESS: &[&str] = &[
    "url",
    "pushurl",
    "fetch",
    "tagopt",
    "prune",
    "remote",
    "merge",
    "rebase",
    "pushremote",
    "description",
];

/// What the user added to the config since a checkpoint, whose snapshot does not have it.
#[derive(Debug, Default)]
pub(super) struct UsersConfig {
    checkpoint: String,
    text: String,
}

/// A section of a config: its head, and all its lines.
struct Section<'a> {
    head: &'a str,
    text: String,
}

impl Repo {
    /// True where the user added to the config since the checkpoint that was restored last.
    pub(crate) fn has_users_config(&self) -> bool {
        !self.users_config.borrow().text.is_empty()
    }

    /// The checkpoint as it is to be restored: with the sections the user added to the config.
    pub(crate) fn with_users_config(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
    ) -> (Arc<Snapshot>, Option<Notice>) {
        let path = self.places.repository.common_dir.join("config");
        let now = read_plain(&path).unwrap_or_default();
        let mut kept = self.users_config.borrow_mut();
        if kept.checkpoint != base.id {
            *kept = UsersConfig {
                checkpoint: base.id.clone(),
                text: String::new(),
            };
        }
        let before = base.control.shared("config").unwrap_or_default();
        let (Ok(before), Ok(now)) = (std::str::from_utf8(before), std::str::from_utf8(&now)) else {
            return (Arc::clone(base), None);
        };
        let before = format!("{before}{}", kept.text);
        let may = |head: &str| {
            head.starts_with("[remote \"") && !self.agent_ran(current, ADDS_REMOTES)
                || head.starts_with("[branch \"") && !self.agent_ran(current, ADDS_BRANCHES)
        };
        let added = added(&before, now, &may);
        let heads: Vec<String> = added.iter().map(|it| format!("`{}`", it.head)).collect();
        for section in &added {
            kept.text.push_str(&section.text);
        }
        if kept.text.is_empty() {
            return (Arc::clone(base), None);
        }
        let mut snapshot = Snapshot::clone(base);
        let old = base.control.shared("config").unwrap_or_default();
        snapshot
            .control
            .replace_shared("config", [old, kept.text.as_bytes()].concat());
        let notice = (!heads.is_empty()).then(|| {
            let message = format!(
                "stays in the git config, because the agent did not write it: {}",
                heads.join(", ")
            );
            Notice::new("config_left", message)
        });
        (Arc::new(snapshot), notice)
    }
}

/// Sections that are new, that may stay and that name no program.
fn added<'a>(before: &str, now: &'a str, may: &dyn Fn(&str) -> bool) -> Vec<Section<'a>> {
    let is_old = |head: &str| before.lines().any(|line| line.trim() == head);
    let mut sections = sections(now);
    sections.retain(|it| !is_old(it.head) && may(it.head) && is_harmless(it));
    sections
}

/// The sections of a config, without what comes before the first.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut found: Vec<Section<'_>> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with('[') {
            found.push(Section {
                head: line.trim(),
                text: String::new(),
            });
        }
        if let Some(section) = found.last_mut() {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    found
}

/// True where every line is a key of the known ones with a value on the same line.
fn is_harmless(section: &Section<'_>) -> bool {
    let is_known = |line: &str| {
        let Some((key, value)) = line.split_once('=') else {
            return line.trim().is_empty();
        };
        let key = key.trim().to_ascii_lowercase();
        HARMLESS.contains(&key.as_str())
            && !value.trim_end().ends_with('\\')
            && !value.trim_start().starts_with("ext::")
    };
    section.head.ends_with("\"]") && section.text.lines().skip(1).all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_new_sections_without_programs_are_the_users() {
        let before = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n";
        let now = format!(
            "{before}[remote \"up\"]\n\turl = y\n\tfetch = +a:b\n\
             [remote \"bad\"]\n\turl = z\n\tuploadpack = rm\n\
             [branch \"b\"]\n\tremote = up\n[alias]\n\tx = !rm\n"
        );
        let heads = |may: &dyn Fn(&str) -> bool| -> Vec<String> {
            let found = added(before, &now, may);
            found.iter().map(|it| it.head.to_owned()).collect()
        };
        assert_eq!(heads(&|_| true), ["[remote \"up\"]", "[branch \"b\"]"]);
        assert_eq!(heads(&|_| false), Vec::<String>::new());
    }
}
