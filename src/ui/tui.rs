//! The terminal UI: what it shows, as values and lines. It reads no file and no clock.

pub(crate) mod choice;
pub(crate) mod diff_view;
pub(crate) mod fuzzy;
pub(crate) mod gauge;
pub(crate) mod line_edit;
pub(crate) mod markdown;
pub(crate) mod palette;
pub(crate) mod scroll;
pub(crate) mod tabs;
pub(crate) mod wrap;
