//! Repositories inside the repository.

use pretty_assertions::assert_eq;

use crate::faults::{fails_without_a_trace, is_saved, leaves_no_trace, prepared};

/// A repository in the folder `inner` with a commit, an edit and an untracked file.
const INNER: &str =
    "git init -q inner; echo c > inner/c; git -C inner add c; git -C inner commit -qm inner
    echo edited > inner/c; echo mine > inner/untracked";

#[test]
fn f12a_a_story_whose_output_is_a_repository_is_saved_whole() {
    let sandbox = is_saved("", INNER);
    assert_eq!(
        sandbox.warnings(),
        ["own_repository: nested repositories, kept in the tree but not in the commit: `inner`"]
    );
    assert_eq!(sandbox.read("inner/c"), "edited\n");
    assert_eq!(sandbox.git("-C inner log --format=%s"), "inner\n");
}

#[test]
fn f12b_a_story_that_makes_an_empty_repository_is_saved() {
    let sandbox = is_saved("", "git init -q inner; echo made > made.txt");
    assert_eq!(sandbox.git("show HEAD:made.txt"), "made\n");
    assert!(sandbox.exists("inner/.git/HEAD"));
}

#[test]
fn f12c_a_repository_a_failed_attempt_makes_is_removed() {
    leaves_no_trace("", INNER);
    leaves_no_trace("", "git init -q inner; git init -q dir/deep");
}

#[test]
fn f12d_the_users_own_inner_repository_is_not_touched() {
    let sandbox = leaves_no_trace(INNER, "echo junk > junk.txt");
    assert_eq!(sandbox.read("inner/untracked"), "mine\n");
}

#[test]
fn f12e_what_an_attempt_does_in_the_users_inner_repository_is_undone() {
    let sandbox = leaves_no_trace(
        INNER,
        "cd inner; echo agent > c; rm untracked; git add -A; git commit -qm agent; git branch side; cd ..",
    );
    assert_eq!(sandbox.read("inner/c"), "edited\n");
    assert_eq!(sandbox.git("-C inner log --format=%s"), "inner\n");
}

#[test]
fn f12f_an_inner_repository_an_attempt_removes_comes_back() {
    let sandbox = leaves_no_trace(INNER, "rm -rf inner");
    assert_eq!(sandbox.git("-C inner log --format=%s"), "inner\n");
    let sandbox = leaves_no_trace(INNER, "rm -rf inner/.git");
    assert_eq!(
        sandbox.git("-C inner status --porcelain"),
        " M c\n?? untracked\n"
    );
}

#[test]
fn f12g_a_repository_made_in_a_tracked_folder_hides_nothing() {
    leaves_no_trace("", "git init -q dir; echo x > dir/b.txt");
    let sandbox = is_saved("", "git init -q dir; echo made > dir/b.txt; echo n > dir/n");
    assert_eq!(sandbox.git("show HEAD:dir/b.txt"), "made\n");
    assert_eq!(sandbox.git("show HEAD:dir/n"), "n\n");
}

#[test]
fn f12h_an_ignored_inner_repository_comes_back() {
    let sandbox = leaves_no_trace(
        &format!("{INNER}; echo inner >> .gitignore"),
        "rm inner/untracked; echo agent > inner/c",
    );
    assert_eq!(sandbox.read("inner/untracked"), "mine\n");
}

#[test]
fn f12i_a_work_tree_of_the_repository_inside_itself_is_left_alone() {
    let sandbox = prepared("git worktree add -q inner -b side; echo mine > inner/mine");
    fails_without_a_trace(&sandbox, "echo junk > junk.txt");
    assert_eq!(sandbox.read("inner/mine"), "mine\n");
    assert_eq!(sandbox.git("-C inner symbolic-ref --short HEAD"), "side\n");
}
