//! The text of a new `ralphtool.toml`: the gates that were found, and every other key as a comment
//! that shows its default.
//!
//! A line that begins with `# key =` is a setting that was commented out; all other comments are
//! words. Tables stand there without keys, so that a line only has to lose its `# `.

use std::fmt::Write as _;

use super::Proposal;
use crate::domain::settings::{GATE_TIMEOUT, Settings, TamperCheck};

/// The agent that is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentFound {
    /// Just this one is installed.
    One(&'static str),
    /// These are, so that nobody else can choose.
    Many(Vec<&'static str>),
    /// None is.
    Nobody,
}

impl AgentFound {
    /// What is known from the names of those that are installed.
    pub(crate) fn of(names: Vec<&'static str>) -> Self {
        match names[..] {
            [] => Self::Nobody,
            [one] => Self::One(one),
            _ => Self::Many(names),
        }
    }
}

const OPENING: &str = "\
# How ralphtool works in this repository.
#
# No key is needed. A line such as `# key = value` shows what holds without it; take the `# ` away
# to change it. Your own `~/.config/ralphtool/config.toml`, variables such as `RALPHTOOL_MODEL` and
# flags win over this file. `ralphtool doctor` shows what is wrong with it, if anything is.
";

/// Writes the file; `defaults` are the settings where nothing is said.
pub(crate) fn write(agent: &AgentFound, gates: &[Proposal], defaults: &Settings) -> String {
    let mut page = Page(OPENING.to_owned());
    page.agent(agent, defaults);
    page.behaviour(defaults);
    page.sizes(defaults);
    page.gates(gates);
    page.tables(defaults);
    page.examples();
    page.0
}

/// The text so far.
struct Page(String);

impl Page {
    /// A line of its own above what it is about.
    fn words(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.0, "# {line}");
        }
    }

    fn gap(&mut self) {
        self.0.push('\n');
    }

    /// A key that is commented out, below words on what it is for.
    fn key(&mut self, name: &str, value: impl std::fmt::Display, about: &str) {
        self.gap();
        self.words(about);
        let _ = writeln!(self.0, "# {name} = {value}");
    }

    /// The same for a value that is a string.
    fn text_key(&mut self, name: &str, value: impl std::fmt::Display, about: &str) {
        self.key(name, quoted(&value.to_string()), about);
    }

    fn table(&mut self, name: &str, about: &str) {
        self.gap();
        self.words(about);
        let _ = writeln!(self.0, "[{name}]");
    }

    fn agent(&mut self, agent: &AgentFound, defaults: &Settings) {
        self.gap();
        self.words("Who does the work; of a list the next one takes over where one cannot work.");
        let default = quoted(defaults.agent.value.first());
        match agent {
            AgentFound::One(name) => {
                self.words("It is the one that was found here.");
                let _ = writeln!(self.0, "agent = {}", quoted(name));
            }
            AgentFound::Many(names) => {
                self.words(&format!("Found here: {}.", names.join(", ")));
                let _ = writeln!(self.0, "# agent = {default}");
            }
            AgentFound::Nobody => {
                self.words("None was found here; `ralphtool doctor` says how to install one.");
                let _ = writeln!(self.0, "# agent = {default}");
            }
        }
        let model = "The model it is asked for. Without it, the one the agent itself is set to; this is an example.";
        self.text_key("model", "opus", model);
    }

    fn behaviour(&mut self, defaults: &Settings) {
        self.key(
            "max_retries",
            defaults.max_retries.value,
            "How often a story is tried again after its first attempt.",
        );
        self.text_key(
            "on_finish",
            defaults.on_finish.value.name(),
            "What becomes of the branch at the end: `ask` (keep where nobody can be asked), `cleanup`\n\
             (back to your branch, the work as uncommitted changes) or `keep`.",
        );
        self.key(
            "strict_tasks",
            defaults.strict_tasks.value,
            "Whether a box that the agent left open fails the attempt; else ralphtool ticks it.",
        );
        self.key(
            "require_changes",
            defaults.require_changes.value,
            "Whether an attempt that changed nothing but boxes fails.",
        );
        self.key(
            "isolate",
            defaults.isolate.value,
            "Whether agents work on an overlay, so that your files change only when an attempt is over.",
        );
        self.text_key(
            "max_wait",
            defaults.max_wait.value,
            "How long to wait at the most for a usage limit of the agent to end.",
        );
        self.text_key(
            "limit_pause",
            defaults.limit_pause.value,
            "The first pause where a limit does not say when it ends; it doubles up to an hour.",
        );
        self.text_key(
            "command_timeout",
            defaults.command_timeout.value,
            "How long git and other short commands may take.",
        );
    }

    fn sizes(&mut self, defaults: &Settings) {
        self.text_key(
            "largest_file",
            defaults.largest_file.value,
            "A new file larger than this is not committed, but kept in the vault.",
        );
        self.text_key(
            "least_free",
            defaults.least_free.value,
            "Room that must stay free on the disk.",
        );
        self.text_key(
            "vault_limit",
            defaults.vault_limit.value,
            "How large the vault may get before old runs are removed from it.",
        );
        self.text_key(
            "learnings_limit",
            defaults.learnings_limit.value,
            "How much of the notes that agents keep for a change goes into a prompt.",
        );
    }

    fn gates(&mut self, gates: &[Proposal]) {
        self.gap();
        self.words(
            "Gates: commands that ralphtool itself runs after an agent says it is done, in this folder.\n\
             Exit code 0 passes; anything else fails the attempt, and the output is told to the next\n\
             one. A gate that was red before the story began does not count (`baseline = true`). With\n\
             `when = \"end\"` it runs once, over the whole change. What it changes in the tree is put back,\n\
             unless `keep_changes = true` says that it is part of the work, as with a formatter.",
        );
        if gates.iter().all(|gate| gate.inactive.is_some()) {
            let none = "No command that checks this repository was found; write yours here.";
            self.words(none);
        }
        for gate in gates {
            self.gate(gate);
        }
        if gates.is_empty() {
            let timeout = quoted(&GATE_TIMEOUT.to_string());
            self.block(
                "Such as this one.",
                &format!("[[gate]]\nname = \"tests\"\nrun = \"make test\"\ntimeout = {timeout}"),
            );
        }
    }

    fn gate(&mut self, gate: &Proposal) {
        self.gap();
        let lines = format!(
            "[[gate]]\nname = {}\nrun = {}",
            quoted(&gate.name),
            quoted(&gate.run)
        );
        if let Some(why) = &gate.inactive {
            self.words(&format!("Found in `{}`, but {why}:", gate.because));
            self.words(&lines);
            return;
        }
        self.words(&format!("Found in `{}`.", gate.because));
        let _ = writeln!(
            self.0,
            "{lines}\n# timeout = {}\n# baseline = true\n# when = \"story\"\n# keep_changes = false",
            quoted(&GATE_TIMEOUT.to_string())
        );
    }

    fn tables(&mut self, defaults: &Settings) {
        self.table("timeouts", "How long things may take.");
        self.text_key(
            "idle",
            defaults.idle_timeout.value,
            "An agent that says nothing for so long is stopped, and the attempt has failed.",
        );
        self.text_key(
            "total",
            defaults.total_timeout.value,
            "An attempt that takes longer is stopped.",
        );
        self.text_key(
            "grace",
            defaults.grace.value,
            "How long an agent may take to end after its last words.",
        );
        self.table(
            "budget",
            "What a run may use; it stops there, and `ralphtool resume` goes on with a larger one.",
        );
        self.text_key("usd", defaults.max_cost.value, "US dollars, such as 10.00.");
        self.text_key(
            "tokens",
            defaults.max_tokens.value,
            "Tokens of all sorts, such as \"2M\".",
        );
        self.text_key("time", defaults.max_time.value, "Time, such as \"4h\".");
        self.text_key(
            "story_usd",
            defaults.max_story_cost.value,
            "The same for each story by itself.",
        );
        let _ = writeln!(
            self.0,
            "# story_tokens = {}\n# story_time = {}",
            quoted(&defaults.max_story_tokens.value.to_string()),
            quoted(&defaults.max_story_time.value.to_string())
        );
        self.tamper(defaults);
    }

    fn tamper(&mut self, defaults: &Settings) {
        self.table(
            "tamper",
            "What is made of an attempt that touches what judges it: `off`, `warn` or `fail`.",
        );
        for (name, check) in TamperCheck::NAMES {
            let about = match check {
                TamperCheck::Boxes => "Boxes of other stories; they are put back in any case.",
                TamperCheck::Specs => "The text of the plan.",
                TamperCheck::Tests => "Tests that are deleted or skipped.",
                TamperCheck::Config => "This file, and what the gates are set up by.",
                TamperCheck::Outside => "Files outside of `roots`.",
            };
            let (severity, _) = defaults.tamper.severity(check);
            self.text_key(name, severity.name(), about);
        }
        self.key(
            "roots",
            "[\"src\", \"tests\"]",
            "Where work is expected. Without it, in the folders that are there; this is an example.",
        );
    }

    /// Several lines that belong together, commented out.
    fn block(&mut self, about: &str, lines: &str) {
        self.gap();
        self.words(about);
        self.words(lines);
    }

    fn examples(&mut self) {
        self.block(
            "Whom to tell when a run ends, a story is given up, a limit is waited for, or you have to\n\
             choose: a command that gets the event as JSON by stdin, and the terminal's bell.",
            "[notify]\ncommand = [\"notify-send\", \"ralphtool\"]\nbell = true\n\
             on = [\"finished\", \"exhausted\", \"waiting\", \"choice\"]",
        );
        self.block(
            "What a million tokens cost in US dollars, for a model or an agent that does not tell.",
            "[prices.my-model]\ninput = 1.25\noutput = 10.00\ncached_input = 0.125\ncache_write = 1.50",
        );
        self.block(
            "Another agent or model for a story that failed so often.",
            "[escalate]\nafter = 2\nmodel = \"opus\"",
        );
        self.block(
            "Another agent or model for one story.",
            "[[story]]\nid = \"2\"\nmodel = \"opus\"",
        );
        self.block(
            "An agent of your own: `agent = \"mine\"` lets it work.",
            "[agents.mine]\ncommand = [\"my-agent\", \"--auto\"]\noutput = \"text\"",
        );
    }
}

/// A string as TOML has it.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
