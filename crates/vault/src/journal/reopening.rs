//! A story that was done and is opened again, and why.

use serde::{Deserialize, Serialize};

use ralph_base::ids::StoryId;

/// A gate or a review of the whole change failed, and the last story has to be done again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reopening {
    pub story: StoryId,
    /// The gate, or the review.
    pub gate: String,
    /// It was a review.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// What the prompt of the next attempt says.
    pub reason: String,
}
