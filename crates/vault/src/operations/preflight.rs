//! Preflight: everything that would make a run impossible is found before anything is touched.

use std::path::Path;
use std::time::Duration;

use crate::error::{CheckpointError, Result};
use crate::git::index::has_conflicts;
use crate::git::process::Git;
use crate::git::repository::{Head, Refs, Repository};
use crate::journal::branches::BranchRuns;
use crate::operations::claims::{Claims, NewBranch};
use crate::operations::unstorable_edits::refuse_unstorable_edits;
use crate::operations::work_trees::refuse_other_work_tree;
use crate::repo::{Places, Repo};
use crate::vault::Vault;
use ralph_base::disk::free_bytes;
use ralph_base::files::read_if_present;
use ralph_base::size::rounded;

/// How often a lock is checked before it counts as one that stays, and how long in between.
const LOCK_CHECKS: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// States of git in which a branch must not be made: a file, and the command that makes it.
const IN_THE_WAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

impl Vault {
    /// Refuses where a run could not begin. Changes nothing.
    pub fn preflight(&self, wanted: &NewBranch<'_>) -> Result<()> {
        let Places { repository, vault } = &self.repo.places;
        refuse_home(&repository.work_tree)?;
        refuse_vault_inside(repository, vault.folder())?;
        refuse_second_format(repository)?;
        refuse_hook()?;
        refuse_operation(repository)?;
        wait_for_passing_lock(repository);
        refuse_lock(repository)?;
        self.refuse_full_disk()?;
        let git = &self.repo.gits.user;
        refuse_name(git, wanted.name)?;
        let (refs, head) = self.repo.observe()?;
        refuse_conflicting_refs(&refs, wanted.name)?;
        refuse_other_work_tree(repository, git, wanted.name)?;
        let is_claimed = refs
            .keys()
            .any(|name| name.starts_with("refs/heads/ralph/"));
        if is_claimed {
            let claims = Claims {
                git,
                refs: &refs,
                head: &head,
                runs: &self.branch_runs()?,
                repository,
                vault: vault.folder(),
            };
            claims.refuse(wanted)?;
        }
        self.refuse_conflicts()?;
        refuse_unstorable_edits(repository, git)
    }

    /// The runs that made branches.
    pub fn branch_runs(&self) -> Result<BranchRuns> {
        Ok(BranchRuns::of(&self.journal_lines()?))
    }

    /// Refuses where less is free than must stay free.
    pub fn refuse_full_disk(&self) -> Result<()> {
        let Places { repository, vault } = &self.repo.places;
        refuse_full_disk(repository, vault.folder(), self.tree.limits.least_free)
    }

    /// Refuses while conflicts wait to be resolved.
    pub fn refuse_conflicts(&self) -> Result<()> {
        let repository = &self.repo.places.repository;
        let index = read_if_present(&repository.index())?.unwrap_or_default();
        let direct = if index.is_empty() {
            Ok(false)
        } else {
            has_conflicts(&index, repository.format).map_err(Into::into)
        };
        let git = &self.repo.gits.user;
        let found = self
            .repo
            .reasons
            .or_git("find conflicts", direct, || ask_for_conflicts(git))?;
        refuse_conflicts(found)
    }
}

impl Repo {
    /// Refuses while a merge or the like is in progress.
    pub(crate) fn refuse_operation(&self) -> Result<()> {
        refuse_operation(&self.places.repository)
    }
}

/// Every reason why no run could begin here, whatever its change. Needs no vault and makes none.
pub fn obstacles(repository: &Repository, git: &Git, vault: &Path) -> Vec<CheckpointError> {
    let named = match repository.refs(git) {
        Ok(refs) => refuse_conflicting_refs(&refs, "ralph/CHANGE"),
        Err(error) => Err(error.into()),
    };
    let all = [
        refuse_home(&repository.work_tree),
        refuse_vault_inside(repository, vault),
        refuse_second_format(repository),
        refuse_hook(),
        refuse_operation(repository),
        named,
        ask_for_conflicts(git).and_then(refuse_conflicts),
        refuse_unstorable_edits(repository, git),
    ];
    all.into_iter().filter_map(Result::err).collect()
}

/// What keeps a run from beginning just now, and passes by itself or with a little room. Needs no
/// vault and makes none.
pub fn passing_obstacles(
    repository: &Repository,
    vault: &Path,
    least_free: u64,
) -> Vec<CheckpointError> {
    // Where it has not been made yet, it will be on the disk of the folder above it.
    let place = vault.ancestors().find(|folder| folder.is_dir());
    let room = refuse_full_disk(repository, place.unwrap_or(vault), least_free);
    let all = [refuse_lock(repository), room];
    all.into_iter().filter_map(Result::err).collect()
}

/// Where the branch of a run would be made.
#[derive(Clone, Copy)]
pub struct BranchPlace<'a> {
    pub repository: &'a Repository,
    pub git: &'a Git,
    /// The runs that made branches.
    pub runs: &'a BranchRuns,
    /// Where HEAD would be, if the start moves it.
    pub head: Option<&'a Head>,
    /// The folder of this work tree's vault.
    pub vault: &'a Path,
}

/// Why the branch of a run cannot be made, or must not be. Needs no vault and makes none.
pub fn branch_obstacle(place: BranchPlace<'_>, wanted: &NewBranch<'_>) -> Result<()> {
    let BranchPlace {
        repository,
        git,
        runs,
        head,
        vault,
    } = place;
    refuse_name(git, wanted.name)?;
    refuse_other_work_tree(repository, git, wanted.name)?;
    let refs = &repository.refs(git)?;
    refuse_branches_below(refs, wanted.name)?;
    let now = Repository::ask_head(git, refs)?;
    let claims = Claims {
        git,
        refs,
        head: head.unwrap_or(&now),
        runs,
        repository,
        vault,
    };
    claims.refuse(wanted)
}

/// Refuses where git keeps a second name of every object: it cannot commit on objects without one.
fn refuse_second_format(repository: &Repository) -> Result<()> {
    let config = read_if_present(&repository.common_dir.join("config"))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&config).to_ascii_lowercase();
    let mut lines = text.lines().map(str::trim_start);
    if !lines.any(|line| line.starts_with("compatobjectformat")) {
        return Ok(());
    }
    Err(CheckpointError::refused(
        "this repository keeps objects in two formats (`extensions.compatObjectFormat`), which \
         ralphtool cannot write",
        "`git config --unset extensions.compatObjectFormat` keeps the first format alone",
    ))
}

fn refuse_name(git: &Git, branch: &str) -> Result<()> {
    if is_surely_a_name(branch) {
        return Ok(());
    }
    let args = ["check-ref-format", "--branch", branch].map(std::ffi::OsString::from);
    if git.output(&args, &[])?.status.success() {
        return Ok(());
    }
    Err(CheckpointError::refused(
        format!("`{branch}` cannot be the name of a branch"),
        "rename the change: letters, digits and `-` work",
    ))
}

/// A name that nothing git objects to is in.
fn is_surely_a_name(branch: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    branch.split('/').all(|part| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(is_plain)
    })
}

/// A prompt or an editor that asks git for the state of the tree holds the index for a moment.
pub(super) fn wait_for_passing_lock(repository: &Repository) {
    let lock = repository.git_dir.join("index.lock");
    for _ in 0..LOCK_CHECKS {
        if !lock.exists() {
            return;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
}

pub(super) fn refuse_lock(repository: &Repository) -> Result<()> {
    let lock = repository.git_dir.join("index.lock");
    if !lock.exists() {
        return Ok(());
    }
    let lock = lock.display();
    Err(CheckpointError::refused(
        format!("`{lock}` exists: another git process is at work, or one crashed"),
        "wait for it to end; if no git runs here, remove the file",
    ))
}

fn refuse_full_disk(repository: &Repository, vault: &Path, least: u64) -> Result<()> {
    for folder in [vault, &repository.git_dir] {
        if let Some(free) = free_bytes(folder).filter(|free| *free < least) {
            return Err(CheckpointError::refused(
                format!(
                    "only {} are free where `{}` is, and {} must stay free",
                    rounded(free),
                    folder.display(),
                    rounded(least)
                ),
                "free some space there, or set `least_free` to less",
            ));
        }
    }
    Ok(())
}

pub(super) fn refuse_operation(repository: &Repository) -> Result<()> {
    let is_there = |(file, _): &&(&str, &str)| repository.git_dir.join(file).exists();
    let Some((_, command)) = IN_THE_WAY.iter().find(is_there) else {
        return Ok(());
    };
    let way_out = match *command {
        "bisect" => "`git bisect reset`".to_owned(),
        command => format!("`git {command} --continue` or `git {command} --abort`"),
    };
    Err(CheckpointError::refused(
        format!("a {command} is in progress in this repository"),
        format!("end it first: {way_out}"),
    ))
}

fn refuse_vault_inside(repository: &Repository, vault: &Path) -> Result<()> {
    // It may not have been made yet: then it is where the folder above it is.
    let place = vault.ancestors().find_map(|it| it.canonicalize().ok());
    if !place.is_some_and(|place| place.starts_with(&repository.work_tree)) {
        return Ok(());
    }
    Err(CheckpointError::refused(
        format!(
            "ralphtool's state directory `{}` is inside the repository",
            vault.display()
        ),
        "set XDG_STATE_HOME to a folder elsewhere",
    ))
}

fn ask_for_conflicts(git: &Git) -> Result<bool> {
    Ok(!git.run(["ls-files", "--unmerged", "-z"])?.is_empty())
}

fn refuse_conflicts(found: bool) -> Result<()> {
    if !found {
        return Ok(());
    }
    Err(CheckpointError::refused(
        "the index holds unresolved conflicts",
        "resolve them and `git add` the files first",
    ))
}

fn refuse_conflicting_refs(refs: &Refs, branch: &str) -> Result<()> {
    if refs.contains_key("refs/heads/ralph") {
        return Err(CheckpointError::refused(
            format!("a branch `ralph` exists, so `{branch}` cannot be made"),
            "rename it: `git branch -m ralph ralph-old`",
        ));
    }
    refuse_branches_below(refs, branch)
}

/// Git keeps branches like files and folders.
fn refuse_branches_below(refs: &Refs, branch: &str) -> Result<()> {
    let below = format!("refs/heads/{branch}/");
    if let Some(name) = refs.keys().find(|name| name.starts_with(&below)) {
        let name = crate::git::repository::short(name);
        return Err(CheckpointError::refused(
            format!("a branch `{name}` exists, so `{branch}` cannot be made"),
            format!("rename it: `git branch -m {name} OTHER`"),
        ));
    }
    Ok(())
}

/// A repository of the whole home directory holds dotfiles, and is not a project.
fn refuse_home(work_tree: &Path) -> Result<()> {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    if home.and_then(|home| home.canonicalize().ok()).as_deref() == Some(work_tree) {
        return Err(CheckpointError::refused(
            "the repository is your whole home directory",
            "run ralphtool in a repository of the project",
        ));
    }
    Ok(())
}

fn refuse_hook() -> Result<()> {
    if std::env::var_os("GIT_INDEX_FILE").is_some() && std::env::var_os("GIT_PREFIX").is_some() {
        return Err(CheckpointError::refused(
            "ralphtool was started from within a git hook or alias",
            "start it from a shell",
        ));
    }
    Ok(())
}
