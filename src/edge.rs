//! Where it touches the world: the only place with files, processes, environment and clock.

pub(crate) mod agent;
pub(crate) mod checkpoint;
pub(crate) mod demo;
pub(crate) mod disk;
pub(crate) mod durability;
pub(crate) mod file_lines;
pub(crate) mod files;
pub(crate) mod gate;
pub(crate) mod git;
pub(crate) mod isolation;
pub(crate) mod kill_point;
pub(crate) mod manifest;
pub(crate) mod object_id;
pub(crate) mod os;
pub(crate) mod process;
pub(crate) mod repository;
pub(crate) mod settings;
pub(crate) mod source;
pub(crate) mod steps;
pub(crate) mod survey;
pub(crate) mod text_window;
pub(crate) mod transcript;
pub(crate) mod tree_state;
pub(crate) mod vault;
pub(crate) mod vaults;
pub(crate) mod walk;
