//! The program from outside, in one binary: it is linked once, and tests that wait run beside tests
//! that compute. `cargo test --test program faults::` runs those of one file or folder.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

#[path = "../recoverable/mod.rs"]
mod recoverable;
#[path = "../sandbox/mod.rs"]
mod sandbox;
#[path = "../terminal/mod.rs"]
mod terminal;
#[path = "../world/mod.rs"]
mod world;

mod afterwards;
mod agreement;
mod beside;
mod broken;
mod budgets;
mod check;
mod commands;
mod commits;
mod complete;
mod crash;
mod custom_agents;
mod demo;
mod disk;
mod docs;
mod doctor;
mod durability;
mod everyday;
mod fallback;
mod faults;
mod gates;
mod gates_paths;
mod gates_retries;
mod gates_test_names;
mod guards;
mod hostile;
mod housekeeping;
mod json;
mod log;
mod meanwhile;
mod model;
mod moved;
mod notify;
mod outage;
mod outcome;
mod prompts;
mod questions;
mod readme;
mod records;
mod refusals;
mod repairs;
mod resuming;
mod review;
mod rich;
mod scenarios;
mod settings;
mod sources;
mod stopping;
mod stuck;
mod submodules;
mod supervisor;
mod tamper;
mod terminal_harness;
mod trust;
mod tui;
mod usage;
