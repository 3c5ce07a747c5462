//! The git directory: how it is read, written and kept.

pub(crate) mod snapshot;

pub(crate) mod agent_git;
pub(crate) mod asking;
pub(crate) mod committing;
pub(crate) mod control;
pub(crate) mod first_index;
pub(crate) mod frozen_config;
pub(crate) mod git_copy;
pub(crate) mod git_paths;
pub(crate) mod identity;
pub(crate) mod ignored;
pub(crate) mod objects;
pub(crate) mod proof;
pub(crate) mod settings;
pub(crate) mod shape;
pub(crate) mod staged;
pub(crate) mod stale_locks;
pub(crate) mod stash;
pub(crate) mod switch;
pub(crate) mod users_config;
pub(crate) mod visible;

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::mem::Discriminant;
use std::path::PathBuf;
use std::sync::Arc;

use git_copy::GitCopy;
use objects::ObjectLinks;
use settings::Settings;

use crate::git::access::Reason;
use crate::git::object_id::ObjectId;
use crate::git::process::Git;
use crate::git::refs::RefFiles;
use crate::git::repository::Repository;
use crate::repo::objects::{ModuleLinks, ObjectListings};
use crate::store::VaultFolder;
use ralph_base::ids::RunId;

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) repository: Repository,
    pub(crate) vault: VaultFolder,
}

/// The user's repository, its work tree, and the vault's store, as git sees them.
#[derive(Debug)]
pub(crate) struct Repo {
    pub(crate) places: Places,
    /// Git on the user's repository; only refs and HEAD are touched through it.
    pub(crate) git: Git,
    /// Git with a configuration of our own, so that nothing an agent writes into the
    /// repository's config, hooks or attributes is ever executed by us.
    pub(crate) work: Git,
    /// Git on the vault's store.
    pub(crate) store: Git,
    /// The run that is open, or whose move is in progress.
    pub(crate) run: Option<RunId>,
    /// Whether the journal can tell that the machine stopped without warning.
    pub(crate) notices_outages: bool,
    pub(crate) ref_files: RefCell<RefFiles>,
    pub(crate) links: RefCell<ObjectLinks>,
    /// What the user added to the config since a checkpoint, which its snapshot does not have.
    pub(crate) users_config: RefCell<Option<(String, String)>>,
    /// What the last save wrote into the repository's objects.
    pub(crate) written: RefCell<Vec<ObjectId>>,
    pub(crate) module_links: RefCell<ModuleLinks>,
    /// The copy of what no snapshot has of the git directory.
    pub(crate) git_copy: RefCell<GitCopy>,
    /// The file that becomes the branch once it moves to a commit.
    pub(crate) ready_branch: Option<(ObjectId, PathBuf)>,
    /// The frozen settings, once they were needed.
    pub(crate) settings: OnceCell<Settings>,
    /// Why git was asked, as far as the log of the run says it already.
    pub(crate) logged: RefCell<HashSet<(String, Discriminant<Reason>)>>,
    /// What is in the folders of objects.
    pub(crate) object_listings: Arc<ObjectListings>,
    /// The store has all folders for objects, or gets them.
    pub(crate) is_fanned_out: bool,
}

/// How closely objects are looked for that an agent may have collected as garbage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// The checkpoint's commit is enough: the tree is saved, nothing old is needed.
    ForSave,
    /// Whatever a restore may bring back, old stashes too.
    ForRestore,
}
