//! What the user should know besides how the stories stand, and how much each of it matters.

use serde::Serialize;

use ralph_base::ids::{AttemptNumber, StoryId};

/// How much something matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Importance {
    /// The user should look at it.
    Warning,
    /// Good to know; nothing has to be done.
    Note,
}

impl Importance {
    /// How much a warning with this code matters.
    pub fn of(code: &str) -> Self {
        match code {
            "ticked" | "deferred" | "vault_tidied" | "agent_commits_undone" => Self::Note,
            _ => Self::Warning,
        }
    }
}

/// Something the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(rename = "WarningReceipt"))]
pub struct Warning {
    /// Stable name of the warning.
    pub code: String,
    /// How much it matters.
    pub importance: Importance,
    /// For people.
    pub message: String,
    /// The story it came up at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<StoryId>,
    /// The attempt it came up at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptNumber>,
    /// The files it is about.
    #[serde(skip)]
    pub paths: Vec<String>,
}

impl Warning {
    /// One line that stands alone: it names the check that found something.
    pub fn text(&self) -> String {
        match self.code.strip_prefix("tamper_") {
            Some(check) => format!("{check}: {}", self.message),
            None => self.message.clone(),
        }
    }

    /// What it says, with the story it is about.
    pub fn with_story(&self) -> String {
        match &self.story {
            Some(story) => format!("story {story}: {}", self.message),
            None => self.message.clone(),
        }
    }

    /// A story of which nothing is to be done.
    pub(super) fn deferred(story: &StoryId, reason: &str) -> Self {
        Self {
            code: "deferred".to_owned(),
            importance: Importance::Note,
            message: reason.to_owned(),
            story: Some(story.clone()),
            attempt: None,
            paths: Vec::new(),
        }
    }

    /// Whether it is a reason to doubt the work, and not only about how the run went.
    pub(super) fn is_about_work(&self) -> bool {
        let codes = ["no_changes", "review_not_met", "review_cannot_tell"];
        self.code.starts_with("tamper_") || codes.contains(&self.code.as_str())
    }
}
