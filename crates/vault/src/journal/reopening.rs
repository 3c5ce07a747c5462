//! A story that was done and is opened again, and why.

use serde::{Deserialize, Serialize};

use ralph_base::ids::StoryId;

/// A gate that judges the whole change went red, and the last story has to be done again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reopening {
    pub story: StoryId,
    pub gate: String,
    /// What the prompt of the next attempt says.
    pub reason: String,
}
