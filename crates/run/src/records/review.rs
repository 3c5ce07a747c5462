//! What a reviewer said: a verdict for each task and scenario, with its evidence.

use serde::{Deserialize, Serialize};

use crate::policy::roster::Choice;
use ralph_agents::agent_event::Usage;
use ralph_agents::dialect::Output;
use ralph_base::ids::{AttemptNumber, StoryId};

/// What a reviewer says of a task or a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is done, or it holds.
    Met,
    /// It is not.
    NotMet,
    /// The reviewer could not find out, or did not say.
    CannotTell,
    /// It is for another story of the change to fulfil.
    OtherStory,
}

impl Verdict {
    /// Every verdict by the name that a reviewer writes.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("met", Self::Met),
        ("not_met", Self::NotMet),
        ("cannot_tell", Self::CannotTell),
        ("other_story", Self::OtherStory),
    ];

    /// The verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::CannotTell => "cannot tell",
            Self::OtherStory => "for another story",
        }
    }
}

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// A task of a story.
    Task,
    /// A scenario of the change.
    Scenario,
}

/// A task or a scenario with a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct JudgedItem {
    /// What it is called in the review: `T1`, `S2`.
    pub item: String,
    /// What it is.
    pub what: Judged,
    /// The start of its text.
    pub text: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in the reviewer's words: a file and line, the output of a command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
}

/// How a review ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(tag = "ended", rename_all = "snake_case")]
pub enum ReviewResult {
    /// With a verdict for each task and scenario.
    Judged {
        /// The tasks and scenarios.
        items: Vec<JudgedItem>,
    },
    /// Without verdicts: nothing was judged.
    NoVerdict {
        /// Why.
        reason: String,
    },
}

/// A review begins: a reviewer's process was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct ReviewStarted {
    /// The story; of a review of the whole change, the one that was done last.
    pub story: StoryId,
    /// The attempt that is reviewed; none where the whole change is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptNumber>,
    /// The review's name.
    pub review: String,
    /// The agent and model that review.
    pub agent: Choice,
    /// Whether what it finds is only reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
    /// Why the reviewer is asked once more: its first answer could not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Folder with prompt, stdout and stderr of the reviewer.
    pub transcript: String,
    /// The format of the reviewer's stdout.
    #[serde(default)]
    pub output: Output,
}

/// A review ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct ReviewFinished {
    /// The story; of a review of the whole change, the one that was done last.
    pub story: StoryId,
    /// The attempt that was reviewed; none where the whole change was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptNumber>,
    /// The review's name.
    pub review: String,
    /// How it ended.
    pub result: ReviewResult,
    /// Whether the reviewer is asked once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retrying: bool,
    /// How long it took.
    pub duration_ms: u64,
    /// What it used.
    pub usage: Usage,
    /// The prices of the configuration its cost is computed from; none if the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
}

/// A review that gave no verdict on work that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Unreviewed {
    /// The review's name.
    pub review: String,
    /// The stories it gave none on; empty where it is the whole change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stories: Vec<StoryId>,
}

impl Unreviewed {
    /// It in words: ``review `x` gave no verdict on story 2``.
    pub fn words(&self) -> String {
        let stories: Vec<&str> = self.stories.iter().map(|it| it.0.as_str()).collect();
        let what = match stories.as_slice() {
            [] => "the whole change".to_owned(),
            [one] => format!("story {one}"),
            [all @ .., last] => format!("stories {} and {last}", all.join(", ")),
        };
        format!("review `{}` gave no verdict on {what}", self.review)
    }
}

impl ReviewResult {
    /// What was judged; nothing where there are no verdicts.
    pub fn items(&self) -> &[JudgedItem] {
        match self {
            Self::Judged { items } => items,
            Self::NoVerdict { .. } => &[],
        }
    }

    /// The tasks and scenarios with this verdict.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &JudgedItem> {
        let items = self.items().iter();
        items.filter(move |it| it.verdict == verdict)
    }

    /// Whether there is something with this verdict.
    pub fn has(&self, verdict: Verdict) -> bool {
        self.with(verdict).next().is_some()
    }

    /// It in a few words: `5 met, 1 not met`, `no verdict`.
    pub fn words(&self) -> String {
        if let Self::NoVerdict { .. } = self {
            return "no verdict".to_owned();
        }
        let counts = Verdict::NAMES.iter().filter_map(|(_, verdict)| {
            let count = self.with(*verdict).count();
            (count > 0).then(|| format!("{count} {}", verdict.words()))
        });
        let counts: Vec<String> = counts.collect();
        counts.join(", ")
    }
}

impl JudgedItem {
    /// It in one line: `T1 Do a: not met: a.txt:1 says no`.
    pub fn line(&self) -> String {
        self.with_evidence(&format!(
            "{} {}: {}",
            self.item,
            self.text,
            self.verdict.words()
        ))
    }

    /// The same where the verdict is said before it: `T1 Do a: a.txt:1 says no`.
    pub(crate) fn without_verdict(&self) -> String {
        self.with_evidence(&format!("{} {}", self.item, self.text))
    }

    fn with_evidence(&self, head: &str) -> String {
        match self.evidence.as_str() {
            "" => head.to_owned(),
            evidence => format!("{head}: {evidence}"),
        }
    }
}
