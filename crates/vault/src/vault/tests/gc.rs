//! Housekeeping against real git: what goes, what stays readable, and kills in between.

use pretty_assertions::assert_eq;

use super::*;
use crate::gc::STAGES;
use crate::gc::policy::{StoreRow, expired};
use crate::journal::steps::{self, Step};
use crate::repo::objects::open_raw;
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::Content;

fn run(id: &str) -> RunId {
    RunId(id.to_owned())
}

/// One run: a failed attempt that leaves a file of its own, a story, the end.
fn one_run(yard: &Yard, id: &str) -> Vault {
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run(id), "c").unwrap();
    fs::create_dir_all(checkpoints.attempt_folder(&run(id), &attempt("1", 1))).unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("junk.txt", &format!("junk of {id}\n"));
    yard.write("key.pem", &format!("secret of {id}\n"));
    yard.write("staged.txt", &format!("staged by {id}\n"));
    yard.git("add staged.txt");
    checkpoints.park_and_restore(setback(&attempt("1", 1), None));
    yard.write("made.txt", &format!("made by {id}\n"));
    checkpoints.save(&story("1")).unwrap();
    checkpoints.finish(FinishChoice::Cleanup).unwrap();
    checkpoints
}

/// Rewrites the journal with all steps of a run later than they were, so that the begin of the run
/// and what was made before it are not in the same second.
fn delay(checkpoints: &Vault, id: &str) {
    let path = checkpoints.repo.places.vault.journal();
    let mut text = String::new();
    for mut line in steps::read(&path).unwrap() {
        if line.run == run(id) {
            line.at += jiff::SignedDuration::from_secs(2);
        }
        let json = serde_json::to_string(&line).unwrap();
        let _ = writeln!(text, "{:08x} {json}", crc32fast::hash(json.as_bytes()));
    }
    fs::write(path, text).unwrap();
}

/// Every byte of every snapshot of a run can be read.
#[track_caller]
fn is_whole(checkpoints: &Vault, yard: &Yard, id: &str) {
    let vault = &checkpoints.repo.places.vault;
    let store = format!("--git-dir={}", vault.store().display());
    let lines = steps::read(&vault.journal()).unwrap();
    let steps = lines.iter().filter(|line| line.run == run(id));
    let names: Vec<&str> = steps.flat_map(|line| line.step.snapshots()).collect();
    let what = "two of the begin, one parked, one saved, two of the cleanup";
    assert_eq!(names.len(), 6, "{what}");
    for name in names {
        let snapshot = Snapshot::read(vault, name).unwrap();
        for entry in snapshot.manifest.entries.values() {
            match &entry.content {
                Content::Raw(id) => drop(open_raw(&checkpoints.repo.places, id).unwrap()),
                Content::Git(id) => {
                    drop(yard.git_args(&[&store, "cat-file", "-p", &id.to_string()]));
                }
                _ => {}
            }
        }
        for id in snapshot.control.refs.values() {
            yard.git_args(&[&store, "rev-list", "--objects", &id.to_string()]);
        }
    }
    let label = format!("refs/parked/{id}/1.1:junk.txt");
    let shown = yard.git_args(&[&store, "show", &label]);
    assert_eq!(shown, format!("junk of {id}\n"));
    let archived = format!("refs/archive/{id}/end:made.txt");
    assert_eq!(
        yard.git_args(&[&store, "show", &archived]),
        format!("made by {id}\n")
    );
}

/// Names in a folder of the vault.
fn names(checkpoints: &Vault, folder: &str) -> Vec<String> {
    let folder = checkpoints.vault_folder().join(folder);
    let listing = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = listing
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn refs(checkpoints: &Vault, yard: &Yard) -> String {
    let store = checkpoints.vault_folder().join("store");
    let store = format!("--git-dir={}", store.display());
    yard.git_args(&[&store, "for-each-ref", "--format=%(refname)"])
}

#[test]
fn an_old_run_goes_with_all_it_has_and_the_last_one_stays_whole() {
    let yard = Yard::new();
    dirty(&yard);
    drop(one_run(&yard, "a"));
    let mut checkpoints = one_run(&yard, "b");
    let notes = checkpoints.vault_folder().join("learnings/c.md");
    fs::create_dir_all(notes.parent().unwrap()).unwrap();
    fs::write(&notes, "a note").unwrap();
    let state = checkpoints.log.state.clone();
    let past = checkpoints.past_runs().unwrap();
    assert_eq!(
        past.iter().map(|it| it.attempts).collect::<Vec<_>>(),
        [1, 1]
    );
    let goes = expired(&past, Duration::ZERO, jiff::Timestamp::now());
    assert_eq!(goes, [run("a")]);

    let tree = yard.everything();
    let plan = checkpoints.plan_gc(&goes).unwrap();
    let row = &plan.report.runs[0];
    assert_eq!((row.snapshots.count, row.attempts), (6, 1));
    assert!(
        row.trash.count > 0 && plan.report.copies.count > 0,
        "{:?}",
        plan.report
    );
    assert!(matches!(&plan.report.store, StoreRow::Known { gone } if gone.count > 0));
    is_whole(&checkpoints, &yard, "a");

    let after = checkpoints.carry_out_gc(&plan).unwrap();
    assert!(after < plan.report.bytes_before);
    is_whole(&checkpoints, &yard, "b");
    assert_eq!(names(&checkpoints, "runs"), ["b"]);
    assert_eq!(names(&checkpoints, "snapshots").len(), 6);
    assert!(!refs(&checkpoints, &yard).contains("/a/"));
    assert_eq!(fs::read(&notes).unwrap(), b"a note");
    assert_eq!(yard.everything(), tree);
    assert!(checkpoints.log.state.has_same_present(&state));

    // Once more there is nothing left to do.
    let again = checkpoints.plan_gc(&[]).unwrap();
    assert!(again.report.is_empty(), "{:?}", again.report);

    // The journal goes on where it was.
    checkpoints.begin_run(&run("d"), "c").unwrap();
    let lines = steps::read(&checkpoints.repo.places.vault.journal()).unwrap();
    assert_eq!(lines.last().unwrap().step, Step::Begun);
}

#[test]
fn a_kill_at_any_stage_leaves_a_vault_that_works_and_the_next_one_goes_on() {
    for killed_after in 0..STAGES.len() {
        let yard = Yard::new();
        drop(one_run(&yard, "a"));
        delay(&one_run(&yard, "b"), "b");
        let mut checkpoints = yard.open();
        let plan = checkpoints.plan_gc(&[run("a")]).unwrap();
        for stage in &STAGES[..killed_after] {
            checkpoints.carry_out_stage(&plan, *stage).unwrap();
        }
        drop(checkpoints);
        let mut checkpoints = yard.open();
        is_whole(&checkpoints, &yard, "b");
        let goes = expired(
            &checkpoints.past_runs().unwrap(),
            Duration::ZERO,
            jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3),
        );
        let plan = checkpoints.plan_gc(&goes).unwrap();
        checkpoints.carry_out_gc(&plan).unwrap();
        is_whole(&checkpoints, &yard, "b");
        let left = (
            names(&checkpoints, "runs"),
            names(&checkpoints, "snapshots").len(),
            refs(&checkpoints, &yard).contains("/a/"),
        );
        assert_eq!(left, (vec!["b".to_owned()], 6, false), "{killed_after}");
        let again = checkpoints.plan_gc(&[]).unwrap();
        assert!(again.report.is_empty(), "{:?}", again.report);
    }
}

#[test]
fn packs_only_the_vault_holds_shrink_to_what_is_needed() {
    let yard = Yard::new();
    yard.git("checkout -q -b needed");
    yard.write("needed.txt", &noise(1, 200_000));
    yard.git("add -A");
    yard.git("commit -q -m needed");
    yard.git("checkout -q -b needless main");
    yard.write("needless.txt", &noise(2, 200_000));
    yard.git("add -A");
    yard.git("commit -q -m needless");
    yard.git("checkout -q main");
    yard.git("gc -q");
    drop(one_run(&yard, "a"));
    yard.git("branch -q -D needless");
    drop(one_run(&yard, "b"));
    let needed = yard.git("rev-parse needed");
    yard.git("branch -q -D needed");
    yard.git("reflog expire --expire=now --all");
    yard.git("gc -q --prune=now");

    let mut checkpoints = yard.open();
    let plan = checkpoints.plan_gc(&[run("a")]).unwrap();
    let StoreRow::Known { gone } = plan.report.store.clone() else {
        panic!("{:?}", plan.report.store);
    };
    assert!(gone.bytes > 100_000, "{gone:?}");
    let after = checkpoints.carry_out_gc(&plan).unwrap();
    let guess = plan.report.bytes_after;
    assert!(after.abs_diff(guess) < 50_000, "{after} for {guess}");
    is_whole(&checkpoints, &yard, "b");
    let store = format!(
        "--git-dir={}",
        checkpoints.repo.places.vault.store().display()
    );
    let tip = format!("{}:needed.txt", needed.trim());
    assert_eq!(yard.git_args(&[&store, "show", &tip]), noise(1, 200_000));
    assert_eq!(
        yard.git_args(&[&store, "fsck", "--no-dangling", "--connectivity-only"]),
        ""
    );

    // All that is left is what a git directory can be made of again.
    checkpoints.begin_run(&run("d"), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.sh("rm -rf .git; echo x > junk.txt");
    checkpoints.park_and_restore(setback(&attempt("1", 1), None));
    assert_eq!(yard.git("fsck --no-dangling"), "");
    assert_eq!(yard.git("log --format=%s"), "initial state\nfirst\n");
}

/// Text that does not compress well.
fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut text = String::new();
    while text.len() < length {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let _ = writeln!(text, "{state:016x}");
    }
    text
}

#[test]
fn an_open_run_keeps_its_own_and_the_last_finished() {
    let yard = Yard::new();
    drop(one_run(&yard, "a"));
    drop(one_run(&yard, "b"));
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run("d"), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("a.txt", "half done\n");
    drop(checkpoints);
    let mut checkpoints = yard.open();
    let past = checkpoints.past_runs().unwrap();
    let goes = expired(&past, Duration::ZERO, jiff::Timestamp::now());
    assert_eq!(goes, [run("a")]);
    let plan = checkpoints.plan_gc(&goes).unwrap();
    let left_alone = StoreRow::LeftAlone {
        reason: "a run is open".to_owned(),
    };
    assert_eq!(plan.report.store, left_alone);
    checkpoints.carry_out_gc(&plan).unwrap();
    is_whole(&checkpoints, &yard, "b");
    drop(checkpoints);
    let mut checkpoints = yard.open();
    let recovery = checkpoints.recover_run_now().unwrap().unwrap();
    assert_eq!(recovery.found, "attempt 1.1 was interrupted");
    assert_eq!(yard.read("a.txt"), "one\n");
}

#[test]
fn without_all_history_objects_are_left_alone() {
    let yard = Yard::new();
    yard.write("a.txt", "second\n");
    yard.git("commit -q -a -m second");
    let shallow = yard.repo.parent().unwrap().join("shallow");
    let from = format!("file://{}", yard.repo.display());
    yard.git_args(&[
        "clone",
        "-q",
        "--depth=1",
        &from,
        &shallow.display().to_string(),
    ]);
    let yard = Yard {
        repo: shallow,
        ..yard
    };
    drop(one_run(&yard, "a"));
    drop(one_run(&yard, "b"));
    yard.git("gc -q --prune=now");
    let mut checkpoints = yard.open();
    let plan = checkpoints.plan_gc(&[run("a")]).unwrap();
    assert!(
        matches!(&plan.report.store, StoreRow::LeftAlone { .. }),
        "{:?}",
        plan.report.store
    );
    checkpoints.carry_out_gc(&plan).unwrap();
    let lines = steps::read(&checkpoints.repo.places.vault.journal()).unwrap();
    assert!(lines.iter().all(|line| line.run == run("b")));
}

#[test]
fn a_snapshot_that_cannot_be_read_keeps_everything_it_might_need() {
    let yard = Yard::new();
    drop(one_run(&yard, "a"));
    let mut checkpoints = one_run(&yard, "b");
    let lines = steps::read(&checkpoints.repo.places.vault.journal()).unwrap();
    let last = lines
        .iter()
        .flat_map(|line| line.step.snapshots())
        .next_back();
    let folder = checkpoints.repo.places.vault.snapshot(last.unwrap());
    fs::write(folder.join("description"), "{").unwrap();
    let before = (
        names(&checkpoints, "snapshots"),
        files(&checkpoints.repo.places.vault.raw()),
    );
    let plan = checkpoints.plan_gc(&[run("a")]).unwrap();
    assert!(!plan.report.notes.is_empty());
    checkpoints.carry_out_gc(&plan).unwrap();
    let after = (
        names(&checkpoints, "snapshots"),
        files(&checkpoints.repo.places.vault.raw()),
    );
    assert_eq!(after, before);
    assert_eq!(names(&checkpoints, "runs"), ["b"]);
}
