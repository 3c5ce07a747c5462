//! The loop itself, where nothing else can be at fault.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::engine::entry::StartMode;
use crate::machine::{GateRequest, Ground, Setup};
use crate::policy::Policy;
use crate::policy::roster::Roster;
use crate::settings::file;
use crate::settings::files::{self, Places};
use crate::settings::{PartialSettings, Settings};
use ralph_base::ids::StoryId;
use ralph_plan::change::SourceKind;
use ralph_plan::source::Surroundings;
use ralph_process::Stderr;
use ralph_vault::Session;

fn engine_of(machine: Machine, folder: &Path) -> Engine {
    let repo = folder.join("repo");
    let made = std::process::Command::new("git")
        .args(["init", "-q"])
        .arg(&repo)
        .status();
    assert!(made.unwrap().success());
    let places = Places {
        root: &repo,
        home: None,
        config: None,
        directory: &repo,
        state: None,
        trust: false,
    };
    let loaded = files::load(&places, &[]).unwrap();
    let run = Run {
        change: Change {
            name: "c".to_owned(),
            root: repo.clone(),
            source: SourceKind::OpenSpec,
            stories: Vec::new(),
            scenarios: Vec::new(),
            documents: Vec::new(),
            context: None,
            guidance: Vec::new(),
            warnings: Vec::new(),
            task_files: Vec::new(),
        },
        surroundings: Surroundings {
            folder: repo.clone(),
            home: None,
            data_home: None,
            config_home: None,
            feature: None,
        },
        settings: loaded.allowed(PartialSettings::default()).unwrap(),
        only_story: None,
        reopen: false,
        mode: StartMode::default(),
        warnings: Vec::new(),
        environment: Vec::new(),
        attended: false,
    };
    let prepared = PreparedRun {
        id: RunId("r".to_owned()),
        run,
        machine,
        session: Session::open(&repo, &folder.join("state"), REPAIR_TIMEOUT)
            .unwrap()
            .if_settled()
            .unwrap(),
        resumed: false,
        branch: "ralph/c".to_owned(),
        preface: Vec::new(),
    };
    let (records, _) = mpsc::channel(1);
    let sink = RecordSink {
        records,
        detail_level: DetailLevel::Latest,
    };
    Engine::new(prepared, sink, None).unwrap()
}

/// A machine that was not started.
fn machine() -> Machine {
    let settings = Settings::resolve([]).unwrap();
    Machine::new(Setup {
        change: "c".to_owned(),
        roster: Roster::of(&settings, "c"),
        policy: Policy::default(),
        gate_logs: String::new(),
        resumed: None,
        began: BTreeMap::new(),
        continues_work: false,
    })
}

#[tokio::test]
async fn a_gate_is_a_shell_line_with_one_log() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine_of(machine(), folder.path());
    let settings = file::parse("ralphtool.toml", "[[gate]]\nname = 't'\nrun = 'a && b'").unwrap();
    let settings = Settings::resolve([settings]).unwrap();
    let request = GateRequest {
        story: StoryId("2".to_owned()),
        gate: 0,
        name: "2.1-1".to_owned(),
        ground: Ground::Attempt,
        try_number: 1,
    };
    let logs = Path::new("/vault");
    let spec = engine.gate_process(&settings.gates.value[0], &request, logs);
    assert_eq!(spec.args, ["-c", "a && b"]);
    let own = std::process::id();
    assert_eq!(spec.marker, format!("r/gate/2.1-1/{own}"));
    assert_eq!(spec.stdout, Path::new("/vault/2.1-1.log"));
    assert_eq!(spec.stderr, Stderr::WithStdout);
}

#[tokio::test]
async fn a_step_that_nothing_answers_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = machine();
    // The change is to be read, and that is never done.
    machine.start(Timestamp::now());
    let mut engine = engine_of(machine, folder.path());
    let input = tokio::time::timeout(Duration::from_secs(30), engine.next_input()).await;
    let input = input.expect("it never stops waiting").unwrap();
    let effects = engine.machine.handle(input, Timestamp::now());
    assert!(
        matches!(effects.last(), Some(Effect::End { exit_code: 4, .. })),
        "{effects:?}"
    );
}
