//! The git directory: how it is read, written and kept.
//!
//! Three modules say what of it is kept. `control` has the files that are recorded with every
//! checkpoint and parked attempt and restored byte for byte. `git_copy` has a copy of the rest, which is
//! used only if something is missing. `shape` records kinds and modes alone; `git_paths` says where.

pub(crate) mod snapshot;

pub(crate) mod agent_git;
pub(crate) mod asking;
pub(crate) mod commit_object;
pub(crate) mod committing;
mod config_changes;
pub(crate) mod control;
pub(crate) mod first_index;
pub(crate) mod frozen_config;
pub(crate) mod git_copy;
pub(crate) mod git_paths;
pub(crate) mod identity;
pub(crate) mod ignored;
pub(crate) mod objects;
pub(crate) mod private_index;
pub(crate) mod proof;
pub(crate) mod settings;
pub(crate) mod shape;
pub(crate) mod staged;
pub(crate) mod stale_locks;
pub(crate) mod stash;
pub(crate) mod switch;
pub(crate) mod unstorable;
pub(crate) mod users_config;
pub(crate) mod visible;

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::process::Git;
use crate::git::refs::RefFiles;
use crate::git::repository::Repository;
use crate::journal::run_state::RunState;
use crate::repo::asking::Reasons;
use crate::repo::git_copy::GitCopy;
use crate::repo::objects::Objects;
use crate::repo::settings::Settings;
use crate::repo::users_config::UsersConfig;
use crate::store::VaultFolder;
use ralph_base::ids::RunId;

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) repository: Repository,
    pub(crate) vault: VaultFolder,
}

/// The git directory of the user's repository, and what the vault has of it.
#[derive(Debug)]
pub(crate) struct Repo {
    pub(crate) places: Places,
    pub(crate) gits: Gits,
    pub(crate) objects: Objects,
    pub(crate) ref_files: RefCell<RefFiles>,
    /// The copy of what no snapshot has of the git directory.
    pub(crate) git_copy: RefCell<GitCopy>,
    /// The frozen settings, once they were needed.
    settings: OnceCell<Settings>,
    users_config: RefCell<UsersConfig>,
    /// Where git writes what a reviewer runs while no attempt is open.
    review_traces: RefCell<Option<PathBuf>>,
    pub(crate) reasons: Reasons,
}

impl Repo {
    /// A repository that git has just found, with its vault.
    pub(crate) fn new(
        places: Places,
        state: &RunState,
        notices_outages: bool,
        command_timeout: Duration,
    ) -> Self {
        // Git can read its configuration.
        let mut ref_files = RefFiles::default();
        ref_files.accept_present(&places.repository);
        let mut reasons = Reasons::new(places.vault.runs());
        reasons.follow(state);
        Self {
            gits: Gits::new(&places, notices_outages, command_timeout),
            objects: Objects::new(&places, !notices_outages),
            ref_files: RefCell::new(ref_files),
            git_copy: RefCell::default(),
            settings: OnceCell::default(),
            users_config: RefCell::default(),
            review_traces: RefCell::default(),
            reasons,
            places,
        }
    }

    /// Sets where git writes what a reviewer runs while no attempt is open.
    pub(crate) fn set_trace_folder(&self, folder: Option<&Path>) {
        self.review_traces.replace(folder.map(Path::to_owned));
    }
}

/// Git on each of the three repositories that ralphtool works with.
#[derive(Debug)]
pub(crate) struct Gits {
    /// On the user's repository. It moves refs and HEAD, and reads.
    pub(crate) user: Git,
    /// On the user's work tree and objects with a configuration of our own: nothing an agent writes
    /// into the repository's config, hooks or attributes is executed.
    pub(crate) work: Git,
    /// On the vault's store.
    pub(crate) store: Git,
}

impl Gits {
    fn new(places: &Places, notices_outages: bool, timeout: Duration) -> Self {
        let Places { repository, vault } = places;
        let work = Git::on_work_tree(&vault.scratch("work"), &repository.work_tree, timeout)
            .with_objects(&repository.objects(), None)
            .with_own_config();
        Self {
            user: repository.git(timeout),
            // It writes objects and private indexes; the journal syncs all of them before it names one.
            // Without a way to tell an outage, objects that lost their bytes could not be looked for.
            work: if notices_outages {
                work.unsynced()
            } else {
                work
            },
            store: Git::on_bare(&vault.store(), timeout),
        }
    }

    /// Sets how long a git command may take.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.change_all(|git| git.with_timeout(timeout));
    }

    /// Marks the processes git starts, so that the next start can find them after a crash.
    pub(crate) fn mark(&mut self, run: &RunId) {
        self.change_all(|git| git.with_marker(&run.0));
    }

    fn change_all(&mut self, change: impl Fn(&Git) -> Git) {
        for git in [&mut self.user, &mut self.work, &mut self.store] {
            *git = change(git);
        }
    }
}

/// What the git directory is repaired for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairFor {
    /// The work is saved: only the commit of the checkpoint is needed, and links among hooks and in
    /// `info` may be part of the work.
    Save,
    /// The work is undone: nothing of it stays, and all that the checkpoint names is needed, old
    /// stashes too.
    Restore,
}
