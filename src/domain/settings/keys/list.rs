//! The list of all keys.

mod agents;

use self::agents::{AGENTS, ESCALATE, STORY};
use super::{KeyInfo, KeyTable, Kind, Trust, Without, quoted};
use crate::domain::settings::{
    GATE_TIMEOUT, Occasion, OnFinish, Settings, Severity, TamperCheck, When,
};

/// The tables of the configuration, the top of the file first.
pub(crate) const TABLES: [KeyTable; 10] = [
    KeyTable {
        header: "",
        about: "At the top of the file, before the first table.",
        example: None,
        keys: &TOP,
    },
    KeyTable {
        header: "[[gate]]",
        about: "A command that ralphtool itself runs to check an attempt; one table for each.",
        example: None,
        keys: &GATE,
    },
    KeyTable {
        header: "[timeouts]",
        about: "How long things may take.",
        example: None,
        keys: &TIMEOUTS,
    },
    KeyTable {
        header: "[budget]",
        about: "What a run may use; it stops there, and `ralphtool resume` goes on with a larger one.",
        example: None,
        keys: &BUDGET,
    },
    KeyTable {
        header: "[tamper]",
        about: "What is made of an attempt that touches what judges it: `off`, `warn` or `fail`.",
        example: None,
        keys: &TAMPER,
    },
    KeyTable {
        header: "[notify]",
        about: "Whom to tell when a run ends, a story is given up, a limit is waited for, or you have to\n\
                choose: a command that gets the event as JSON by stdin, and the terminal's bell.",
        example: Some(
            "command = [\"notify-send\", \"ralphtool\"]\nbell = true\n\
             on = [\"finished\", \"exhausted\", \"waiting\", \"choice\"]",
        ),
        keys: &NOTIFY,
    },
    KeyTable {
        header: "[prices.my-model]",
        about: "What a million tokens cost in US dollars, for a model or an agent that does not tell.",
        example: Some("input = 1.25\noutput = 10.00\ncached_input = 0.125\ncache_write = 1.50"),
        keys: &PRICES,
    },
    KeyTable {
        header: "[escalate]",
        about: "Another agent or model for a story that failed so often.",
        example: Some("after = 2\nmodel = \"opus\""),
        keys: &ESCALATE,
    },
    KeyTable {
        header: "[[story]]",
        about: "Another agent or model for one story.",
        example: Some("id = \"2\"\nmodel = \"opus\""),
        keys: &STORY,
    },
    KeyTable {
        header: "[agents.mine]",
        about: "An agent of your own: `agent = \"mine\"` lets it work.",
        example: Some("command = [\"my-agent\", \"--auto\"]\noutput = \"text\""),
        keys: &AGENTS,
    },
];

const fn key(
    name: &'static str,
    trust: Trust,
    kind: Kind,
    without: Without,
    about: &'static str,
) -> KeyInfo {
    KeyInfo {
        name,
        trust,
        kind,
        without,
        variable: None,
        flag: None,
        about,
    }
}

impl KeyInfo {
    const fn variable(self, name: &'static str) -> Self {
        Self {
            variable: Some(name),
            ..self
        }
    }

    const fn flag(self, name: &'static str) -> Self {
        Self {
            flag: Some(name),
            ..self
        }
    }
}

fn words<T>(names: &[(&'static str, T)]) -> Vec<&'static str> {
    names.iter().map(|(name, _)| *name).collect()
}

fn text(value: impl std::fmt::Display) -> String {
    quoted(&value.to_string())
}

const TOP: [KeyInfo; 13] = [
    key(
        "agent", Trust::NotNeeded,
        Kind::Agents,
        Without::Default(|it| text(it.agent.value.first())),
        "Who does the work; of a list the next one takes over where one cannot work.",
    )
    .variable("RALPHTOOL_AGENT")
    .flag("--agent"),
    key(
        "model", Trust::NotNeeded,
        Kind::Text,
        Without::Other("as the agent itself is set", "\"opus\""),
        "The model it is asked for. Without it, the one the agent itself is set to; this is an example.",
    )
    .variable("RALPHTOOL_MODEL")
    .flag("--model"),
    key(
        "max_retries", Trust::NotNeeded,
        Kind::Count,
        Without::Default(|it| it.max_retries.value.to_string()),
        "How often a story is tried again after its first attempt.",
    )
    .variable("RALPHTOOL_MAX_RETRIES")
    .flag("--max-retries"),
    key(
        "on_finish", Trust::NotNeeded,
        Kind::OneOf(|| words(&OnFinish::NAMES)),
        Without::Default(|it| text(it.on_finish.value.name())),
        "What becomes of the branch at the end: `ask` (keep where nobody can be asked), `cleanup`\n\
         (back to your branch, the work as uncommitted changes) or `keep`.",
    )
    .variable("RALPHTOOL_ON_FINISH")
    .flag("--on-finish"),
    key(
        "strict_tasks", Trust::NotNeeded,
        Kind::Flag,
        Without::Default(|it| it.strict_tasks.value.to_string()),
        "Whether a box that the agent left open fails the attempt; else ralphtool ticks it.",
    )
    .variable("RALPHTOOL_STRICT_TASKS"),
    key(
        "require_changes", Trust::NotNeeded,
        Kind::Flag,
        Without::Default(|it| it.require_changes.value.to_string()),
        "Whether an attempt that changed nothing but boxes fails.",
    )
    .variable("RALPHTOOL_REQUIRE_CHANGES"),
    key(
        "command_timeout", Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|it| text(it.command_timeout.value)),
        "How long git and other short commands may take.",
    )
    .variable("RALPHTOOL_COMMAND_TIMEOUT")
    .flag("--command-timeout"),
    key(
        "max_wait", Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|it| text(it.max_wait.value)),
        "How long to wait at the most for a usage limit of the agent to end.",
    )
    .variable("RALPHTOOL_MAX_WAIT")
    .flag("--max-wait"),
    key(
        "limit_pause", Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|it| text(it.limit_pause.value)),
        "The first pause where a limit does not say when it ends; it doubles up to an hour.",
    )
    .variable("RALPHTOOL_LIMIT_PAUSE"),
    key(
        "largest_file", Trust::NotNeeded,
        Kind::Size,
        Without::Default(|it| text(it.largest_file.value)),
        "A new file larger than this is not committed, but kept in the vault.",
    )
    .variable("RALPHTOOL_LARGEST_FILE"),
    key(
        "least_free", Trust::NotNeeded,
        Kind::Size,
        Without::Default(|it| text(it.least_free.value)),
        "Room that must stay free on the disk.",
    )
    .variable("RALPHTOOL_LEAST_FREE"),
    key(
        "vault_limit", Trust::Needed("old runs are removed from the vault above"),
        Kind::Size,
        Without::Default(|it| text(it.vault_limit.value)),
        "How large the vault may get before old runs are removed from it.",
    )
    .variable("RALPHTOOL_VAULT_LIMIT"),
    key(
        "learnings_limit", Trust::NotNeeded,
        Kind::Size,
        Without::Default(|it| text(it.learnings_limit.value)),
        "How much of the notes that agents keep for a change goes into a prompt.",
    )
    .variable("RALPHTOOL_LEARNINGS_LIMIT"),
];

const GATE: [KeyInfo; 6] = [
    key(
        "name", Trust::NotNeeded,
        Kind::Text,
        Without::Other("the line itself", "\"tests\""),
        "What it is called.",
    ),
    key(
        "run", Trust::Needed("a gate runs"),
        Kind::Text,
        Without::Needed("\"make test\""),
        "The line for your shell, run in the top folder of the repository. `--gate` gives such lines\n\
         instead of all configured gates.",
    )
    .flag("--gate"),
    key(
        "timeout", Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|_| text(GATE_TIMEOUT)),
        "How long it may run; longer is red.",
    ),
    key(
        "baseline", Trust::NotNeeded,
        Kind::Flag,
        Without::Default(|_| "true".to_owned()),
        "Whether a gate that was red before the story began does not fail the attempt.",
    ),
    key(
        "when", Trust::NotNeeded,
        Kind::OneOf(|| words(&When::NAMES)),
        Without::Default(|_| text("story")),
        "After every story, or once at the end, over the whole change.",
    ),
    key(
        "keep_changes", Trust::NotNeeded,
        Kind::Flag,
        Without::Default(|_| "false".to_owned()),
        "Whether what it changes in the tree is part of the work, as with a formatter.",
    ),
];

const TIMEOUTS: [KeyInfo; 3] = [
    key(
        "idle",
        Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|it| text(it.idle_timeout.value)),
        "An agent that says nothing for so long is stopped, and the attempt has failed.",
    )
    .variable("RALPHTOOL_IDLE_TIMEOUT")
    .flag("--idle-timeout"),
    key(
        "total",
        Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|it| text(it.total_timeout.value)),
        "An attempt that takes longer is stopped.",
    )
    .variable("RALPHTOOL_TIMEOUT")
    .flag("--timeout"),
    key(
        "grace",
        Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|it| text(it.grace.value)),
        "How long an agent may take to end after its last words.",
    ),
];

const BUDGET: [KeyInfo; 6] = [
    key(
        "usd",
        Trust::NotNeeded,
        Kind::Money,
        Without::Default(|it| text(it.max_cost.value)),
        "How many US dollars the run may cost, such as 10.00.",
    )
    .variable("RALPHTOOL_MAX_COST")
    .flag("--max-cost"),
    key(
        "tokens",
        Trust::NotNeeded,
        Kind::Tokens,
        Without::Default(|it| text(it.max_tokens.value)),
        "How many tokens of all sorts the run may use, such as \"2M\".",
    )
    .variable("RALPHTOOL_MAX_TOKENS")
    .flag("--max-tokens"),
    key(
        "time",
        Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|it| text(it.max_time.value)),
        "How long the run may take, such as \"4h\".",
    )
    .variable("RALPHTOOL_MAX_TIME")
    .flag("--max-time"),
    key(
        "story_usd",
        Trust::NotNeeded,
        Kind::Money,
        Without::Default(|it| text(it.max_story_cost.value)),
        "How many US dollars each story may cost, all of its attempts together.",
    )
    .variable("RALPHTOOL_MAX_STORY_COST")
    .flag("--max-story-cost"),
    key(
        "story_tokens",
        Trust::NotNeeded,
        Kind::Tokens,
        Without::Default(|it| text(it.max_story_tokens.value)),
        "How many tokens each story may use.",
    )
    .variable("RALPHTOOL_MAX_STORY_TOKENS")
    .flag("--max-story-tokens"),
    key(
        "story_time",
        Trust::NotNeeded,
        Kind::Duration,
        Without::Default(|it| text(it.max_story_time.value)),
        "How long each story may take.",
    )
    .variable("RALPHTOOL_MAX_STORY_TIME")
    .flag("--max-story-time"),
];

const SEVERITY: Kind = Kind::OneOf(|| words(&Severity::NAMES));

const TAMPER: [KeyInfo; 6] = [
    key(
        "boxes",
        Trust::NotNeeded,
        SEVERITY,
        Without::Default(|it| severity(it, TamperCheck::Boxes)),
        "Boxes of other stories; they are put back in any case.",
    ),
    key(
        "specs",
        Trust::NotNeeded,
        SEVERITY,
        Without::Default(|it| severity(it, TamperCheck::Specs)),
        "The text of the plan.",
    ),
    key(
        "tests",
        Trust::NotNeeded,
        SEVERITY,
        Without::Default(|it| severity(it, TamperCheck::Tests)),
        "Tests that are deleted or skipped.",
    ),
    key(
        "config",
        Trust::NotNeeded,
        SEVERITY,
        Without::Default(|it| severity(it, TamperCheck::Config)),
        "This file, and what the gates are set up by.",
    ),
    key(
        "outside",
        Trust::NotNeeded,
        SEVERITY,
        Without::Default(|it| severity(it, TamperCheck::Outside)),
        "Files outside of `roots`.",
    ),
    key(
        "roots",
        Trust::NotNeeded,
        Kind::Paths,
        Without::Other("the folders that are there", "[\"src\", \"tests\"]"),
        "Where work is expected. Without it, in the folders that are there; this is an example.",
    ),
];

fn severity(settings: &Settings, check: TamperCheck) -> String {
    text(settings.tamper.severity(check).0.name())
}

const NOTIFY: [KeyInfo; 3] = [
    key(
        "command",
        Trust::Needed("a notification runs"),
        Kind::Command,
        Without::Nothing("[\"notify-send\", \"ralphtool\"]"),
        "What is run; it gets the event as JSON by stdin, and `{message}` in it becomes the message.",
    ),
    key(
        "bell",
        Trust::NotNeeded,
        Kind::Flag,
        Without::Default(|it| it.notify.value.bell.to_string()),
        "Whether the terminal rings, and shows a message of its own where it can.",
    ),
    key(
        "on",
        Trust::NotNeeded,
        Kind::SomeOf(|| words(&Occasion::NAMES)),
        Without::Other("all of them", "[\"finished\"]"),
        "What is told.",
    ),
];

const PRICES: [KeyInfo; 4] = [
    key(
        "input",
        Trust::NotNeeded,
        Kind::Money,
        Without::Needed("1.25"),
        "Tokens the model reads.",
    ),
    key(
        "output",
        Trust::NotNeeded,
        Kind::Money,
        Without::Needed("10.00"),
        "Tokens the model writes.",
    ),
    key(
        "cached_input",
        Trust::NotNeeded,
        Kind::Money,
        Without::Other("as `input`", "0.125"),
        "Tokens it reads from its cache.",
    ),
    key(
        "cache_write",
        Trust::NotNeeded,
        Kind::Money,
        Without::Other("as `input`", "1.50"),
        "Tokens it writes into its cache.",
    ),
];
