//! Attempts on an overlay whose upper layer is made by hand, as a kernel would make it.

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::*;
use crate::edge::checkpoint::snapshot::Snapshot;
use crate::edge::isolation::merge::{Merge, Merged};
use crate::edge::isolation::{Overlay, Progress};
use crate::edge::manifest::{Content, Kind};
use crate::edge::steps::{self, Step};

/// What an attempt does to a dirty tree.
const DEED: &str = "echo agent > a.txt; rm -r dir; rm -r untracked; mkdir untracked new
    echo other > untracked/other.txt; echo file > new/file; ln -s a.txt link
    rm staged.txt; mkdir staged.txt; echo in > staged.txt/in; chmod 700 staged.txt
    echo NEW=1 > .env; echo log > a.log; rm target/cache; echo new > target/new";

/// The same as an upper layer; none where this file system cannot hold one.
fn write_upper(upper: &Path) -> Option<()> {
    let file = |path: &str, text: &str| {
        let full = upper.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    };
    let whiteout = |path: &str| {
        let kind = FileType::CharacterDevice;
        mknodat(CWD, upper.join(path), kind, Mode::empty(), 0).ok()
    };
    let opaque = |path: &str| {
        let flags = XattrFlags::empty();
        setxattr(upper.join(path), "user.overlay.opaque", b"y", flags).ok()
    };
    file("a.txt", "agent\n");
    file("untracked/other.txt", "other\n");
    file("new/file", "file\n");
    file("staged.txt/in", "in\n");
    file(".env", "NEW=1\n");
    file("a.log", "log\n");
    file("target/new", "new\n");
    std::os::unix::fs::symlink("a.txt", upper.join("link")).unwrap();
    fs::set_permissions(upper.join("staged.txt"), fs::Permissions::from_mode(0o700)).unwrap();
    opaque("untracked")?;
    opaque("staged.txt")?;
    whiteout("dir")?;
    whiteout("target/cache")
}

/// A run with an attempt on an overlay, as its agent left it.
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
async fn isolated(yard: &Yard) -> Option<(Checkpoints, Overlay)> {
    let mut checkpoints = yard.open().await;
    checkpoints.begin(&run_id(), "c").await.unwrap();
    let folder = checkpoints.attempt_folder(&run_id(), &attempt("1", 1));
    fs::create_dir_all(folder).unwrap();
    let overlay = checkpoints.isolate(&attempt("1", 1)).unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).await.unwrap();
    if write_upper(&overlay.upper()).is_none() {
        eprintln!("skipped: no upper layer can be made here by hand");
        return None;
    }
    Some((checkpoints, overlay))
}

/// Every path of the last parked attempt, whatever its times.
fn manifest(checkpoints: &Checkpoints) -> BTreeMap<String, (Kind, u32, Content, bool)> {
    let vault = &checkpoints.places.vault;
    let lines = steps::read(&vault.journal()).unwrap();
    let parked = lines.iter().rev().find_map(|line| match &line.step {
        Step::Parked { snapshot, .. } => Some(snapshot.clone()),
        _ => None,
    });
    let snapshot = Snapshot::read(vault, &parked.unwrap()).unwrap();
    let entries = snapshot.manifest.entries.iter();
    let state = entries.map(|(path, entry)| {
        let path = String::from_utf8_lossy(path).into_owned();
        let state = (
            entry.kind,
            entry.stat.mode,
            entry.content.clone(),
            entry.is_visible(),
        );
        (path, state)
    });
    state.collect()
}

#[tokio::test]
async fn a_parked_overlay_has_the_snapshot_the_tree_would_have() {
    let yard = Yard::new();
    dirty(&yard);
    let Some((mut checkpoints, overlay)) = isolated(&yard).await else {
        return;
    };
    let before = yard.everything();
    yard.write("mine.txt", "edited meanwhile\n");
    checkpoints
        .park(setback(&attempt("1", 1), None))
        .await
        .unwrap();
    checkpoints.restore().await.unwrap();
    assert_eq!(yard.read("mine.txt"), "edited meanwhile\n");
    fs::remove_file(yard.repo.join("mine.txt")).unwrap();
    assert_eq!(yard.everything(), before);
    assert!(!overlay.upper().exists());
    let from_overlay = manifest(&checkpoints);

    let yard = Yard::new();
    dirty(&yard);
    let mut checkpoints = yard.open().await;
    checkpoints.begin(&run_id(), "c").await.unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).await.unwrap();
    yard.sh(DEED);
    checkpoints
        .park(setback(&attempt("1", 1), None))
        .await
        .unwrap();
    assert_eq!(from_overlay, manifest(&checkpoints));
}

#[tokio::test]
async fn a_merge_that_is_broken_off_anywhere_is_undone_and_the_attempt_is_kept_whole() {
    let mut done = 0;
    loop {
        let yard = Yard::new();
        dirty(&yard);
        let Some((checkpoints, overlay)) = isolated(&yard).await else {
            return;
        };
        let before = yard.everything();
        let places = &checkpoints.places;
        let base = Snapshot::read(&places.vault, &checkpoints.current().unwrap().snapshot).unwrap();
        overlay.note_merging(None).unwrap();
        let merge = Merge {
            upper: &overlay.upper(),
            tree: &yard.repo,
            trash: &places.vault.trash("merge"),
            before: &base.manifest,
            edited: &BTreeSet::new(),
            caches: &[b"target".to_vec()],
        };
        let plan = merge.plan().unwrap();
        for item in plan.iter().take(done) {
            merge.put(item, &mut Merged::default()).unwrap();
        }
        drop(checkpoints);
        assert_eq!(overlay.progress(), Progress::Merging);
        let mut checkpoints = yard.open().await;
        checkpoints.recover().await.unwrap().unwrap();
        // Caches and new ignored files stay where they are, as after any restore.
        let without_ignored = |text: String| {
            let ignored = |line: &&str| line.starts_with("target/") || line.starts_with("a.log");
            let lines = text.lines().filter(|line| !ignored(line));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            without_ignored(yard.everything()),
            without_ignored(before),
            "{done}"
        );
        let diff = checkpoints.diff_path("1.1").unwrap();
        let diff = fs::read_to_string(diff).unwrap();
        for part in [
            "+agent",
            "+other",
            "+file",
            "+in",
            "--- a/dir/b.txt",
            "+a.txt",
        ] {
            assert!(diff.contains(part), "{done}: {part}: {diff}");
        }
        if done >= plan.len() {
            return;
        }
        done += 5;
    }
}

#[tokio::test]
async fn a_restore_is_durable_before_an_attempt_that_does_not_touch_the_tree() {
    let yard = Yard::new();
    dirty(&yard);
    let Some((mut checkpoints, _)) = isolated(&yard).await else {
        return;
    };
    checkpoints.merge_isolated().await.unwrap();
    let failed = setback(&attempt("1", 1), None);
    checkpoints.park(failed).await.unwrap();
    checkpoints.restore().await.unwrap();
    // Undoing the next one would not restore the tree again.
    let lines = steps::read(&checkpoints.places.vault.journal()).unwrap();
    assert_eq!(lines.last().unwrap().step, Step::Restored);
}

#[tokio::test]
async fn a_save_an_outage_took_is_there_again_though_the_attempt_after_it_was_isolated() {
    let yard = Yard::new();
    let mut checkpoints = yard.open().await;
    checkpoints.begin(&run_id(), "c").await.unwrap();
    let before = yard.git("rev-parse HEAD");
    yard.write("first.txt", "first\n");
    checkpoints.save(&story("1")).await.unwrap();
    let state = yard.everything();
    let folder = checkpoints.attempt_folder(&run_id(), &attempt("2", 1));
    fs::create_dir_all(folder).unwrap();
    checkpoints.isolate(&attempt("2", 1)).unwrap();
    checkpoints.attempt_started(&attempt("2", 1)).await.unwrap();
    outage::machine_restarted(&yard, checkpoints, 0);
    yard.write(".git/refs/heads/ralph/c", &before);

    let mut checkpoints = yard.open().await;
    checkpoints.recover().await.unwrap().unwrap();
    assert_eq!(yard.everything(), state);
}
