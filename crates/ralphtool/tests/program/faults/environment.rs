//! Git's variables in the environment ralphtool is started in.

use pretty_assertions::assert_eq;

use crate::faults::prepared;
use crate::sandbox::{Sandbox, everything, there};

#[track_caller]
fn works_with(variables: &[(&str, &str)]) -> Sandbox {
    let sandbox = prepared("echo mine > mine.txt");
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["loop", "c", "--on-finish", "cleanup"])
        .envs(variables.iter().copied());
    sandbox.start_command(command).end().ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    assert_eq!(
        sandbox.git("status --porcelain"),
        " M openspec/changes/c/tasks.md\n?? mine.txt\n?? story-1.txt\n?? story-2.txt\n"
    );
    sandbox
}

#[test]
fn f17_another_index_or_object_directory_in_the_environment_is_not_used() {
    let sandbox = works_with(&[
        ("GIT_INDEX_FILE", "../other-index"),
        ("GIT_OBJECT_DIRECTORY", "../other-objects"),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "/nowhere"),
        ("GIT_NAMESPACE", "other"),
    ]);
    assert!(there(&sandbox.root.join("other-index")).is_none());
    assert!(there(&sandbox.root.join("other-objects")).is_none());
}

#[test]
fn f17_dates_pathspecs_and_configuration_in_the_environment_do_not_matter() {
    works_with(&[
        ("GIT_AUTHOR_DATE", "no date"),
        ("GIT_COMMITTER_DATE", "no date"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_ICASE_PATHSPECS", "1"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.bare"),
        ("GIT_CONFIG_VALUE_0", "true"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_DIFF_OPTS", "--unified=0"),
        ("GIT_EDITOR", "false"),
        ("LC_ALL", "de_DE.UTF-8"),
    ]);
}

#[test]
fn f17_a_start_from_within_a_hook_is_refused() {
    let sandbox = prepared("echo mine > mine.txt");
    let before = everything(&sandbox.repo);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["loop", "c"])
        .env("GIT_INDEX_FILE", ".git/index")
        .env("GIT_PREFIX", "");
    let output = sandbox.start_command(command).end().ends_with(2);
    assert!(output.stderr.contains("git hook"), "{}", output.stderr);
    assert_eq!(everything(&sandbox.repo), before);
}
