//! Parking an attempt that worked on an overlay: its state is the checkpoint with the upper layer
//! over it, put together from the manifest and that layer alone. The real tree is not touched, and
//! what the user did in it meanwhile is no part of the attempt.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::control::Control;
use super::converge::is_rules;
use super::objects::ObjectLinks;
use super::park::{ParkReport, Setback};
use super::parked_diff::no_diff;
use super::snapshot::Snapshot;
use super::stash::take_control_with;
use super::taking::{Scene, Seen, Taken, below, now_ns};
use super::visible::visible_paths;
use super::{Checkpoints, Notice, Result, blocking};
use crate::edge::files::{Tried, copy_with_time, create_private_folder, make_writable};
use crate::edge::isolation::upper::{is_opaque, is_whiteout};
use crate::edge::isolation::view::{copy_git, keeps_git};
use crate::edge::isolation::{Overlay, Progress};
use crate::edge::manifest::{Entry, Kind, Manifest, Suspects};
use crate::edge::repository::Repository;
use crate::edge::sparse::is_hollow;
use crate::edge::steps::{ParkedNote, Step};
use crate::edge::walk::{Ground, Walk, absolute, walk};

impl Checkpoints {
    /// Parks an attempt that has an overlay, by how far that got into the tree.
    pub(super) async fn park_overlay(
        &mut self,
        overlay: &Overlay,
        setback: Setback,
    ) -> Result<ParkReport> {
        let label = setback.attempt.to_string();
        match overlay.progress() {
            Progress::Merged => self.park_as(setback, &label).await,
            Progress::Apart => {
                let report = self.park_upper(overlay, setback).await?;
                self.dropped = Some(overlay.clone());
                Ok(report)
            }
            // The whole attempt under its own name, and the tree, which is a mixture, beside it.
            Progress::Merging => {
                let beside = Setback {
                    counts: false,
                    ..setback.clone()
                };
                let mut report = self.park_upper(overlay, setback).await?;
                let mixture = format!("{label}-{}", crate::edge::random_name::random_name(4));
                let tree = self.park_as(beside, &mixture).await?;
                report.notices.extend(tree.notices);
                Ok(report)
            }
        }
    }

    async fn park_upper(&mut self, overlay: &Overlay, setback: Setback) -> Result<ParkReport> {
        let current = self.current()?;
        let label = setback.attempt.to_string();
        let base = self.checkpoint().await?;
        self.link_objects().await?;
        open_all(&overlay.upper(), false);
        self.link_upper_objects(overlay).await?;
        let view = tempfile::Builder::new()
            .prefix("view-")
            .tempdir_in(overlay.folder())
            .tried("create a folder in", overlay.folder())?;
        let git_view = view.path().join("git");
        let (control, notice) = self.control_through(overlay, &base, &git_view).await;
        let mut notices: Vec<Notice> = notice.into_iter().collect();

        let id = Snapshot::new_id();
        let index = self.derive_index(&base.id, &id).await?;
        let rules = view.path().join("rules");
        let taken = self.take_upper(overlay, &base, (&rules, &index)).await?;
        notices.extend(taken.notices.iter().cloned());
        let paths = visible_paths(&taken.changes, &base.manifest, &taken.manifest);
        let holds_bytes = |entry: &Entry| matches!(entry.kind, Kind::File | Kind::Link);
        let now = &taken.manifest.entries;
        let present: Vec<Vec<u8>> = paths
            .iter()
            .filter(|path| now.get(*path).is_some_and(holds_bytes))
            .cloned()
            .collect();
        let git = self.work.patient().with_index(&index);
        let git = git.with_work_tree(&overlay.upper());
        let committed = self
            .commit_parked(&current, &label, &git, (&present, &paths))
            .await;
        let commit = committed.unwrap_or_else(|error| {
            notices.push(no_diff(&error));
            None
        });
        self.begin_diff(&current, &label, commit).await?;
        self.drop_index(&id);
        let refs = (&base.control.refs, &control.refs);
        self.keep_refs(&current, &label, refs, &control.head)
            .await?;
        let snapshot = self.snapshot(id, &taken, control, &base.submodules);
        let snapshot = self
            .write_parked(snapshot, &base, git_view.join("index"))
            .await?;
        let step = Step::Parked {
            attempt: setback.attempt,
            snapshot: snapshot.id,
            reason: setback.told,
            counts: setback.counts,
            note: ParkedNote {
                label,
                kind: setback.kind,
                why: setback.why,
                changed_files: paths.len(),
                commit,
            },
        };
        self.record(&current.intent.run, step).await?;
        Ok(ParkReport {
            changed_files: paths.len(),
            notices,
        })
    }

    /// The objects the attempt made go to the vault's store.
    async fn link_upper_objects(&self, overlay: &Overlay) -> Result<()> {
        let git = overlay.upper().join(".git");
        let from = git.join("objects");
        // No link of the attempt's is followed.
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        if !is_folder(&git) || !is_folder(&from) {
            return Ok(());
        }
        let to = self.places.vault.store().join("objects");
        blocking(move || ObjectLinks::default().link_new(&from, &to)).await
    }

    /// The git directory's state as the attempt saw it. Where it has none any more, or none that
    /// can be read, the checkpoint's: what there is of it stays in the overlay.
    async fn control_through(
        &self,
        overlay: &Overlay,
        base: &Snapshot,
        view: &Path,
    ) -> (Control, Option<Notice>) {
        let seen = if keeps_git(&self.places.repository.work_tree, &overlay.upper()) {
            self.read_through(overlay, view).await.ok()
        } else {
            None
        };
        seen.map_or_else(
            || {
                let notice = Notice::new(
                    "git_left_alone",
                    "the attempt removed, replaced or damaged its git directory; yours was never touched",
                );
                (base.control.clone(), Some(notice))
            },
            |control| (control, None),
        )
    }

    async fn read_through(&self, overlay: &Overlay, view: &Path) -> Result<Control> {
        let (upper, to) = (overlay.upper(), view.to_owned());
        let places = Arc::clone(&self.places);
        let layer = upper.clone();
        blocking(move || Ok(copy_git(&places.repository.work_tree, &layer, &to)?)).await?;
        let store = self.places.vault.store().join("objects");
        let git = self
            .git
            .with_directory(view)
            .with_work_tree(&upper)
            .with_objects(&store, Some(&self.places.repository.objects()));
        let repository = Repository {
            work_tree: upper,
            git_dir: view.to_owned(),
            common_dir: view.to_owned(),
            format: self.places.repository.format,
        };
        let refs = repository.refs(&git).await?;
        let head = repository.head(&git, &refs).await?;
        take_control_with(&git, &repository, (head, refs), None).await
    }

    /// The work tree as the attempt left it, against the checkpoint.
    async fn take_upper(
        &self,
        overlay: &Overlay,
        base: &Arc<Snapshot>,
        (rules, index): (&Path, &Path),
    ) -> Result<Taken> {
        let scene = Scene {
            top: overlay.upper(),
            git: self.work.patient().with_index(index).with_work_tree(rules),
        };
        let at_ns = now_ns();
        // The rules of the attempt's own decide what it has ignored, so they are found first.
        self.lay_out_rules(&scene, base, rules).await?;
        let tracked = BTreeSet::new();
        // An upper layer holds nothing but what differs.
        let against = (base.manifest.as_ref(), &Arc::default());
        let mut walk = self.walk(&scene, &tracked, against).await?;
        while unlock(&scene.top, &walk.unreadable) {
            walk = self.walk(&scene, &tracked, against).await?;
        }
        let suspects = suspects(&base.manifest, &scene.top, &mut walk)?;
        let seen = Seen {
            at_ns,
            walk,
            suspects,
        };
        let known = Self::known_of(base);
        self.keep_seen(scene, seen, &base.manifest, known).await
    }

    /// Copies the ignore rules, as the attempt saw them, to a folder where git looks for them.
    async fn lay_out_rules(&self, scene: &Scene, base: &Snapshot, to: &Path) -> Result<()> {
        let upper = scene.top.clone();
        let tree = self.places.repository.work_tree.clone();
        let base = Arc::clone(&base.manifest);
        let to = to.to_owned();
        let longest = self.longest_folder(&upper);
        blocking(move || {
            create_private_folder(&to)?;
            let ground = Ground {
                folder: &upper,
                name: b"",
                base: &Manifest::default(),
                enter: &|path: &[u8], _: &Path| path.len() <= longest,
            };
            let mut walk = walk(ground, b"")?;
            let Suspects {
                created,
                touched,
                gone: hidden,
            } = suspects(&base, &upper, &mut walk)?;
            let hidden: BTreeSet<&Vec<u8>> = hidden.iter().collect();
            let mut sources: BTreeMap<&Vec<u8>, PathBuf> = base
                .entries
                .keys()
                .filter(|path| is_rules(path) && !hidden.contains(path))
                .map(|path| (path, absolute(&tree, path)))
                .collect();
            let own = created
                .iter()
                .chain(&touched)
                .filter(|found| is_rules(&found.path) && found.kind == Kind::File)
                // Git would read every hole, to find no rule.
                .filter(|found| !is_hollow(&absolute(&upper, &found.path)));
            sources.extend(own.map(|found| (&found.path, absolute(&upper, &found.path))));
            for (path, source) in sources {
                let target = absolute(&to, path);
                if let Some(folder) = target.parent() {
                    create_private_folder(folder)?;
                }
                copy_with_time(&source, &target)?;
            }
            Ok(())
        })
        .await
    }
}

/// Opens folders that the attempt locked, and files of its git directory and ignore rules. Nothing
/// but the attempt's own layer is below the folder. What cannot be opened is reported when it is read.
fn open_all(folder: &Path, in_git: bool) {
    make_writable(folder);
    let listing = fs::read_dir(folder).into_iter().flatten();
    for entry in listing.filter_map(std::result::Result::ok) {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let name = entry.file_name();
        let mode = metadata.mode() & 0o7777;
        if metadata.is_dir() {
            open_all(&entry.path(), in_git || name == ".git");
        } else if metadata.is_file() && (in_git || name == ".gitignore") && mode & 0o400 == 0 {
            let opened = fs::Permissions::from_mode(mode | 0o400);
            let _ = fs::set_permissions(entry.path(), opened);
        }
    }
}

/// Opens folders the attempt locked; true where there were any.
fn unlock(top: &Path, folders: &[Vec<u8>]) -> bool {
    let opened = folders
        .iter()
        .filter_map(|folder| make_writable(&absolute(top, folder)));
    opened.count() > 0
}

/// What an upper layer, walked against nothing, changes about a manifest. The walk is left with
/// the repositories that are really there.
fn suspects(base: &Manifest, upper: &Path, walk: &mut Walk) -> Result<Suspects> {
    let mut suspects = Suspects::default();
    let mut hidden: Vec<Vec<u8>> = Vec::new();
    let mut opaque: Vec<Vec<u8>> = Vec::new();
    let in_upper = std::mem::take(&mut walk.suspects.created);
    let mut found = Vec::with_capacity(in_upper.len());
    for item in in_upper {
        let full = absolute(upper, &item.path);
        match item.kind {
            Kind::Special => {
                let metadata = std::fs::symlink_metadata(&full).tried("look at", &full)?;
                hidden.push(item.path.clone());
                if is_whiteout(&metadata) {
                    suspects
                        .gone
                        .extend(base.entries.get(&item.path).map(|_| item.path.clone()));
                    continue;
                }
            }
            // What is not a folder has nothing in it.
            Kind::File | Kind::Link => hidden.push(item.path.clone()),
            Kind::Folder if is_opaque(&full) => opaque.push(item.path.clone()),
            Kind::Folder => {}
        }
        found.push(item);
    }
    let present: BTreeSet<&Vec<u8>> = found.iter().map(|item| &item.path).collect();
    let mut gone: BTreeSet<Vec<u8>> = suspects.gone.drain(..).collect();
    for folder in &hidden {
        gone.extend(below(&base.entries, folder).map(|(path, _)| path.clone()));
    }
    for folder in &opaque {
        let entries = below(&base.entries, folder).map(|(path, _)| path);
        gone.extend(entries.filter(|path| !present.contains(path)).cloned());
    }
    // Repositories in the tree are told by their git directories, which the layer need not have.
    let in_tree = base.entries.keys().filter(|path| !gone.contains(*path));
    let paths = found.iter().map(|item| &item.path).chain(in_tree);
    let repositories = paths.filter_map(|path| path.strip_suffix(b"/.git"));
    walk.repositories = repositories.map(<[u8]>::to_vec).collect();
    (suspects.touched, suspects.created) = found
        .into_iter()
        .partition(|item| base.entries.contains_key(&item.path));
    suspects.gone = gone.into_iter().collect();
    Ok(suspects)
}
