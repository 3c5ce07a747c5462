//! `ralphtool new`, and what is said where there is no plan.

use std::fs;

use indoc::indoc;
use pretty_assertions::assert_eq;

use crate::sandbox::{Sandbox, files};

/// An empty repository, without any plan.
fn empty() -> Sandbox {
    let sandbox = Sandbox::bare_folder();
    sandbox.git("init -q -b main --template=");
    sandbox
}

#[test]
fn new_writes_a_change_that_the_other_commands_accept_and_says_what_to_do_with_it() {
    let sandbox = empty();
    let told = sandbox.run(&["new", "add-retry"]).ends_with(0);
    assert_eq!(
        told.stdout,
        indoc! {"
            wrote openspec/changes/add-retry

            edit: replace each TODO
              openspec/changes/add-retry/proposal.md              why, and what changes
              openspec/changes/add-retry/specs/add-retry/spec.md  what the program does when it is done, as scenarios
              openspec/changes/add-retry/tasks.md                 the stories: each becomes one commit

            next
              ralphtool show add-retry  the stories, as ralphtool reads them
              ralphtool init            writes `ralphtool.toml`, with your tests as gates
              ralphtool run add-retry   works through it, one commit per story
        "}
    );
    let listed = sandbox.run(&["list"]).ends_with(0);
    assert!(listed.stdout.contains("add-retry"), "{}", listed.stdout);
    let shown = sandbox.run(&["show", "add-retry"]).ends_with(0);
    assert!(shown.stdout.contains("0 of 2 stories"), "{}", shown.stdout);
    assert_eq!(
        shown.stderr,
        "warning: `proposal.md`, `specs/add-retry/spec.md` and `tasks.md` are still from the \
         template: replace each TODO\n"
    );
    fill(
        &sandbox,
        &["proposal.md", "specs/add-retry/spec.md", "tasks.md"],
    );
    let shown = sandbox.run(&["show", "add-retry"]).ends_with(0);
    assert_eq!(shown.stderr, "");
}

/// Replaces each TODO of these files of the change `add-retry`.
fn fill(sandbox: &Sandbox, files: &[&str]) {
    for file in files {
        let path = format!("openspec/changes/add-retry/{file}");
        let text = sandbox.read(&path).replace("TODO: ", "");
        sandbox.write(&path, &text);
    }
}

/// A repository with an agent, and a change that was just written.
fn with_new_change() -> Sandbox {
    let sandbox = empty();
    sandbox.write("a.txt", "one\n");
    sandbox.config("");
    sandbox.git("add -A");
    sandbox.git("commit -q -m first");
    sandbox.agent(crate::sandbox::GOOD);
    sandbox.run(&["new", "add-retry"]).ends_with(0);
    sandbox
}

#[test]
fn a_change_that_is_still_the_template_is_refused_with_what_to_edit() {
    let sandbox = with_new_change();
    let said = indoc! {"
        error: story 1 of `add-retry` is still from the template: its tasks say TODO
          hint: edit `openspec/changes/add-retry/tasks.md`: replace each TODO with what to build, or delete the story
    "};
    for args in [
        &["run", "add-retry"][..],
        &["run"],
        &["run", "add-retry", "--dry-run"],
        &["run", "add-retry", "--story", "2"],
    ] {
        let refused = sandbox.run(args).ends_with(2);
        let said = if args.contains(&"--story") {
            said.replace("story 1", "story 2")
        } else {
            said.to_owned()
        };
        assert_eq!(
            (refused.stderr, refused.stdout),
            (said, String::new()),
            "{args:?}"
        );
    }
    assert_eq!(sandbox.git("branch --format=%(refname:short)"), "main\n");
    let listed = sandbox.run(&["list"]).ends_with(0).stdout;
    assert!(
        listed.contains("template") && !listed.contains("ready"),
        "{listed}"
    );
}

#[test]
fn a_new_change_can_be_run_once_its_tasks_say_what_to_build() {
    let sandbox = with_new_change();
    fill(&sandbox, &["tasks.md"]);
    let warning = "`proposal.md` and `specs/add-retry/spec.md` are still from the template: \
                   replace each TODO";
    let planned = sandbox.run(&["run", "--dry-run"]).ends_with(0);
    assert_eq!(planned.stderr, format!("warning: {warning}\n"));
    let prompt = sandbox.run(&["prompt", "add-retry"]).ends_with(0).stdout;
    assert!(!prompt.contains("TODO"), "{prompt}");
    let told = sandbox.run(&["run"]).ends_with(0).stdout;
    assert!(told.contains(&format!("warning: {warning}")), "{told}");
    let (_, closing) = told.split_once("all stories are done").unwrap();
    assert!(closing.contains(&format!("! {warning}")), "{closing}");
    let log = sandbox.git("log --format=%s main..ralph/add-retry");
    assert!(log.contains("checkpoint: 2\ncheckpoint: 1\n"), "{log}");
}

#[test]
fn new_overwrites_nothing_and_refuses_names_that_other_tools_refuse() {
    let sandbox = empty();
    sandbox.run(&["new", "add-retry"]).ends_with(0);
    fs::write(
        sandbox.repo.join("openspec/changes/add-retry/tasks.md"),
        "mine\n",
    )
    .unwrap();
    let before = files(&sandbox.repo);
    let again = sandbox.run(&["new", "add-retry"]).ends_with(2);
    assert!(
        again.stderr.contains("already exists; nothing was written"),
        "{}",
        again.stderr
    );
    let refused = sandbox.run(&["new", "Add Retry"]).ends_with(2);
    assert_eq!(
        refused.stderr,
        indoc! {"
            error: `Add Retry` cannot be the name of a new change: use lowercase letters and digits, in words joined by single hyphens
              hint: try `ralphtool new add-retry`
        "}
    );
    assert_eq!(files(&sandbox.repo), before);
}

#[test]
fn without_any_plan_the_three_ways_to_one_are_said_once() {
    let sandbox = empty();
    let listed = sandbox.run(&["list"]).ends_with(0);
    let repo = sandbox.repo.display();
    assert_eq!(
        listed.stdout,
        format!(
            indoc! {"
                found no plan in `{}`

                start with one of these
                  ralphtool new NAME       writes a small change from a template
                  ralphtool run ./TODO.md  runs a checklist or a `prd.json` of yours
                  ralphtool demo           shows how it works, on a temporary repository
            "},
            repo
        )
    );
    assert_eq!(sandbox.run(&[]).ends_with(0).stdout, listed.stdout);
    assert_eq!(sandbox.run(&["list", "--json"]).ends_with(0).stdout, "[]\n");
    let refused = sandbox.run(&["loop"]).ends_with(2);
    assert_eq!(
        refused.stderr,
        format!(
            indoc! {"
                error: found no plan in `{}` or above
                  hint: `ralphtool new NAME` writes a small one, `ralphtool run ./TODO.md` runs a checklist, and `ralphtool demo` shows how it works
            "},
            repo
        )
    );
}
