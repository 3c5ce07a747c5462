//! A story that used up its retries, and the words for runs in which there are some.

use serde::{Deserialize, Serialize};

use super::counts::StoryCounts;
use super::failure_words::failure;
use crate::words::{and_list, count};
use ralph_base::ids::StoryId;
use ralph_vault::outcome::FailureKind;

/// How many stories a headline names.
const MOST_NAMED: usize = 5;

/// A story that used up its retries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct FailedStory {
    /// The story.
    pub story: StoryId,
    /// Kind of its last failure.
    pub kind: FailureKind,
    /// Reason of its last failure.
    pub reason: String,
    /// How many attempts were made; 0 if that was not recorded.
    #[serde(default)]
    pub attempts: u32,
    /// The gate that failed the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
}

impl FailedStory {
    /// The story, how often it was tried, and the cause: `story 2 failed after 4 attempts (gate
    /// `tests`)`.
    pub fn words(&self) -> String {
        let cause = match &self.gate {
            Some(gate) => format!("gate `{gate}`"),
            None => failure(self.kind).to_owned(),
        };
        let after = match self.attempts {
            0 => "all its attempts".to_owned(),
            made => count(made, "attempt"),
        };
        format!("story {} failed after {after} ({cause})", self.story)
    }
}

/// The headline of a run that continued after stories had failed: `4 of 5 done, story 2 failed after 4
/// attempts (gate `tests`)`.
pub(super) fn headline(failed: &[&FailedStory], stories: &StoryCounts) -> String {
    let what = match failed {
        [only] => only.words(),
        several if several.len() > MOST_NAMED => {
            format!("{} failed", count(several.len(), "story"))
        }
        several => {
            let ids = several.iter().map(|it| it.story.0.clone());
            format!("stories {} failed", and_list(&ids.collect::<Vec<_>>()))
        }
    };
    let mut parts = vec![stories.done_in_words(), what];
    parts.extend(stories.left_in_words());
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn failed(story: &str) -> FailedStory {
        FailedStory {
            story: StoryId(story.to_owned()),
            kind: FailureKind::Gate,
            reason: "red".to_owned(),
            attempts: 4,
            gate: Some("tests".to_owned()),
        }
    }

    fn line(failed_ids: &[&str], stories: StoryCounts) -> String {
        let failed: Vec<FailedStory> = failed_ids.iter().map(|id| failed(id)).collect();
        let stories = StoryCounts {
            failed: failed.len(),
            ..stories
        };
        headline(&failed.iter().collect::<Vec<_>>(), &stories)
    }

    #[test]
    fn a_run_that_continued_counts_what_is_done_and_names_what_failed() {
        let stories = StoryCounts {
            total: 5,
            done: 4,
            ..StoryCounts::default()
        };
        assert_eq!(
            line(&["2"], stories),
            "4 of 5 done, story 2 failed after 4 attempts (gate `tests`)"
        );
        let left = StoryCounts {
            total: 9,
            deferred: 1,
            skipped: 1,
            not_run: 2,
            ..stories
        };
        assert_eq!(
            line(&["2"], left),
            "4 of 9 done, story 2 failed after 4 attempts (gate `tests`), 1 deferred, 1 skipped, 2 not run"
        );
        assert_eq!(
            line(&["2", "4"], stories),
            "4 of 5 done, stories 2 and 4 failed"
        );
        assert_eq!(
            line(&["2", "4", "5"], stories),
            "4 of 5 done, stories 2, 4 and 5 failed"
        );
        assert_eq!(
            line(&["1", "2", "3", "4", "5", "6"], stories),
            "4 of 5 done, 6 stories failed"
        );
    }
}
