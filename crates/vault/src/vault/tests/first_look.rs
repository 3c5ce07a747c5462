//! Which files the first checkpoint takes for what the index says, against what git says of them.

use std::sync::Arc;

use pretty_assertions::assert_eq;

use super::{Vault, Yard, run_id, story};
use crate::git::index::{Staged, StagedStat};
use crate::git::object_id::ObjectId;
use crate::repo::control::Control;
use crate::stat::Stat;
use crate::tree::manifest::{Content, Found, Kind};
use crate::tree::scanned::{Clean, CleanCheck, FirstIndex, Scanned};

/// Files of every sort, added to the index when they were an hour old.
fn settled() -> Yard {
    let yard = Yard::new();
    yard.sh(
        "for name in same sized touched edited racy mode gone; do echo $name > $name; done; \
        git add -A; git commit -qm files; touch -t 202001010000 *; sleep 2.1; \
        git update-index --refresh",
    );
    yard
}

fn take(checkpoints: &Vault) -> Scanned {
    let repository = &checkpoints.repo.places.repository;
    let vault = &checkpoints.repo.places.vault;
    vault.ensure_store(repository.format).unwrap();
    let (refs, head) = checkpoints.repo.observe().unwrap();
    let control = Control::read(repository, head, refs, None).unwrap();
    let settings = checkpoints.repo.ask_settings().unwrap().answer().unwrap();
    let prepared = checkpoints.repo.prepare_work_dir(&settings, &control);
    prepared.unwrap();
    let (index, listed) = checkpoints.repo.copy_index("start", "first").unwrap();
    let known = checkpoints.repo.read_index(&index, &listed).unwrap();
    let nothing = Arc::default();
    checkpoints
        .tree
        .scan_against(&checkpoints.repo, &nothing, &known, &index)
        .unwrap()
}

#[test]
fn only_files_with_the_bytes_of_their_objects_are_taken_for_clean() {
    let yard = settled();
    yard.sh(
        "touch touched; echo other > sized; echo edite2 > edited; chmod +x mode; rm gone; \
        touch -r racy time; echo ycar > racy; touch -r time racy; rm time",
    );
    let checkpoints = yard.open();
    let taken = take(&checkpoints);
    let is_clean = |path: &str| {
        let entry = taken.manifest.entries.get(path.as_bytes());
        entry.map(|entry| matches!(entry.content, Content::Git(_)))
    };
    let looks = ["same", "touched", "sized", "edited", "racy", "mode", "gone"].map(is_clean);
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(looks, [yes, yes, no, no, no, no, None]);
}

/// What is written in the second of the index, with the same length, may show in nothing but its
/// bytes; and so may what is written while it is looked at.
#[test]
fn a_file_is_read_where_its_fields_could_hide_an_edit() {
    const SECOND: i64 = 1_000_000_000;
    let id = ObjectId::parse(&[b'a'; 40]).unwrap();
    let stat = Stat {
        mode: 0o644,
        size: 5,
        modified_ns: 7 * SECOND + 3,
        changed_ns: 8 * SECOND + 4,
        inode: 9,
    };
    let staged = |size: u32, inode: u32| Staged {
        mode: 0o100_644,
        id,
        stat: StagedStat {
            changed: (8, 4),
            modified: (7, 3),
            place: (1, inode),
            owner: (0, 0),
            size,
        },
    };
    let check = |staged: Option<Staged>, index_second: i64, clean_ns: i64| {
        let index = FirstIndex {
            clean: [(b"x".to_vec(), Clean { id, staged })].into(),
            index_second,
            clean_ns,
            ..FirstIndex::default()
        };
        index.check_clean(&Found {
            path: b"x".to_vec(),
            kind: Kind::File,
            stat,
        })
    };
    let (same, perhaps) = (CleanCheck::Clean(id), CleanCheck::NeedsHash(id));
    assert_eq!(check(Some(staged(5, 9)), 9, 20 * SECOND), same);
    assert_eq!(check(Some(staged(5, 9)), 8, 20 * SECOND), perhaps);
    assert_eq!(check(Some(staged(5, 9)), 9, 8 * SECOND), perhaps);
    assert_eq!(check(Some(staged(5, 8)), 9, 20 * SECOND), perhaps);
    assert_eq!(check(Some(staged(0, 9)), 9, 20 * SECOND), perhaps);
    assert_eq!(check(Some(staged(6, 9)), 9, 20 * SECOND), CleanCheck::Dirty);
    assert_eq!(check(None, 9, 20 * SECOND), same);
    assert_eq!(check(None, 9, 8 * SECOND), CleanCheck::Dirty);
}

#[test]
fn a_mode_that_changed_alone_is_committed() {
    let yard = settled();
    yard.sh("chmod +x mode");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let listed = yard.git("ls-tree HEAD mode");
    assert!(listed.starts_with("100755"), "{listed}");
    assert_eq!(yard.git("status --porcelain"), "");
}

#[test]
fn a_run_where_nothing_is_tracked_begins_and_saves() {
    let yard = Yard::new();
    yard.sh("git rm -rq --cached .; git commit -qm none; rm .git/index; printf '*' > .gitignore");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.save(&story("1")).unwrap();
    assert_eq!(
        yard.git("log --format=%s main.."),
        "checkpoint: 1\ninitial state\n"
    );
    assert_eq!(yard.git("ls-files"), "");
}
