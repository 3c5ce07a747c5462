//! Invalid values of the configuration file: each is refused with its position, and nothing is
//! touched.

use pretty_assertions::assert_eq;

use crate::sandbox::{Sandbox, everything};

/// Lines of a file, and the message about them.
const MISTAKES: &[(&str, &str)] = &[
    // Names and texts.
    ("agent = 1", "1:9: expected a string, found integer"),
    (
        "agent = [\"demo\", \"demo\"]",
        "1:9: expected names of agents, each once",
    ),
    ("model = true", "1:9: expected a string, found boolean"),
    // Numbers.
    (
        "max_retries = \"3\"",
        "1:15: expected a whole number, found string",
    ),
    (
        "max_retries = -1",
        "1:15: expected a number from 0 to 4294967295",
    ),
    (
        "repairs = 1.5",
        "1:11: expected a whole number, found float",
    ),
    // Choices and switches.
    (
        "on_finish = \"merge\"",
        "1:13: `merge` is not one of `ask`, `cleanup`, `keep`",
    ),
    (
        "on_blocked = \"ask\"",
        "1:14: `ask` is not one of `wait`, `skip`, `stop`",
    ),
    (
        "on_exhausted = \"skip\"",
        "1:16: `skip` is not one of `stop`, `continue`",
    ),
    (
        "depends = \"no\"",
        "1:11: expected `true` or `false`, found string",
    ),
    (
        "commit_message = \"{titel}\"",
        "1:18: unknown placeholder `{titel}`; known are `{id}`, `{title}`, `{change}`, `{run}`, `{attempts}`, `{gates}`, `{trailers}`",
    ),
    (
        "strict_tasks = \"yes\"",
        "1:16: expected `true` or `false`, found string",
    ),
    (
        "require_changes = 1",
        "1:19: expected `true` or `false`, found integer",
    ),
    // Durations.
    (
        "command_timeout = 30",
        "1:19: expected a duration such as \"15m\", found integer",
    ),
    ("max_wait = \"soon\"", "1:12: `soon` is not a duration"),
    (
        "limit_pause = true",
        "1:15: expected a duration such as \"15m\", found boolean",
    ),
    ("[timeouts]\nidle = \"5\"", "2:8: `5` is not a duration"),
    (
        "[timeouts]\n total = []",
        "2:10: expected a duration such as \"15m\", found array",
    ),
    (
        "[timeouts]\ngrace = \"-1s\"",
        "2:9: `-1s` is not a duration",
    ),
    // Sizes.
    (
        "largest_file = 50",
        "1:16: expected a size such as \"50MB\", found integer",
    ),
    ("least_free = \"much\"", "1:14: `much` is not a size"),
    ("vault_limit = \"1XB\"", "1:15: `1XB` is not a size"),
    (
        "learnings_limit = 1.5",
        "1:19: expected a size such as \"50MB\", found float",
    ),
    // Budgets and prices.
    ("[budget]\nusd = \"much\"", "2:7: "),
    (
        "[budget]\ntokens = true",
        "2:10: expected a number such as 500_000, found boolean",
    ),
    (
        "[budget]\ntime = 5",
        "2:8: expected a duration such as \"15m\", found integer",
    ),
    ("[budget]\nstory_usd = -1", "2:13: "),
    ("[budget]\nstory_tokens = 1.5", "2:16: "),
    (
        "[budget]\nstory_time = \"x\"",
        "2:14: `x` is not a duration",
    ),
    (
        "[prices.m]\ninput = 1",
        "1:9: the price of `m` is not complete",
    ),
    (
        "[prices.m]\noutput = []",
        "2:10: expected an amount such as 2.50, found array",
    ),
    ("[prices.m]\ncached_input = \"x\"", "2:16: "),
    (
        "[prices.m]\ncache_write = false",
        "2:15: expected an amount such as 2.50, found boolean",
    ),
    // Gates.
    (
        "gate = 1",
        "1:8: expected an array of tables, found integer",
    ),
    ("[[gate]]\nname = \"t\"", "1:1: this gate has no `run`"),
    ("[[gate]]\nrun = \" \"", "2:7: this must not be empty"),
    (
        "[[gate]]\nrun = \"a\"\ntimeout = 5",
        "3:11: expected a duration such as \"15m\", found integer",
    ),
    (
        "[[gate]]\nrun = \"a\"\nbaseline = 0",
        "3:12: expected `true` or `false`, found integer",
    ),
    (
        "[[gate]]\nrun = \"a\"\nallow_red = 1",
        "3:13: expected `true` or `false`, found integer",
    ),
    (
        "[[gate]]\nrun = \"a\"\nallow_red = true\nbaseline = false",
        "1:1: `allow_red` needs `baseline`: without it no gate counts as red before",
    ),
    (
        "[[gate]]\nrun = \"a\"\nwhen = \"never\"",
        "3:8: `never` is not one of `story`, `end`",
    ),
    (
        "[[gate]]\nrun = \"a\"\njunit = [\"a.xml\"]",
        "3:9: expected a string, found array",
    ),
    (
        "[[gate]]\nrun = \"a\"\njunit = \"/tmp/a.xml\"",
        "3:9: expected a pattern of paths inside of the repository",
    ),
    (
        "[[gate]]\nrun = \"a\"\npaths = []",
        "3:9: without a pattern the gate would never run",
    ),
    (
        "[[gate]]\nrun = \"a\"\npaths = [\"src/**\", \"../x\"]",
        "3:20: expected a pattern of paths inside of the repository",
    ),
    (
        "[[gate]]\nrun = \"a\"\npaths = [\"!src/**\"]",
        "3:10: a pattern cannot exclude files",
    ),
    (
        "[[gate]]\nrun = \"a\"\npaths = [\"src/[a\"]",
        "3:10: error parsing glob 'src/[a': unclosed character class; missing ']'",
    ),
    (
        "[[gate]]\nrun = \"a\"\nretries = -1",
        "3:11: expected a number from 0 to 4294967295",
    ),
    (
        "[[gate]]\nrun = \"a\"\nwhen = \"end\"\nkeep_changes = true",
        "1:1: a gate at the end cannot keep its changes",
    ),
    (
        "[[gate]]\nrun = \"a\"\n[[gate]]\nname = \"a\"\nrun = \"b\"",
        "3:1: there are two gates named `a`",
    ),
    // Reviews.
    (
        "review = 1",
        "1:10: expected an array of tables, found integer",
    ),
    (
        "[[review]]\nname = \"t\"",
        "1:1: this review has no `agent`",
    ),
    ("[[review]]\nagent = \" \"", "2:9: this must not be empty"),
    (
        "[[review]]\nagent = \"codex\"\nmodel = \"-m\"",
        "3:9: a model cannot start with `-`",
    ),
    (
        "[[review]]\nagent = \"codex\"\nwhen = \"never\"",
        "3:8: `never` is not one of `story`, `end`",
    ),
    (
        "[[review]]\nagent = \"codex\"\nadvisory = 1",
        "3:12: expected `true` or `false`, found integer",
    ),
    (
        "[[review]]\nagent = \"codex\"\ntimeout = 5",
        "3:11: expected a duration such as \"15m\", found integer",
    ),
    (
        "[[review]]\nagent = \"codex\"\nusd = true",
        "3:7: expected an amount such as 2.50, found boolean",
    ),
    (
        "[[review]]\nagent = \"codex\"\ntokens = \"many\"",
        "3:10: `many` is not a number of tokens",
    ),
    (
        "[[review]]\nagent = \"codex\"\n[[review]]\nname = \"codex\"\nagent = \"claude\"",
        "3:1: there are two reviews named `codex`",
    ),
    // Tampering and notifications.
    (
        "[tamper]\nboxes = \"panic\"",
        "2:9: `panic` is not one of `off`, `warn`, `fail`",
    ),
    (
        "[tamper]\nspecs = true",
        "2:9: expected a string, found boolean",
    ),
    (
        "[tamper]\ntests = 1",
        "2:9: expected a string, found integer",
    ),
    (
        "[tamper]\nconfig = \"\"",
        "2:10: `` is not one of `off`, `warn`, `fail`",
    ),
    (
        "[tamper]\noutside = []",
        "2:11: expected a string, found array",
    ),
    (
        "[tamper]\nsubmodules = true",
        "2:14: expected a string, found boolean",
    ),
    (
        "[tamper]\nroots = [\"src\", \"../up\"]",
        "2:17: expected a path inside of the repository",
    ),
    (
        "[notify]\ncommand = \"say it\"",
        "2:11: expected an array of strings, found string",
    ),
    (
        "[notify]\nbell = \"loud\"",
        "2:8: expected `true` or `false`, found string",
    ),
    (
        "[notify]\non = [\"sunday\"]",
        "2:7: `sunday` is not one of `finished`, `exhausted`, `waiting`, `blocked`, `choice`",
    ),
    // Agents.
    (
        "[agents.a]\nmodel = \"m\"",
        "1:9: the agent `a` has no `command`",
    ),
    (
        "[agents.a]\ncommand = []",
        "2:11: the command names no program",
    ),
    (
        "[agents.a]\ncommand = [\"x\"]\nresume = [\"x\", \"--resume\"]",
        "1:9: the agent `a` has `resume`, but no known session",
    ),
    (
        "[agents.a]\ncommand = [\"x\"]\nreview = [\"\"]",
        "3:10: the command names no program",
    ),
    (
        "[agents.a]\nlike = \"missing\"",
        "2:8: `missing` is not one of `claude`",
    ),
    (
        "[agents.a]\nlike = \"claude\"\ncwd = \"b\"",
        "1:9: the agent `a` mixes keys of a command and of a built-in agent",
    ),
    (
        "[agents.a]\ncommand = [\"x\"]\nwrap = [\"nice\"]",
        "1:9: the agent `a` mixes keys of a command and of a built-in agent",
    ),
    (
        "[agents.a]\ncommand = [\"x\"]\noutput = \"xml\"",
        "3:10: `xml` is not one of ",
    ),
    (
        "[agents.a]\ncommand = [\"x\"]\nprompt = \"mail\"",
        "3:10: `mail` is not one of ",
    ),
    (
        "[agents.a]\ncommand = [\"x\"]\nenv = { A = 1 }",
        "3:13: expected a string, `true` or `false`, found integer",
    ),
    (
        "[escalate]\nmodel = \"m\"",
        "1:1: `[escalate]` does not say after how many failed attempts",
    ),
    (
        "[escalate]\nafter = 2",
        "1:1: `[escalate]` names neither an agent nor a model",
    ),
    (
        "[escalate]\nafter = 1\nagent = 2",
        "3:9: expected a string, found integer",
    ),
    ("[[story]]\nmodel = \"m\"", "1:1: this story has no `id`"),
    (
        "[[story]]\nid = \"1\"\nchange = \"\"",
        "3:10: this must not be empty",
    ),
    (
        "[[story]]\nid = \"1\"",
        "1:1: nothing is set for this story",
    ),
    (
        "[[story]]\nid = \"1\"\ndepends_on = \"2\"",
        "3:14: expected an array of ids, found string",
    ),
    (
        "[[story]]\nid = \"1\"\ndepends_on = [\"\"]",
        "3:15: this must not be empty",
    ),
    (
        "[[story]]\nid = \"1\"\nagent = []",
        "3:9: expected a string, found array",
    ),
    // Files that are none.
    ("max_retries = ", "1:15: "),
    ("model = \"a\"\nmodel = \"b\"", "2:1: "),
];

#[test]
fn a_wrong_value_is_refused_where_it_stands_and_nothing_is_touched() {
    let sandbox = Sandbox::new();
    let before = everything(&sandbox.repo);
    for (lines, want) in MISTAKES {
        std::fs::write(sandbox.root.join("bad.toml"), format!("{lines}\n")).unwrap();
        let args = ["loop", "c", "--config", "../bad.toml"];
        let output = sandbox.run(&args).ends_with(2);
        let want = format!("error: ../bad.toml:{want}");
        assert!(
            output.stderr.starts_with(&want),
            "{lines}\n{}",
            output.stderr
        );
        assert_eq!(output.stdout, "");
    }
    assert_eq!(everything(&sandbox.repo), before);
    let runs = std::fs::read_dir(sandbox.vault().join("runs"));
    assert_eq!(runs.map_or(0, Iterator::count), 0, "a run was begun");
}

#[test]
fn each_key_is_refused_some_value() {
    let known = crate::settings::registry::keys();
    let is_covered = |key: &String| {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        let table = table.replace(".NAME", ".");
        MISTAKES.iter().any(|(lines, _)| {
            let is_there = lines
                .lines()
                .any(|line| line.trim().starts_with(&format!("{name} =")));
            is_there && (table.is_empty() || lines.contains(&table))
        })
    };
    let missing: Vec<&String> = known.iter().filter(|key| !is_covered(key)).collect();
    assert_eq!(missing, [] as [&String; 0], "add a wrong value to MISTAKES");
}
