//! The text of a new `ralphtool.toml`: the gates that were found, and every other key as a comment
//! that shows its default.
//!
//! A line that begins with `# key =` is a setting that was commented out; all other comments are
//! words. Tables stand there without keys, so that a line only has to lose its `# `.

use std::fmt::Write as _;

use super::Proposal;
use crate::settings::keys::{KeyInfo, KeyTable, TABLES, Without, quoted};

/// How the table of a gate is opened.
const GATE: &str = "[[gate]]";

/// The agent that is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentFound {
    /// Just this one is installed.
    One(&'static str),
    /// These are, so that nobody else can choose.
    Many(Vec<&'static str>),
    /// None is.
    Nobody,
}

impl AgentFound {
    /// What is known from the names of those that are installed.
    pub fn of(names: Vec<&'static str>) -> Self {
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

/// Writes the file.
pub fn write(agent: &AgentFound, gates: &[Proposal]) -> String {
    let mut page = Page(OPENING.to_owned());
    page.agent(agent);
    for key in TABLES
        .iter()
        .filter(|it| it.header.is_empty())
        .flat_map(|it| it.keys)
    {
        if key.name != "agent" {
            page.key(key);
        }
    }
    page.gates(gates);
    for table in TABLES.iter().filter(|it| !["", GATE].contains(&it.header)) {
        page.table(table);
    }
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
    fn key(&mut self, key: &KeyInfo) {
        self.gap();
        self.words(key.about);
        let _ = writeln!(self.0, "# {} = {}", key.name, key.without.value());
    }

    fn agent(&mut self, agent: &AgentFound) {
        self.gap();
        let mut default = String::new();
        for key in TABLES[0].keys.iter().filter(|key| key.name == "agent") {
            self.words(key.about);
            default = key.without.value();
        }
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
            self.gap();
            self.words("Such as this one.");
            let mut lines = format!("{GATE}\nname = \"tests\"\nrun = \"make test\"");
            for (key, value) in gate_defaults() {
                let _ = write!(lines, "\n{key} = {value}");
            }
            self.words(&lines);
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
        let _ = writeln!(self.0, "{lines}");
        for (key, value) in gate_defaults() {
            let _ = writeln!(self.0, "# {key} = {value}");
        }
    }

    /// A table: its keys with their defaults, or an example where they only make sense together.
    fn table(&mut self, table: &KeyTable) {
        self.gap();
        self.words(table.about);
        if let Some(example) = table.example {
            self.words(table.header);
            self.words(example);
            return;
        }
        let _ = writeln!(self.0, "{}", table.header);
        for key in table.keys {
            self.key(key);
        }
    }
}

/// The keys of a gate that have a default, and it.
fn gate_defaults() -> Vec<(&'static str, String)> {
    let gate = TABLES.iter().filter(|table| table.header == GATE);
    gate.flat_map(|table| table.keys)
        .filter(|key| matches!(key.without, Without::Default(_)))
        .map(|key| (key.name, key.without.value()))
        .collect()
}
