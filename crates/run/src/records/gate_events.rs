//! What the stream says of gates: each try, and how each gate ended.

use serde::{Deserialize, Serialize};

use crate::test_report::TestReport;
use ralph_base::ids::StoryId;

/// A gate begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct GateStarted {
    /// The story.
    pub story: StoryId,
    /// The gate's name.
    pub gate: String,
    /// Whether it runs on the checkpoint before the first attempt, to know what was red before.
    pub baseline: bool,
    /// Whether it runs over the whole change, with every story done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// The file its output goes to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// Which try on the same tree it is, from 1.
    #[serde(default = "first_try", skip_serializing_if = "is_first_try")]
    pub try_number: u32,
}

/// A gate does not run: no file in its paths was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct GateNotRun {
    /// The story.
    pub story: StoryId,
    /// The gate's name.
    pub gate: String,
    /// Whether it would have run over the whole change, with every story done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// A gate was red and runs again on the same tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct GateRetried {
    /// The story.
    pub story: StoryId,
    /// The gate's name.
    pub gate: String,
    /// Whether it runs on the checkpoint before the first attempt.
    pub baseline: bool,
    /// Whether it runs over the whole change, with every story done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Which try was red, from 1.
    pub try_number: u32,
    /// How that try ended.
    pub result: GateResult,
    /// The file with its output.
    pub log: String,
    /// How long it took.
    pub duration_ms: u64,
}

/// A gate ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "testing"), schemars(inline))]
pub struct GateFinished {
    /// The story.
    pub story: StoryId,
    /// The gate's name.
    pub gate: String,
    /// Whether it ran on the checkpoint before the first attempt.
    pub baseline: bool,
    /// Whether it ran over the whole change, with every story done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// How it ended, at its last try.
    pub result: GateResult,
    /// How long its last try took.
    pub duration_ms: u64,
    /// How often it ran on the same tree.
    #[serde(default = "first_try", skip_serializing_if = "is_first_try")]
    pub tries: u32,
    /// Whether it passed after it had been red on the same tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// What its output says of its tests, where it is red and its output names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestReport>,
    /// Tests that fail and did not fail before, where the gate was red before as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_failures: Vec<String>,
}

/// How a gate ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum GateResult {
    /// Exit code 0.
    Passed,
    /// Anything else.
    Failed {
        /// `exit code 1`, `signal 9`, `stopped after 20m`.
        how: String,
        /// The last lines it printed.
        tail: String,
        /// The shell found no such command (exit code 127), or may not execute it (126).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cannot_run: bool,
    },
}

impl GateResult {
    /// Whether the gate ran and did not pass.
    pub const fn is_red(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                cannot_run: false,
                ..
            }
        )
    }

    /// Whether the gate did not check anything.
    pub const fn cannot_run(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                cannot_run: true,
                ..
            }
        )
    }
}

const fn first_try() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_first_try(number: &u32) -> bool {
    *number == 1
}
