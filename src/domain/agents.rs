//! The agents that need no configuration: how each is called, and how its stream is read.
//!
//! One file an agent. An adapter only says; it starts nothing and looks at nothing.

pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod copilot;
pub(crate) mod gemini;
pub(crate) mod goose;
pub(crate) mod opencode;
pub(crate) mod pi;
pub(crate) mod qwen;

use super::dialect::Output;

/// Everything there is to know about calling one agent.
#[derive(Debug)]
pub(crate) struct Adapter {
    /// What users call it in settings.
    pub(crate) name: &'static str,
    /// What its makers call it.
    pub(crate) title: &'static str,
    /// The program, as found in `PATH`.
    pub(crate) program: &'static str,
    /// The stream it writes.
    pub(crate) output: Output,
    /// Its arguments for one attempt; the prompt comes by standard input.
    pub(crate) arguments: &'static [&'static str],
    /// The flag before the name of a model.
    pub(crate) model: &'static str,
    /// Arguments that come after all others.
    pub(crate) last: &'static [&'static str],
    /// Variables that keep it quiet: no telemetry, no updates, no questions.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// Variables it needs besides when it runs with all rights.
    pub(crate) as_root: &'static [(&'static str, &'static str)],
    /// Variables with its keys, tokens and the address of its API. Other agents do not get them:
    /// an agent that finds the key of another account bills it.
    pub(crate) credentials: &'static [&'static str],
    /// Variables by which it tells processes that they run inside of it; no agent gets them.
    pub(crate) nesting: &'static [&'static str],
    /// How it tells its version.
    pub(crate) version: &'static [&'static str],
    /// The oldest version that works.
    pub(crate) oldest: Version,
    /// Whether somebody is logged in, and how to.
    pub(crate) login: Login,
    /// The command that installs it.
    pub(crate) install: &'static str,
}

impl Adapter {
    /// The program and its arguments, for a model where one is asked for.
    pub(crate) fn command_line(&self, model: Option<&str>) -> Vec<String> {
        let model = model.into_iter().flat_map(|name| [self.model, name]);
        std::iter::once(self.program)
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
pub(crate) type Version = (u32, u32, u32);

/// How to find out whether an agent is logged in without asking a model.
#[derive(Debug)]
pub(crate) struct Login {
    /// The command that tells, where there is one.
    pub(crate) probe: Option<Probe>,
    /// Files below the home folder that hold a login; one of them is enough.
    pub(crate) files: &'static [&'static str],
    /// Variables that are as good as a login; one of them is enough.
    pub(crate) variables: &'static [&'static str],
    /// What to do where nobody is.
    pub(crate) fix: &'static str,
}

/// A command of an agent that tells whether somebody is logged in.
#[derive(Debug)]
pub(crate) struct Probe {
    /// Its arguments.
    pub(crate) arguments: &'static [&'static str],
    /// What its exit code and standard output mean; nothing where they mean nothing.
    pub(crate) reads: fn(code: i32, said: &str) -> Option<bool>,
}

/// All adapters, the default first.
pub(crate) static ADAPTERS: [&Adapter; 8] = [
    &claude::ADAPTER,
    &codex::ADAPTER,
    &opencode::ADAPTER,
    &gemini::ADAPTER,
    &qwen::ADAPTER,
    &copilot::ADAPTER,
    &pi::ADAPTER,
    &goose::ADAPTER,
];

/// The adapter of this name.
pub(crate) fn adapter(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.into_iter().find(|it| it.name == name)
}

/// Finds a version in what a program says about itself.
pub(crate) fn version_in(text: &str) -> Option<Version> {
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
mod recordings;

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
