use super::*;
use crate::preview::Weight;
use crate::records::event::FailureKind;
use crate::settings::PartialSettings;
use crate::settings::file::parse;
use pretty_assertions::assert_eq;
use ralph_base::ids::{AttemptId, RunId};
use ralph_plan::source::{Surroundings, read_target};
use ralph_vault::Setback;
use ralph_vault::{AtCheckpoint, BeginRequest, Opened, Session};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const TASKS: &str = "## 1. First\n- [ ] 1.1 Do a\n";

/// A repository with a change, and everything a look needs.
struct Desk {
    folder: tempfile::TempDir,
    repo: PathBuf,
    settings: Settings,
}

impl Desk {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&repo).unwrap();
        let layer: PartialSettings = parse("ralphtool.toml", config).unwrap();
        let desk = Self {
            folder,
            repo,
            settings: Settings::resolve([layer]).unwrap(),
        };
        desk.write("openspec/changes/c/tasks.md", TASKS);
        desk.write("openspec/changes/c/proposal.md", "## Why\nBecause.\n");
        desk.git("init -q -b main");
        desk.git("add -A");
        desk.git("commit -q -m first");
        desk
    }

    fn write(&self, path: &str, text: &str) {
        let full = self.repo.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }

    fn git(&self, args: &str) {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(args.split(' '))
            .current_dir(&self.repo)
            .status();
        assert!(status.unwrap().success(), "git {args}");
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn change(&self) -> Change {
        let around = Surroundings {
            folder: self.repo.clone(),
            home: None,
            data_home: None,
            config_home: None,
            feature: None,
        };
        read_target("c", &around).unwrap()
    }

    fn look(&self) -> Vec<Remark> {
        look(&Plan {
            directory: &self.repo,
            state: &self.state(),
            change: &self.change(),
            settings: &self.settings,
            warnings: &["an unknown key".to_owned()],
            environment: &[("PATH".into(), "/nowhere".into())],
        })
    }

    /// What a look says, but for what it always says here.
    fn remarks(&self) -> Vec<(Weight, String)> {
        let remarks = self.look().into_iter();
        remarks
            .filter(|it| ![NO_GATES, "an unknown key"].contains(&it.text.as_str()))
            .map(|it| (it.weight, it.text))
            .collect()
    }

    fn vault(&self) -> Session<Opened> {
        Session::open(&self.repo, &self.state(), Duration::from_secs(30)).unwrap()
    }
}

fn begin(opened: Session<Opened>) -> Session<AtCheckpoint> {
    let request = BeginRequest {
        run: &RunId("r".to_owned()),
        change: "c",
        branch: "ralph/c",
        plan: None,
        plan_folder: None,
    };
    opened.if_settled().unwrap().begin(request).unwrap().0
}

/// A process that another test is just about to start holds the lock for a moment.
async fn until_free(vault: &Path) {
    for _ in 0..500 {
        if holder(vault).unwrap().is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the vault stays locked");
}

const DEMO: &str = "agent = \"demo\"\n";

#[tokio::test]
async fn a_clean_tree_is_ready_and_stays_untouched() {
    let desk = Desk::new(DEMO);
    let remarks = desk.look();
    let no_gates = "`ralphtool init` finds commands that check this repository";
    assert_eq!(
        remarks,
        [
            Remark::warns(NO_GATES).hint(no_gates),
            Remark::warns("an unknown key"),
        ]
    );
    let desk = Desk::new("agent = \"demo\"\n[[gate]]\nname = \"a\"\nrun = \"true\"\n");
    assert_eq!(desk.look(), [Remark::warns("an unknown key")]);
    assert!(!desk.state().exists());
}

#[tokio::test]
async fn files_in_the_tree_are_reported() {
    let desk = Desk::new(DEMO);
    desk.write("staged", "x");
    desk.git("add staged");
    desk.write("openspec/changes/c/proposal.md", "## Why\nReally.\n");
    desk.write(".env", "SECRET=1\n");
    let want = [
        (
            Weight::Warns,
            "not committed, for their names look like secrets: `.env`",
        ),
        (
            Weight::Tells,
            "uncommitted: 1 staged file, 1 changed file, 1 untracked file; a commit on \
             the branch will have them, and only cleanup and abandon make them uncommitted again",
        ),
    ];
    assert_eq!(
        desk.remarks(),
        want.map(|(weight, text)| (weight, text.to_owned()))
    );
}

#[tokio::test]
async fn what_keeps_a_run_from_starting_comes_first() {
    let desk = Desk::new(
        "agent = \"other\"\nleast_free = \"9999TB\"\n[agents.other]\ncommand = [\"no-such-agent\"]\n",
    );
    desk.write(
        "openspec/changes/c/tasks.md",
        "## 1. First\n- [x] 1.1 Do a\n",
    );
    desk.git("worktree add -q -b ralph/c ../elsewhere");
    fs::write(desk.repo.join(".git/index.lock"), "").unwrap();
    fs::write(desk.repo.join(".git/MERGE_HEAD"), "").unwrap();
    let stops: Vec<String> = desk
        .remarks()
        .into_iter()
        .filter(|(weight, _)| *weight == Weight::Stops)
        .map(|(_, text)| text)
        .collect();
    let starts = [
        "a merge is in progress",
        "`/",
        "only ",
        "`ralph/c` is checked out in another work tree",
        "the agent `other` needs `no-such-agent`",
        "nothing is left to do in `c`: stories done: 1 of 1",
    ];
    assert_eq!(stops.len(), starts.len(), "{stops:?}");
    for (text, start) in stops.iter().zip(starts) {
        assert!(text.starts_with(start), "{text}");
    }
}

#[tokio::test]
async fn running_and_interrupted_runs_are_reported() {
    let desk = Desk::new(DEMO);
    let opened = desk.vault();
    let remarks = desk.remarks();
    let pid = format!("process {}", std::process::id());
    assert!(
        remarks[0].1.contains(&pid) && remarks[0].0 == Weight::Stops,
        "{remarks:?}"
    );

    let session = begin(opened);
    let vault = session.vault().vault_folder().to_owned();
    drop(session);
    until_free(&vault).await;
    desk.write("new", "of an agent, maybe");
    let resumes = "r resumes the run on `ralph/c`: 0 of 1 stories done in it".to_owned();
    assert_eq!(desk.remarks(), [(Weight::Tells, resumes)]);
    desk.git("stash -q -u");
    desk.git("switch -q main");
    let switches = "r resumes the run on `ralph/c`: 0 of 1 stories done in it; switches there from \
                    `main` first";
    assert_eq!(desk.remarks(), [(Weight::Tells, switches.to_owned())]);
    let mut other = desk.change();
    other.name = "d".to_owned();
    let remarks = look(&Plan {
        directory: &desk.repo,
        state: &desk.state(),
        change: &other,
        settings: &desk.settings,
        warnings: &[],
        environment: &[],
    });
    assert_eq!(remarks[0].weight, Weight::Stops);
    assert_eq!(
        remarks[0].text,
        "an unfinished run of `c` is in this work tree"
    );
}

#[tokio::test]
async fn a_folder_without_a_repository_is_refused() {
    let desk = Desk::new(DEMO);
    fs::remove_dir_all(desk.repo.join(".git")).unwrap();
    let remarks = desk.look();
    assert_eq!(remarks[0].weight, Weight::Stops);
    assert_eq!(
        remarks[0].hint.as_deref(),
        Some("run `git init` first, or pass `-C DIR`")
    );
}

#[tokio::test]
async fn a_prompt_can_be_shown() {
    let desk = Desk::new(DEMO);
    let change = desk.change();
    let vault = desk.state();
    fs::create_dir_all(vault.join("learnings")).unwrap();
    fs::write(vault.join("learnings/c.md"), "the parser is odd").unwrap();
    let text = prompt_of(&change, &change.stories[0], &desk.settings, &vault, None).unwrap();
    assert!(
        text.contains("1.1 Do a") && text.contains("the parser is odd"),
        "{text}"
    );
}

#[tokio::test]
async fn a_prompt_tells_of_the_attempt_before() {
    let desk = Desk::new(DEMO);
    let session = begin(desk.vault());
    let change = desk.change();
    let attempt = AttemptId {
        story: change.stories[0].id.clone(),
        attempt: AttemptNumber(1),
    };
    let session = session.start_attempt(&attempt).unwrap();
    desk.write("new", "x");
    let setback = Setback {
        attempt,
        prompt_reason: Some("the parser is missing".to_owned()),
        uses_retry: true,
        kind: FailureKind::Failed,
        reason: String::new(),
    };
    let (parked, _) = session.park(setback).unwrap();
    let (session, _) = parked.restore().unwrap();
    let session = session.leave().unwrap();
    let open = session.vault().open_run();
    let vault = session.vault().vault_folder();
    let story = &change.stories[0];
    let text = prompt_of(&change, story, &desk.settings, vault, open.as_ref()).unwrap();
    let diff = vault.join("runs/r/attempts/1.1/changes.diff");
    assert!(diff.exists());
    let look = format!("cat {}", diff.display());
    assert!(text.contains("the parser is missing"), "{text}");
    assert!(text.contains(&look), "{text}");
}
