//! What a hostile agent, an odd repository or a busy user does to the protocol.

use std::sync::Arc;

use pretty_assertions::assert_eq;

use super::*;
use crate::commit_message::MessageTemplate;
use crate::journal::steps::{SavedWork, Step};
use crate::operations::save::SaveReport;
use crate::repo::control::Control;
use crate::tree::manifest::Content;

/// Begins, lets `deed` happen, saves.
pub(super) fn saved(before: &str, deed: &str) -> (Yard, Vault, SaveReport) {
    let yard = Yard::new();
    yard.sh(before);
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.sh(deed);
    let report = checkpoints.save(&story("1")).unwrap();
    (yard, checkpoints, report)
}

/// Begins, lets `deed` happen, parks and restores: everything is as before.
pub(super) fn parked(before: &str, deed: &str) -> (Yard, Vault) {
    let yard = Yard::new();
    yard.sh(before);
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let state = yard.everything();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.sh(deed);
    checkpoints.park_and_restore(setback(&attempt("1", 1), None));
    assert_eq!(yard.everything(), state);
    (yard, checkpoints)
}

#[test]
fn files_folders_and_links_in_each_others_place_are_committed() {
    #[track_caller]
    fn is_clean(yard: &Yard, report: &SaveReport) {
        assert_eq!(yard.git("status --porcelain"), "");
        assert_eq!(report.notices, vec![]);
    }
    let (yard, _checkpoints, report) = saved("", "rm -r dir; echo file > dir");
    is_clean(&yard, &report);
    assert_eq!(yard.git("show HEAD:dir"), "file\n");
    let (yard, _checkpoints, report) = saved("", "rm -r dir; ln -s . dir");
    is_clean(&yard, &report);
    assert_eq!(yard.git("ls-files"), ".gitignore\na.txt\ndir\n");
    let (yard, _checkpoints, report) = saved("", "rm a.txt; mkdir a.txt; echo file > a.txt/x");
    is_clean(&yard, &report);
    assert_eq!(yard.git("show HEAD:a.txt/x"), "file\n");
    // The same at the start.
    let before = "rm -r dir a.txt; ln -s . dir; mkdir a.txt; echo log > a.txt/x.log";
    let (yard, _checkpoints, report) = saved(before, "");
    is_clean(&yard, &report);
    assert_eq!(yard.git("ls-files"), ".gitignore\ndir\n");
}

#[test]
fn names_that_look_like_pathspecs_are_names() {
    let odd = "printf x > ':(glob)x'; printf x > ':!x'; printf x > ':/y'; printf x > ':(attr:a)z'";
    parked("printf x > ':!u'", odd);
}

#[test]
fn a_run_that_began_on_its_own_branch_keeps_it() {
    let yard = Yard::new();
    yard.git("checkout -q -b ralph/c");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("made.txt", "made\n");
    checkpoints.save(&story("1")).unwrap();
    let report = checkpoints.finish(FinishChoice::Cleanup).unwrap();
    assert_eq!(report.notices[0].code, "branch_kept");
    assert_eq!(yard.git("symbolic-ref HEAD"), "refs/heads/ralph/c\n");
    assert_eq!(
        yard.git("log --format=%s"),
        "checkpoint: 1\ninitial state\nfirst\n"
    );
    assert_eq!(checkpoints.open_run(), None);
}

#[test]
fn commits_made_after_a_cleanup_survive_its_undo() {
    let (yard, mut checkpoints, _) = saved("", "echo x > y");
    checkpoints.finish(FinishChoice::Cleanup).unwrap();
    yard.git("add y");
    yard.git("commit -q -m mine");
    let mine = yard.git("rev-parse main");
    let undo = checkpoints.prepare_undo().unwrap();
    checkpoints.carry_out_undo(undo).unwrap();
    assert_eq!(yard.git("symbolic-ref HEAD"), "refs/heads/ralph/c\n");
    assert_eq!(yard.git("rev-parse main"), mine);
}

#[test]
fn a_file_that_was_announced_and_removed_does_not_stop_a_cleanup() {
    let (yard, mut checkpoints, _) = saved("echo x > new; git add -N new; rm new", "echo x > y");
    checkpoints.finish(FinishChoice::Cleanup).unwrap();
    assert_eq!(yard.git("status --porcelain --branch"), "## main\n?? y\n");
}

#[test]
fn links_in_the_git_directory_stay_links() {
    let hook = ".git/hooks/pre-commit";
    let before = "echo good > hook.sh; ln -s ../../hook.sh .git/hooks/pre-commit; \
        mv .git/config ../config; ln -s ../../config .git/config";
    let misdeeds = [
        "echo junk > junk",
        "echo evil > hook.sh; git config core.bare true",
        "rm .git/hooks/pre-commit; echo evil > .git/hooks/pre-commit; rm hook.sh",
    ];
    for misdeed in misdeeds {
        let (yard, _checkpoints) = parked(before, misdeed);
        let link = fs::read_link(yard.repo.join(hook)).unwrap();
        assert_eq!(link, Path::new("../../hook.sh"));
        assert_eq!(yard.read(hook), "good\n");
        assert!(fs::read_link(yard.repo.join(".git/config")).is_ok());
    }
}

const TWO_STASHES: &str = "echo 1 > a.txt; git stash -q; echo 2 > a.txt; git stash -q";

#[test]
fn an_older_stash_that_was_dropped_and_collected_comes_back() {
    let misdeed = "git stash drop -q stash@{1}; git reflog expire --expire=now --all; \
        git gc -q --prune=now";
    let (yard, _checkpoints) = parked(TWO_STASHES, misdeed);
    yard.git("stash show -p stash@{1}");
}

#[test]
fn stashes_survive_a_story_that_removes_the_git_directory() {
    let (yard, _checkpoints, _) = saved(TWO_STASHES, "rm -rf .git; echo x > y");
    assert_eq!(yard.git("stash list").lines().count(), 2);
}

#[test]
fn refs_in_the_way_of_the_branch_or_to_nowhere_do_not_stop_a_restore() {
    let aside = "git checkout -q --detach; git branch -qD ralph/c";
    for misdeed in [
        &format!("{aside}; git branch ralph"),
        &format!("{aside}; git branch ralph/c/sub"),
        "echo 1234567890123456789012345678901234567890 > .git/refs/heads/nowhere",
    ] {
        let (yard, _checkpoints) = parked("", misdeed);
        assert_eq!(yard.git("symbolic-ref HEAD"), "refs/heads/ralph/c\n");
    }
}

#[test]
fn a_cache_folder_by_an_attempts_own_rule_goes_with_the_rule() {
    let misdeed = "echo build >> .gitignore; mkdir build; echo x > build/x; \
        mkdir pkg; echo dist > pkg/.gitignore; mkdir pkg/dist; echo x > pkg/dist/x";
    let (yard, mut checkpoints) = parked("", misdeed);
    // And it is no cache folder for the next attempt.
    yard.write("build/real.txt", "real\n");
    checkpoints.save(&story("1")).unwrap();
    assert_eq!(yard.git("status --porcelain"), "");
    assert_eq!(yard.git("show HEAD:build/real.txt"), "real\n");
}

#[test]
fn files_in_a_submodule_that_is_not_checked_out_go() {
    let before = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; mkdir sub";
    parked(before, "echo x > sub/x");
}

#[test]
fn an_edit_outside_a_sparse_checkout_is_committed() {
    let (yard, _checkpoints, _) = saved(
        "git sparse-checkout set --cone other",
        "mkdir -p dir; echo new > dir/b.txt",
    );
    assert_eq!(yard.git("show HEAD:dir/b.txt"), "new\n");
    assert_eq!(yard.git("status --porcelain"), "");
}

/// Writes a step as if the program was ended right after it.
fn killed_after(yard: &Yard, mut checkpoints: Vault, step: Step) -> Vault {
    checkpoints.record(&run_id(), step).unwrap();
    drop(checkpoints);
    yard.open()
}

#[test]
fn a_begin_is_not_taken_back_over_what_the_user_did_since() {
    let yard = Yard::new();
    dirty(&yard);
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let intent = Box::new(checkpoints.log.current().unwrap().intent);
    let mut checkpoints = killed_after(&yard, checkpoints, Step::BeginIntent { intent });
    yard.sh("echo more > more.txt; git add more.txt; git commit -qm mine");
    let before = yard.everything();
    let recovery = checkpoints.recover_run_now().unwrap().unwrap();
    assert_eq!(
        recovery.done,
        "changed nothing: the files or branches have changed since"
    );
    assert_eq!(yard.everything(), before);
    assert_eq!(checkpoints.open_run(), None);
}

#[test]
fn an_index_that_recovery_replaces_is_kept() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let intent = Box::new(checkpoints.log.current().unwrap().intent);
    let mut checkpoints = killed_after(&yard, checkpoints, Step::BeginIntent { intent });
    yard.sh("echo staged > x; git add x; rm x");
    checkpoints.recover_run_now().unwrap();
    assert_eq!(yard.git("symbolic-ref HEAD"), "refs/heads/main\n");
    let trash = fs::read_dir(checkpoints.vault_folder().join("trash")).unwrap();
    let kept = trash
        .map(|entry| entry.unwrap().path().join("git/index"))
        .find(|path| path.exists());
    let listing = Command::new("git")
        .args(["show", ":x"])
        .env("GIT_INDEX_FILE", kept.unwrap())
        .current_dir(&yard.repo)
        .output();
    assert_eq!(listing.unwrap().stdout, b"staged\n");
}

#[test]
fn a_save_is_carried_out_below_what_the_user_committed_since() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("made.txt", "made\n");
    checkpoints.save(&story("1")).unwrap();
    let current = checkpoints.log.current().unwrap();
    let step = Step::SaveIntent {
        commit: current.commit,
        snapshot: current.snapshot,
        work: SavedWork::Story(StoryId("1".to_owned())),
        changed_files: 1,
    };
    let mut checkpoints = killed_after(&yard, checkpoints, step);
    yard.sh("echo more > more.txt; git add more.txt; git commit -qm mine");
    checkpoints.recover_run_now().unwrap();
    checkpoints.resume().unwrap();
    assert_eq!(
        yard.git("log --format=%s main.."),
        "resumed state\nmine\ncheckpoint: 1\ninitial state\n"
    );
    assert_eq!(yard.git("status --porcelain"), "");
}

#[test]
fn a_finish_is_not_carried_out_over_what_the_user_did_since() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("made.txt", "made\n");
    checkpoints.save(&story("1")).unwrap();
    let prepared = checkpoints.prepare_finish(FinishChoice::Cleanup, &MessageTemplate::default());
    let intent = prepared.unwrap().intent().unwrap().clone();
    let step = Step::MoveIntent {
        intent: Box::new(intent),
    };
    let mut checkpoints = killed_after(&yard, checkpoints, step);
    yard.sh("echo more > more.txt; git add more.txt; git commit -qm mine");
    let before = yard.everything();
    checkpoints.recover_run_now().unwrap();
    assert_eq!(yard.everything(), before);
    assert_eq!(checkpoints.open_run(), None);
}

#[test]
fn an_interrupted_attempt_is_not_undone_where_the_user_has_left_the_branch() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    let folder = checkpoints.attempt_folder(&run_id(), &attempt("1", 1));
    fs::create_dir_all(folder.join("git")).unwrap();
    let trace = folder.join("git/1");
    fs::write(&trace, r#"{"event":"cmd_name","name":"commit"}"#).unwrap();
    let earlier = std::time::SystemTime::now() - Duration::from_secs(60);
    let file = fs::File::options().write(true).open(&trace).unwrap();
    file.set_modified(earlier).unwrap();
    drop(checkpoints);
    yard.sh("git switch -q main; echo mine > mine.txt; git add -A; git commit -qm mine");
    let before = yard.everything();
    let mut checkpoints = yard.open();
    assert!(checkpoints.recover_run_now().unwrap_err().is_refusal());
    assert_eq!(yard.everything(), before);
    // Back on the branch it is undone, and the original branch keeps what the user did.
    yard.git("switch -q ralph/c");
    let main = yard.git("rev-parse main");
    checkpoints.recover_run_now().unwrap();
    assert_eq!(yard.git("rev-parse main"), main);
    assert_eq!(yard.git("status --porcelain --branch"), "## ralph/c\n");
}

#[test]
fn a_file_edited_right_after_the_scan_is_not_older_than_the_index() {
    let (_yard, checkpoints, _) = saved("true", "echo y > other");
    let scanned = checkpoints.loaded.as_ref().unwrap().manifest.scanned_ns;
    let index = fs::metadata(checkpoints.repo.places.repository.index()).unwrap();
    let written = index
        .modified()
        .unwrap()
        .duration_since(std::time::UNIX_EPOCH);
    let written = i64::try_from(written.unwrap().as_nanos()).unwrap();
    // The clock of file systems may be 10 ms behind the one that the scan was timed with.
    assert!(written <= scanned - 10_000_000, "{written} {scanned}");
}

/// For root nothing is locked: then this shows less.
#[test]
fn folders_an_attempt_locks_are_looked_into_and_put_back() {
    let misdeed = "echo evil > dir/b.txt; chmod 444 dir; mkdir -p made/x; echo j > made/x/j; \
        chmod 000 made/x; chmod 555 made; chmod u+w ro; rm ro/r; chmod 555 ro; chmod 000 a.txt";
    let (yard, _checkpoints) = parked("mkdir ro; echo r > ro/r; chmod 555 ro", misdeed);
    assert_eq!(yard.read("dir/b.txt"), "two\n");
    assert_eq!(yard.read("ro/r"), "r\n");
    yard.sh("chmod 755 ro");
}

#[test]
fn a_file_that_may_not_be_read_does_not_stop_a_begin_or_a_save() {
    let (yard, _checkpoints, _) = saved(
        "echo x > secret; chmod 000 secret",
        "echo y > other; chmod 000 other",
    );
    assert_eq!(
        yard.git("log --format=%s main.."),
        "checkpoint: 1\ninitial state\n"
    );
}

#[test]
fn an_empty_copy_in_the_vault_is_written_again() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let raw = checkpoints.vault_folder().join("raw");
    let id = yard.git("hash-object -t blob .gitignore");
    let (folder, name) = id.trim().split_at(2);
    fs::create_dir_all(raw.join(folder)).unwrap();
    fs::write(raw.join(folder).join(name), "").unwrap();
    yard.sh("cp .gitignore copy");
    checkpoints.save(&story("1")).unwrap();
    checkpoints.attempt_started(&attempt("2", 1)).unwrap();
    yard.sh("rm copy");
    checkpoints.park_and_restore(setback(&attempt("2", 1), None));
    assert_eq!(yard.read("copy"), yard.read(".gitignore"));
}

#[test]
fn an_edit_between_gits_look_and_ours_is_not_taken_for_clean() {
    let yard = Yard::new();
    // Old enough for git's answer to be trusted.
    yard.sh("touch -t 202001010000 a.txt; sleep 2.1; git status");
    let checkpoints = yard.open();
    checkpoints
        .repo
        .places
        .vault
        .ensure_store(checkpoints.repo.places.repository.format)
        .unwrap();
    let (refs, head) = checkpoints.repo.observe().unwrap();
    let control = Control::read(&checkpoints.repo.places.repository, head, refs, None).unwrap();
    let settings = checkpoints.repo.ask_settings().unwrap().answer().unwrap();
    checkpoints
        .repo
        .prepare_work_dir(&settings, &control)
        .unwrap();
    let (index, listed) = checkpoints.repo.copy_index("start", "first").unwrap();
    let known = checkpoints.repo.read_index(&index, &listed).unwrap();
    yard.write("a.txt", "just saved\n");
    let nothing = Arc::default();
    let taken = checkpoints
        .tree
        .scan_against(&checkpoints.repo, &nothing, &known, &index)
        .unwrap();
    let content = |path: &str| taken.manifest.entries[path.as_bytes()].content.clone();
    assert!(matches!(content("a.txt"), Content::Raw(_)));
    assert!(matches!(content("dir/b.txt"), Content::Git(_)));
}

#[test]
fn a_run_is_not_resumed_while_a_merge_is_in_progress() {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("a.txt", "ours\n");
    checkpoints.save(&story("1")).unwrap();
    yard.sh(
        "git branch other main; git switch -q other; echo theirs > a.txt; \
        git commit -qam theirs; git switch -q ralph/c; git merge -q other || true",
    );
    let before = yard.everything();
    let error = checkpoints.resume().unwrap_err();
    assert!(error.is_refusal());
    assert_eq!(
        error.to_string(),
        "a merge is in progress in this repository"
    );
    assert_eq!(yard.everything(), before);
    assert!(yard.repo.join(".git/MERGE_HEAD").exists());
}

#[test]
fn a_merge_at_the_end_replaces_no_ignored_file() {
    let (yard, mut checkpoints, _) = saved("echo precious > .env", "echo x > y");
    yard.sh(
        "git worktree add -q ../other main; cd ../other; mkdir .env; echo new > .env/x; \
        git add -f .env; git commit -qm moved",
    );
    assert!(checkpoints.finish(FinishChoice::Cleanup).is_err());
    assert_eq!(yard.read(".env"), "precious\n");
}

#[test]
fn a_file_git_cannot_look_at_does_not_stop_a_begin() {
    let before = "echo x > x.bin; git add x.bin; git commit -qm bin; echo y > y.txt; \
        echo '*.bin filter=gone' > .gitattributes; git config filter.gone.clean false; \
        git config filter.gone.required true; touch -t 202001010000 x.bin";
    let (yard, mut checkpoints, _) = saved(before, "echo n > n");
    assert_eq!(yard.git("show HEAD:y.txt"), "y\n");
    assert_eq!(yard.git("show HEAD:n"), "n\n");
    checkpoints.attempt_started(&attempt("2", 1)).unwrap();
    yard.sh("rm x.bin");
    checkpoints.park_and_restore(setback(&attempt("2", 1), None));
    assert_eq!(yard.read("x.bin"), "x\n");
}

#[test]
fn an_ignored_file_that_was_added_by_force_is_committed() {
    for deed in [
        "echo x > forced.log; git add -f forced.log; git commit -qm forced",
        "echo x > forced.log; git add -f forced.log",
    ] {
        let (yard, mut checkpoints, _) = saved("echo old > forced.log", deed);
        assert_eq!(yard.git("show HEAD:forced.log"), "x\n");
        assert_eq!(yard.git("status --porcelain"), "");
        yard.write("forced.log", "y\n");
        checkpoints.save(&story("2")).unwrap();
        assert_eq!(yard.git("show HEAD:forced.log"), "y\n");
    }
}

#[test]
fn a_file_a_story_stops_tracking_is_no_longer_tracked() {
    let deed = "git rm -q --cached a.txt dir/b.txt; echo a.txt >> .gitignore; git add .gitignore";
    let (yard, mut checkpoints, _) = saved("", deed);
    // `dir/b.txt` is not ignored, so it is a file like any other.
    assert_eq!(yard.git("ls-files"), ".gitignore\ndir/b.txt\n");
    assert_eq!(yard.read("a.txt"), "one\n");
    yard.write("a.txt", "local\n");
    checkpoints.save(&story("2")).unwrap();
    assert_eq!(yard.git("ls-files"), ".gitignore\ndir/b.txt\n");
    checkpoints.finish(FinishChoice::Cleanup).unwrap();
    assert_eq!(yard.read("a.txt"), "local\n");
}

#[test]
fn a_submodule_a_story_adds_is_committed() {
    let deed = "git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib; \
        git -c protocol.file.allow=always submodule --quiet add ../lib lib; \
        git init -q stray; git -C stray commit -q --allow-empty -m s; git add stray";
    let (yard, _checkpoints, _) = saved("", deed);
    assert!(yard.git("ls-tree HEAD lib").starts_with("160000"));
    assert_eq!(yard.git("ls-tree HEAD stray"), "");
}

#[test]
fn a_hook_too_large_to_be_kept_stays() {
    let before = "head -c 5000000 /dev/zero > .git/hooks/pre-push; chmod +x .git/hooks/pre-push";
    let (yard, _checkpoints) = parked(before, "echo x > x");
    let hook = fs::metadata(yard.repo.join(".git/hooks/pre-push")).unwrap();
    assert_eq!(hook.len(), 5_000_000);
}
