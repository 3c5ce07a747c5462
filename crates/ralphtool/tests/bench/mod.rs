//! A scripted model on loopback for the real agent programs, and how each of them is pointed at
//! it. No key, no internet, no imitation of an agent.
//!
//! A script says what the model does in words no agent knows; the request says which API is
//! spoken and which tools there are. See [`Script`] and the functions of `script.rs`.

#![allow(dead_code, unused_imports, reason = "no file of tests uses all of it")]

mod answer;
mod anthropic;
mod chat;
pub(crate) mod cli;
mod errors;
mod gemini;
mod limit;
mod play;
mod request;
mod responses;
pub(crate) mod script;
mod server;
mod tools;

pub(crate) use play::{KEY, Play, Script, Served};
pub(crate) use request::{Request, Tool};
pub(crate) use server::Server;
