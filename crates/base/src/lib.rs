//! What every crate of ralphtool needs: files that are written whole or not at all, identifiers,
//! amounts as people write them, and small questions to the operating system. It depends on no
//! other crate of the workspace and knows no git, no plans and no agents.
//!
//! | modules | what they do |
//! | --- | --- |
//! | [`files`] | read, write, move and sync files; never half, never through a link |
//! | [`temporary_files`] | the names of files while they are written, to find what a crash left |
//! | [`sparse`], [`disk`] | files with holes; how much room there is, and removing whole folders |
//! | [`durability`] | whether writes are synced: always, except in one build for the benchmark |
//! | [`ids`], [`random_name`] | runs, stories and attempts; names no other process has chosen |
//! | [`duration`], [`size`], [`allowance`] | `90s`, `1.5GB`, `$2.50`, `500k`; `0` and `off` are no limit |
//! | [`amount`] | what those three share |
//! | [`os`], [`shell`] | facts about this process; paths quoted for a shell |
//! | [`kill_point`] | where the kill tests end the program; release builds have none |

#![forbid(unsafe_code)]

pub mod allowance;
pub mod amount;
pub mod disk;
pub mod durability;
pub mod duration;
pub mod files;
pub mod ids;
pub mod kill_point;
pub mod os;
pub mod random_name;
pub mod shell;
pub mod size;
pub mod sparse;
pub mod temporary_files;
mod temporary_name;
