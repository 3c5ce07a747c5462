//! Keys that are about who does the work.

use super::{KeyInfo, Kind, Trust, Without, key, text, words};
use crate::domain::agents::ADAPTERS;
use crate::domain::dialect::Output;
use crate::domain::settings::agents::PromptBy;

pub(super) const ESCALATE: [KeyInfo; 3] = [
    key(
        "after",
        Trust::NotNeeded,
        Kind::Count,
        Without::Needed("2"),
        "After how many failed attempts of a story.",
    ),
    key(
        "agent",
        Trust::NotNeeded,
        Kind::Text,
        Without::Other("the same agent", "\"codex\""),
        "Who does the story then; this, `model` or both.",
    ),
    key(
        "model",
        Trust::NotNeeded,
        Kind::Text,
        Without::Other("the agent's own model", "\"opus\""),
        "The model it is asked for then.",
    ),
];

pub(super) const STORY: [KeyInfo; 4] = [
    key(
        "id",
        Trust::NotNeeded,
        Kind::Text,
        Without::Needed("\"2\""),
        "Which story.",
    ),
    key(
        "change",
        Trust::NotNeeded,
        Kind::Text,
        Without::Other("any change", "\"add-retry\""),
        "Of which change.",
    ),
    key(
        "agent",
        Trust::NotNeeded,
        Kind::Text,
        Without::Other("the same agent", "\"codex\""),
        "Who does it; this, `model` or both.",
    ),
    key(
        "model",
        Trust::NotNeeded,
        Kind::Text,
        Without::Other("the agent's own model", "\"opus\""),
        "The model it is asked for.",
    ),
];

pub(super) const AGENTS: [KeyInfo; 8] = [
    key(
        "command",
        Trust::Needed("the agent `{name}` runs"),
        Kind::Command,
        Without::Other("needed, or `like`", "[\"my-agent\", \"--auto\"]"),
        "What is started for an attempt.",
    ),
    key(
        "like",
        Trust::NotNeeded,
        Kind::OneOf(|| ADAPTERS.iter().map(|it| it.name).collect()),
        Without::Other("needed, or `command`", "\"claude\""),
        "The built-in agent that it is, with other variables, model or wrapping.",
    ),
    key(
        "wrap",
        Trust::Needed("the agent `{name}` is started by"),
        Kind::Command,
        Without::Nothing("[\"my-sandbox\", \"--\"]"),
        "With `like`: a command that starts the agent, such as a sandbox.",
    ),
    key(
        "model",
        Trust::NotNeeded,
        Kind::Text,
        Without::Other("as the agent itself is set", "\"opus\""),
        "The model it is asked for.",
    ),
    key(
        "output",
        Trust::NotNeeded,
        Kind::OneOf(|| words(&Output::NAMES)),
        Without::Default(|_| text("text")),
        "With `command`: how it prints what it does.",
    ),
    key(
        "prompt",
        Trust::NotNeeded,
        Kind::OneOf(|| words(&PromptBy::NAMES)),
        Without::Default(|_| text("stdin")),
        "With `command`: how it gets the prompt.",
    ),
    key(
        "env",
        Trust::Needed("the agent `{name}` gets the variable"),
        Kind::Environment,
        Without::Nothing("{ MY_AGENT_MODE = \"auto\" }"),
        "Variables for it: text is the value, `true` passes one on, `false` takes it away.",
    ),
    key(
        "cwd",
        Trust::Needed("the agent `{name}` starts in the folder"),
        Kind::Text,
        Without::Other("the top of the work tree", "\".\""),
        "With `command`: the folder it starts in.",
    ),
];
