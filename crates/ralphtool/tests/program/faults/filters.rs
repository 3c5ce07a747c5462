//! Filters and line endings, with which git's content differs from the user's bytes.

use pretty_assertions::assert_eq;

use crate::faults::{fails_without_a_trace, files_come_back, leaves_no_trace, prepared, shell};
use crate::sandbox::{GOOD, Sandbox, there};

#[test]
fn f09_line_ends_come_back_as_they_were() {
    let sandbox = prepared(
        "printf '* text=auto\\n*.crlf text eol=crlf\\n' > .gitattributes; printf 'a\\r\\nb\\r\\n' > w.crlf; printf 'a\\n' > u.txt
         git add -A; git commit -qm ends; git config core.autocrlf true; git config core.safecrlf true
         printf 'a\\r\\nb\\nmixed\\r\\n' > mixed.txt; printf 'x\\n' > w.crlf",
    );
    files_come_back(&sandbox, "echo x > mixed.txt; echo y > w.crlf; rm u.txt");
    assert_eq!(sandbox.read("mixed.txt"), "a\r\nb\nmixed\r\n");
    assert_eq!(sandbox.read("w.crlf"), "x\n");
    assert_eq!(sandbox.read("u.txt"), "a\n");
}

#[test]
fn f09_what_a_filter_drops_comes_back() {
    let sandbox = leaves_no_trace(
        "echo '*.nb filter=strip' > .gitattributes; git config filter.strip.clean 'grep -v output'
         printf 'code\\noutput\\n' > book.nb; git add -A; git commit -qm book; printf 'more\\noutput 2\\n' > book.nb",
        "echo agent > book.nb",
    );
    assert_eq!(sandbox.read("book.nb"), "more\noutput 2\n");
}

#[test]
fn f09_a_file_git_cannot_store_is_reported_and_kept() {
    for attributes in ["filter=gone", "text working-tree-encoding=UTF-16"] {
        let sandbox = prepared(&format!(
            "git config filter.gone.required true; git config filter.gone.clean 'no-such-program'
             echo '*.odd {attributes}' > .gitattributes; printf 'odd' > x.odd"
        ));
        fails_without_a_trace(&sandbox, "rm x.odd");
        assert_eq!(sandbox.read("x.odd"), "odd");
        let told = sandbox.warnings();
        assert!(told.iter().any(|it| it.contains("x.odd")), "{told:?}");
    }
}

#[test]
fn f09e_filters_and_attributes_of_the_agents_are_not_run() {
    let evil = "for what in clean smudge process; do git config filter.evil.$what \"touch $root/EVIL; cat\"; done
         git config diff.evil.textconv \"touch $root/EVIL; cat\"; git config diff.evil.command \"touch $root/EVIL\"
         git config core.fsmonitor \"touch $root/EVIL\"; git config core.sshCommand \"touch $root/EVIL\"
         git config diff.external \"touch $root/EVIL\"; git config core.pager \"touch $root/EVIL\"
         echo '*.txt filter=evil diff=evil' > .gitattributes; echo '*.txt filter=evil diff=evil' > .git/info/attributes
         echo x > a.txt; echo n > new.txt";
    let sandbox = leaves_no_trace("", evil);
    assert!(there(&sandbox.root.join("EVIL")).is_none());
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{evil}\n{GOOD}"));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert!(there(&sandbox.root.join("EVIL")).is_none());
    assert_eq!(sandbox.git("show HEAD:new.txt"), "n\n");
}

/// A stand-in for git-lfs: a pointer in git, the object in `.git/lfs`.
const LARGE_FILES: &str = r#"
    mkdir -p .git/lfs
    cat > $root/lfs <<'END'
if [ "$1" = clean ]; then
    cat > "$2/new"; id=$(git hash-object --no-filters "$2/new"); mv "$2/new" "$2/$id"; echo "pointer $id"
else
    read -r _ id; cat "$2/$id"
fi
END
    git config filter.lfs.clean "sh $root/lfs clean $PWD/.git/lfs"
    git config filter.lfs.smudge "sh $root/lfs smudge $PWD/.git/lfs"
    git config filter.lfs.required true
    echo '*.bin filter=lfs' > .gitattributes; echo large > large.bin
    git add -A; git commit -qm lfs; echo larger > edited.bin
"#;

#[test]
fn f10_large_files_come_back_though_their_objects_are_gone() {
    let sandbox = prepared(LARGE_FILES);
    assert!(sandbox.git("show HEAD:large.bin").starts_with("pointer "));
    files_come_back(
        &sandbox,
        "rm -f .git/lfs/*; rm large.bin; echo agent > edited.bin",
    );
    assert_eq!(sandbox.read("large.bin"), "large\n");
    assert_eq!(sandbox.read("edited.bin"), "larger\n");
}

#[test]
fn f09_a_run_begins_where_the_only_uncommitted_file_is_one_git_cannot_store() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.odd filter=gone\n");
    sandbox.git("config filter.gone.required true");
    sandbox.git("config filter.gone.clean no-such-program");
    sandbox.git("add -A");
    sandbox.git("commit -q -m attributes");
    sandbox.write("x.odd", "odd");
    let said = sandbox.run(&["loop", "c"]).ends_with(0).stdout;
    assert!(said.contains("git cannot store `x.odd`"), "{said}");
    assert_eq!(sandbox.read("x.odd"), "odd");
}

/// A tracked file whose filter fails from now on. Git compares it whenever it writes an index, because
/// it is newer than any.
const BROKEN_FILTER: &str = "
    echo 'data.bin filter=fake' > .gitattributes; echo data > data.bin; touch -d '+1 hour' data.bin
    git add -A; git commit -qm data
    git config filter.fake.clean false; git config filter.fake.required true";

const STATED: &str = "git cannot store `data.bin`: its filter `fake` failed: external filter \
                      'false' failed 1";

#[test]
fn f09_a_tracked_file_whose_filter_fails_does_not_keep_others_out_of_commits() {
    let sandbox = prepared(BROKEN_FILTER);
    sandbox.run(&["loop", "c"]).ends_with(0);
    let changed = |commit: &str| sandbox.git(&format!("show --format= --name-only {commit}"));
    let tasks = "openspec/changes/c/tasks.md\nstory-";
    assert_eq!(changed("ralph/c~1"), format!("{tasks}1.txt\n"));
    assert_eq!(changed("ralph/c"), format!("{tasks}2.txt\n"));
    assert_eq!(sandbox.git("show ralph/c:data.bin"), "data\n");
    assert_eq!(
        sandbox.warnings(),
        [format!(
            "not_committed: {STATED}; it is unchanged, so commits keep the version they have"
        )]
    );
    sandbox.run(&["rewind", "2"]).ends_with(0);
    assert!(!sandbox.exists("story-2.txt"));
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("story-1.txt"), "work\n");
    assert_eq!(sandbox.read("data.bin"), "data\n");
}

#[test]
fn f09_a_run_refuses_to_begin_with_an_edit_that_git_cannot_store() {
    let sandbox = prepared(BROKEN_FILTER);
    sandbox.write("data.bin", "edited\n");
    let hint = "repair the program of `filter.fake` in the git configuration, or discard the change \
                with `git -c filter.fake.required=false restore data.bin`; then start again";
    let refused = sandbox.run(&["loop", "c"]).ends_with(2);
    assert_eq!(
        refused.stderr,
        format!("error: there are changes that cannot be committed: {STATED}\n  hint: {hint}\n")
    );
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("data.bin"), "edited\n");
    let doctor = sandbox.run(&["doctor"]).ends_with(2).stdout;
    assert!(doctor.contains(STATED), "{doctor}");
    sandbox.git("-c filter.fake.required=false restore data.bin");
    sandbox.run(&["doctor"]).ends_with(0);
    sandbox.run(&["loop", "c"]).ends_with(0);
}

#[test]
fn f09_the_doctor_names_a_filter_whose_program_is_missing() {
    let sandbox = prepared(
        "echo 'data.bin filter=lfs' > .gitattributes; echo data > data.bin; git add -A; git commit -qm data
         git config filter.lfs.process 'git-lfs-of-a-test filter-process'
         git config filter.lfs.clean 'git-lfs-of-a-test clean'; git config filter.lfs.required true",
    );
    let doctor = sandbox.run(&["doctor"]).ends_with(0).stdout;
    let expected = "\
! filters        the git filter `lfs` cannot run: `git-lfs-of-a-test`: command not found
                 → install Git LFS: a story that changes a file like `data.bin` cannot be committed
";
    assert!(doctor.contains(expected), "{doctor}");
    sandbox.write(".gitattributes", "");
    let doctor = sandbox.run(&["doctor"]).ends_with(0).stdout;
    assert!(!doctor.contains("filters"), "{doctor}");
}

/// A filter whose program is a file that can be broken and repaired, and an agent that edits a file
/// that goes through it in its first story.
fn edited_by_the_agent() -> Sandbox {
    let sandbox = prepared(
        "echo cat > $root/filter; git config filter.fake.clean \"sh $root/filter\"
         git config filter.fake.required true; echo 'data.bin filter=fake' > .gitattributes
         echo data > data.bin; git add -A; git commit -qm data; echo exit 1 > $root/filter",
    );
    sandbox.agent(&format!("echo agent > data.bin\n{GOOD}"));
    let failed = sandbox.run(&["loop", "c"]).ends_with(4);
    assert!(
        failed.stdout.contains("git cannot store `data.bin`"),
        "{}",
        failed.stdout
    );
    assert_eq!(sandbox.commits(), ["initial state"]);
    assert_eq!(sandbox.read("data.bin"), "agent\n");
    sandbox
}

#[test]
fn f09_a_story_that_git_cannot_store_is_committed_once_the_filter_works() {
    let sandbox = edited_by_the_agent();
    shell(&sandbox, "echo cat > $root/filter");
    sandbox.run(&["resume"]).ends_with(0);
    let expected = ["initial state", "checkpoint: 1", "checkpoint: 2"];
    assert_eq!(sandbox.commits(), expected);
    assert_eq!(sandbox.git("show ralph/c~1:data.bin"), "agent\n");
}

#[test]
fn f09_a_story_that_git_still_cannot_store_is_parked() {
    let sandbox = edited_by_the_agent();
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("data.bin"), "data\n");
    assert_eq!(
        sandbox.failures(),
        ["1.1 interrupted: git cannot store `data.bin`: its filter `fake` failed: external filter \
          'sh ROOT/filter' failed 1"
            .replace("ROOT", &sandbox.root.display().to_string())]
    );
}
