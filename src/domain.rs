//! What it means: pure types and decisions. No files, processes, environment, clock, async
//! or terminal; time arrives as a value.

pub(crate) mod afterwards;
pub(crate) mod agent_event;
pub(crate) mod box_match;
pub(crate) mod boxes;
pub(crate) mod change;
pub(crate) mod delta;
pub(crate) mod demo;
pub(crate) mod dialect;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod duration;
pub(crate) mod event;
pub(crate) mod guard;
pub(crate) mod history;
pub(crate) mod housekeeping;
pub(crate) mod ids;
pub(crate) mod js;
pub(crate) mod label;
pub(crate) mod machine;
pub(crate) mod outline;
pub(crate) mod policy;
pub(crate) mod preview;
pub(crate) mod progress;
pub(crate) mod promise;
pub(crate) mod prompt;
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod size;
pub(crate) mod stories;
pub(crate) mod story_ids;
pub(crate) mod summary;
pub(crate) mod task_id;
pub(crate) mod tasks;
pub(crate) mod transcript;
