//! A move: work tree, branches, HEAD, index and, where asked for, config and stash go from one
//! state to another. Both are snapshots in the vault before anything is touched, so that a move can
//! be completed after a crash, and undone at any time.
//!
//! Only paths that differ between the two are touched: what the user edits elsewhere stays.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::converge::{Goal, Reach};
use crate::error::{Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Refs, short};
use crate::journal::Log;
use crate::journal::steps::{MoveIntent, MoveKind, RefMove, STASH, Step};
use crate::paths::{ancestors, show};
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::scan::Tree;
use crate::tree::manifest::{Entry, Kind, Manifest, compare};
use crate::tree::scanned::{Known, Scanned, below};
use crate::vault::{Recovery, Vault};
use ralph_base::ids::RunId;
use ralph_base::temporary_files::is_temporary;

/// Everything as it is at one moment, written to the vault.
pub(crate) struct Present {
    /// The snapshot, the user's index beside it.
    pub snapshot: Arc<Snapshot>,
    pub scanned: Scanned,
}

/// A move that is ready to be carried out; nothing is touched yet.
pub struct PreparedMove {
    run: RunId,
    pub intent: MoveIntent,
    now: Scanned,
    pub outline: Outline,
}

/// How a branch changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchChange {
    /// Short name.
    branch: String,
    becomes: BranchEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchEnd {
    Deleted { tip: ObjectId },
    At { commit: ObjectId },
}

impl BranchChange {
    /// None where the branch stays as it is.
    fn of(it: &RefMove) -> Option<Self> {
        let becomes = match (it.from, it.to) {
            (from, to) if from == to => return None,
            (_, Some(commit)) => BranchEnd::At { commit },
            (Some(tip), None) => BranchEnd::Deleted { tip },
            (None, None) => return None,
        };
        Some(Self {
            branch: short(&it.name).to_owned(),
            becomes,
        })
    }

    /// A branch that is deleted.
    pub fn deleted(branch: &str, tip: ObjectId) -> Self {
        Self {
            branch: branch.to_owned(),
            becomes: BranchEnd::Deleted { tip },
        }
    }

    /// What will become of it, as a sentence.
    pub fn planned(&self) -> String {
        self.sentence("will be")
    }

    /// What became of it, as a sentence.
    pub fn done(&self) -> String {
        self.sentence(match self.becomes {
            BranchEnd::Deleted { .. } => "was",
            BranchEnd::At { .. } => "is",
        })
    }

    fn sentence(&self, verb: &str) -> String {
        let branch = &self.branch;
        match self.becomes {
            BranchEnd::Deleted { tip } => {
                let tip = tip.short();
                format!("`{branch}` {verb} deleted; its tip {tip} stays in the vault")
            }
            BranchEnd::At { commit } => format!("`{branch}` {verb} at {}", commit.short()),
        }
    }
}

/// What a move does, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// Where HEAD will be.
    pub head: String,
    /// Branches that change.
    pub branches: Vec<BranchChange>,
    /// The messages of the commits the branch will have, where they are written again.
    pub commits: Vec<String>,
    /// Files that will be written.
    pub written: Vec<String>,
    /// Files that will go to the vault.
    pub removed: Vec<String>,
    pub notices: Vec<Notice>,
}

impl PreparedMove {
    /// The id of the move: that of the snapshot before it.
    pub fn id(&self) -> &str {
        &self.intent.before
    }
}

impl Log {
    /// The run and the id of the move that is in progress.
    pub(crate) fn unfinished_move(&self) -> Option<(RunId, String)> {
        let (run, intent) = self.state.moving.as_ref()?;
        Some((run.clone(), intent.before.clone()))
    }
}

impl Tree {
    /// Scans everything against `base`, and writes it to the vault.
    pub(crate) fn scan_present(&mut self, repo: &Repo, base: &Arc<Snapshot>) -> Result<Present> {
        repo.objects.link()?;
        let (refs, head) = repo.observe()?;
        let control = repo.read_control(head, refs, None)?;
        let own = Snapshot::index(&repo.places.vault, &base.id);
        let index = if own.exists() {
            own
        } else {
            repo.places.repository.index()
        };
        let known = Known::of(&base.submodules);
        let scanned = self.scan_against(repo, &base.manifest, &known, &index)?;
        let id = Snapshot::new_id();
        repo.copy_user_index(&Snapshot::index(&repo.places.vault, &id))?;
        let snapshot = self.snapshot(id, &scanned, control, &base.submodules);
        snapshot.write(&repo.places.vault, Some(base))?;
        Ok(Present {
            snapshot: Arc::new(snapshot),
            scanned,
        })
    }

    /// Moves files, refs, HEAD and index. Doing it again changes nothing.
    fn carry_out_move(
        &mut self,
        repo: &Repo,
        intent: &MoveIntent,
        now: Option<Scanned>,
    ) -> Result<Vec<Notice>> {
        let trash = repo.new_trash(words(&intent.kind).0);
        let vault = &repo.places.vault;
        let before = Snapshot::read(vault, &intent.before)?;
        let mut after = Snapshot::read(vault, &intent.after)?;
        let mut notices = Vec::new();
        if intent.with_control {
            // The user may have changed more since the move was prepared.
            let (refs, head) = repo.observe()?;
            let now = repo.read_control(head, refs, None)?;
            after.control = after.control.with_changes(&before.control, &now);
            notices.extend(repo.restore_control(&after, &trash)?);
        }
        let after = Arc::new(after);
        let reach = match intent.kind {
            MoveKind::Rewind { .. } => Reach::LeavingIgnored,
            _ => Reach::Everything,
        };
        notices.extend(self.move_files(repo, &before, &after, reach, now, &trash)?);
        repo.keep_index(&trash)?;
        let (refs, head) = repo.observe()?;
        // The user may have committed since on a branch that only has to exist.
        let is_kept = |it: &RefMove| it.from == it.to && refs.contains_key(&it.name);
        let there = intent.refs.iter().filter(|it| it.to.is_some());
        for it in there.filter(|it| !is_kept(it)) {
            repo.return_commit(it.to)?;
            repo.move_ref(&it.name, &refs, it.to)?;
        }
        repo.point_head(&intent.head_to, &head)?;
        let index = Snapshot::index(&repo.places.vault, &intent.after);
        repo.bring_back_staged(&index)?;
        repo.swap_index(&index, &trash)?;
        for it in intent.refs.iter().filter(|it| it.to.is_none()) {
            repo.move_ref(&it.name, &refs, None)?;
        }
        if intent.with_control {
            repo.restore_replacements(&after, &refs)?;
            notices.extend(repo.restore_stash_of(&after, &trash)?);
            after.control.shape.restore(&repo.places.repository)?;
        }
        Ok(notices)
    }

    fn move_files(
        &self,
        repo: &Repo,
        before: &Snapshot,
        after: &Snapshot,
        reach: Reach,
        now: Option<Scanned>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let changes = compare(&before.manifest, &after.manifest);
        if changes.count() == 0 {
            return Ok(Vec::new());
        }
        let index = Snapshot::index(&repo.places.vault, &after.id);
        let again = now.is_none();
        let now = if let Some(now) = now {
            now
        } else {
            let known = Known::of(&before.submodules);
            self.scan_against(repo, &before.manifest, &known, &index)?
        };
        let mut paths: BTreeSet<&Vec<u8>> = changes.paths().collect();
        if again {
            // A file that was being written when the move was interrupted.
            let halves = now.manifest.entries.keys();
            paths.extend(
                halves.filter(|path| {
                    is_temporary(path) && !before.manifest.entries.contains_key(*path)
                }),
            );
        }
        let target = over(&now.manifest, &after.manifest, paths.iter().copied());
        let mut notices = edited_since(&paths, [&before.manifest, &after.manifest], &now, trash);
        let goal = Goal {
            manifest: &target,
            skipped: &after.skipped,
            submodules: &after.submodules,
            index: &index,
            reach,
        };
        notices.extend(repo.converge(&goal, &now, trash)?);
        Ok(notices)
    }
}

impl Repo {
    /// Brings a commit back that the repository lost while no ref named it, if the vault has it.
    fn return_commit(&self, commit: Option<ObjectId>) -> Result<()> {
        match commit {
            Some(commit) if self.objects.is_pruned(commit) => self.places.link_objects_back(),
            _ => Ok(()),
        }
    }

    /// Makes a move ready.
    pub(crate) fn prepare_move(
        &self,
        run: &RunId,
        intent: MoveIntent,
        present: Present,
        after: &Snapshot,
    ) -> Result<PreparedMove> {
        self.keep_moved_refs(run, &intent)?;
        let changes = compare(&present.snapshot.manifest, &after.manifest);
        let (removed, written): (Vec<_>, Vec<_>) = changes
            .paths()
            .filter(|path| is_no_folder(&present.snapshot.manifest, &after.manifest, path))
            .partition(|path| !after.manifest.entries.contains_key(*path));
        let outline = Outline {
            head: intent.head_to.shown(),
            branches: intent.refs.iter().filter_map(BranchChange::of).collect(),
            commits: Vec::new(),
            written: written.into_iter().map(|path| show(path)).collect(),
            removed: removed.into_iter().map(|path| show(path)).collect(),
            notices: present.scanned.notices.clone(),
        };
        Ok(PreparedMove {
            run: run.clone(),
            intent,
            now: present.scanned,
            outline,
        })
    }

    /// Keeps the commits that branches are moved from in the store.
    fn keep_moved_refs(&self, run: &RunId, intent: &MoveIntent) -> Result<()> {
        let mut commands = String::new();
        for it in &intent.refs {
            if let Some(from) = it.from {
                let kept = format!("refs/moves/{run}/{}/{}", intent.before, it.name);
                let _ = writeln!(commands, "update {kept} {from}");
            }
        }
        if commands.is_empty() {
            return Ok(());
        }
        self.objects.link()?;
        self.gits
            .store
            .run_with_input(["update-ref", "--stdin"], commands.as_bytes())?;
        Ok(())
    }
}

impl Vault {
    /// Carries a move out.
    pub(crate) fn carry_out(&mut self, prepared: PreparedMove) -> Result<Vec<Notice>> {
        let PreparedMove {
            run, intent, now, ..
        } = prepared;
        self.repo.gits.mark(&run);
        let step = Step::MoveIntent {
            intent: Box::new(intent.clone()),
        };
        self.record(&run, step)?;
        let notices = self.tree.carry_out_move(&self.repo, &intent, Some(now))?;
        self.record(&run, Step::Moved)?;
        self.loaded = None;
        self.reported_refs = None;
        Ok(notices)
    }

    /// Completes a move that was interrupted, unless branches or HEAD were moved since: then its target
    /// is no longer right.
    pub(crate) fn move_again(&mut self, run: &RunId, intent: &MoveIntent) -> Result<Recovery> {
        self.repo.gits.mark(run);
        let trash = self.repo.new_trash("move");
        if let Head::Branch { name, .. } = &intent.head_to {
            self.repo.places.repair_head(name, &trash)?;
        }
        let mut names: Vec<&str> = intent.refs.iter().map(|it| it.name.as_str()).collect();
        names.push(STASH);
        self.free_locks(&names, &trash)?;
        let (refs, head) = self.repo.observe()?;
        let found = format!("{} that was interrupted", words(&intent.kind).1);
        if !is_as_left(intent, &refs, &head) {
            self.record(run, Step::MoveGivenUp)?;
            let done = "changed nothing: the files or branches have changed since".to_owned();
            return Ok(Recovery { found, done });
        }
        self.tree.carry_out_move(&self.repo, intent, None)?;
        self.record(run, Step::Moved)?;
        self.loaded = None;
        Ok(Recovery {
            found,
            done: "completed it".to_owned(),
        })
    }
}

/// `now`, but with these paths as `after` has them, and with the folders above them: a link or a file
/// in the place of such a folder is replaced, and what is below a path that is no folder is removed.
pub(crate) fn over<'a>(
    now: &Manifest,
    after: &Manifest,
    paths: impl IntoIterator<Item = &'a Vec<u8>>,
) -> Manifest {
    let mut target = now.clone();
    for path in paths {
        let Some(entry) = after.entries.get(path) else {
            target.entries.remove(path);
            continue;
        };
        for folder in ancestors(path) {
            let is_folder = |entry: &Entry| entry.kind == Kind::Folder;
            if target.entries.get(folder).is_some_and(is_folder) {
                break;
            }
            if let Some(entry) = after.entries.get(folder) {
                target.entries.insert(folder.to_vec(), entry.clone());
            }
        }
        if entry.kind != Kind::Folder {
            for (inside, _) in below(&now.entries, path) {
                target.entries.remove(inside);
            }
        }
        target.entries.insert(path.clone(), entry.clone());
    }
    target
}

/// Paths of a move that are neither as they were nor as they will be: the user edited them.
fn edited_since(
    paths: &BTreeSet<&Vec<u8>>,
    ends: [&Manifest; 2],
    now: &Scanned,
    trash: &Path,
) -> Vec<Notice> {
    let is_edited = |path: &&&Vec<u8>| {
        let Some(present) = now.manifest.entries.get(**path) else {
            return false;
        };
        let mut entries = ends.iter().filter_map(|end| end.entries.get(**path));
        !is_temporary(path) && !entries.any(|entry| entry.same_state(present))
    };
    let edited = paths.iter().filter(is_edited);
    let edited: Vec<String> = edited.map(|path| show(path)).collect();
    if edited.is_empty() {
        return Vec::new();
    }
    vec![Notice::new(
        "edits_kept",
        format!(
            "edited meanwhile, so the edited version is in `{}`: {}",
            trash.join("files").display(),
            edited.join(", ")
        ),
    )]
}

fn is_no_folder(before: &Manifest, after: &Manifest, path: &[u8]) -> bool {
    let entry = after.entries.get(path).or(before.entries.get(path));
    entry.is_some_and(|entry| entry.kind != Kind::Folder)
}

/// True where branches and HEAD are at one end of the move or the other.
fn is_as_left(intent: &MoveIntent, refs: &Refs, head: &Head) -> bool {
    let fits = |it: &RefMove| {
        let now = refs.get(&it.name).copied();
        now == it.from || now == it.to
    };
    let mut places = [&intent.head_from, &intent.head_to].into_iter();
    intent.refs.iter().all(fits) && places.any(|place| same_place(place, head))
}

/// The same branch, or the same commit where both are detached.
pub(crate) fn same_place(one: &Head, two: &Head) -> bool {
    match (one, two) {
        (Head::Branch { name, .. }, Head::Branch { name: other, .. }) => name == other,
        (Head::Detached { commit }, Head::Detached { commit: other }) => commit == other,
        _ => false,
    }
}

/// What a move is called in the name of its trash folder, and in messages.
const fn words(kind: &MoveKind) -> (&'static str, &'static str) {
    match kind {
        MoveKind::Cleanup { .. } => ("cleanup", "a cleanup"),
        MoveKind::Abandon => ("abandon", "an abandon"),
        MoveKind::Squash { .. } => ("squash", "a squash"),
        MoveKind::Reword { .. } => ("reword", "a reword"),
        MoveKind::StartOver { .. } => ("start-over", "a start from where the last run began"),
        MoveKind::Rewind { .. } => ("rewind", "a rewind"),
        MoveKind::RestoreAttempt { .. } => ("put-back", "a restore of an attempt"),
        MoveKind::Undo => ("undo", "an undo"),
    }
}
