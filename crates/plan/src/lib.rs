//! A written change as stories and tasks.

pub(crate) mod box_match;
pub mod boxes;
pub mod change;
pub(crate) mod delta;
pub(crate) mod flags;
pub(crate) mod glob;
pub(crate) mod js;
pub(crate) mod json_spans;
pub(crate) mod label;
pub(crate) mod outline;
pub(crate) mod prd;
pub mod show;
pub mod source;
pub mod stories;
pub(crate) mod story_ids;
pub mod summary;
pub(crate) mod task_id;
pub(crate) mod task_rules;
pub mod tasks;
