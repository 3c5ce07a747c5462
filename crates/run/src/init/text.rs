//! The text of a new `ralphtool.toml`: the gates that were found, and every other key as a comment
//! that shows its default.
//!
//! A line that begins with `# key =` is a setting that was commented out; all other comments are
//! explanations. The headers of tables are not commented out, so that removing the `# ` of a line is
//! enough to set its key.

use std::fmt::Write as _;

use super::Proposal;
use crate::settings::keys::{KeyInfo, KeyTable, TABLES, Without, quoted};

/// How the table of a gate is opened.
const GATE: &str = "[[gate]]";

const OPENING: &str = "\
# The settings of ralphtool in this repository.
#
# No key is needed. A line such as `# key = value` shows the default; remove the `# ` to change it.
# Your own `~/.config/ralphtool/config.toml`, variables such as `RALPHTOOL_MODEL` and flags override
# this file. `ralphtool doctor` checks it.
";

/// Writes the file; `agents` are those that are installed.
pub fn write(agents: &[&str], gates: &[Proposal]) -> String {
    let mut page = Page(OPENING.to_owned());
    let top = TABLES.iter().filter(|it| it.header.is_empty());
    let (agent, others): (Vec<&KeyInfo>, Vec<&KeyInfo>) = top
        .flat_map(|it| it.keys)
        .partition(|key| key.name == "agent");
    for key in agent {
        page.agent(key, agents);
    }
    for key in others {
        page.key(key);
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
    /// Comment lines.
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

    /// The agent is set if there is only one to choose.
    fn agent(&mut self, key: &KeyInfo, agents: &[&str]) {
        self.gap();
        self.words(key.about);
        if let [only] = agents {
            self.words("Detected on this machine.");
            let _ = writeln!(self.0, "agent = {}", quoted(only));
            return;
        }
        self.words(&match agents {
            [] => "None was found on this machine; `ralphtool doctor` says how to install one."
                .to_owned(),
            names => format!("Detected on this machine: {}.", names.join(", ")),
        });
        let _ = writeln!(self.0, "# agent = {}", key.without.value());
    }

    fn gates(&mut self, gates: &[Proposal]) {
        self.gap();
        self.words(
            "Gates: commands that ralphtool itself runs after an agent says it is done, in this folder.\n\
             Exit code 0 passes; anything else fails the attempt, and the output is given to the next\n\
             one. A gate that was red before the story began does not count (`baseline = true`). With\n\
             `when = \"end\"` it runs once, over the whole change. What it changes in the tree is undone,\n\
             unless `keep_changes = true` says that it is part of the work, as with a formatter.\n\
             `retries = 1` runs a red gate again, to find out whether it is flaky; with `paths = [\"src/**\"]`\n\
             it runs only when such files were changed; `junit = \"report.xml\"` names its test report.",
        );
        if gates.iter().all(|gate| gate.inactive.is_some()) {
            let none = "No command that tests this repository was found. Without a gate, the agent's word is the only\n\
                check: write yours here.";
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
            "{GATE}\nname = {}\nrun = {}",
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
