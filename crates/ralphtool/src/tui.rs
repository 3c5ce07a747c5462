//! The terminal UI. `session` owns the terminal and its threads; everything else is pure: it
//! computes state and lines, and reads no file and no clock.
//!
//! | file | what |
//! | --- | --- |
//! | `app` | the whole state: messages in, requests out |
//! | `message` | those messages and requests |
//! | `keys` | every key, where it works, what it does |
//! | `step` | what a screen asks the app to do after a key |
//! | `view` | draws the app |
//! | `screen/` | the five screens |
//! | `pane/` | what the run screen shows on the right |
//! | `session/` | sends keys and answers to the app, and carries out its requests |
//! | `text_pane`, `tabbed` | lines with a cursor, and several of them under tabs |
//! | `failure` | why an attempt failed, in one line |
//! | `palette` | all colours |
//! | the others | small pieces: wrapping, markdown, help, gauges, questions |

pub(crate) mod app;
mod choice;
mod ending;
mod failure;
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
pub(crate) mod session;
mod shield;
mod step;
mod tabbed;
mod text_pane;
pub(crate) mod view;
mod wrap;

#[cfg(test)]
mod tests;
