//! Long files read through windows while they grow.

pub mod file_lines;
pub mod text_window;
pub mod transcript;
