use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pretty_assertions::assert_eq;

use super::{Agent, Program, Work, environment, find_program};
use crate::settings::Variable;
use crate::settings::agents::{CommandSettings, PromptBy};
use ralph_agents::adapters::{self, ADAPTERS, Adapter, Role, SessionArg};
use ralph_agents::dialect::Output;
use ralph_base::ids::{AttemptId, AttemptNumber, RunId, StoryId};
use ralph_process::EnvChange;

fn with_work<T>(look: impl FnOnce(Work<'_>) -> T) -> T {
    with_session(SessionArg::New { id: None }, Role::Worker, look)
}

fn with_session<T>(session: SessionArg<'_>, role: Role, look: impl FnOnce(Work<'_>) -> T) -> T {
    let attempt = AttemptId {
        story: StoryId("2".into()),
        attempt: AttemptNumber(1),
    };
    look(Work {
        run: &RunId("r1".into()),
        attempt: &attempt,
        change: "add-retry",
        root: Path::new("/repo"),
        learnings: Path::new("/vault/learnings.md"),
        transcript: Path::new("/vault/2.1"),
        prompt_file: Path::new("/vault/2.1/prompt.md"),
        git_trace: Path::new("/vault/2.1/git"),
        prompt: "Do it.",
        session,
        role,
    })
}

fn environment(agent: &Agent, is_root: bool) -> Vec<String> {
    environment_as(agent, SessionArg::New { id: None }, Role::Worker, is_root)
}

fn environment_as(
    agent: &Agent,
    session: SessionArg<'_>,
    role: Role,
    is_root: bool,
) -> Vec<String> {
    let show = |change: EnvChange| match change {
        EnvChange::Set(name, value) => format!("{}={}", name.display(), value.display()),
        EnvChange::Remove(name) => format!("-{}", name.display()),
    };
    let changes = with_session(session, role, |work| environment::of(agent, &work, is_root));
    changes.into_iter().map(show).collect()
}

fn built_in(adapter: &'static Adapter) -> Agent {
    Agent {
        program: Program::BuiltIn {
            adapter,
            wrap: Vec::new(),
        },
        model: None,
        env: Vec::new(),
    }
}

fn claude(model: Option<&str>) -> Agent {
    Agent {
        model: model.map(str::to_owned),
        ..built_in(&adapters::claude::ADAPTER)
    }
}

/// The names of the built-in agents of which this is true.
fn names_where(is: impl Fn(&Agent) -> bool) -> Vec<&'static str> {
    let all = ADAPTERS.into_iter().filter(|it| is(&built_in(it)));
    all.map(|it| it.name).collect()
}

fn line(agent: &Agent) -> String {
    line_as(agent, SessionArg::New { id: None }, Role::Worker)
}

fn line_as(agent: &Agent, session: SessionArg<'_>, role: Role) -> String {
    let (program, args) = with_session(session, role, |work| {
        agent.command_line(Path::new("/own"), &work)
    });
    let words: Vec<String> = std::iter::once(program)
        .chain(args)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    words.join(" ")
}

fn mine(words: &[&str], prompt: PromptBy, cwd: Option<&str>) -> Agent {
    Agent {
        program: Program::Command(CommandSettings {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            resume: None,
            review: None,
            prompt,
            output: Output::Text,
            cwd: cwd.map(str::to_owned),
        }),
        model: Some("m1".to_owned()),
        env: vec![
            ("MINE".into(), Variable::Set("1".into())),
            ("THEIRS".into(), Variable::Remove),
        ],
    }
}

#[test]
fn claude_streams_json_and_asks_no_question() {
    let want = "claude -p --output-format stream-json --verbose --dangerously-skip-permissions";
    assert_eq!(line(&claude(None)), want);
    assert_eq!(line(&claude(Some("opus"))), format!("{want} --model opus"));
}

#[test]
fn an_agent_can_be_wrapped_up() {
    let mut boxed = claude(None);
    if let Program::BuiltIn { wrap, .. } = &mut boxed.program {
        *wrap = ["box", "--bind", "{learnings}", "{git_trace}", "--"]
            .map(str::to_owned)
            .into();
    }
    assert_eq!(boxed.program(), Some("box"));
    let own = line(&claude(None));
    assert_eq!(
        line(&boxed),
        format!("box --bind /vault /vault/2.1/git -- {own}")
    );
}

#[test]
fn a_command_of_the_users_is_told_where_things_are() {
    let words = [
        "box",
        "--name={attempt}",
        "{root}:/w",
        "{prompt_file}",
        "{change}/{story}",
        "-m",
        "{model}",
        "{other}",
    ];
    let by_file = mine(&words, PromptBy::File, Some("web"));
    let want = "box --name=r1-2.1 /repo:/w /vault/2.1/prompt.md add-retry/2 -m m1 {other}";
    assert_eq!(line(&by_file), want);
    let spec = with_work(|work| by_file.process(work)).unwrap();
    assert_eq!((spec.stdin, spec.cwd), (Vec::new(), "/repo/web".into()));
    let by_stdin = mine(&["mine"], PromptBy::Stdin, None);
    let spec = with_work(|work| by_stdin.process(work)).unwrap();
    assert_eq!((spec.stdin, spec.cwd), (b"Do it.".to_vec(), "/repo".into()));
}

const NEW: SessionArg<'_> = SessionArg::New { id: Some("s1") };
const EARLIER: SessionArg<'_> = SessionArg::Continue { id: "s1" };

/// An agent of the user's with these commands.
fn with_commands(command: &[&str], resume: Option<&[&str]>, review: Option<&[&str]>) -> Agent {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut agent = mine(command, PromptBy::Stdin, None);
    if let Program::Command(command) = &mut agent.program {
        command.resume = resume.map(words);
        command.review = review.map(words);
    }
    agent
}

#[test]
fn a_command_of_the_users_continues_a_session_and_reviews() {
    let agent = with_commands(
        &["mine", "--id={session}"],
        Some(&["mine", "--resume", "{session}"]),
        Some(&["mine", "--read-only"]),
    );
    let (worker, reviewer) = (Role::Worker, Role::Reviewer);
    assert_eq!(line_as(&agent, NEW, worker), "mine --id=s1");
    assert_eq!(line_as(&agent, EARLIER, worker), "mine --resume s1");
    assert_eq!(line_as(&agent, NEW, reviewer), "mine --read-only");
    assert_eq!(line_as(&agent, EARLIER, reviewer), "mine --read-only");
    assert!(agent.can_continue(worker) && !agent.can_continue(reviewer));
    let plain = with_commands(&["mine"], None, None);
    assert_eq!(line_as(&plain, EARLIER, worker), "mine");
    assert_eq!(line_as(&plain, NEW, reviewer), "mine");
    assert!(!plain.can_continue(worker));
    let alike = with_commands(&["mine"], Some(&["mine", "-r"]), None);
    assert_eq!(line_as(&alike, EARLIER, reviewer), "mine -r");
    assert!(alike.can_continue(reviewer));
}

#[test]
fn an_id_is_made_for_agents_that_take_one() {
    let made = |agent: &Agent| agent.new_session_id().map(|id| id.len());
    assert_eq!(
        made(&with_commands(&["mine", "{session}"], None, None)),
        Some(36)
    );
    assert_eq!(made(&with_commands(&["mine"], None, None)), None);
    let takers = names_where(|agent| made(agent).is_some());
    assert_eq!(takers, ["copilot", "goose"]);
}

#[test]
fn the_id_of_a_session_is_in_the_environment_where_it_is_known() {
    let agent = with_commands(&["mine"], None, None);
    let variable = |session| {
        let all = environment_as(&agent, session, Role::Worker, false);
        all.into_iter().find(|it| it.contains("RALPHTOOL_SESSION"))
    };
    let unknown = variable(SessionArg::New { id: None });
    assert_eq!(unknown.as_deref(), Some("-RALPHTOOL_SESSION"));
    for session in [NEW, EARLIER] {
        assert_eq!(variable(session).as_deref(), Some("RALPHTOOL_SESSION=s1"));
    }
}

#[test]
fn a_variable_of_the_users_does_not_lift_what_a_reviewer_must_not_do() {
    let goose = Agent {
        env: vec![("GOOSE_MODE".into(), Variable::Set("smart_approve".into()))],
        ..built_in(adapters::adapter("goose").unwrap())
    };
    let mode = |role| {
        let all = environment_as(&goose, NEW, role, false);
        all.into_iter().rfind(|it| it.starts_with("GOOSE_MODE="))
    };
    assert_eq!(
        mode(Role::Worker).as_deref(),
        Some("GOOSE_MODE=smart_approve")
    );
    assert_eq!(mode(Role::Reviewer).as_deref(), Some("GOOSE_MODE=chat"));
}

#[test]
fn a_reviewer_has_a_shell_only_where_it_cannot_write_with_it() {
    let with_shell = |role| names_where(|agent| agent.has_shell(role));
    assert_eq!(with_shell(Role::Reviewer), ["claude", "codex"]);
    assert_eq!(with_shell(Role::Worker), ADAPTERS.map(|it| it.name));
    let own = with_commands(&["mine"], None, None);
    assert!(own.has_shell(Role::Worker) && !own.has_shell(Role::Reviewer));
}

#[test]
fn a_later_process_of_an_attempt_adds_to_the_same_files() {
    let spec = with_work(|work| {
        let later = Work {
            prompt_file: Path::new("/vault/2.1/prompt-2.md"),
            ..work
        };
        let command = with_commands(&["box", "{git_trace}", "{prompt_file}"], None, None);
        command.process(later)
    })
    .unwrap();
    assert_eq!(spec.args, ["/vault/2.1/git", "/vault/2.1/prompt-2.md"]);
    assert_eq!(spec.stdout, Path::new("/vault/2.1/stdout"));
    let trace = EnvChange::set("GIT_TRACE2_EVENT", "/vault/2.1/git");
    assert!(spec.env.contains(&trace));
}

#[test]
fn a_model_is_named_wherever_there_is_a_place_for_it() {
    let asked = |model: Option<&str>| Agent {
        program: Program::BuiltIn {
            adapter: &adapters::claude::ADAPTER,
            wrap: vec!["box".to_owned(), "--for={model}".to_owned()],
        },
        model: model.map(str::to_owned),
        env: vec![("SMALL".into(), Variable::Set("{model}".into()))],
    };
    assert!(asked(None).lacks_model());
    let agent = asked(Some("opus"));
    assert!(!agent.lacks_model());
    assert!(line(&agent).starts_with("box --for=opus claude "));
    let variables = environment(&agent, false);
    assert!(
        variables.contains(&"SMALL=opus".to_owned()),
        "{variables:?}"
    );
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
    let demo = Agent {
        program: Program::Demo,
        model: None,
        env: Vec::new(),
    };
    assert_eq!(line(&demo), "/own __demo-agent");
    assert_eq!((demo.program(), demo.output()), (None, Output::Text));
}

#[test]
fn an_agent_is_told_about_its_work_and_not_about_others() {
    let inside = ADAPTERS.into_iter().flat_map(|it| it.nesting);
    let mut want: Vec<String> = [
        "-GIT_DIR",
        "-GIT_WORK_TREE",
        "-GIT_INDEX_FILE",
        "-GIT_OBJECT_DIRECTORY",
        "-GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "-GIT_COMMON_DIR",
        "-GIT_NAMESPACE",
        "-GIT_PREFIX",
    ]
    .map(str::to_owned)
    .into();
    want.extend(inside.map(|name| format!("-{name}")));
    want.extend(
        [
            "MINE=1",
            "-THEIRS",
            "RALPHTOOL_RUN=r1",
            "RALPHTOOL_STORY=2",
            "RALPHTOOL_CHANGE=add-retry",
            "RALPHTOOL_LEARNINGS=/vault/learnings.md",
            "RALPHTOOL_PROMPT=/vault/2.1/prompt.md",
            "GIT_TRACE2_EVENT=/vault/2.1/git",
            "-RALPHTOOL_SESSION",
        ]
        .map(str::to_owned),
    );
    let agent = mine(&["mine"], PromptBy::Stdin, None);
    assert_eq!(environment(&agent, true), want);
}

#[test]
fn no_agent_gets_the_keys_of_another_but_those_the_user_passes_on() {
    for adapter in ADAPTERS {
        let all = ADAPTERS.into_iter().flat_map(|it| it.credentials);
        let foreign: BTreeSet<&str> = all
            .copied()
            .filter(|name| !adapter.credentials.contains(name))
            .collect();
        let env = foreign.iter().take(1);
        let env = env.map(|name| ((*name).to_owned(), Variable::Pass));
        let agent = Agent {
            env: env.collect(),
            ..built_in(adapter)
        };
        let changes = environment(&agent, false);
        for (place, name) in foreign.iter().enumerate() {
            let is_gone = changes.contains(&format!("-{name}"));
            assert_eq!(is_gone, place > 0, "{name} for {}", adapter.name);
        }
        for name in adapter.credentials {
            assert!(!changes.contains(&format!("-{name}")), "{name}");
        }
    }
}

#[test]
fn claude_is_kept_quiet_and_told_of_the_sandbox_only_as_root() {
    let root = environment(&claude(None), true);
    let user = environment(&claude(None), false);
    for (quiet, value) in adapters::claude::ADAPTER.environment {
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
