//! Merges that only answer a question leave no trace, and run nothing.

use pretty_assertions::assert_eq;

use super::*;
use crate::operations::standing::RunPlace;

/// The names of all files of objects.
fn objects(yard: &Yard) -> Vec<String> {
    let names = files(&yard.repo.join(".git/objects")).into_keys();
    names.collect()
}

/// A merge driver and a filter that leave a trace, for all files; and conflicting work on `main`.
fn spy_on_merges(yard: &Yard) -> PathBuf {
    let trace = yard.state.parent().unwrap().join("ran");
    let line = format!("touch {}; cat", trace.display());
    yard.git_args(&[
        "config",
        "merge.spy.driver",
        &format!("{line} %A >/dev/null"),
    ]);
    yard.git_args(&["config", "filter.spy.clean", &line]);
    yard.git_args(&["config", "filter.spy.smudge", &line]);
    yard.git("config merge.renormalize true");
    yard.write(".git/info/attributes", "* merge=spy filter=spy\n");
    trace
}

/// A run that changed a line of a file in which `main` has that change and another one.
fn taken_over(yard: &Yard) -> Vault {
    let text = |first: &str, last: &str| format!("{first}\n{}{last}\n", "same\n".repeat(20));
    yard.write("a.txt", &text("one", "two"));
    yard.git("commit -qam longer");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("a.txt", &text("by the agent", "two"));
    checkpoints.save(&story("1")).unwrap();
    checkpoints.finish(FinishChoice::Keep).unwrap();
    yard.git("switch -q main");
    yard.write("a.txt", &text("by the agent", "by the user"));
    yard.git("commit -qam over");
    checkpoints
}

#[test]
fn whether_work_was_taken_over_is_asked_without_objects_drivers_and_filters() {
    let yard = Yard::new();
    let checkpoints = taken_over(&yard);
    let trace = spy_on_merges(&yard);
    let before = objects(&yard);
    let standing = checkpoints.standing(|_| false).unwrap().unwrap();
    assert_eq!(standing.place, RunPlace::TakenOver);
    checkpoints.preflight(&branch_c()).unwrap();
    assert_eq!(objects(&yard), before);
    assert!(!trace.exists());
}

#[test]
fn whether_work_was_taken_over_is_known_in_a_shallow_linked_work_tree_of_sha256() {
    let yard = Yard::new();
    fs::remove_dir_all(yard.repo.join(".git")).unwrap();
    yard.git("init -q -b main --object-format=sha256");
    yard.git("add -A");
    yard.git("commit -q -m first");
    yard.write("a.txt", "second\n");
    yard.git("commit -qam second");
    let clone = yard.state.parent().unwrap().join("clone");
    let from = format!("file://{}", yard.repo.display());
    yard.git_args(&["clone", "-q", "--depth=1", &from, clone.to_str().unwrap()]);
    let linked = yard.state.parent().unwrap().join("linked");
    let clone = clone.to_str().unwrap();
    let linked = linked.to_str().unwrap();
    yard.git_args(&["-C", clone, "switch", "-q", "--detach"]);
    yard.git_args(&["-C", clone, "worktree", "add", "-q", linked, "main"]);
    let yard = Yard {
        repo: PathBuf::from(linked),
        ..yard
    };
    let checkpoints = taken_over(&yard);
    let standing = checkpoints.standing(|_| false).unwrap().unwrap();
    assert_eq!(standing.place, RunPlace::TakenOver);
}

#[test]
fn a_cleanup_onto_a_branch_that_moved_on_leaves_the_repositorys_objects_and_runs_no_new_driver() {
    let yard = Yard::new();
    let mut checkpoints = taken_over(&yard);
    yard.git("switch -q ralph/c");
    checkpoints.reopen().unwrap();
    let trace = spy_on_merges(&yard);
    let before = objects(&yard);
    let template = crate::commit_message::MessageTemplate::default();
    let prepared = checkpoints.prepare_finish(FinishChoice::Cleanup, &template);
    let prepared = prepared.unwrap();
    assert_eq!(objects(&yard), before);
    checkpoints.carry_out_finish(prepared).unwrap();
    assert!(!trace.exists());
    assert_eq!(yard.git("symbolic-ref HEAD"), "refs/heads/main\n");
    yard.sh(": > .git/info/attributes");
    assert_eq!(yard.git("status --porcelain"), "");
}
