//! Begin: the branch of the run with everything the tree holds as its first commit. No file
//! of the work tree is touched.

use std::path::Path;
use std::sync::Arc;

use crate::commit_message::INITIAL;
use crate::error::{Notice, Result};
use crate::git::access::Reason;
use crate::git::index::Listed;
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Refs, short};
use crate::journal::Log;
use crate::journal::steps::{BeforeStartOver, BeginIntent, Step};
use crate::repo::committing::{Destination, NewCommit, TreeOrder};
use crate::repo::control::Control;
use crate::repo::snapshot::Snapshot;
use crate::repo::switch::NewTip;
use crate::repo::{Places, Repo};
use crate::scan::Tree;
use crate::tree::manifest::{Content, Entry, Kind, Manifest, compare};
use crate::tree::scanned::{FirstIndex, Scanned};
use crate::vault::{AfterRecovery, Vault};
use ralph_base::files::copy_with_time;
use ralph_base::ids::RunId;

/// A run that is to begin.
#[derive(Debug, Clone, Copy)]
pub struct BeginRequest<'a> {
    pub run: &'a RunId,
    pub change: &'a str,
    /// Short name of the branch to make.
    pub branch: &'a str,
    /// Where the change is read from, where that can be written down.
    pub plan: Option<&'a str>,
    /// The folder with its task files, where that can be written down.
    pub plan_folder: Option<&'a str>,
}

/// What a begin did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// Short name of the checkpoint branch.
    pub branch: String,
    /// Where the user was.
    pub original: String,
    /// The commit that was; none on a branch without one.
    pub original_commit: Option<String>,
    /// Where HEAD goes if the run is abandoned, where that is not `original`: it was started over.
    pub abandon_to: Option<String>,
    pub notices: Vec<Notice>,
}

impl Begun {
    pub(crate) fn of(intent: &BeginIntent, notices: Vec<Notice>) -> Self {
        Self {
            branch: short(&intent.branch).to_owned(),
            original: intent.original.recorded(),
            abandon_to: {
                let head = intent.head_before().recorded();
                (head != intent.original.recorded()).then_some(head)
            },
            original_commit: intent.original.commit().map(|commit| commit.to_string()),
            notices,
        }
    }
}

/// Everything the switch of a begin needs, durable before it starts.
struct Prepared {
    intent: BeginIntent,
    refs: Refs,
    notices: Vec<Notice>,
}

/// What a run starts from, stored: the state as the user left it, and the tree of the first commit.
struct FirstTree {
    /// The snapshot of that state, not yet written.
    start: Snapshot,
    tree: ObjectId,
    /// The snapshot of the first checkpoint, whose folder has the index of the tree.
    checkpoint: String,
    notices: Vec<Notice>,
}

impl Vault {
    /// Makes the branch and its first commit, and moves HEAD and the index there.
    pub(crate) fn begin(&mut self, request: BeginRequest<'_>) -> Result<Begun> {
        let run = request.run;
        self.repo.gits.mark(run);
        let prepared = self.prepare(request)?;
        let intent = prepared.intent.clone();
        let new = self.repo.make_ready(&intent.checkpoint, intent.commit)?;
        let head = self
            .repo
            .make_head_ready(&intent.checkpoint, &intent.branch)?;
        self.record(
            run,
            Step::BeginIntent {
                intent: Box::new(intent.clone()),
            },
        )?;
        let carried_out = self
            .repo
            .carry_out_begin(&intent, &prepared.refs, &new, &head);
        if let Err(error) = carried_out {
            // Undo the half of it that was done; if this fails too, the next start does it.
            let _ = self.recover(AfterRecovery::Continue);
            return Err(error);
        }
        self.repo.keep_git_directory(true)?;
        self.record(run, Step::Begun)?;
        self.tree.mark_clean();
        Ok(Begun::of(&intent, prepared.notices))
    }

    fn prepare(&self, request: BeginRequest<'_>) -> Result<Prepared> {
        let BeginRequest { run, change, .. } = request;
        self.repo.clear_git_halves(&self.repo.new_trash("begin"))?;
        // Git reads the settings while the vault is made.
        let asked = self.repo.ask_settings()?;
        self.make_vault(run)?;
        let settings = asked.answer()?;
        let (refs, head) = self.repo.observe()?;
        let control = self.repo.read_control(head.clone(), refs.clone(), None)?;
        self.repo.prepare_work_dir(&settings, &control)?;

        let stored = self.store_first_tree(control)?;
        let parents: Vec<ObjectId> = head.commit().into_iter().collect();
        let message = format!("{INITIAL}\n\nRun: {run}\nChange: {change}\n");
        let commit = self.repo.commit(&NewCommit {
            tree: stored.tree,
            parents: &parents,
            message: &message,
            destination: Destination::Repository,
        })?;
        self.repo.objects.link()?;

        let branch = format!("refs/heads/{}", request.branch);
        let intent = BeginIntent {
            run: run.clone(),
            change: change.to_owned(),
            plan: request.plan.map(str::to_owned),
            plan_folder: request.plan_folder.map(str::to_owned),
            original: self.log.original(&branch, &head),
            head,
            old_branch: refs.get(&branch).copied(),
            branch,
            start: stored.start.id.clone(),
            commit,
            checkpoint: stored.checkpoint,
            before: self.unchanged_start_over(&stored.start)?,
        };
        self.write_first_snapshots(&stored.start, &intent)?;
        // An earlier branch of the same name.
        if let Some(old) = intent.old_branch {
            let name = format!("refs/archive/{run}/before");
            self.repo.archive(&name, old)?;
        }
        Ok(Prepared {
            intent,
            refs,
            notices: stored.notices,
        })
    }

    /// Where everything was before the last run was left to start over. None where the user has changed
    /// something since: to abandon the new run must not revert that.
    fn unchanged_start_over(&self, start: &Snapshot) -> Result<Option<BeforeStartOver>> {
        let Some((run, intent)) = self.log.state.last_start_over() else {
            return Ok(None);
        };
        let led_to = Snapshot::read(&self.repo.places.vault, &intent.after)?;
        let changes = compare(&led_to.manifest, &start.manifest);
        let is_seen = |path: &Vec<u8>| {
            let mut entries = [&led_to.manifest, &start.manifest]
                .into_iter()
                .filter_map(|manifest| manifest.entries.get(path));
            entries.any(Entry::is_visible)
        };
        if start.control.head != intent.head_to || changes.paths().any(is_seen) {
            return Ok(None);
        }
        Ok(Some(BeforeStartOver {
            run: run.clone(),
            snapshot: intent.before.clone(),
            head: intent.head_from.clone(),
        }))
    }

    /// Scans the work tree against the user's index, and writes the tree of the first commit.
    fn store_first_tree(&self, control: Control) -> Result<FirstTree> {
        let start = Snapshot::new_id();
        let checkpoint = Snapshot::new_id();
        let (index, listed) = self.repo.copy_index(&start, &checkpoint)?;
        let known = self.repo.read_index(&index, &listed)?;
        let submodules: Vec<_> = known.submodules.iter().cloned().collect();
        let tracked: Vec<_> = known.tracked().iter().cloned().collect();
        let skipped = self.repo.skipped(&listed);
        drop(listed);
        let clean_to_git = known.index.as_ref().map(FirstIndex::clean_to_git);
        let clean_to_git = clean_to_git.unwrap_or_default();
        let scanned = self
            .tree
            .scan_against(&self.repo, &Manifest::default(), &known, &index)?;

        let mut paths = to_update(&scanned.manifest, &tracked, &skipped);
        // Git would not store them either.
        paths.retain(|path| !clean_to_git.is_clean(path, &scanned.manifest));
        let written = self.write_tree(&TreeOrder {
            base: None,
            id: &checkpoint,
            scanned: &scanned,
            by_git: if control.is_sparse() {
                Some(Reason::Sparse)
            } else {
                (!submodules.is_empty()).then_some(Reason::Submodules)
            },
            paths: &paths,
            modules: &[],
            unstaged: &[],
            destination: Destination::Repository,
        })?;
        let git = self.repo.gits.work.patient().with_index(&index);
        let mut notices = written.notices;
        notices.extend(
            self.repo
                .refuse_unstorable_edits(&git, &written.unstorable)?,
        );
        notices.extend(self.tree.report_kept_out(&scanned));
        notices.extend(
            self.tree
                .report_users_secrets(&self.repo, &tracked, &control.head)?,
        );
        notices.extend(scanned.notices.iter().cloned());
        self.repo.link_module_objects(&scanned.manifest)?;
        Ok(FirstTree {
            start: self.tree.snapshot(start, &scanned, control, &submodules),
            tree: written.id,
            checkpoint,
            notices,
        })
    }

    /// Makes what of the vault is missing, and links the repository's objects into it.
    fn make_vault(&self, run: &RunId) -> Result<()> {
        let Places { repository, vault } = &self.repo.places;
        vault.ensure_store(repository.format)?;
        vault.tie(repository)?;
        self.tree.keep_limits(&self.repo, run)?;
        self.repo.objects.link()
    }

    /// Writes the snapshot of the start, and that of the first checkpoint: the same tree, HEAD on the
    /// branch.
    fn write_first_snapshots(&self, start: &Snapshot, intent: &BeginIntent) -> Result<()> {
        let vault = &self.repo.places.vault;
        let mut first = Snapshot {
            id: intent.checkpoint.clone(),
            ..start.clone()
        };
        let refs = &mut first.control.refs;
        refs.insert(intent.branch.clone(), intent.commit);
        first.control.head = intent.head_at(intent.commit);
        start.write(vault, None)?;
        first.write(vault, Some(start))
    }
}

impl Repo {
    /// The user's index as it is, and a private copy to work on, both with its time.
    pub(crate) fn copy_index(
        &self,
        start: &str,
        first: &str,
    ) -> Result<(std::path::PathBuf, Vec<Listed>)> {
        let places = &self.places;
        let kept = Snapshot::index(&places.vault, start);
        let private = Snapshot::index(&places.vault, first);
        for path in [&kept, &private] {
            self.copy_user_index(path)?;
        }
        let listed = self.list_index(&private)?;
        Ok((private, listed))
    }

    /// Keeps a commit in the vault under a name, whatever becomes of the repository.
    pub(crate) fn archive(&self, name: &str, commit: ObjectId) -> Result<()> {
        self.objects.link()?;
        self.gits
            .store
            .run(["update-ref", name, &commit.to_string()])?;
        Ok(())
    }

    /// Moves branch, HEAD and index.
    fn carry_out_begin(
        &self,
        intent: &BeginIntent,
        refs: &Refs,
        new: &NewTip,
        head: &Path,
    ) -> Result<()> {
        let trash = self.new_trash("begin");
        let target = intent.head_at(intent.commit);
        self.move_to_new_commit(&intent.branch, refs, new)?;
        self.point_head_by(&target, &intent.head, Some(head))?;
        let index = Snapshot::index(&self.places.vault, &intent.checkpoint);
        self.swap_index(&index, &trash)
    }
}

impl Log {
    /// The branch or commit to return to: where the user is, or, on the branch of a kept run, where
    /// that run began.
    fn original(&self, branch: &str, head: &Head) -> Head {
        match (self.state.on_branch(), head) {
            (Some(kept), Head::Branch { name, .. })
                if name == branch && kept.intent.branch == *branch =>
            {
                kept.intent.original.clone()
            }
            _ => head.clone(),
        }
    }
}

impl Tree {
    /// The snapshot of a scan.
    pub(crate) fn snapshot(
        &self,
        id: String,
        scanned: &Scanned,
        control: Control,
        submodules: &[Vec<u8>],
    ) -> Snapshot {
        Snapshot {
            id,
            manifest: Arc::clone(&scanned.manifest),
            control,
            skipped: self.skipped.borrow().list(),
            submodules: submodules.to_vec(),
        }
    }
}

/// Paths to update in the private index: what is not clean, and what is gone.
fn to_update(
    manifest: &Manifest,
    tracked: &[Vec<u8>],
    skipped: &std::collections::HashSet<Vec<u8>>,
) -> Vec<Vec<u8>> {
    let changed = manifest
        .entries
        .iter()
        .filter(|(_, entry)| {
            entry.is_visible() && !matches!(entry.content, Content::Git(_) | Content::Unkept)
        })
        .map(|(path, _)| path.clone());
    let holds_bytes = |path: &Vec<u8>| {
        let entry = manifest.entries.get(path);
        entry.is_some_and(|entry| matches!(entry.kind, Kind::File | Kind::Link))
    };
    let gone = tracked
        .iter()
        .filter(|path| !holds_bytes(path) && !skipped.contains(*path))
        .cloned();
    gone.chain(changed).collect()
}

/// The other half of a split index is looked for in the git directory.
pub(crate) fn copy_shared_index(git_dir: &std::path::Path, work: &std::path::Path) -> Result<bool> {
    let mut any = false;
    let Ok(listing) = std::fs::read_dir(git_dir) else {
        return Ok(false);
    };
    for entry in listing.filter_map(std::result::Result::ok) {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("sharedindex.") {
            copy_with_time(&entry.path(), &work.join(&name))?;
            any = true;
        }
    }
    Ok(any)
}
