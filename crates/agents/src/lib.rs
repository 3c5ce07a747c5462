//! Coding agents: how each is called, and what its stream of output means.
//!
//! Nothing here starts a process or reads a file: an [`adapters::Adapter`] says which program to
//! start and how, and a [`dialect::StreamReader`] is given the lines that the program writes. It
//! turns them into [`agent_event::AgentEvent`]s, which are the same for every agent, and says at the
//! end whether the agent finished its turn and what it promised. No line is fatal: what is not
//! understood becomes an event of its own kind.
//!
//! | modules | what they do |
//! | --- | --- |
//! | [`adapters`] | one module per agent: its arguments, login and version, and its parser |
//! | [`dialect`] | what all streams share: the reader, its state, fields of JSON lines, API errors, limits |
//! | [`agent_event`] | the events, and the sink that takes them |
//! | [`promise`] | finds the agent's word that a story is done or failed, or its question, in its own text |
//! | [`event_batch`] | how many events reach the user interface |
//! | [`transcript`] | a stream as a list of entries to show |
//!
//! `tests/streams` has recordings of real agents; `adapters/recordings/table.rs` says what each must come
//! to. CONTRIBUTING.md explains how to add an agent.

#![forbid(unsafe_code)]

pub mod adapters;
pub mod agent_event;
pub mod dialect;
pub mod event_batch;
pub mod promise;
pub mod transcript;
