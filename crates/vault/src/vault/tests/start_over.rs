//! What an abandon leads to after the run before was left to start over.

use pretty_assertions::assert_eq;

use super::*;

/// A run that has done its story, and was left to start over.
fn left(yard: &Yard) -> Vault {
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("a.txt", "by the agent\n");
    checkpoints.save(&story("1")).unwrap();
    let prepared = checkpoints.prepare_start_over().unwrap();
    checkpoints.carry_out_start_over(prepared).unwrap();
    checkpoints
}

/// HEAD and a file, after a next run was begun and abandoned.
fn after_the_next(yard: &Yard, mut checkpoints: Vault) -> (String, String) {
    let next = RunId("next-run".to_owned());
    checkpoints.begin_run(&next, "c").unwrap();
    checkpoints.finish(FinishChoice::Abandon).unwrap();
    let file = fs::read_to_string(yard.repo.join("a.txt")).unwrap();
    (yard.git("symbolic-ref --short HEAD"), file)
}

#[test]
fn an_abandon_leads_back_to_the_run_that_was_left() {
    let yard = Yard::new();
    let checkpoints = left(&yard);
    let back = ("ralph/c\n".to_owned(), "by the agent\n".to_owned());
    assert_eq!(after_the_next(&yard, checkpoints), back);

    // A build in between is no change of the user's.
    let yard = Yard::new();
    let checkpoints = left(&yard);
    yard.write("target/cache", "cache\n");
    assert_eq!(after_the_next(&yard, checkpoints), back);
}

#[test]
fn an_abandon_does_not_revert_what_the_user_changed_in_between() {
    let yard = Yard::new();
    let checkpoints = left(&yard);
    yard.write("a.txt", "by the user\n");
    let here = ("main\n".to_owned(), "by the user\n".to_owned());
    assert_eq!(after_the_next(&yard, checkpoints), here);

    let yard = Yard::new();
    let checkpoints = left(&yard);
    yard.git("switch -q -c topic");
    let (head, _) = after_the_next(&yard, checkpoints);
    assert_eq!(head, "topic\n");
}
