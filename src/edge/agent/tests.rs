use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pretty_assertions::assert_eq;

use super::{Agent, Rights, Work, environment, find_program};
use crate::domain::agents;
use crate::domain::dialect::Output;
use crate::domain::ids::{AttemptId, AttemptNumber, RunId, StoryId};
use crate::domain::settings::Variable;
use crate::edge::process::EnvChange;

fn with_work<T>(look: impl FnOnce(Work<'_>) -> T) -> T {
    let attempt = AttemptId {
        story: StoryId("2".into()),
        attempt: AttemptNumber(1),
    };
    look(Work {
        run: &RunId("r1".into()),
        attempt: &attempt,
        change: "add-retry",
        root: Path::new("/repo"),
        overlay: None,
        learnings: Path::new("/vault/learnings.md"),
        transcript: Path::new("/vault/2.1"),
        prompt: "Do it.",
    })
}

fn environment(agent: &Agent, rights: Rights) -> Vec<String> {
    let show = |change: EnvChange| match change {
        EnvChange::Set(name, value) => format!("{}={}", name.display(), value.display()),
        EnvChange::Remove(name) => format!("-{}", name.display()),
    };
    let changes = with_work(|work| environment::of(agent, &work, rights));
    changes.into_iter().map(show).collect()
}

fn claude(model: Option<&str>) -> Agent {
    Agent::BuiltIn {
        adapter: &agents::claude::ADAPTER,
        model: model.map(str::to_owned),
        env: Vec::new(),
    }
}

#[test]
fn claude_streams_json_and_asks_nobody() {
    let (program, args) = claude(Some("opus")).command_line(Path::new("/own"));
    assert_eq!(program, "claude");
    let want =
        "-p --output-format stream-json --verbose --dangerously-skip-permissions --model opus";
    assert_eq!(args.join(OsStr::new(" ")), want);
    assert_eq!(claude(None).command_line(Path::new("/own")).1.len(), 5);
}

#[test]
fn the_process_of_an_attempt_knows_its_place() {
    let spec = with_work(|work| claude(None).process(work)).unwrap();
    assert_eq!(spec.marker, "r1/2.1");
    assert_eq!(spec.stdin, b"Do it.");
    assert_eq!(spec.cwd, Path::new("/repo"));
    assert_eq!(spec.stdout, Path::new("/vault/2.1/stdout"));
}

#[test]
fn the_demo_is_this_very_program() {
    let (program, args) = Agent::Demo.command_line(Path::new("/own"));
    assert_eq!(
        (program, args),
        ("/own".into(), vec!["__demo-agent".into()])
    );
    assert_eq!(
        (Agent::Demo.program(), Agent::Demo.output()),
        (None, Output::Text)
    );
}

#[test]
fn an_agent_is_told_about_its_work_and_not_about_others() {
    let agent = Agent::Command {
        program: "mine".into(),
        args: vec!["--auto".into()],
        output: Output::Text,
        env: vec![("MINE".into(), Variable::Set("1".into()))],
    };
    let git = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
    ];
    let told = [
        "MINE=1",
        "RALPHTOOL_RUN=r1",
        "RALPHTOOL_STORY=2",
        "RALPHTOOL_CHANGE=add-retry",
        "RALPHTOOL_LEARNINGS=/vault/learnings.md",
        "GIT_TRACE2_EVENT=/vault/2.1/git",
    ];
    let nesting = agents::ADAPTERS.into_iter().flat_map(|it| it.nesting);
    let want: Vec<String> = git
        .iter()
        .chain(nesting)
        .map(|name| format!("-{name}"))
        .chain(told.map(str::to_owned))
        .collect();
    assert!(want.contains(&"-CLAUDECODE".to_owned()));
    assert_eq!(environment(&agent, Rights::Root), want);
}

#[test]
fn claude_is_kept_quiet_and_told_of_the_sandbox_only_as_root() {
    let root = environment(&claude(None), Rights::Root);
    let user = environment(&claude(None), Rights::User);
    for (quiet, value) in agents::claude::ADAPTER.environment {
        assert!(user.contains(&format!("{quiet}={value}")));
    }
    let only_root: Vec<_> = root.iter().filter(|it| !user.contains(it)).collect();
    assert_eq!(only_root, ["IS_SANDBOX=1"]);
}

#[test]
fn a_program_is_found_as_the_system_finds_it() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, mode| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        file
    };
    make("a/tool", 0o644);
    let tool = make("b/tool", 0o755);
    std::fs::create_dir(folder.path().join("b/folder")).unwrap();
    let path = Some(OsStr::new("a:b"));
    let find = |name: &str, path| find_program(OsStr::new(name), path, folder.path());
    assert_eq!(find("tool", path), Some(tool.clone()));
    assert_eq!(find("b/tool", None), Some(tool.clone()));
    assert_eq!(find(tool.to_str().unwrap(), None), Some(tool));
    for (name, path) in [
        ("tool", None),
        ("a/tool", path),
        ("folder", path),
        ("none", path),
        ("", path),
    ] {
        assert_eq!(find(name, path), None, "{name}");
    }
}
