//! What is known about an agent, and what the user should know of it.

use serde::{Serialize, Serializer};

use super::Finding;
use crate::words::quoted;
use ralph_agents::adapters::{Adapter, VERSION_ARGUMENTS, Version};

/// The check that agents come under.
pub(super) const CHECK: &str = "agent";

/// What is known about one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AgentHealth {
    /// Its name in the settings.
    pub name: String,
    /// Whether the settings may ask for it.
    pub asked: bool,
    /// The program that was found.
    pub program: Option<String>,
    #[serde(serialize_with = "dotted")]
    pub version: Option<Version>,
    /// Whether that version is new enough.
    pub supported: Option<bool>,
    /// Null where that cannot be found out.
    pub logged_in: Option<bool>,
    /// Why its version is not known.
    pub trouble: Option<String>,
    /// Variables with keys of its own that it finds.
    pub keys: Vec<String>,
    /// Variables with keys of other agents that it does not get.
    pub withheld: Vec<String>,
}

impl AgentHealth {
    /// An agent nothing is known about yet.
    pub(super) fn new(name: &str, asked: bool) -> Self {
        Self {
            name: name.to_owned(),
            asked,
            ..Self::default()
        }
    }

    /// What to report about a built-in agent that a run may ask.
    pub(super) fn findings(&self, adapter: &Adapter) -> Vec<Finding> {
        let mut findings = vec![self.state(adapter)];
        let name = &self.name;
        if self.logged_in == Some(false) {
            let message = format!("`{name}` is not logged in");
            findings.push(Finding::warning(CHECK, message).hint(adapter.login.fix));
        }
        findings.extend(self.about_keys());
        findings
    }

    /// Whose account its work is billed to, as far as variables tell.
    pub(super) fn about_keys(&self) -> Vec<Finding> {
        let (mut findings, name) = (Vec::new(), &self.name);
        if !self.keys.is_empty() {
            let keys = quoted(&self.keys);
            // Whether it uses them is up to its own configuration.
            let billed = match self.keys.len() {
                1 => "its work is billed to the key",
                _ => "its work is billed to the keys",
            };
            let message = format!("`{name}` finds {keys}: {billed}, not to a subscription");
            findings.push(Finding::good(CHECK, message));
        }
        if !self.withheld.is_empty() {
            let keys = quoted(&self.withheld);
            let message = format!("`{name}` does not get {keys}, which other agents use");
            findings.push(Finding::good(CHECK, message));
        }
        findings
    }

    fn state(&self, adapter: &Adapter) -> Finding {
        let (name, title) = (&self.name, adapter.title);
        let program = self.program.as_deref().unwrap_or(adapter.name);
        let needed = format!("{} or later is needed", text(adapter.oldest));
        let Some(version) = self.version.map(text) else {
            let trouble = self.trouble.as_deref().unwrap_or("it was not asked");
            let message =
                format!("`{name}`: {title} (`{program}`) does not report its version: {trouble}");
            return Finding::warning(CHECK, message).hint(format!(
                "see what `{program} {}` does; {needed}",
                VERSION_ARGUMENTS.join(" ")
            ));
        };
        if self.supported == Some(false) {
            let message = format!("`{name}`: {title} {version} is too old (`{program}`)");
            return Finding::warning(CHECK, message).hint(format!(
                "update it, with npm: `{}`; {needed}",
                adapter.install
            ));
        }
        let login = match self.logged_in {
            Some(true) => ", logged in",
            Some(false) => "",
            None => ", login status unknown",
        };
        Finding::good(
            CHECK,
            format!("`{name}`: {title} {version} (`{program}`){login}"),
        )
    }

    fn in_brief(&self) -> String {
        let name = &self.name;
        match (self.version.map(text), self.supported) {
            (Some(version), Some(false)) => format!("`{name}` {version}, too old"),
            (Some(version), _) => format!("`{name}` {version}"),
            (None, _) => format!("`{name}`, version unknown"),
        }
    }
}

/// One line about the agents that the settings do not ask for.
pub(super) fn others(agents: &[AgentHealth]) -> Option<Finding> {
    let (here, missing): (Vec<_>, Vec<_>) = agents
        .iter()
        .filter(|agent| !agent.asked)
        .partition(|agent| agent.program.is_some());
    let here: Vec<String> = here.into_iter().map(AgentHealth::in_brief).collect();
    let missing: Vec<String> = missing.into_iter().map(|it| it.name.clone()).collect();
    let mut parts = Vec::new();
    if !here.is_empty() {
        parts.push(format!("not asked for: {}", here.join(", ")));
    }
    if !missing.is_empty() {
        parts.push(format!("not installed: {}", quoted(&missing)));
    }
    (!parts.is_empty()).then(|| Finding::note(CHECK, parts.join("; ")))
}

fn text((major, minor, patch): Version) -> String {
    format!("{major}.{minor}.{patch}")
}

#[expect(clippy::ref_option, reason = "serde hands the field over like this")]
fn dotted<S: Serializer>(version: &Option<Version>, serializer: S) -> Result<S::Ok, S::Error> {
    version.map(text).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use ralph_agents::adapters::claude::ADAPTER;

    fn healthy() -> AgentHealth {
        AgentHealth {
            program: Some("/bin/claude".into()),
            version: Some((2, 1, 325)),
            supported: Some(true),
            ..AgentHealth::new("work", true)
        }
    }

    #[track_caller]
    fn says(health: &AgentHealth, want: &[&str]) {
        let findings = health.findings(&ADAPTER);
        let messages: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(messages, want);
    }

    #[test]
    fn what_is_not_known_about_a_login_is_said_so() {
        let here = "`work`: Claude Code 2.1.325 (`/bin/claude`)";
        for (logged_in, want) in [
            (Some(true), vec![format!("{here}, logged in")]),
            (
                Some(false),
                vec![here.to_owned(), "`work` is not logged in".to_owned()],
            ),
            (None, vec![format!("{here}, login status unknown")]),
        ] {
            let want: Vec<&str> = want.iter().map(String::as_str).collect();
            let health = AgentHealth {
                logged_in,
                ..healthy()
            };
            says(&health, &want);
        }
    }

    #[test]
    fn own_and_foreign_keys_are_reported_separately() {
        let health = AgentHealth {
            logged_in: Some(true),
            keys: vec!["A_API_KEY".into(), "B_API_KEY".into()],
            withheld: vec!["C_API_KEY".into()],
            ..healthy()
        };
        let want = [
            "`work`: Claude Code 2.1.325 (`/bin/claude`), logged in",
            "`work` finds `A_API_KEY`, `B_API_KEY`: its work is billed to the keys, not to a \
             subscription",
            "`work` does not get `C_API_KEY`, which other agents use",
        ];
        says(&health, &want);
    }

    #[test]
    fn agents_that_the_settings_do_not_name_share_a_line() {
        let here = |name: &str| AgentHealth {
            name: name.into(),
            asked: false,
            ..healthy()
        };
        let missing = |name| AgentHealth::new(name, false);
        for (agents, want) in [
            (vec![healthy()], None),
            (vec![here("a")], Some("not asked for: `a` 2.1.325")),
            (vec![missing("b")], Some("not installed: `b`")),
            (
                vec![here("a"), missing("b"), here("c"), healthy(), missing("d")],
                Some("not asked for: `a` 2.1.325, `c` 2.1.325; not installed: `b`, `d`"),
            ),
        ] {
            let want = want.map(|text| Finding::note(CHECK, text));
            assert_eq!(others(&agents), want);
        }
    }
}
