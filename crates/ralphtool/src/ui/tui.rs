//! The terminal UI: what it shows, as values and lines. It reads no file and no clock; `cli/tui`
//! drives it.
//!
//! | file | what |
//! | --- | --- |
//! | `app` | the one value: messages in, requests out |
//! | `message` | those messages and requests |
//! | `keys` | every key, where it works, what it does |
//! | `step` | what a key on a screen leads to |
//! | `view` | draws the app |
//! | `screen/` | the five screens |
//! | `pane/` | what the run screen shows on the right |
//! | `text_pane`, `tabbed` | lines with a cursor, and several of them under tabs |
//! | `palette` | all colours |
//! | the others | small pieces: wrapping, markdown, help, gauges, questions |

pub(crate) mod app;
mod choice;
mod diff_view;
mod fuzzy;
mod gauge;
mod help;
mod keys;
mod line_edit;
mod markdown;
pub(crate) mod message;
mod palette;
mod pane;
mod quit;
mod screen;
mod step;
mod tabbed;
mod tabs;
mod text_pane;
pub(crate) mod view;
mod wrap;

#[cfg(test)]
mod tests;
