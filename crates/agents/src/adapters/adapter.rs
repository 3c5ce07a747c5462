//! How an agent is called, and how to see whether it can work.

use crate::dialect::Output;

/// Everything there is to know about calling one agent.
#[derive(Debug)]
pub struct Adapter {
    /// Its name in settings, which is also the name of its program in `PATH`.
    pub name: &'static str,
    /// What its makers call it.
    pub title: &'static str,
    /// The stream it writes.
    pub output: Output,
    /// Its arguments for one attempt; the prompt comes by standard input.
    pub arguments: &'static [&'static str],
    /// The flag before the name of a model.
    pub model: &'static str,
    /// Arguments that come after all others.
    pub last: &'static [&'static str],
    /// Variables that keep it quiet: no telemetry, no updates, no questions.
    pub environment: &'static [(&'static str, &'static str)],
    /// Variables it needs besides when it runs with all rights.
    pub as_root: &'static [(&'static str, &'static str)],
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
    /// The program and its arguments, for a model where one is asked for.
    pub fn command_line(&self, model: Option<&str>) -> Vec<String> {
        let model = model.into_iter().flat_map(|name| [self.model, name]);
        std::iter::once(self.name)
            .chain(self.arguments.iter().copied())
            .chain(model)
            .chain(self.last.iter().copied())
            .map(str::to_owned)
            .collect()
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
    use pretty_assertions::assert_eq;

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
