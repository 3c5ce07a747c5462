//! A written change as stories and tasks, and boxes that are ticked without changing any other byte.
//!
//! A *change* is a plan that was written for a coding agent. It is read from files of one of five
//! formats ([`change::SourceKind`]) into one value, [`change::Change`]: a list of *stories*, each a
//! group of *tasks*. When a story is done, [`source::tick_story`] ticks its boxes in the file it came
//! from. This crate knows no git, no agents and no clock, and nothing in it is async.
//!
//! ```
//! use ralph_plan::source::{Surroundings, read_target, tick_story};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let project = tempfile::tempdir()?;
//! # let project = project.path();
//! let tasks = project.join("openspec/changes/add-retry/tasks.md");
//! std::fs::create_dir_all(tasks.with_file_name(""))?;
//! std::fs::write(&tasks, "## 1. Retry\r\n- [x] 1.1 Count\r\n- [ ] 1.2 Wait\r\n\r\n## 2. Docs\r\n* [ ] Explain\r\n")?;
//!
//! // A plan can be named as a user would: by its name, its folder or its file.
//! let around = Surroundings::from_environment(project.to_owned());
//! let change = read_target("add-retry", &around)?;
//! let titles: Vec<&str> = change.stories.iter().map(|story| story.title.as_str()).collect();
//! assert_eq!(titles, ["Retry", "Docs"]);
//!
//! let story = change.next_open().ok_or("every story is done")?;
//! assert_eq!(story.id.to_string(), "1");
//! assert_eq!(tick_story(&change, &story.id)?, ["1.2 Wait"]);
//! assert_eq!(
//!     std::fs::read_to_string(&tasks)?,
//!     "## 1. Retry\r\n- [x] 1.1 Count\r\n- [x] 1.2 Wait\r\n\r\n## 2. Docs\r\n* [ ] Explain\r\n"
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | modules | what they do |
//! | --- | --- |
//! | [`source`] | the functions other crates call: find, read, check, tick |
//! | [`change`], [`summary`], [`show`] | a change as a value, as a line of a list, as JSON |
//! | `formats` | one module per format: where its plans are, how they are read, how a box is ticked |
//! | [`tasks`], `task_id`, `js` | checkboxes in markdown, exactly as `OpenSpec` counts them |
//! | `stories`, `outline`, `label`, `story_ids` | how tasks in markdown become stories with ids |
//! | [`boxes`], `box_match` | what an attempt did to the boxes, and the edits that correct it |
//! | `files`, `error`, `surroundings` | reading and replacing files, errors, the environment |

#![forbid(unsafe_code)]

mod box_match;
pub mod boxes;
pub mod change;
mod error;
mod files;
mod formats;
mod js;
mod label;
pub mod lint;
mod outline;
pub mod show;
pub mod source;
mod stories;
mod story_ids;
pub mod summary;
mod surroundings;
mod task_id;
pub mod tasks;
