//! The loop over one written change.
//!
//! Files become stories (`ralph_plan`). The [`machine`] says what to do next; it is pure: inputs in,
//! effects out. The [`engine`] does it: starts agents and gates, writes checkpoints
//! (`ralph_vault`), and answers. Everything that happened is a record, written before anyone sees
//! it. Every view is a fold of the records: the log, the screen, `status`, `log`, the receipt.
//!
//! A run goes through three types: [`engine::prepare::Run`] is what was asked for,
//! [`engine::prepare::PreparedRun`] is checked and can start, [`engine::Engine`] runs it.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`words`] | lists of names, counts, figures and times in messages and records |
//! | [`failure`] | the one error type that reaches a user |
//! | [`windows`] | long transcripts and logs, read a part at a time |
//! | [`settings`] | layers of settings, each value with its origin; what the user has to allow |
//! | `tamper` | what an attempt changed that it should leave alone |
//! | [`policy`] | the rules of a run: what each failure means, budgets, prices, which agent is asked |
//! | [`records`] | events, the file they are kept in, and the folds of them |
//! | `review` | what a reviewer judges, and how its answer is read |
//! | `prompt` | the prompt of an attempt, and that of a review |
//! | `answers` | what users answer to questions of agents, as files for the run |
//! | [`agent`] | an agent of the settings as a process |
//! | [`gate`] | the shell line of a gate, and whether it can run |
//! | [`machine`] | the decisions, as a state machine without I/O |
//! | [`history`], [`receipt`], [`learnings`] | past runs, what one did, and the notes agents keep for a change |
//! | [`engine`] | repair, prepare, then the loop that performs the effects |
//! | [`status`], [`preview`] | the run at hand, and a run to come |
//! | [`check`] | what is weak in a plan and its gates |
//! | [`finishing`] | finish, undo and rewind |
//! | [`doctor`], [`init`] | help with the first run |
//!
//! A module imports only modules above it in this table.

#![forbid(unsafe_code)]

pub mod agent;
pub(crate) mod answers;
pub mod check;
pub mod doctor;
pub mod engine;
pub mod failure;
pub mod finishing;
pub mod gate;
pub mod history;
pub mod init;
pub mod learnings;
pub mod machine;
pub mod policy;
pub mod preview;
pub(crate) mod prompt;
pub mod receipt;
pub mod records;
pub(crate) mod review;
pub mod settings;
pub mod status;
pub(crate) mod tamper;
pub mod test_report;
pub mod windows;
pub mod words;
