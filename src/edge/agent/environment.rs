//! The environment of an agent: what it is told, what it must not inherit.

use super::{Agent, Work};
use crate::domain::dialect::Output;
use crate::edge::os;
use crate::edge::process::{EnvChange, RUN_VARIABLE};

/// What git uses to be about another repository than the one it stands in.
const GIT_LOCAL: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// What tells an agent that it runs inside another one.
const NESTING: [&str; 16] = [
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_PID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "GEMINI_CLI",
    "OPENCODE",
];

/// What keeps Claude Code from updating itself, calling home, and going on after its answer.
pub(super) const CLAUDE_QUIET: [&str; 3] = [
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_AUTOUPDATER",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
];

/// Whose rights this process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    /// All rights.
    Root,
    /// Those of a user.
    User,
}

impl Rights {
    /// The rights of this very process.
    pub(crate) fn of_this_process() -> Self {
        if os::is_root() {
            Self::Root
        } else {
            Self::User
        }
    }
}

/// Takes away what would point git at another repository.
pub(crate) fn git_scrubbed() -> impl Iterator<Item = EnvChange> {
    GIT_LOCAL.into_iter().map(EnvChange::remove)
}

/// All changes to the environment for one attempt; the attempt's mark comes with its process.
pub(super) fn of(agent: &Agent, work: &Work<'_>, rights: Rights) -> Vec<EnvChange> {
    let mut env: Vec<EnvChange> = git_scrubbed().collect();
    env.extend(NESTING.into_iter().map(EnvChange::remove));
    if agent.output() == Output::ClaudeJson {
        env.extend(
            CLAUDE_QUIET
                .into_iter()
                .map(|name| EnvChange::set(name, "1")),
        );
        if rights == Rights::Root {
            // It refuses to work unattended as root unless told exactly this.
            env.push(EnvChange::set("IS_SANDBOX", "1"));
        }
    }
    if let Agent::Command { env: own, .. } = agent {
        env.extend(own.iter().map(|(name, value)| EnvChange::set(name, value)));
    }
    env.extend([
        EnvChange::set(RUN_VARIABLE, &work.run.0),
        EnvChange::set("RALPHTOOL_STORY", &work.attempt.story.0),
        EnvChange::set("RALPHTOOL_CHANGE", work.change),
        EnvChange::set("RALPHTOOL_LEARNINGS", work.learnings),
        EnvChange::set("GIT_TRACE2_EVENT", work.transcript.join("git")),
    ]);
    env
}
