//! What the user changes in the git directory while no agent works stays, whatever is restored.

use pretty_assertions::assert_eq;

use super::*;

/// A run of one story whose agent wrote a setting and a hook.
fn one_story(yard: &Yard) -> Vault {
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("made.txt", "made\n");
    yard.sh("git config agent.key 1; echo agent > .git/hooks/post-merge");
    checkpoints.save(&story("1")).unwrap();
    checkpoints
}

/// Adds a remote, what a branch follows, a key, a hook behind a link, a replaced commit and a stash
/// entry, and edits a key.
fn change_git(yard: &Yard) {
    let upstream = yard.state.parent().unwrap().join("upstream");
    yard.git_args(&["init", "-q", "--bare", upstream.to_str().unwrap()]);
    yard.git_args(&["remote", "add", "origin", upstream.to_str().unwrap()]);
    yard.git("push -q -u origin main:main");
    yard.git("push -q -u origin ralph/c");
    yard.git("config my.key 1");
    yard.git("config core.abbrev 9");
    yard.sh("ln -s ../../dir/b.txt .git/hooks/pre-push; echo mine >> .git/info/exclude");
    yard.sh("git replace -f main $(git commit-tree -m r main^{tree})");
    yard.write("a.txt", "stashed\n");
    yard.git("stash push -q -m mine");
}

/// What `change_git` changes, and what the agent had changed.
fn git_of(yard: &Yard) -> Vec<String> {
    let mut lines: Vec<String> = yard
        .git("config --local --list")
        .lines()
        .filter(|line| !line.starts_with("remote.origin.url"))
        .map(str::to_owned)
        .collect();
    lines.sort();
    let hook = yard.repo.join(".git/hooks/pre-push");
    lines.push(format!("{:?}", fs::read_link(hook).ok()));
    lines.push(format!(
        "agent's hook: {}",
        yard.repo.join(".git/hooks/post-merge").exists()
    ));
    lines.push(
        yard.read(".git/info/exclude")
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned(),
    );
    lines.push(yard.git("replace --list").lines().count().to_string());
    lines.push(yard.git("stash list --format=%gs").trim().to_owned());
    lines
}

/// The same lines without those of the agent.
fn without_agents(lines: &[String]) -> Vec<String> {
    let lines = lines.iter().filter(|line| *line != "agent.key=1");
    lines
        .map(|line| line.replace("hook: true", "hook: false"))
        .collect()
}

#[test]
fn abandon_leaves_what_the_user_changed_in_git_after_the_last_attempt() {
    let yard = Yard::new();
    let mut checkpoints = one_story(&yard);
    change_git(&yard);
    let before = git_of(&yard);
    assert!(before.contains(&"branch.ralph/c.remote=origin".to_owned()));
    checkpoints.finish(FinishChoice::Abandon).unwrap();
    assert_eq!(git_of(&yard), without_agents(&before));
    let undo = checkpoints.prepare_undo().unwrap();
    checkpoints.carry_out_undo(undo).unwrap();
    assert_eq!(git_of(&yard), before);
}

#[test]
fn abandon_does_not_bring_back_what_the_user_removed_from_git() {
    let yard = Yard::new();
    yard.git("remote add old /nowhere");
    yard.sh("echo old > .git/hooks/pre-push");
    yard.write("a.txt", "stashed\n");
    yard.git("stash push -q");
    let mut checkpoints = one_story(&yard);
    yard.git("remote remove old");
    yard.git("stash drop -q");
    fs::remove_file(yard.repo.join(".git/hooks/pre-push")).unwrap();
    let before = git_of(&yard);
    checkpoints.finish(FinishChoice::Abandon).unwrap();
    assert_eq!(git_of(&yard), without_agents(&before));
}

#[test]
fn a_rewind_leaves_what_the_user_changed_in_git_at_any_time_without_an_agent() {
    let yard = Yard::new();
    let mut checkpoints = one_story(&yard);
    yard.git("config between.key 1");
    drop(checkpoints);
    checkpoints = yard.open();
    checkpoints.resume().unwrap();
    checkpoints.attempt_started(&attempt("2", 1)).unwrap();
    yard.git("config agent.second 1");
    yard.write("second.txt", "second\n");
    checkpoints.save(&story("2")).unwrap();
    change_git(&yard);
    let before = git_of(&yard);
    let rewind = checkpoints.prepare_rewind(&story("2").id).unwrap();
    // While the user is asked.
    yard.git("config late.key 1");
    checkpoints.carry_out(rewind.prepared).unwrap();
    let mut expected = before;
    let my_key = expected.iter().position(|it| it.starts_with("my.key"));
    expected.insert(my_key.unwrap(), "late.key=1".to_owned());
    let with_agents = expected.clone();
    expected.retain(|line| line != "agent.second=1");
    assert_eq!(git_of(&yard), expected);
    let undo = checkpoints.prepare_undo().unwrap();
    checkpoints.carry_out_undo(undo).unwrap();
    assert_eq!(git_of(&yard), with_agents);
}

#[test]
fn other_ways_to_finish_and_the_next_run_leave_what_the_user_changed_in_git() {
    for choice in [
        FinishChoice::Cleanup,
        FinishChoice::Keep,
        FinishChoice::Squash,
        FinishChoice::Reword,
    ] {
        let yard = Yard::new();
        let mut checkpoints = one_story(&yard);
        change_git(&yard);
        let before = git_of(&yard);
        checkpoints.finish(choice).unwrap();
        assert_eq!(git_of(&yard), before, "{choice:?}");
        let undo = checkpoints.prepare_undo().unwrap();
        checkpoints.carry_out_undo(undo).unwrap();
        assert_eq!(git_of(&yard), before, "{choice:?}");
        checkpoints.finish(choice).unwrap();
        drop(checkpoints);
        let mut checkpoints = yard.open();
        let next = RunId("next-run".to_owned());
        checkpoints.begin_run(&next, "d").unwrap();
        checkpoints.attempt_started(&attempt("1", 1)).unwrap();
        yard.write("junk.txt", "junk\n");
        checkpoints.park_and_restore(setback(&attempt("1", 1), None));
        assert_eq!(git_of(&yard), before, "{choice:?}");
    }
}

#[test]
fn a_failed_attempt_leaves_what_the_user_changed_in_git_before_it() {
    let yard = Yard::new();
    let mut checkpoints = one_story(&yard);
    checkpoints.tree.invalidate_scan();
    change_git(&yard);
    let before = git_of(&yard);
    let meanwhile = checkpoints.include_user_changes().unwrap();
    let codes: Vec<_> = meanwhile.notices.iter().map(|it| it.code).collect();
    assert_eq!((meanwhile.changed, codes), (false, vec!["refs_changed"]));
    checkpoints.attempt_started(&attempt("2", 1)).unwrap();
    yard.sh("git config agent.second 1; rm .git/hooks/pre-push");
    checkpoints.park_and_restore(setback(&attempt("2", 1), None));
    assert_eq!(git_of(&yard), before);
    assert_eq!(
        yard.git("log --format=%s main.."),
        "checkpoint: 1\ninitial state\n"
    );
}
