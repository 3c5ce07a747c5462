//! What changes between two attempts belongs to the second one's start.

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn what_the_user_changes_between_attempts_survives_the_next_failed_one() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let first = attempt("1", 1);
    checkpoints.attempt_started(&first).unwrap();
    yard.write("a.txt", "spoilt\n");
    let reason = Some("it failed".to_owned());
    checkpoints.park_and_restore(setback(&first, reason.clone()));
    checkpoints.tree.invalidate_scan();
    let nothing = checkpoints.include_user_changes().unwrap();
    assert_eq!(nothing, Meanwhile::default());

    checkpoints.tree.invalidate_scan();
    yard.write("a.txt", "the user's\n");
    yard.write("staged.txt", "only staged\n");
    yard.git("add staged.txt");
    fs::remove_file(yard.repo.join("staged.txt")).unwrap();
    let meanwhile = checkpoints.include_user_changes().unwrap();
    assert!(meanwhile.changed);
    // The last attempt, which the next prompt mentions, is still recorded.
    let open = checkpoints.open_run().unwrap();
    let last = open.last_attempt.unwrap();
    assert_eq!(
        (last.attempt, last.retries_used, last.reason),
        (first, 1, reason)
    );
    // What was only staged is in the vault.
    let trash = files(&checkpoints.vault_folder().join("trash"));
    assert!(
        trash
            .keys()
            .any(|path| path.ends_with("-meanwhile/git/index")),
        "{trash:?}"
    );

    let before = yard.everything();
    let second = attempt("1", 2);
    checkpoints.attempt_started(&second).unwrap();
    yard.write("a.txt", "spoilt again\n");
    checkpoints.park_and_restore(setback(&second, None));
    assert_eq!(yard.everything(), before);
    assert_eq!(yard.read("a.txt"), "the user's\n");
    assert_eq!(yard.git("status --porcelain"), "");
}

#[test]
fn the_first_commit_of_a_process_that_goes_on_is_in_the_vault_too() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    drop(checkpoints);
    let mut checkpoints = yard.open();
    checkpoints.resume().unwrap();
    let first = attempt("1", 1);
    checkpoints.attempt_started(&first).unwrap();
    yard.write("a.txt", "done\n");
    let saved = checkpoints.save(&story("1")).unwrap();
    let store = checkpoints.vault_folder().join("store");
    let kind = yard.git(&format!(
        "--git-dir={} cat-file -t {}",
        store.display(),
        saved.commit
    ));
    assert_eq!(kind.trim(), "commit");
}
