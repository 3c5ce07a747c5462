//! The doctor checks agents, configured or not: found, version, login, whose key. The agents are
//! shell scripts that answer like the real ones, or do not answer.

use std::fs;
use std::process::Command;

use crate::sandbox::{self, Output, Sandbox, mode};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A current Claude Code that is logged in.
const WELL: &str = r#"
case "$*" in
    --version) echo '2.1.325 (Claude Code)' ;;
    'auth status') echo '{ "loggedIn": true }' ;;
    *) exit 64 ;;
esac
"#;

/// The same, not logged in.
const LOGGED_OUT: &str = r#"
case "$*" in
    --version) echo '2.1.325 (Claude Code)' ;;
    *) echo '{ "loggedIn": false }'; exit 1 ;;
esac
"#;

/// A repository, and a machine that has only the given programs.
struct Clinic {
    sandbox: Sandbox,
}

impl Clinic {
    fn new(settings: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("ralphtool.toml", settings);
        let clinic = Self { sandbox };
        let bin = clinic.sandbox.root.join("bin");
        fs::create_dir(&bin).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        for name in ["git", "sh", "sleep", "setsid", "cat"] {
            let found = std::env::split_paths(&path).map(|folder| folder.join(name));
            if let Some(found) = found.into_iter().find(|file| file.is_file()) {
                std::os::unix::fs::symlink(found, bin.join(name)).unwrap();
            }
        }
        clinic
    }

    /// Adds a program.
    fn with(self, name: &str, script: &str) -> Self {
        let file = self.sandbox.root.join("bin").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let root = self.sandbox.root.display();
        fs::write(&file, format!("#!/bin/sh\nroot='{root}'\n{script}")).unwrap();
        fs::set_permissions(&file, mode(0o755)).unwrap();
        self
    }

    fn doctor(&self, variables: &[(&str, &str)], args: &[&str]) -> Output {
        let mut command: Command = self.sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command
            .arg("doctor")
            .args(args)
            .env("PATH", self.sandbox.root.join("bin"))
            .envs(variables.iter().copied());
        self.sandbox.start_command(command).end()
    }

    /// The whole diagnosis.
    #[track_caller]
    fn diagnosis(&self, variables: &[(&str, &str)], code: i32) -> Value {
        let before = sandbox::everything(&self.sandbox.repo);
        let output = self.doctor(variables, &["--json"]).ends_with(code);
        assert_eq!(sandbox::everything(&self.sandbox.repo), before);
        let left = fs::read_dir(self.sandbox.root.join("tmp")).unwrap();
        assert_eq!(left.count(), 0, "temporary files were left");
        serde_json::from_str(&self.sandbox.neutral(&output.stdout)).unwrap()
    }

    /// Level, message and hint of every line about one agent.
    #[track_caller]
    fn said(&self, name: &str, variables: &[(&str, &str)], code: i32) -> Vec<[String; 3]> {
        let diagnosis = self.diagnosis(variables, code);
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let findings = diagnosis["findings"].as_array().unwrap().iter();
        findings
            .filter(|it| it["check"] == "agent" && text(&it["message"]).contains(name))
            .map(|it| [text(&it["level"]), text(&it["message"]), text(&it["hint"])])
            .collect()
    }
}

/// What is known about one agent.
fn known(diagnosis: &Value, name: &str) -> Value {
    let agents = diagnosis["agents"].as_array().unwrap().iter();
    let mut found = agents.filter(|it| it["name"] == name);
    found.next().unwrap().clone()
}

#[test]
fn a_working_agent_is_listed_with_version_and_login() {
    let clinic = Clinic::new("").with("claude", WELL);
    let diagnosis = clinic.diagnosis(&[], 0);
    let want = json!({
        "name": "claude",
        "asked": true,
        "program": "ROOT/bin/claude",
        "version": "2.1.325",
        "supported": true,
        "logged_in": true,
        "trouble": null,
        "keys": [],
        "withheld": [],
    });
    assert_eq!(known(&diagnosis, "claude"), want);
    let line = "`claude`: Claude Code 2.1.325 (`ROOT/bin/claude`), logged in";
    assert_eq!(clinic.said("claude", &[], 0), [["good", line, ""]]);
    let output = clinic.doctor(&[], &[]).ends_with(0);
    let text = clinic.sandbox.neutral(&output.stdout);
    assert!(
        text.contains(&format!("✓ agent          {line}\n")),
        "{text}"
    );
    let verdict = "\na run can start: look at what is marked !\n";
    assert!(text.ends_with(verdict), "{text}");
}

#[test]
fn an_agent_that_is_missing_keeps_a_run_from_starting() {
    let clinic = Clinic::new("agent = [\"claude\", \"mine\"]\n[agents.mine]\ncommand = [\"cat\"]");
    let want = [
        "refusal",
        "the agent `claude` needs `claude`, which was not found",
        "install it with `npm install -g @anthropic-ai/claude-code`, or choose another agent with `--agent NAME`",
    ];
    assert_eq!(clinic.said("`claude`", &[], 2), [want]);
    // A run says the same.
    let mut command = clinic.sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["loop", "c"])
        .env("PATH", clinic.sandbox.root.join("bin"));
    let output = clinic.sandbox.start_command(command).end().ends_with(2);
    assert!(output.stderr.contains(want[1]), "{}", output.stderr);
    assert!(output.stderr.contains(want[2]), "{}", output.stderr);
}

#[test]
fn an_old_agent_and_one_that_is_not_logged_in_get_a_warning() {
    let old = "[ \"$1\" = --version ] && echo 2.0.77 && exit; echo '{\"loggedIn\": true}'";
    let clinic = Clinic::new("").with("claude", old);
    let want = [
        "warning",
        "`claude`: Claude Code 2.0.77 is too old (`ROOT/bin/claude`)",
        "update it, with npm: `npm install -g @anthropic-ai/claude-code`; 2.1.0 or later is needed",
    ];
    assert_eq!(clinic.said("claude", &[], 0), [want]);
    assert_eq!(
        known(&clinic.diagnosis(&[], 0), "claude")["supported"],
        false
    );

    let clinic = Clinic::new("").with("claude", LOGGED_OUT);
    let want = [
        [
            "good",
            "`claude`: Claude Code 2.1.325 (`ROOT/bin/claude`)",
            "",
        ],
        [
            "warning",
            "`claude` is not logged in",
            "log in with `claude auth login`, or check `ANTHROPIC_API_KEY`",
        ],
    ];
    assert_eq!(clinic.said("claude", &[], 0), want);
}

#[test]
fn an_agent_with_unreadable_answers_gets_a_warning() {
    let hint = "see what `ROOT/bin/claude --version` does; 2.1.0 or later is needed";
    for (script, trouble) in [
        ("printf 'hello\\033[2J\\nworld'", "it says `hello\u{1b}[2J`"),
        ("", "it says nothing"),
        ("echo boom >&2; exit 3", "exit code 3, `boom`"),
        ("kill -9 $$", "signal 9"),
        ("while :; do echo y; done", "an answer without an end"),
        ("while :; do echo y >&2; done", "an answer without an end"),
    ] {
        let clinic = Clinic::new("").with("claude", script);
        let message = format!(
            "`claude`: Claude Code (`ROOT/bin/claude`) does not report its version: {trouble}"
        );
        assert_eq!(clinic.said("claude", &[], 0), [["warning", &message, hint]]);
        let output = clinic.doctor(&[], &[]).ends_with(0);
        assert!(!output.stdout.contains('\u{1b}'), "{}", output.stdout);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_hangs_is_ended_with_all_it_started() {
    let script = "setsid sleep 600 &\n(setsid sh -c 'sleep 600; :' &)\nsleep 600";
    let clinic = Clinic::new("command_timeout = \"1s\"\n").with("claude", script);
    let diagnosis = clinic.diagnosis(&[], 0);
    let claude = known(&diagnosis, "claude");
    assert_eq!(claude["trouble"], "no answer within 1s");
    assert_eq!(
        (&claude["version"], &claude["logged_in"]),
        (&Value::Null, &Value::Null)
    );
    #[cfg(target_os = "linux")]
    assert_eq!(processes_of(&clinic.sandbox.root), [] as [String; 0]);
}

/// What still runs with this folder as its home.
#[cfg(target_os = "linux")]
fn processes_of(root: &std::path::Path) -> Vec<String> {
    let mark = format!("HOME={}", root.join("home").display());
    let all = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let environment =
        |process: &std::path::Path| fs::read(process.join("environ")).unwrap_or_default();
    all.filter(|process| {
        let environment = environment(process);
        environment
            .split(|byte| *byte == 0)
            .any(|it| it == mark.as_bytes())
    })
    .map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default())
    .collect()
}

#[test]
fn an_agent_is_asked_in_the_environment_of_an_attempt_and_outside_of_the_repository() {
    let script = format!(
        "{{ pwd; cat; echo \"[$CLAUDECODE$GIT_DIR$IN_SETTINGS]\"; echo $DISABLE_AUTOUPDATER; }} > $root/\"$1\"\n{WELL}"
    );
    let settings = "agent = \"work\"\n[agents.work]\nlike = \"claude\"\nenv = { IN_SETTINGS = \"yes\", PATH = \"BIN\" }\n";
    let clinic = Clinic::new("").with("elsewhere/claude", &script);
    let root = clinic.sandbox.root.clone();
    let path = format!("{0}/bin/elsewhere:{0}/bin", root.display());
    let settings = settings.replace("BIN", &path);
    let variables = [("CLAUDECODE", "1"), ("GIT_DIR", "/nowhere")];
    // Not by settings of a repository that the user has not allowed.
    clinic.sandbox.write("ralphtool.toml", &settings);
    let untrusted = [&variables[..], &[("RALPHTOOL_TRUST", "0")]].concat();
    assert_eq!(clinic.said("`work`", &untrusted, 2), [[""; 3]; 0]);
    let diagnosis = clinic.diagnosis(&untrusted, 2);
    let mut findings = diagnosis["findings"].as_array().unwrap().iter();
    let told = findings.find(|it| it["check"] == "trust").unwrap();
    assert_eq!(told["level"], "refusal");
    assert_eq!(told["hint"], "`ralphtool trust` shows them and asks");
    assert!(!root.join("--version").exists());
    fs::create_dir_all(root.join("config/ralphtool")).unwrap();
    fs::write(root.join("config/ralphtool/config.toml"), &settings).unwrap();
    let said = clinic.said("`work`", &variables, 0);
    let line = "`work`: Claude Code 2.1.325 (`ROOT/bin/elsewhere/claude`), logged in";
    assert_eq!(said, [["good", line, ""]]);
    for asked in ["--version", "auth"] {
        let told = fs::read_to_string(root.join(asked)).unwrap();
        assert_eq!(told, "/\n[yes]\n1\n", "{asked}");
    }
}

#[test]
fn the_billed_key_is_named_but_never_shown() {
    let clinic = Clinic::new("").with("claude", WELL);
    let variables = [("ANTHROPIC_API_KEY", "sk-secret")];
    let said = clinic.said("claude", &variables, 0);
    let line = "`claude` finds `ANTHROPIC_API_KEY`: its work is billed to the key, not to a \
        subscription";
    assert_eq!(said[1..], [["good", line, ""]]);
    let diagnosis = clinic.diagnosis(&variables, 0);
    assert_eq!(
        known(&diagnosis, "claude")["keys"],
        json!(["ANTHROPIC_API_KEY"])
    );
    assert!(!diagnosis.to_string().contains("sk-secret"));
    let none = [("ANTHROPIC_API_KEY", "")];
    assert_eq!(clinic.said("claude", &none, 0).len(), 1);
}

#[test]
fn keys_that_an_agent_does_not_get_are_named() {
    let settings =
        "agent = [\"claude\", \"codex\"]\n[agents.codex]\nenv = { GEMINI_API_KEY = true }\n";
    let told = "echo \"$0 [$ANTHROPIC_API_KEY $CODEX_API_KEY $GEMINI_API_KEY]\" >> $root/got";
    let clinic = Clinic::new(settings)
        .with("claude", &format!("{told}\n{WELL}"))
        .with("codex", &format!("{told}\necho codex-cli 0.166.0"));
    let variables = [
        ("ANTHROPIC_API_KEY", "a"),
        ("CODEX_API_KEY", "c"),
        ("GEMINI_API_KEY", "g"),
    ];
    let diagnosis = clinic.diagnosis(&variables, 0);
    let claude = known(&diagnosis, "claude");
    assert_eq!(
        claude["withheld"],
        json!(["CODEX_API_KEY", "GEMINI_API_KEY"])
    );
    let codex = known(&diagnosis, "codex");
    assert_eq!(codex["withheld"], json!(["ANTHROPIC_API_KEY"]));
    let got = fs::read_to_string(clinic.sandbox.root.join("got")).unwrap();
    let got = clinic.sandbox.neutral(&got);
    let mut got: Vec<&str> = got.lines().collect();
    got.sort_unstable();
    let (claude, codex) = ("ROOT/bin/claude [a  ]", "ROOT/bin/codex [ c g]");
    assert_eq!(got, [claude, claude, codex, codex]);
    let said = clinic.said("does not get", &variables, 0);
    let line = "`claude` does not get `CODEX_API_KEY`, `GEMINI_API_KEY`, which other agents use";
    assert_eq!(said[0], ["good", line, ""]);
    // A key that the user removes still counts as the agent's own.
    let settings = "[agents.claude]\nenv = { ANTHROPIC_API_KEY = false }\n";
    let clinic = Clinic::new(settings).with("claude", WELL);
    assert_eq!(clinic.said("does not get", &variables[..1], 0).len(), 0);
}

#[test]
fn a_login_is_recognised_by_file_or_variable_if_the_agent_cannot_report_it() {
    let version = "[ \"$1\" = --version ] && echo 0.166.0 && exit; exit 1";
    for (agent, file, variable) in [
        ("codex", ".codex/auth.json", "CODEX_API_KEY"),
        ("gemini", ".gemini/oauth_creds.json", "GEMINI_API_KEY"),
    ] {
        let settings = format!("agent = \"work\"\n[agents.work]\nlike = \"{agent}\"\n");
        let clinic = Clinic::new(&settings).with(agent, version);
        let login = |variables: &[(&str, &str)]| {
            let diagnosis = clinic.diagnosis(variables, 0);
            known(&diagnosis, "work")["logged_in"].clone()
        };
        assert_eq!(login(&[]), false, "{agent}");
        assert_eq!(login(&[(variable, "x")]), true, "{agent}");
        let file = clinic.sandbox.root.join("home").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "{}").unwrap();
        assert_eq!(login(&[]), true, "{agent}");
    }
}

#[test]
fn agents_are_asked_at_the_same_time() {
    let meets = |other: &str| {
        let wait = format!("until [ -e $root/$1-{other} ]; do sleep 0.02; done");
        format!("touch() {{ : > \"$1\"; }}\ntouch $root/$1-${{0##*/}}\n{wait}\necho 99.0.0\n")
    };
    let clinic = Clinic::new("agent = [\"claude\", \"codex\"]\n")
        .with("claude", &meets("codex"))
        .with("codex", &meets("gemini"))
        .with("gemini", &meets("claude"));
    // The third is asked only for its version, so the logins of the others must not wait for it.
    for login in ["auth-codex", "login-gemini"] {
        fs::write(clinic.sandbox.root.join(login), "").unwrap();
    }
    let diagnosis = clinic.diagnosis(&[], 0);
    for agent in ["claude", "codex", "gemini"] {
        let known = known(&diagnosis, agent);
        assert_eq!(known["version"], "99.0.0", "{known}");
    }
}

#[test]
fn each_agent_the_run_may_use_is_checked_once() {
    let clinic = Clinic::new(
        r#"
        agent = ["mine", "claude"]
        [agents.mine]
        command = ["cat", "{model}"]
        model = "m"
        prompt = "file"
        cwd = "dir"
        [agents.boxed]
        like = "claude"
        wrap = ["sh", "-c"]
        [agents.idle]
        command = ["no-such-agent"]
        [escalate]
        after = 2
        agent = "boxed"
        [[story]]
        id = "1"
        change = "another"
        agent = "late"
        [[story]]
        id = "2"
        agent = "claude"
        model = "opus"
        [agents.late]
        command = ["cat"]
        "#,
    )
    .with("claude", WELL);
    let diagnosis = clinic.diagnosis(&[], 0);
    let agents = diagnosis["agents"].as_array().unwrap().iter();
    let asked: Vec<&Value> = agents
        .filter(|it| it["asked"] == true)
        .map(|it| &it["name"])
        .collect();
    assert_eq!(asked, ["mine", "claude", "late", "boxed"]);
    let line = |name: &str| clinic.said(name, &[], 0)[0][1].clone();
    let mine = "`mine`: `ROOT/bin/cat`, prompt by file, starts in `dir`";
    assert_eq!(line("`mine`"), mine);
    assert_eq!(
        line("`late`"),
        "`late`: `ROOT/bin/cat`, prompt by standard input"
    );
    let boxed = "`boxed`: Claude Code inside of `ROOT/bin/sh`, where it cannot be checked";
    assert_eq!(line("`boxed`"), boxed);
}

#[test]
fn a_command_that_cannot_be_started_is_refused_as_a_run_would() {
    let clinic =
        Clinic::new("agent = \"mine\"\n[agents.mine]\ncommand = [\"cat\"]\ncwd = \"nowhere\"\n");
    let want = [
        "refusal",
        "the agent `mine` starts in `ROOT/repo/nowhere`, which is no folder",
        "create it, or correct `cwd`",
    ];
    assert_eq!(clinic.said("`mine`", &[], 2), [want]);
    let settings = "agent = \"mine\"\n[agents.mine]\ncommand = [\"cat\", \"{model}\"]\n[[story]]\nid = \"1\"\nmodel = \"m\"\n";
    clinic.sandbox.write("ralphtool.toml", settings);
    let want = "the command of the agent `mine` has `{model}`, and there is none";
    assert_eq!(clinic.said("`mine`", &[], 2)[0][1], want);
}

#[test]
fn an_agent_that_is_not_configured_is_mentioned_without_an_error() {
    let settings = "agent = \"mine\"\n[agents.mine]\ncommand = [\"cat\"]\n";
    let last = |clinic: &Clinic| {
        let said = clinic.said("`claude`", &[], 0).pop().unwrap();
        assert_eq!((said[0].as_str(), said[2].as_str()), ("note", ""));
        said[1].clone()
    };
    let clinic = Clinic::new(settings);
    assert!(last(&clinic).starts_with("not installed: `claude`"));
    for (script, want) in [
        (LOGGED_OUT, "not asked for: `claude` 2.1.325"),
        ("echo 1.0.0", "not asked for: `claude` 1.0.0, too old"),
        ("exit 1", "not asked for: `claude`, version unknown"),
    ] {
        let clinic = Clinic::new(settings).with("claude", script);
        let said = last(&clinic);
        assert!(said.starts_with(want), "{said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn doctor_refuses_a_state_directory_that_cannot_hold_a_vault() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.arg("doctor").env("XDG_STATE_HOME", "/proc");
    let Output { code, stdout, .. } = sandbox.start_command(command).end();
    assert!(
        stdout.contains("`/proc/ralphtool` cannot hold private files: "),
        "{code}: {stdout}"
    );
}

/// What is said of the gates, with its level and its hint.
fn of_gates(diagnosis: &Value) -> Vec<[String; 3]> {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let findings = diagnosis["findings"].as_array().unwrap().iter();
    let findings = findings.filter(|it| it["check"] == "gates");
    findings
        .map(|it| [text(&it["level"]), text(&it["message"]), text(&it["hint"])])
        .collect()
}

const GATES: &str = "\
[[gate]]\nname = \"tests\"\nrun = \"sleep 0\"\n\
[[gate]]\nname = \"lint\"\nrun = \"cat missing.txt; exit 3\"\n\
[[gate]]\nname = \"typo\"\nrun = \"pytset -q\"\n\
[[gate]]\nname = \"own\"\nrun = \"./own.sh\"\n";

#[test]
fn every_gate_is_listed_with_its_program() {
    let clinic = Clinic::new(GATES).with("claude", WELL);
    let diagnosis = clinic.diagnosis(&[], 2);
    let want = [
        ["good", "`tests`: `sleep 0` (`ROOT/bin/sleep`)", ""],
        [
            "good",
            "`lint`: `cat missing.txt; exit 3` (only running it shows whether it can run)",
            "",
        ],
        [
            "refusal",
            "`typo`: `pytset -q` cannot run: `pytset`: command not found",
            "correct the gate's `run`, install the program, or activate the environment that has it",
        ],
        [
            "warning",
            "`own`: `./own.sh`: there is no executable `./own.sh` yet; unless an earlier gate builds it, \
             a run ends before its first story",
            "if a story is to write it, set `baseline = false` on the gate",
        ],
    ];
    assert_eq!(of_gates(&diagnosis), want.map(|it| it.map(str::to_owned)));
    assert_eq!(diagnosis["gates"][0]["program"], "ROOT/bin/sleep");
    let trouble = &diagnosis["gates"][2]["trouble"];
    assert_eq!(trouble, "`pytset`: command not found");
    let text = clinic.doctor(&[], &[]).ends_with(2).stdout;
    let verdict = "\na run cannot start: correct what is marked ✗\n";
    assert!(text.ends_with(verdict), "{text}");
}

#[test]
fn gates_are_run_on_request_with_their_times() {
    let gates = GATES.replace("pytset -q", "cat a.txt");
    let clinic = Clinic::new(&gates).with("claude", WELL);
    let output = clinic.doctor(&[], &["--gates", "--json"]).ends_with(2);
    let diagnosis: Value = serde_json::from_str(&output.stdout).unwrap();
    let without_time = |text: &str| {
        let words = text.split(' ').map(|word| {
            let is_time = word.trim_end_matches(':').ends_with('s')
                && word.starts_with(|c: char| c.is_ascii_digit());
            if is_time { "TIME" } else { word }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let said: Vec<String> = of_gates(&diagnosis)
        .into_iter()
        .map(|[level, message, _]| format!("{level}: {}", without_time(&message)))
        .collect();
    assert_eq!(
        said[..3],
        [
            "good: `tests` passed in TIME",
            "warning: `lint` is red after TIME exit code 3",
            "good: `typo` passed in TIME",
        ]
    );
    let own = "refusal: `own` cannot run: exit code 127: command not found: ";
    assert!(said[3].starts_with(own), "{said:?}");
    assert!(of_gates(&diagnosis)[1][2].contains("missing.txt"));
    assert_eq!(diagnosis["gates"][1]["result"]["verdict"], "failed");
    assert!(diagnosis["gates"][0]["duration_ms"].is_u64());
    let running: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(running[0], "running gate `tests` …");
}

#[test]
fn gates_that_the_user_has_not_allowed_are_not_run() {
    let clinic = Clinic::new("[[gate]]\nrun = \"echo > ran\"\n").with("claude", WELL);
    let mut command: Command = clinic.sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["doctor", "--gates"])
        .env("PATH", clinic.sandbox.root.join("bin"))
        .env_remove("RALPHTOOL_TRUST");
    let text = clinic
        .sandbox
        .start_command(command)
        .end()
        .ends_with(2)
        .stdout;
    let why = "no gate was run: the settings are not allowed yet";
    assert!(text.contains(why), "{text}");
    assert!(!clinic.sandbox.exists("ran"));
}

#[test]
fn that_there_are_no_gates_is_always_said() {
    for settings in ["", "agent = \"claude\"\n"] {
        let clinic = Clinic::new(settings).with("claude", WELL);
        let want = [
            "warning",
            "no gates: the agent's word is the only check",
            "add a `[[gate]]` with the command that tests this repository",
        ];
        let diagnosis = clinic.diagnosis(&[], 0);
        assert_eq!(of_gates(&diagnosis), [want.map(str::to_owned)]);
    }
}

#[test]
fn the_verdict_says_that_there_is_nothing_to_run() {
    let clinic = Clinic::new("[[gate]]\nrun = \"sleep 0\"\n").with("claude", WELL);
    let verdict = || {
        let text = clinic.doctor(&[], &[]).ends_with(0).stdout;
        text.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(verdict(), "everything is ready");
    clinic.sandbox.tasks(&sandbox::TASKS.replace("[ ]", "[x]"));
    let nothing = "no change has work left: write one with `ralphtool new NAME`";
    assert_eq!(verdict(), nothing);
}

#[test]
fn a_run_at_work_keeps_another_from_starting() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "[[gate]]\nrun = \"true\"\nbaseline = false\n");
    sandbox.agent("echo > $root/works; wait_for $root/go; failed no");
    let running = sandbox.start(&["loop", "c", "--max-retries", "0"]);
    let works = sandbox.root.join("works");
    sandbox::until("the agent works", || sandbox::there(&works));
    let text = sandbox.run(&["doctor", "--gates"]).ends_with(2).stdout;
    for part in [
        "✗ lock           ralphtool is at work here: ",
        "no gate was run: ralphtool is at work in this tree",
        "\na run cannot start: correct what is marked ✗\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
    fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().ends_with(1);
}

#[test]
fn the_verdict_on_a_gate_without_its_script_is_that_of_a_run() {
    let hint = "write it, or make it executable; if a story is to write it, set `baseline = false` on the gate";
    let cases = [
        ("run = \"./missing.sh\"\n", "./missing.sh", Some(hint)),
        ("run = \"./a.txt\"\n", "./a.txt", Some(hint)),
        (
            "run = \"./missing.sh\"\nbaseline = false\n",
            "./missing.sh",
            None,
        ),
        (
            "run = \"./missing.sh\"\nwhen = \"end\"\n",
            "./missing.sh",
            Some(hint),
        ),
    ];
    for (gate, script, hint) in cases {
        let sandbox = Sandbox::new();
        sandbox.config_and("max_retries = 0", &format!("[[gate]]\n{gate}"));
        sandbox.git("commit -qam gate");
        let code = if hint.is_some() { 2 } else { 0 };
        let doctor = sandbox.run(&["doctor"]).ends_with(code).stdout;
        let finding = match hint {
            Some(hint) => format!(
                "✗ gates          `{script}` cannot run: there is no executable `{script}`\n                 → {hint}\n"
            ),
            None => format!(
                "! gates          `{script}`: there is no executable `{script}` yet\n                 → a story must write it\n"
            ),
        };
        assert!(doctor.contains(&finding), "{doctor}");
        let started = sandbox.run(&["loop", "c"]);
        assert_eq!(started.code == 2, hint.is_some(), "{}", started.stdout);
    }
}

#[test]
fn a_branch_that_is_in_the_way_of_a_change_is_named() {
    let theirs = "a run of `c` cannot start: the branch `ralph/c` was not made by a run in this work tree; \
                  it is never replaced";
    let below =
        "a run of `c` cannot start: a branch `ralph/c/x` exists, so `ralph/c` cannot be made";
    for (branch, message) in [("ralph/c", theirs), ("ralph/c/x", below)] {
        let sandbox = Sandbox::new();
        sandbox.git(&format!("branch {branch}"));
        let doctor = sandbox.run(&["doctor"]).ends_with(2).stdout;
        assert!(
            doctor.contains(&format!("✗ plan           {message}\n")),
            "{doctor}"
        );
        sandbox.run(&["loop", "c"]).ends_with(2);
        // Another change can be run.
        sandbox.write("openspec/changes/d/tasks.md", sandbox::TASKS);
        let doctor = sandbox.run(&["doctor"]).ends_with(0).stdout;
        assert!(
            doctor.contains(&format!("! plan           {message}\n")),
            "{doctor}"
        );
        sandbox.run(&["loop", "d"]).ends_with(0);
    }
    let sandbox = Sandbox::new();
    sandbox.git("branch ralph");
    let doctor = sandbox.run(&["doctor"]).ends_with(2).stdout;
    assert!(doctor.contains("a branch `ralph` exists"), "{doctor}");
}
