//! A whole answer of the model, before it takes the shape of an API.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::request::{Api, Request};
use super::script::Turn;
use super::tools::{ToolCall, tool_call};

/// How many characters come at a time: few, so that a promise never comes in one piece.
const PIECE: usize = 7;

/// What every question takes.
pub(crate) const INPUT_TOKENS: usize = 1000;
/// What every answer takes.
pub(crate) const OUTPUT_TOKENS: usize = 20;

/// What is answered to one request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The model that answers.
    pub(crate) model: String,
    /// What it thinks.
    pub(crate) thinking: String,
    /// What it says.
    pub(crate) text: String,
    /// The tools it calls.
    pub(crate) calls: Vec<ToolCall>,
    /// The tokens of the question.
    pub(crate) input_tokens: usize,
    /// The tokens of the answer.
    pub(crate) output_tokens: usize,
}

/// One event of a stream: its name, where the API has names, and its data.
pub(crate) type Event = (Option<&'static str>, Value);

impl Answer {
    /// The answer to a request.
    pub(crate) fn new(turn: &Turn, request: &Request) -> Self {
        let mut text = turn.text.clone();
        let mut calls = Vec::new();
        for wanted in &turn.calls {
            match tool_call(wanted, request, new_id("call")) {
                Some(call) => calls.push(call),
                // The attempt goes wrong where the test can see why.
                None => text = format!("no tool for {wanted:?} among {:?}", request.tools.keys()),
            }
        }
        Self {
            model: request.model.clone(),
            thinking: turn.thinking.clone(),
            text,
            calls,
            input_tokens: INPUT_TOKENS,
            output_tokens: OUTPUT_TOKENS,
        }
    }

    /// The answer in pieces.
    pub(crate) fn events(&self, api: Api) -> Vec<Event> {
        match api {
            Api::Anthropic => super::anthropic::events(self),
            Api::Responses => super::responses::events(self),
            Api::Chat => super::chat::events(self),
            Api::Gemini => super::gemini::events(self),
        }
    }

    /// The answer in one piece.
    pub(crate) fn whole(&self, api: Api) -> Value {
        match api {
            Api::Anthropic => super::anthropic::whole(self),
            Api::Responses => super::responses::whole(self),
            Api::Chat => super::chat::whole(self),
            Api::Gemini => super::gemini::whole(self),
        }
    }
}

/// A unique id.
pub(crate) fn new_id(kind: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("{kind}_{:08}", LAST.fetch_add(1, Ordering::Relaxed))
}

/// A text in the pieces it is streamed in; none if it is empty.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(PIECE);
    pieces.map(|piece| piece.iter().collect()).collect()
}
