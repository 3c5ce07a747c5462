//! Old runs are removed from the vault automatically and on request, and never what is needed; the
//! doctor says what is wrong and touches nothing.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::sandbox::{self, GOOD, Output, Sandbox, TASKS, listing, there, until};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// The first attempt at story 1 fails and leaves junk; all later ones succeed.
const ONE_FAILURE: &str = r#"
if [ $RALPHTOOL_STORY.$attempt = 1.1 ]; then
    echo "junk of $RALPHTOOL_RUN" > junk.txt; echo edited > a.txt; git add junk.txt
    failed 'not yet'; exit 0
fi
echo "$RALPHTOOL_RUN" > "story-$RALPHTOOL_STORY.txt"
tick "$RALPHTOOL_STORY"
complete
"#;

/// One whole run with a failed attempt; gives its id.
fn run(sandbox: &Sandbox) -> String {
    end_last(sandbox);
    sandbox.agent(ONE_FAILURE);
    sandbox.tasks(TASKS);
    sandbox.run(&["loop", "c"]).ends_with(0);
    let run = sandbox.runs().pop().unwrap();
    run.file_name().unwrap().to_string_lossy().into_owned()
}

/// Ends the last run, so that the next start is a new one.
fn end_last(sandbox: &Sandbox) {
    if sandbox.branch() != "main" {
        sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    }
}

/// The ids of all runs in the journal, in order.
fn known_runs(sandbox: &Sandbox) -> Vec<String> {
    let text = fs::read_to_string(sandbox.vault().join("journal")).unwrap();
    let mut runs: Vec<String> = text
        .lines()
        .map(|line| {
            let json: Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
            json["run"].as_str().unwrap().to_owned()
        })
        .collect();
    runs.dedup();
    runs
}

/// Rewrites the journal with the steps of a run this many days earlier.
fn age(sandbox: &Sandbox, run: &str, days: i64) {
    let path = sandbox.vault().join("journal");
    let mut text = String::new();
    for line in fs::read_to_string(&path).unwrap().lines() {
        let mut json: Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
        if json["run"] == run {
            let at: jiff::Timestamp = json["at"].as_str().unwrap().parse().unwrap();
            let at = at - jiff::SignedDuration::from_hours(24 * days);
            json["at"] = at.to_string().into();
        }
        let json = json.to_string();
        let _ = writeln!(text, "{:08x} {json}", crc32fast::hash(json.as_bytes()));
    }
    fs::write(path, text).unwrap();
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The junk of a run's parked attempt, read from the store.
fn parked_junk(sandbox: &Sandbox, run: &str) -> Option<String> {
    let store = format!("--git-dir={}", sandbox.vault().join("store").display());
    let name = format!("refs/parked/{run}/1.1:junk.txt");
    let output = sandbox
        .command("git")
        .args([&store, "show", &name])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

#[test]
fn old_runs_are_listed_and_then_removed_and_the_last_one_stays() {
    let sandbox = Sandbox::new();
    let (first, second) = (run(&sandbox), run(&sandbox));
    sandbox.write("own.txt", "the user's\n");
    let tree = sandbox::everything(&sandbox.repo);
    let vault = listing(&sandbox.vault().join("snapshots"));

    // Too recent, or a dry run, or no terminal to ask on: nothing is removed.
    let output = sandbox.run(&["gc"]).ends_with(0);
    assert!(!output.stdout.contains("to remove  "), "{}", output.stdout);
    let output = sandbox.run(&["gc", "--older-than", "0s", "--dry-run"]);
    let output = output.ends_with(0);
    assert!(output.stdout.contains(&first) && !output.stdout.contains(&second));
    let output = sandbox.run(&["gc", "--older-than", "0s"]).ends_with(2);
    assert!(output.stdout.contains(&first) && output.stderr.contains("pass `--yes`"));
    sandbox.run(&["gc", "--older-than", "off"]).ends_with(2);
    assert_eq!(listing(&sandbox.vault().join("snapshots")), vault);
    assert_eq!(known_runs(&sandbox), [first.clone(), second.clone()]);

    let output = sandbox.run(&["gc", "--older-than", "0s", "--yes", "--json"]);
    let report = json(&output.ends_with(0).stdout);
    assert_eq!(report["done"], true);
    assert_eq!(report["runs"][0]["run"], first.as_str());
    assert_eq!(report["runs"][0]["attempts"], 3);
    assert_eq!(report["kept_runs"], 1);
    let size = |key: &str| report[key].as_u64().unwrap();
    assert!(size("bytes_after") < size("bytes_before"), "{report}");

    assert_eq!(known_runs(&sandbox), [second.as_str()]);
    assert_eq!(sandbox.runs().len(), 1);
    assert_eq!(parked_junk(&sandbox, &first), None);
    assert_eq!(
        parked_junk(&sandbox, &second),
        Some(format!("junk of {second}\n"))
    );
    assert_eq!(sandbox::everything(&sandbox.repo), tree);
    let output = sandbox.run(&["gc", "--older-than", "0s", "--yes"]);
    assert!(output.ends_with(0).stdout.contains("nothing to remove"));
    // The next run works as ever.
    run(&sandbox);
}

#[test]
fn gc_is_refused_while_another_ralphtool_works_in_the_tree() {
    let sandbox = Sandbox::new();
    run(&sandbox);
    run(&sandbox);
    end_last(&sandbox);
    sandbox.agent(&format!("touch $root/here; wait_for $root/go\n{GOOD}"));
    sandbox.tasks(TASKS);
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    for flags in [&["--dry-run"][..], &["--yes", "--older-than", "0s"]] {
        let output = sandbox.run(&[&["gc"], flags].concat()).ends_with(2);
        assert!(
            output
                .stderr
                .contains("another ralphtool works in this tree: process"),
            "{}",
            output.stderr
        );
    }
    assert_eq!(known_runs(&sandbox).len(), 3);
    fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().ends_with(0);
}

#[test]
fn an_old_run_is_removed_at_the_end_of_a_later_one() {
    let sandbox = Sandbox::new();
    let (first, second) = (run(&sandbox), run(&sandbox));
    run(&sandbox);
    assert_eq!(known_runs(&sandbox).len(), 3);
    assert_eq!(sandbox.warnings(), [] as [&str; 0]);
    age(&sandbox, &first, 31);
    age(&sandbox, &second, 29);
    let last = run(&sandbox);
    let runs = known_runs(&sandbox);
    assert_eq!((runs.len(), &runs[0], &runs[2]), (3, &second, &last));
    let warnings = sandbox.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("vault_tidied: removed 1 old run"));
    assert_eq!(
        parked_junk(&sandbox, &second),
        Some(format!("junk of {second}\n"))
    );
}

#[test]
fn a_vault_that_is_too_large_loses_its_oldest_runs_but_never_the_last() {
    let sandbox = Sandbox::new();
    run(&sandbox);
    run(&sandbox);
    sandbox.config("vault_limit = \"1kB\"");
    let last = run(&sandbox);
    assert_eq!(known_runs(&sandbox), [last.as_str()]);
    let codes: Vec<String> = sandbox
        .events_named("warning")
        .iter()
        .map(|event| event["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(codes, ["vault_too_large", "vault_tidied"]);
    assert_eq!(
        parked_junk(&sandbox, &last),
        Some(format!("junk of {last}\n"))
    );
    sandbox.config("vault_limit = \"off\"");
    run(&sandbox);
    assert_eq!(known_runs(&sandbox).len(), 2);
    assert_eq!(sandbox.warnings(), [] as [&str; 0]);
}

/// All vaults, by the start of their names.
fn vaults(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.root.join("state/ralphtool");
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.split('-').next().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn copy(sandbox: &Sandbox, from: &Path, to: &Path) {
    let status = sandbox.command("cp").arg("-a").arg(from).arg(to).status();
    assert!(status.unwrap().success());
}

#[test]
fn the_vault_of_a_removed_work_tree_is_removed_except_its_notes() {
    let sandbox = Sandbox::new();
    let other = sandbox.root.join("other");
    copy(&sandbox, &sandbox.repo, &other);
    let other_flag = other.display().to_string();
    sandbox.run(&["-C", &other_flag, "loop", "c"]).ends_with(0);
    let notes = sandbox.vault().join("learnings/c.md");
    fs::write(&notes, "a note\n").unwrap();
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(vaults(&sandbox), ["other", "repo"]);
    let gc = |flags: &[&str]| {
        let all = [&["gc", "--all-vaults", "--json"], flags].concat();
        json(&sandbox.run(&all).ends_with(0).stdout)["vaults"].clone()
    };
    let live = gc(&["--older-than", "0s", "--yes"]);
    assert_eq!(
        (&live[0]["kind"], &live[0]["fate"]),
        (&"elsewhere".into(), &"stays".into())
    );

    fs::remove_dir_all(&other).unwrap();
    // As after its runs were removed: nothing in it is needed.
    fs::remove_file(notes.parent().unwrap().with_file_name("journal")).unwrap();
    assert_eq!(gc(&["--yes"])[0]["reason"], "not old enough");
    // Other vaults are checked only on request.
    let output = sandbox.run(&["gc", "--older-than", "0s", "--yes"]);
    assert!(output.ends_with(0).stdout.contains("nothing to remove"));
    let gone = gc(&["--older-than", "0s", "--yes"]);
    assert_eq!(
        (&gone[0]["kind"], &gone[0]["fate"]),
        (&"vanished".into(), &"goes".into())
    );
    assert_eq!(gone[0]["work_tree"], other_flag.as_str());
    assert_eq!(fs::read_to_string(&notes).unwrap(), "a note\n");
    assert!(!notes.parent().unwrap().with_file_name("store").exists());
    assert_eq!(gc(&["--dry-run"]), Value::Array(Vec::new()));
    fs::remove_file(&notes).unwrap();
    assert_eq!(known_runs_of_repo(&sandbox), 1);
}

fn known_runs_of_repo(sandbox: &Sandbox) -> usize {
    let folder = sandbox.root.join("state/ralphtool");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let own = entries.filter(|it| it.file_name().to_string_lossy().starts_with("repo-"));
    own.map(|it| fs::read_dir(it.path().join("runs")).unwrap().count())
        .sum()
}

#[test]
fn the_vault_of_a_removed_work_tree_stays_if_it_has_an_unfinished_run() {
    let sandbox = Sandbox::new();
    sandbox.agent("touch $root/here; exec sleep 60");
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(rustix::process::Signal::KILL);
    running.end();
    fs::remove_dir_all(&sandbox.repo).unwrap();
    let output = gc_outside(&sandbox, &["--all-vaults", "--older-than", "0s", "--yes"]);
    let output = output.ends_with(0);
    assert!(
        output.stdout.contains("was never finished"),
        "{}",
        output.stdout
    );
    assert_eq!(vaults(&sandbox), ["repo"]);
}

/// `gc` given in a folder that is no repository.
fn gc_outside(sandbox: &Sandbox, flags: &[&str]) -> Output {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.current_dir(&sandbox.root).arg("gc").args(flags);
    sandbox.start_command(command).end()
}

/// The name of the only vault.
fn vault_name(sandbox: &Sandbox) -> String {
    let vault = sandbox.vault();
    vault.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_vault_with_runs_or_attempts_is_removed_only_by_name() {
    let sandbox = Sandbox::new();
    let failing = "[ $attempt != 1 ] || { failed once; exit; }";
    sandbox.agent(&format!("{failing}\n{GOOD}"));
    sandbox.run(&["loop", "c"]).ends_with(0);
    fs::remove_dir_all(&sandbox.repo).unwrap();
    let name = vault_name(&sandbox);
    let all = ["--all-vaults", "--older-than", "0s", "--yes"];
    let output = gc_outside(&sandbox, &all).ends_with(0);
    let why = format!(
        "it holds a kept run of `c`, 2 parked attempts, the state before its last run: \
         `ralphtool gc --forget {name}` removes it"
    );
    assert!(output.stdout.contains(&why), "{}", output.stdout);
    assert!(sandbox.vault().join("journal").exists());

    let asked = gc_outside(&sandbox, &["--forget", &name]).ends_with(2);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    assert!(sandbox.vault().join("journal").exists());
    let unknown = gc_outside(&sandbox, &["--forget", "x", "--yes"]).ends_with(2);
    assert!(
        unknown.stderr.contains("found no vault `x`"),
        "{}",
        unknown.stderr
    );
    gc_outside(&sandbox, &["--forget", &name, "--yes"]).ends_with(0);
    assert_eq!(vaults(&sandbox), [""; 0]);
}

#[test]
fn a_vault_whose_disk_is_not_mounted_stays_and_is_found_again() {
    let mut sandbox = Sandbox::new();
    let (disk, away) = (sandbox.root.join("disk"), sandbox.root.join("away"));
    fs::create_dir(&disk).unwrap();
    fs::rename(&sandbox.repo, disk.join("repo")).unwrap();
    sandbox.repo = disk.join("repo");
    sandbox.run(&["loop", "c"]).ends_with(0);
    // An empty mount point, then none at all.
    fs::rename(&disk, &away).unwrap();
    let all = ["--all-vaults", "--older-than", "0s", "--yes", "--json"];
    for _ in 0..2 {
        let output = gc_outside(&sandbox, &all).ends_with(0);
        let vault = &json(&output.stdout)["vaults"][0];
        assert_eq!(
            (&vault["kind"], &vault["fate"]),
            (&"away".into(), &"stays".into())
        );
        if disk.exists() {
            fs::remove_dir(&disk).unwrap();
        } else {
            fs::create_dir(&disk).unwrap();
        }
    }
    let _ = fs::remove_dir(&disk);
    fs::rename(&away, &disk).unwrap();
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
}

#[test]
fn a_vault_that_was_moved_aside_is_removed_only_by_name() {
    let sandbox = Sandbox::new();
    run(&sandbox);
    fs::remove_dir_all(sandbox.repo.join(".git")).unwrap();
    sandbox.git("init -q -b main");
    sandbox.git("add -A");
    sandbox.git("commit -q -m again");
    sandbox.run(&["gc", "--dry-run"]).ends_with(0);
    assert_eq!(vaults(&sandbox), ["repo", "repo"]);
    let output = sandbox.run(&["gc", "--older-than", "0s", "--json", "--yes"]);
    let report = json(&output.ends_with(0).stdout);
    let vault = &report["vaults"][0];
    assert_eq!(
        (&vault["kind"], &vault["fate"]),
        (&"set_aside".into(), &"stays".into())
    );
    let folder = vault["folder"].as_str().unwrap();
    sandbox
        .run(&["gc", "--forget", folder, "--yes"])
        .ends_with(0);
    assert_eq!(vaults(&sandbox), ["repo"]);
}
