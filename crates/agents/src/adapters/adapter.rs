//! How an agent is called, and how to see whether it can work.

use crate::dialect::Output;

/// The place of a session's id in the words of a command.
pub const SESSION: &str = "{session}";

/// Everything there is to know about calling one agent.
#[derive(Debug)]
pub struct Adapter {
    /// Its name in settings, which is also the name of its program in `PATH`.
    pub name: &'static str,
    /// What its makers call it.
    pub title: &'static str,
    /// The stream it writes.
    pub output: Output,
    /// Its arguments in every role; the prompt comes by standard input.
    pub arguments: &'static [&'static str],
    /// How it may do everything without a question.
    pub worker: Rights,
    /// How it may read the work of another agent and change nothing.
    pub reviewer: Rights,
    /// How its sessions are named and continued.
    pub sessions: Sessions,
    /// The flag before the name of a model.
    pub model: &'static str,
    /// Arguments that come after all others.
    pub last: &'static [&'static str],
    /// Variables that keep it quiet: no telemetry, no updates, no questions.
    pub environment: &'static [(&'static str, &'static str)],
    /// Variables with its keys, tokens and the address of its API. Other agents do not get them:
    /// an agent that finds the key of another account bills it.
    pub credentials: &'static [&'static str],
    /// Variables that it sets for the processes it starts; no agent gets them.
    pub nesting: &'static [&'static str],
    /// The oldest version that works.
    pub oldest: Version,
    /// How to see whether it is logged in, and how to log in.
    pub login: Login,
    /// The command that installs it.
    pub install: &'static str,
}

impl Adapter {
    /// The program and its arguments, for a model where one is asked for. The rights are stated for
    /// a continued session, too: Codex would keep those of its first process, Claude Code none.
    pub fn command_line(
        &self,
        model: Option<&str>,
        session: SessionArg<'_>,
        role: Role,
    ) -> Vec<String> {
        let model = model.into_iter().flat_map(|name| [self.model, name]);
        let session = self.sessions.arguments(session);
        std::iter::once(self.name)
            .chain(self.arguments.iter().copied())
            .chain(self.rights(role).arguments.iter().copied())
            .map(str::to_owned)
            .chain(session)
            .chain(model.map(str::to_owned))
            .chain(self.last.iter().copied().map(str::to_owned))
            .collect()
    }

    /// What it may do in this role.
    pub const fn rights(&self, role: Role) -> &Rights {
        match role {
            Role::Worker => &self.worker,
            Role::Reviewer => &self.reviewer,
        }
    }
}

/// What an agent is started for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// It works on a story, and may do everything.
    #[default]
    Worker,
    /// It looks at the work of another agent, and may change nothing.
    Reviewer,
}

/// What an agent may do in one role, in its own words.
#[derive(Debug)]
pub struct Rights {
    pub arguments: &'static [&'static str],
    pub environment: &'static [(&'static str, &'static str)],
    /// Variables it needs besides when it runs as root.
    pub as_root: &'static [(&'static str, &'static str)],
    /// Whether it can run commands such as `git diff`. If not, the prompt has to hold what it
    /// should see.
    pub has_shell: bool,
}

impl Rights {
    /// Nothing of its own, and no commands.
    pub(super) const NONE: Self = Self {
        arguments: &[],
        environment: &[],
        as_root: &[],
        has_shell: false,
    };
}

/// Which session of an agent a process is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionArg<'a> {
    /// A new one, with this id if the agent takes one.
    New { id: Option<&'a str> },
    /// An earlier one, continued with all its messages. It must be continued in the folder it began
    /// in: opencode hangs elsewhere, and others do not find the session.
    Continue { id: &'a str },
}

/// How an agent's sessions are named and continued. In its arguments, [`SESSION`] is the place of
/// the id.
#[derive(Debug)]
pub struct Sessions {
    /// Arguments that give a new session an id chosen by us. Empty if the agent reports its own id
    /// in its first event.
    pub preset: &'static [&'static str],
    /// Arguments that continue a session; none if that does not work.
    pub resume: Option<&'static [&'static str]>,
}

impl Sessions {
    /// Whether ralphtool chooses the id of a new session.
    pub const fn takes_id(&self) -> bool {
        !self.preset.is_empty()
    }

    /// The arguments for a session. An agent that cannot continue one starts a new one.
    fn arguments(&self, session: SessionArg<'_>) -> Vec<String> {
        let (words, id) = match session {
            SessionArg::New { id } => (self.preset, id),
            SessionArg::Continue { id } => (self.resume.unwrap_or_default(), Some(id)),
        };
        let filled = |id: &str| words.iter().map(|word| word.replace(SESSION, id)).collect();
        id.map(filled).unwrap_or_default()
    }
}

impl PartialEq for Adapter {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Adapter {}

/// A version with three parts.
pub type Version = (u32, u32, u32);

/// How to find out whether an agent is logged in without asking a model.
#[derive(Debug)]
pub struct Login {
    /// The command that says so, if there is one.
    pub probe: Option<Probe>,
    /// Files below the home folder that hold a login; one of them is enough.
    pub files: &'static [&'static str],
    /// Variables that are as good as a login; one of them is enough.
    pub variables: &'static [&'static str],
    /// What to do if it is not.
    pub fix: &'static str,
}

/// A command of an agent that says whether it is logged in.
#[derive(Debug)]
pub struct Probe {
    pub arguments: &'static [&'static str],
    /// What its exit code and standard output mean, if they mean anything.
    pub reads: fn(code: i32, stdout: &str) -> Option<bool>,
}

/// The arguments that make any of the agents print its version.
pub const VERSION_ARGUMENTS: &[&str] = &["--version"];

/// Finds a version in what a program says about itself.
pub fn version_in(text: &str) -> Option<Version> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    text.split(|c: char| !is_part(c)).find_map(|word| {
        let mut parts = word.split('.').map(str::parse);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Some((major, minor, patch)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::ADAPTERS;
    use pretty_assertions::assert_eq;

    /// What is started in this role, with the variables that only this role has.
    fn started(adapter: &Adapter, session: SessionArg<'_>, role: Role) -> String {
        let rights = adapter.rights(role);
        let variables = rights.environment.iter().chain(rights.as_root);
        let variables = variables.map(|(name, value)| format!("{name}={value}"));
        let words = adapter.command_line(Some("M"), session, role);
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }

    fn in_role(adapter: &Adapter, role: Role) -> [String; 3] {
        let id = Some("ID").filter(|_| adapter.sessions.takes_id());
        let has_shell = adapter.rights(role).has_shell;
        let shell = if has_shell { "a shell" } else { "no shell" };
        let new = started(adapter, SessionArg::New { id }, role);
        let continued = adapter.sessions.resume.map_or_else(
            || "never".to_owned(),
            |_| started(adapter, SessionArg::Continue { id: "ID" }, role),
        );
        [
            format!("  {role:?}, {shell}"),
            format!("    new        {new}"),
            format!("    continued  {continued}"),
        ]
    }

    #[test]
    fn every_agent_is_started_and_continued_in_each_role() {
        let lines: Vec<String> = ADAPTERS
            .into_iter()
            .flat_map(|adapter| {
                let roles = [Role::Worker, Role::Reviewer];
                let lines = roles.map(|role| in_role(adapter, role)).into_iter();
                std::iter::once(adapter.title.to_owned()).chain(lines.flatten())
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn an_agent_that_reports_its_session_is_not_given_an_id() {
        for adapter in ADAPTERS.into_iter().filter(|it| !it.sessions.takes_id()) {
            let line = |id| adapter.command_line(None, SessionArg::New { id }, Role::Worker);
            assert_eq!(line(Some("ID")), line(None), "{}", adapter.name);
        }
    }

    #[test]
    fn a_version_is_found_wherever_it_stands() {
        for (text, want) in [
            ("2.1.325 (Claude Code)\n", Some((2, 1, 325))),
            ("codex-cli 0.166.0", Some((0, 166, 0))),
            ("1.18.33", Some((1, 18, 33))),
            ("v0.61.0-preview.2", Some((0, 61, 0))),
            ("Node 20: tool 1.2.3.4", Some((1, 2, 3))),
            ("1.2", None),
            ("none", None),
        ] {
            assert_eq!(version_in(text), want, "{text}");
        }
    }
}
