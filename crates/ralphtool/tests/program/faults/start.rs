//! Repositories a run begins in, and those it refuses.

use pretty_assertions::assert_eq;

use crate::faults::{fails_without_a_trace, goes_home, leaves_no_trace, prepared, store};
use crate::sandbox::{GOOD, Sandbox, everything};

/// Refused with exit code 2 and this message; nothing in the repository is touched.
#[track_caller]
fn refused(sandbox: &Sandbox, words: &str) {
    let before = everything(&sandbox.repo);
    let output = sandbox.run(&["loop", "c"]).ends_with(2);
    assert!(output.stderr.contains(words), "{}", output.stderr);
    assert_eq!(everything(&sandbox.repo), before);
}

#[test]
fn f15a_a_detached_head_comes_back_after_a_failure_and_a_cleanup() {
    let sandbox = prepared("git checkout -q --detach; echo mine > mine.txt");
    let head = sandbox.git("rev-parse HEAD");
    fails_without_a_trace(&sandbox, "git checkout -q --detach main");
    sandbox.agent(GOOD);
    goes_home(&sandbox);
    assert_eq!(sandbox.read(".git/HEAD"), head);
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
}

#[test]
fn f15b_an_unborn_branch_is_unborn_again_after_a_cleanup() {
    let sandbox =
        prepared("git update-ref -d HEAD; git rm -rq --cached .; echo staged > s; git add s");
    sandbox.agent(&format!("[ $RALPHTOOL_STORY.$attempt != 1.1 ] || {{ rm s; git commit -qam x; failed no; exit; }}\n{GOOD}"));
    goes_home(&sandbox);
    assert_eq!(sandbox.read(".git/HEAD"), "ref: refs/heads/main\n");
    assert_eq!(sandbox.git("for-each-ref"), "");
    assert_eq!(sandbox.git("ls-files"), "s\n");
}

#[test]
fn f15d_a_branch_of_an_earlier_run_is_kept_in_the_vault_whatever_git_collects() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let old = sandbox.git("rev-parse ralph/c");
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    sandbox.git("reflog expire --expire=now --all");
    sandbox.git("gc -q --prune=now");
    let kept = store(&sandbox, "for-each-ref --format=%(objectname)");
    assert!(kept.contains(old.trim()), "{kept}");
    assert_eq!(
        store(&sandbox, &format!("show {}:story-2.txt", old.trim())),
        "work\n"
    );
}

#[test]
fn f15e_cleanup_of_a_run_on_a_kept_runs_branch_returns_to_where_that_run_began() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/c");
    goes_home(&sandbox);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("story-1.txt"), "work\n");
}

#[test]
fn f15g_cleanup_loses_nothing_if_another_work_tree_has_the_original_branch() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY != 2 ] || git worktree add -q $root/other main\n{GOOD}"
    ));
    let output = sandbox.run(&["loop", "c", "--on-finish", "cleanup"]);
    assert!(output.code == 0 || output.code == 4, "{}", output.stdout);
    assert_eq!(sandbox.read("story-1.txt"), "work\n");
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    assert_eq!(
        sandbox.git("-C ../other status --porcelain --branch"),
        "## main\n"
    );
}

#[test]
fn f15i_a_shallow_clone_works() {
    let sandbox = prepared(
        "git commit -q --allow-empty -m second; cd $root; mv repo origin; git clone -q --depth 1 file://$root/origin repo",
    );
    fails_without_a_trace(&sandbox, "git commit -qam x --allow-empty; rm a.txt");
    sandbox.agent(GOOD);
    goes_home(&sandbox);
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
}

#[test]
fn f15i_a_partial_clone_without_its_origin_works() {
    let sandbox = prepared(
        "echo old > old.txt; git add -A; git commit -qm old; git rm -q old.txt; git commit -qm gone
         git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true
         cd $root; mv repo origin; git clone -q --filter=blob:none file://$root/origin repo; mv origin away",
    );
    sandbox.agent(&format!("[ $RALPHTOOL_STORY.$attempt != 1.1 ] || {{ rm a.txt; git add -A; git commit -qm x; failed no; exit; }}\n{GOOD}"));
    goes_home(&sandbox);
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn f15j_a_sparse_checkout_with_files_outside_its_cone_works() {
    let before = "git sparse-checkout set --cone openspec; mkdir -p dir; echo outside > dir/b.txt; echo new > dir/new.txt";
    let sandbox = leaves_no_trace(before, "rm -r dir; echo x > a.txt");
    assert_eq!(sandbox.read("dir/b.txt"), "outside\n");
    assert_eq!(sandbox.git("show ralph/c:dir/new.txt"), "new\n");
    let sandbox = prepared(before);
    let sparse = sandbox.git("sparse-checkout list");
    goes_home(&sandbox);
    assert_eq!(sandbox.read("dir/b.txt"), "outside\n");
    assert_eq!(sandbox.git("sparse-checkout list"), sparse);
}

#[test]
fn f15k_a_split_index_works_after_its_shared_part_is_removed() {
    let sandbox =
        prepared("git update-index --split-index; echo staged > s; git add s; echo more > s");
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY.$attempt = 1.1 ]; then rm -f .git/sharedindex.*; rm a.txt; failed no; exit; fi\n{GOOD}"
    ));
    goes_home(&sandbox);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(sandbox.git("show :s"), "staged\n");
    assert_eq!(sandbox.read("s"), "more\n");
}

const CONFLICT: &str =
    "git checkout -q -b side; echo side > a.txt; git commit -qam side; git checkout -q main
    echo ours > a.txt; git commit -qam ours";

#[test]
fn f15l_a_merge_in_progress_is_refused_even_with_all_conflicts_resolved() {
    let sandbox = prepared(&format!(
        "{CONFLICT}; git merge -q side || true; echo both > a.txt; git add a.txt"
    ));
    refused(&sandbox, "a merge is in progress");
    assert!(sandbox.exists(".git/MERGE_HEAD"));
}

#[test]
fn f15m_a_rebase_or_bisect_in_progress_is_refused() {
    refused(
        &prepared(&format!("{CONFLICT}; git rebase -q side || true")),
        "a rebase is in progress",
    );
    refused(
        &prepared("git bisect start; git bisect bad"),
        "a bisect is in progress",
    );
}

#[test]
fn f15q_a_cherry_pick_or_revert_in_progress_is_refused() {
    refused(
        &prepared(&format!("{CONFLICT}; git cherry-pick side || true")),
        "a cherry-pick is in progress",
    );
    let two = "echo 2 > a.txt; git commit -qam 2; echo 3 > a.txt; git commit -qam 3; git revert --no-edit HEAD~1 || true";
    refused(&prepared(two), "a revert is in progress");
}

#[test]
fn f15n_a_start_in_a_subfolder_works_on_the_whole_tree() {
    let sandbox = prepared("echo mine > mine.txt");
    let folder = sandbox.repo.join("dir").display().to_string();
    sandbox.agent("cp -a . $root/at-checkpoint; echo junk > junk.txt; rm mine.txt; echo x > dir/b.txt; failed no");
    sandbox
        .run(&["-C", &folder, "loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let before = everything(&sandbox.root.join("at-checkpoint"));
    assert_eq!(everything(&sandbox.repo), before);
}
