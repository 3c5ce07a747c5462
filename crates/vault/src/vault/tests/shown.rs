//! Diffs to look at change nothing and run nothing.

use pretty_assertions::assert_eq;

use super::*;
use crate::diff::shown::Diffs;
use crate::diff::{Diff, FileDiff};

fn diffs(checkpoints: &Vault) -> Diffs {
    Diffs::new(checkpoints.repository().clone(), checkpoints.vault_folder())
}

fn head(yard: &Yard) -> String {
    yard.git("rev-parse HEAD").trim().to_owned()
}

/// One line a file.
fn short(diff: &Diff) -> Vec<String> {
    let line = |file: &FileDiff| {
        let letter = file.status.letter();
        format!("{letter} {} +{} -{}", file.path, file.added, file.removed)
    };
    diff.files.iter().map(line).collect()
}

fn listed(files: &[FileDiff]) -> Vec<String> {
    let line = |file: &FileDiff| {
        let counts = if file.binary {
            "+? -?".to_owned()
        } else {
            format!("+{} -{}", file.added, file.removed)
        };
        format!("{} {} {counts}", file.status.letter(), file.path)
    };
    files.iter().map(line).collect()
}

/// Everything in the git directory, byte for byte.
fn git_directory(yard: &Yard) -> BTreeMap<String, String> {
    files(&yard.repo.join(".git"))
}

#[test]
fn the_live_diff_shows_the_tree_and_touches_nothing() {
    let yard = Yard::new();
    yard.write("moved.txt", &"a line\n".repeat(20));
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    let (base, diffs) = (head(&yard), diffs(&checkpoints));
    assert_eq!(short(&diffs.live(&base).unwrap()), Vec::<String>::new());

    yard.sh("echo more >> a.txt; rm dir/b.txt; mv moved.txt away.txt; mkdir n; printf 'x\\ny\\n' > n/new.txt");
    yard.sh("echo s > staged.txt; git add staged.txt; echo SECRET=1 > .env.local; echo x > x.log");
    yard.sh("printf x > 'new\nline'; printf x > ':(top)x'; printf x > '*'; git init -q nested; touch .git/index.lock");
    let before = (git_directory(&yard), files(&yard.repo));
    let want = [
        "A * +1 -0",
        "A :(top)x +1 -0",
        "M a.txt +1 -0",
        "R away.txt +0 -0",
        "D dir/b.txt +0 -1",
        "A n/new.txt +2 -0",
        "A new\nline +1 -0",
        "A staged.txt +1 -0",
    ];
    assert_eq!(short(&diffs.live(&base).unwrap()), want);
    assert_eq!((git_directory(&yard), files(&yard.repo)), before);

    yard.sh("rm -r n '*' ':(top)x' 'new\nline' staged.txt; mv away.txt moved.txt; git checkout -q dir 2>&1 || true");
    yard.write("dir/b.txt", "two\n");
    assert_eq!(short(&diffs.live(&base).unwrap()), ["M a.txt +1 -0"]);
    let shown = checkpoints.vault_folder().join("shown");
    assert_eq!(fs::read_dir(&shown).unwrap().count(), 1);
    drop(diffs);
    assert_eq!(fs::read_dir(&shown).unwrap().count(), 0);
}

#[test]
fn nothing_an_agent_configured_is_run() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let base = head(&yard);
    for key in [
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.command",
        "diff.evil.textconv",
        "diff.external",
        "core.fsmonitor",
    ] {
        yard.git_args(&["config", key, "touch EVIL; cat"]);
    }
    yard.write(".gitattributes", "*.txt filter=evil diff=evil\n");
    yard.write("a.txt", "changed\n");
    yard.write("new.txt", "new\n");
    let diffs = diffs(&checkpoints);
    let want = ["A .gitattributes +1 -0", "M a.txt +1 -1", "A new.txt +1 -0"];
    assert_eq!(short(&diffs.live(&base).unwrap()), want);
    let first = yard.git("rev-parse main").trim().to_owned();
    diffs.between(&first, &base).unwrap();
    assert!(!yard.repo.join("EVIL").exists());
}

#[test]
fn a_git_directory_that_was_removed_is_not_needed() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    let (base, diffs) = (head(&yard), diffs(&checkpoints));
    yard.sh("rm -rf .git; echo more >> a.txt");
    assert_eq!(short(&diffs.live(&base).unwrap()), ["M a.txt +1 -0"]);
}

#[test]
fn stories_and_parked_attempts_have_diffs() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let (base, diffs) = (head(&yard), diffs(&checkpoints));
    let first = attempt("1", 1);
    checkpoints.attempt_started(&first).unwrap();
    yard.write("a.txt", "spoilt\n");
    let (tree, _) = checkpoints.park(setback(&first, None)).unwrap();
    checkpoints.restore(&tree.scanned, tree.git).unwrap();
    let folder = checkpoints.attempt_folder(&run_id(), &first);
    // Before its diff is written, and after.
    for is_written in [false, true] {
        assert_eq!(folder.join("changes.diff").exists(), is_written);
        let diff = diffs.parked(&folder).unwrap();
        assert_eq!(short(&diff), ["M a.txt +1 -1"]);
        checkpoints.end_diff();
    }
    checkpoints.settle_restore().unwrap();
    assert_eq!(diffs.parked(&yard.repo).unwrap(), Diff::default());

    yard.write("done.txt", "done\n");
    yard.write("picture", "\0\0");
    fs::remove_file(yard.repo.join("dir/b.txt")).unwrap();
    checkpoints.save(&story("1")).unwrap();
    let done = head(&yard);
    let want = ["D dir/b.txt +0 -1", "A done.txt +1 -0", "A picture +0 -0"];
    assert_eq!(short(&diffs.between(&base, &done).unwrap()), want);
    let want = ["D dir/b.txt +0 -1", "A done.txt +1 -0", "A picture +? -?"];
    assert_eq!(listed(&diffs.changed_files(&base, &done).unwrap()), want);
    // The next attempt is looked at against the next checkpoint.
    yard.write("a.txt", "again\n");
    assert_eq!(short(&diffs.live(&done).unwrap()), ["M a.txt +1 -1"]);
    assert_eq!(short(&diffs.live(&base).unwrap()).len(), 4);
    assert!(diffs.live("--output=x").is_err());
    assert!(diffs.between(&base, "HEAD").is_err());
}

#[test]
fn too_many_new_files_are_counted() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.sh("mkdir many; cd many; i=0; while [ $i -lt 2003 ]; do : > $i; i=$((i+1)); done");
    let diff = diffs(&checkpoints).live(&head(&yard)).unwrap();
    assert_eq!(diff.files.len(), 2000);
    assert_eq!(diff.cut.map(|cut| cut.new_files), Some(3));
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are what it is for")]
#[ignore = "makes 50,000 files and measures; run it alone"]
fn a_live_diff_of_many_files_is_quick() {
    let yard = Yard::new();
    for number in 0..50_000 {
        yard.write(&format!("d{}/f{number}", number % 500), "some text\n");
    }
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let (base, diffs) = (head(&yard), diffs(&checkpoints));
    for round in 0..4 {
        for number in 0..20 {
            yard.write(
                &format!("d{number}/f{number}"),
                &format!("changed {round}\n"),
            );
            yard.write(&format!("d{number}/new"), "new\n");
        }
        let begun = std::time::Instant::now();
        let diff = diffs.live(&base).unwrap();
        println!("{:?}", begun.elapsed());
        assert_eq!(diff.files.len(), 40);
    }
}
