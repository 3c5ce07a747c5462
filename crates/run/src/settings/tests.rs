//! Facts about settings: files, variables, layers.

use indoc::indoc;
use pretty_assertions::assert_eq;

use std::collections::BTreeMap;

use super::agents::{AgentSettings, Calling, CommandSettings, Escalation, PromptBy, StorySettings};
use super::tamper::Paths;
use super::*;
use ralph_agents::dialect::Output;
use ralph_base::allowance::{CostLimit, Price, TokenLimit};
use ralph_base::duration::TimeLimit;
use ralph_base::size::SizeLimit;

fn problem(text: &str) -> String {
    let problem = file::parse("ralphtool.toml", text).unwrap_err();
    match &problem.hint {
        Some(hint) => format!("{problem} ({hint})"),
        None => problem.to_string(),
    }
}

fn at<T>(line: usize, value: T) -> Sourced<T> {
    let path = "ralphtool.toml".to_owned();
    Sourced {
        value,
        origin: Origin::File {
            path,
            line,
            tables: Vec::new(),
        },
    }
}

/// A list of tables that begin in these lines.
fn tables_at<T>(lines: &[usize], value: T) -> Sourced<T> {
    let mut sourced = at(lines[0], value);
    if let Origin::File { tables, .. } = &mut sourced.origin {
        *tables = lines.to_vec();
    }
    sourced
}

#[test]
fn a_file_with_every_key_is_read_with_its_lines() {
    let text = indoc! {r#"
        agent = ["mine", "claude"]
        model = "opus"
        max_retries = 1_0
        on_finish = "keep"
        strict_tasks = true
        require_changes = false
        command_timeout = "1m"
        max_wait = 0
        limit_pause = "5s"
        largest_file = "1GB"
        least_free = 0
        vault_limit = "5GB"
        learnings_limit = "8kB"
        [timeouts]
        idle = "10m"
        total = "off"
        grace = "5s"
        [budget]
        usd = 2.50
        tokens = 500_000
        time = "8h"
        story_usd = "1"
        story_tokens = "50k"
        story_time = "1h"
        [[gate]]
        name = "tests"
        run = "cargo test"
        timeout = "20m"
        baseline = false
        when = "end"
        [[gate]]
        run = "cargo clippy"
        [[gate]]
        run = "cargo fmt"
        allow_red = true
        keep_changes = true
        retries = 2
        paths = ["src/**", "./web/", "Cargo.toml"]
        junit = "target/**/junit.xml"
    "#};
    let gates = vec![
        GateSettings {
            name: "tests".to_owned(),
            run: "cargo test".to_owned(),
            timeout: TimeLimit::seconds(1200),
            baseline: false,
            allow_red: false,
            when: When::End,
            keep_changes: false,
            retries: 0,
            paths: None,
            junit: None,
        },
        GateSettings::from_line("cargo clippy"),
        GateSettings {
            allow_red: true,
            keep_changes: true,
            retries: 2,
            paths: Some(PathPatterns::new(&["src/**", "web", "Cargo.toml"]).unwrap()),
            junit: Some(PathPatterns::new(&["target/**/junit.xml"]).unwrap()),
            ..GateSettings::from_line("cargo fmt")
        },
    ];
    let want = PartialSettings {
        agent: Some(at(1, "mine,claude".parse().unwrap())),
        model: Some(at(2, "opus".to_owned())),
        max_retries: Some(at(3, 10)),
        on_finish: Some(at(4, OnFinish::Keep)),
        strict_tasks: Some(at(5, true)),
        require_changes: Some(at(6, false)),
        command_timeout: Some(at(7, TimeLimit::seconds(60))),
        max_wait: Some(at(8, TimeLimit::OFF)),
        limit_pause: Some(at(9, TimeLimit::seconds(5))),
        largest_file: Some(at(10, SizeLimit::bytes(1_000_000_000))),
        least_free: Some(at(11, SizeLimit::OFF)),
        vault_limit: Some(at(12, SizeLimit::bytes(5_000_000_000))),
        learnings_limit: Some(at(13, SizeLimit::bytes(8_000))),
        idle_timeout: Some(at(15, TimeLimit::seconds(600))),
        total_timeout: Some(at(16, TimeLimit::OFF)),
        grace: Some(at(17, TimeLimit::seconds(5))),
        max_cost: Some(at(19, CostLimit(Some(2_500_000)))),
        max_tokens: Some(at(20, TokenLimit(Some(500_000)))),
        max_time: Some(at(21, TimeLimit::seconds(28_800))),
        max_story_cost: Some(at(22, CostLimit(Some(1_000_000)))),
        max_story_tokens: Some(at(23, TokenLimit(Some(50_000)))),
        max_story_time: Some(at(24, TimeLimit::seconds(3600))),
        gates: Some(tables_at(&[25, 31, 33], gates)),
        ..PartialSettings::default()
    };
    assert_eq!(file::parse("ralphtool.toml", text), Ok(want));
    assert_eq!(
        file::parse("ralphtool.toml", ""),
        Ok(PartialSettings::default())
    );
}

#[test]
fn checks_prices_and_notifications_are_read_with_their_lines() {
    let text = indoc! {r#"
        [prices."gpt-5.2-codex"]
        input = 1.25
        output = 10
        cached_input = 0.125
        [tamper]
        tests = "fail"
        outside = "off"
        roots = ["src", "./tests/"]
        [notify]
        command = ["notify-send", "ralphtool"]
        bell = false
        on = ["choice", "finished"]
    "#};
    let price = Price {
        input: "1.25".parse().unwrap(),
        output: "10".parse().unwrap(),
        cached_input: "0.125".parse().unwrap(),
        cache_write: "1.25".parse().unwrap(),
    };
    let notify = NotifySettings {
        command: Some(vec!["notify-send".to_owned(), "ralphtool".to_owned()]),
        bell: false,
        on: vec![Occasion::Choice, Occasion::Finished],
    };
    let want = PartialSettings {
        prices: BTreeMap::from([("gpt-5.2-codex".to_owned(), at(1, price))]),
        tamper_tests: Some(at(6, Severity::Fail)),
        tamper_outside: Some(at(7, Severity::Off)),
        tamper_roots: Some(at(8, Paths(vec!["src".to_owned(), "tests".to_owned()]))),
        notify: Some(at(9, notify)),
        ..PartialSettings::default()
    };
    assert_eq!(file::parse("ralphtool.toml", text), Ok(want));
}

#[test]
fn agents_of_the_users_own_are_read_with_their_lines() {
    let text = indoc! {r#"
        [agents.mine]
        command = ["my-agent", "--auto"]
        output = "claude-json"
        env = { KEY = "value", OTHER = false, THEIRS = true }
        prompt = "file"
        cwd = "web"
        model = "large"
        [agents.work]
        like = "claude"
        wrap = ["nice"]
        [escalate]
        after = 2
        agent = "claude"
        model = "opus"
        [[story]]
        id = "3"
        change = "add-retry"
        agent = "work"
        depends_on = ["1"]
    "#};
    let mine = AgentSettings {
        calling: Calling::Command(CommandSettings {
            words: vec!["my-agent".to_owned(), "--auto".to_owned()],
            resume: None,
            review: None,
            prompt: PromptBy::File,
            output: Output::ClaudeJson,
            cwd: Some("web".to_owned()),
        }),
        model: Some("large".to_owned()),
        env: BTreeMap::from([
            ("KEY".to_owned(), Variable::Set("value".to_owned())),
            ("OTHER".to_owned(), Variable::Remove),
            ("THEIRS".to_owned(), Variable::Pass),
        ]),
    };
    let work = AgentSettings {
        calling: Calling::Like {
            name: "claude".to_owned(),
            wrap: vec!["nice".to_owned()],
        },
        model: None,
        env: BTreeMap::new(),
    };
    let escalation = Escalation {
        after: 2,
        agent: Some("claude".to_owned()),
        model: Some("opus".to_owned()),
    };
    let story = StorySettings {
        change: Some("add-retry".to_owned()),
        id: "3".to_owned(),
        agent: Some("work".to_owned()),
        model: None,
        depends_on: Some(vec!["1".to_owned()]),
    };
    let want = PartialSettings {
        agents: BTreeMap::from([
            ("mine".to_owned(), at(1, mine)),
            ("work".to_owned(), at(8, work)),
        ]),
        escalate: Some(at(11, escalation)),
        stories: Some(tables_at(&[15], vec![story])),
        ..PartialSettings::default()
    };
    assert_eq!(file::parse("ralphtool.toml", text), Ok(want));
}

#[test]
fn a_bad_file_names_line_column_and_the_way_out() {
    let cases = [
        "agent = \"claude\"\nmax_retry = 1",
        "max-retries = 1",
        "xyzzy = 1",
        "[budget]\ncost = 1.0",
        "[budget]\nusd = 0.0000005",
        "[budget]\nusd = true",
        "[budget]\ntokens = 1.5",
        "[budget]\ntime = 8",
        "budget = 5",
        "[timeouts]\nidel = \"1m\"",
        "[[gate]]\nrun = \"x\"\nbase_line = true",
        "[agents.mine]\ncommand = [\"x\"]\noutputs = \"text\"",
        "max_retries = \"3\"",
        "max_retries = -1",
        "max_retries = 99999999999",
        "strict_tasks = \"yes\"",
        "on_finish = \"merge\"",
        "agent = []",
        "agent = [\"claude\", \"claude\"]",
        "agent = 1",
        "agent = \"claude,codex\"",
        "[agents.mine]\nmodel = \"x\"",
        "[agents.mine]\nlike = \"clod\"",
        "[agents.claude]\ncwd = \"x\"",
        "[agents.mine]\nlike = \"claude\"\ncommand = [\"x\"]",
        "[agents.mine]\nwrap = [\"x\"]\ncommand = [\"x\"]",
        "[agents.mine]\nlike = \"claude\"\nwrap = []",
        "[agents.mine]\ncommand = [\"x\"]\nenv = { A = 1 }",
        "[agents.mine]\ncommand = [\"x\"]\nenv = { \"A=B\" = \"1\" }",
        "[escalate]\nagent = \"claude\"",
        "[escalate]\nafter = 2",
        "[escalate]\nafter = 2\nagents = \"x\"",
        "[[story]]\nagent = \"x\"",
        "[[story]]\nid = \"3\"",
        "[[story]]\nid = \"3\"\ndepends_on = \"1\"",
        "story = 3",
        "command_timeout = 30",
        "command_timeout = \"half an hour\"",
        "largest_file = 50",
        "largest_file = \"much\"",
        "vault_limit = 20",
        "vault_limit = \"much\"",
        "timeouts = \"1m\"",
        "gate = \"cargo test\"",
        "[[gate]]\nname = \"tests\"",
        "[[gate]]\nrun = \" \"",
        "[[gate]]\nrun = \"a\"\n[[gate]]\nrun = \"a\"",
        "[[gate]]\nrun = \"a\"\nwhen = \"never\"",
        "[[gate]]\nrun = \"a\"\nwhen = \"end\"\nkeep_changes = true",
        "[prices.x]\ninput = 1",
        "[prices.x]\ninput = 1\noutput = \"much\"",
        "[prices.x]\ncache = 1",
        "[tamper]\ntest = \"fail\"",
        "[tamper]\ntests = true",
        "[tamper]\nroots = [\"../x\"]",
        "[notify]\ncommand = \"x\"",
        "[notify]\non = [\"start\"]",
        "learnings_limit = 5",
        "[agents.mine]\noutput = \"text\"",
        "[agents.mine]\ncommand = \"my-agent\"",
        "[agents.mine]\ncommand = []",
        "[agents.mine]\ncommand = [\"x\"]\nprompt = \"argv\"",
        "[agents.mine]\ncommand = [\"x\"]\nenv = { A = 1 }",
        "agent = ",
        "agent = \"a\"\nagent = \"b\"",
    ];
    let problems: Vec<String> = cases.iter().map(|text| problem(text)).collect();
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn later_layers_win_and_keep_their_origin() {
    let repository = file::parse(
        "ralphtool.toml",
        "max_retries = 1\nmodel = \"a\"\n[agents.x]\ncommand = [\"x\"]\n[[gate]]\nrun = \"one\"",
    )
    .unwrap();
    let user = file::parse(
        "ralphtool.toml",
        "model = \"b\"\n[agents.y]\ncommand = [\"y\"]\n[[gate]]\nrun = \"two\"",
    )
    .unwrap();
    let variables = variables::parse([("RALPHTOOL_MODEL", "c"), ("RALPHTOOL_AGENT", "y")])
        .unwrap()
        .settings;
    let flags = PartialSettings {
        agent: Some(Sourced::flag(AgentList::one("x"), "--agent")),
        ..PartialSettings::default()
    };
    let settings = Settings::resolve([repository, user, variables, flags]).unwrap();
    let lines: Vec<String> = settings
        .lines()
        .into_iter()
        .map(|(name, value, origin)| format!("{name} = {value} <- {origin}"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(
        settings.agents.keys().collect::<Vec<_>>(),
        ["x", "y"],
        "agents are merged by name"
    );
}

#[test]
fn an_unknown_agent_is_refused_with_the_nearest_name() {
    let refuse = |name: &str| {
        let layer = PartialSettings {
            agent: Some(Sourced::flag(AgentList::one(name), "--agent")),
            ..PartialSettings::default()
        };
        let problem = Settings::resolve([layer]).unwrap_err();
        (problem.to_string(), problem.hint.unwrap())
    };
    assert_eq!(
        refuse("cluade"),
        (
            "--agent: there is no agent `cluade`".to_owned(),
            "did you mean `claude`?".to_owned()
        )
    );
    assert_eq!(
        refuse("xyz").1,
        "known agents: claude, codex, opencode, gemini, qwen, copilot, pi, goose, demo; add your own as `[agents.xyz]` in `ralphtool.toml`"
    );
}

#[test]
fn every_variable_is_read() {
    let read = variables::parse([
        ("PATH", "/bin"),
        ("RALPHTOOL_AGENT", "demo, claude"),
        ("RALPHTOOL_LIMIT_PAUSE", "2m"),
        ("RALPHTOOL_MODEL", ""),
        ("RALPHTOOL_MAX_RETRIES", "0"),
        ("RALPHTOOL_ON_FINISH", "cleanup"),
        ("RALPHTOOL_IDLE_TIMEOUT", "off"),
        ("RALPHTOOL_TIMEOUT", "2h"),
        ("RALPHTOOL_COMMAND_TIMEOUT", "10s"),
        ("RALPHTOOL_MAX_WAIT", "3h"),
        ("RALPHTOOL_MAX_COST", "$5"),
        ("RALPHTOOL_MAX_TOKENS", "2M"),
        ("RALPHTOOL_MAX_TIME", "1d"),
        ("RALPHTOOL_MAX_STORY_COST", "1"),
        ("RALPHTOOL_MAX_STORY_TOKENS", "100k"),
        ("RALPHTOOL_MAX_STORY_TIME", "1h"),
        ("RALPHTOOL_LEARNINGS_LIMIT", "off"),
        ("RALPHTOOL_LARGEST_FILE", "off"),
        ("RALPHTOOL_LEAST_FREE", "1GB"),
        ("RALPHTOOL_VAULT_LIMIT", "2GiB"),
        ("RALPHTOOL_STRICT_TASKS", "1"),
        ("RALPHTOOL_REQUIRE_CHANGES", "false"),
        ("RALPHTOOL_CONFIG", "my.toml"),
        ("RALPHTOOL_TRUST", "1"),
        ("RALPHTOOL_RUN", "20261115-194501-x7k2"),
        ("RALPHTOOL_KILL_AT", "3"),
        ("RALPHTOOL_MODLE", "x"),
        ("RALPHTOOL_SOMETHING_ELSE", "x"),
    ])
    .unwrap();
    let settings = PartialSettings {
        agent: Some(variable("demo,claude".parse().unwrap(), "RALPHTOOL_AGENT")),
        limit_pause: Some(variable(TimeLimit::seconds(120), "RALPHTOOL_LIMIT_PAUSE")),
        max_retries: Some(variable(0, "RALPHTOOL_MAX_RETRIES")),
        on_finish: Some(variable(OnFinish::Cleanup, "RALPHTOOL_ON_FINISH")),
        idle_timeout: Some(variable(TimeLimit::OFF, "RALPHTOOL_IDLE_TIMEOUT")),
        total_timeout: Some(variable(TimeLimit::seconds(7200), "RALPHTOOL_TIMEOUT")),
        command_timeout: Some(variable(
            TimeLimit::seconds(10),
            "RALPHTOOL_COMMAND_TIMEOUT",
        )),
        max_wait: Some(variable(TimeLimit::seconds(10_800), "RALPHTOOL_MAX_WAIT")),
        max_cost: Some(variable(CostLimit(Some(5_000_000)), "RALPHTOOL_MAX_COST")),
        max_tokens: Some(variable(
            TokenLimit(Some(2_000_000)),
            "RALPHTOOL_MAX_TOKENS",
        )),
        max_time: Some(variable(TimeLimit::seconds(86_400), "RALPHTOOL_MAX_TIME")),
        max_story_cost: Some(variable(
            CostLimit(Some(1_000_000)),
            "RALPHTOOL_MAX_STORY_COST",
        )),
        max_story_tokens: Some(variable(
            TokenLimit(Some(100_000)),
            "RALPHTOOL_MAX_STORY_TOKENS",
        )),
        max_story_time: Some(variable(
            TimeLimit::seconds(3600),
            "RALPHTOOL_MAX_STORY_TIME",
        )),
        learnings_limit: Some(variable(SizeLimit::OFF, "RALPHTOOL_LEARNINGS_LIMIT")),
        largest_file: Some(variable(SizeLimit::OFF, "RALPHTOOL_LARGEST_FILE")),
        least_free: Some(variable(
            SizeLimit::bytes(1_000_000_000),
            "RALPHTOOL_LEAST_FREE",
        )),
        vault_limit: Some(variable(SizeLimit::bytes(2 << 30), "RALPHTOOL_VAULT_LIMIT")),
        strict_tasks: Some(variable(true, "RALPHTOOL_STRICT_TASKS")),
        require_changes: Some(variable(false, "RALPHTOOL_REQUIRE_CHANGES")),
        ..PartialSettings::default()
    };
    let want = variables::Variables {
        settings,
        config: Some("my.toml".to_owned()),
        trust: true,
        warnings: vec![
            "`RALPHTOOL_MODLE` is set but has no effect; did you mean `RALPHTOOL_MODEL`?"
                .to_owned(),
            "`RALPHTOOL_SOMETHING_ELSE` is set but has no effect".to_owned(),
        ],
    };
    assert_eq!(read, want);
}

#[test]
fn a_model_that_an_agent_would_take_for_a_flag_is_refused() {
    for text in [
        "model = \"--yolo\"",
        "[escalate]\nafter = 1\nmodel = \"-m\"",
        "[[story]]\nid = \"1\"\nmodel = \"--mcp-config=x\"",
        "[agents.claude]\nmodel = \"-\"",
    ] {
        let problem = file::parse("ralphtool.toml", text).unwrap_err();
        assert_eq!(problem.message, "a model cannot start with `-`", "{text}");
    }
}

#[test]
fn a_bad_variable_is_named() {
    #[track_caller]
    fn case(name: &str, value: &str, want: &str) {
        let problem = variables::parse([(name, value)]).unwrap_err();
        assert_eq!(problem.to_string(), want);
    }
    case(
        "RALPHTOOL_MAX_RETRIES",
        "many",
        "RALPHTOOL_MAX_RETRIES: `many` is not a number from 0 to 4294967295",
    );
    case(
        "RALPHTOOL_STRICT_TASKS",
        "maybe",
        "RALPHTOOL_STRICT_TASKS: `maybe` is neither `true` nor `false`",
    );
    case(
        "RALPHTOOL_ON_FINISH",
        "merge",
        "RALPHTOOL_ON_FINISH: `merge` is not one of `ask`, `cleanup`, `keep`",
    );
}

fn variable<T>(value: T, name: &'static str) -> Sourced<T> {
    Sourced {
        value,
        origin: Origin::Variable(name),
    }
}

#[test]
fn each_gate_and_story_has_the_line_it_begins_in() {
    let text = "\
max_retries = 1

[[gate]]
name = \"tests\"
run = \"a\"

[[story]]
id = \"1\"
agent = \"claude\"

[[gate]]
name = \"lint\"
run = \"b\"

[[story]]
id = \"2\"
agent = \"claude\"
";
    let layer = file::parse("ralphtool.toml", text).unwrap();
    let settings = Settings::resolve([layer]).unwrap();
    let mut lines = settings.lines();
    lines.retain(|(name, ..)| ["gate", "story"].contains(name));
    let places: Vec<String> = lines.into_iter().map(|(_, _, place)| place).collect();
    let expected = [7, 15, 3, 11].map(|line| format!("ralphtool.toml:{line}"));
    assert_eq!(places, expected);

    let second = "[[gate]]\nrun = \"a\"\n\n[[gate]]\nname = \"lint\"\n";
    let place = file::parse("ralphtool.toml", second).unwrap_err().place;
    assert_eq!(place, "ralphtool.toml:4:1");
}
