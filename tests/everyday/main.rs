//! The commands around the loop: `init`, `status`, `learnings`.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

#[path = "../sandbox/mod.rs"]
mod sandbox;

mod init;
mod learnings;
mod status;
