//! What the model does: steps that know no agent and no API, as plain values.

use std::fmt::Display;

use serde_json::{Value, json};

/// One answer of the model, or what comes instead of one.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// An answer.
    Say(Turn),
    /// An HTTP answer that is no success.
    Refuse(Refusal),
    /// The account is at its limit, in the words of the API.
    Limit {
        /// Seconds from now.
        ends_in: i64,
    },
    /// Sends nothing more, and never ends.
    Hang(Moment),
    /// The connection is cut.
    Drop(Moment),
}

impl Step {
    /// Whether an agent that gets this can continue.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Say(_))
    }
}

/// How far an answer got before it stopped coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nothing was answered.
    BeforeHeaders,
    /// The headers were sent.
    AfterHeaders,
    /// Half of a text was sent.
    MidStream,
}

/// One whole answer: what it thinks, what it says, and the tools it calls, in this order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// What it thinks; nothing if empty.
    pub(crate) thinking: String,
    /// What it says; nothing if empty.
    pub(crate) text: String,
    /// The tools it calls; a turn without any is the last one.
    pub(crate) calls: Vec<Call>,
}

/// A tool call that is mapped to the tools the agent offers.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    /// Writes a new file with the agent's own tool for that.
    Write {
        /// Where, seen from the agent's folder.
        path: String,
        /// What is in it.
        content: String,
    },
    /// Runs a command with the agent's shell tool.
    Run(String),
}

/// An HTTP error in the shape of the API that was called.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub(crate) status: u16,
    /// What went wrong, for people; the usual words of the status if empty.
    pub(crate) message: String,
    /// What went wrong, for programs: the `code` of the `OpenAI` APIs.
    pub(crate) code: Option<&'static str>,
    /// More headers.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// What Gemini has in `details`.
    pub(crate) details: Value,
    /// A body to be sent instead of one in the API's shape.
    pub(crate) body: Option<Value>,
}

/// Says a text and calls no tool.
pub(crate) fn say(text: &str) -> Step {
    Step::Say(Turn {
        text: text.into(),
        ..Turn::default()
    })
}

/// Thinks, then says a text and calls no tool.
pub(crate) fn think_and_say(thinking: &str, text: &str) -> Step {
    Step::Say(Turn {
        thinking: thinking.into(),
        text: text.into(),
        calls: Vec::new(),
    })
}

/// Says that the story is done.
pub(crate) fn complete() -> Step {
    say("All of it is done and looked at.\n\n<promise>COMPLETE</promise>")
}

/// Says that the story could not be done.
pub(crate) fn failed(reason: &str) -> Step {
    say(&format!(
        "It did not work.\n\n<promise>FAILED: {reason}</promise>"
    ))
}

/// Calls one tool.
pub(crate) fn call(call: Call) -> Step {
    calls([call])
}

/// Says what it is going to do and calls tools, all in one turn.
pub(crate) fn calls(calls: impl IntoIterator<Item = Call>) -> Step {
    Step::Say(Turn {
        thinking: String::new(),
        text: "I will do that now.".into(),
        calls: calls.into_iter().collect(),
    })
}

/// Writes a new file.
pub(crate) fn write(path: &str, content: &str) -> Call {
    Call::Write {
        path: path.into(),
        content: content.into(),
    }
}

/// Runs a command.
pub(crate) fn run(command: &str) -> Call {
    Call::Run(command.into())
}

/// An HTTP error as the API has it.
pub(crate) fn refuse(status: u16) -> Refusal {
    Refusal {
        status,
        message: String::new(),
        code: None,
        headers: Vec::new(),
        details: Value::Null,
        body: None,
    }
}

impl Refusal {
    /// Says it in other words.
    pub(crate) fn message(mut self, message: &str) -> Self {
        self.message = message.into();
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Display) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }
}

impl From<Refusal> for Step {
    fn from(refusal: Refusal) -> Self {
        Self::Refuse(refusal)
    }
}

/// The limit of an account, which ends in `ends_in` seconds; negative for one that has ended.
pub(crate) fn usage_limit(ends_in: i64) -> Step {
    Step::Limit { ends_in }
}

/// The daily quota of a Gemini key, at which its CLI gives up at once.
pub(crate) fn gemini_daily_quota() -> Step {
    let mut refusal = refuse(429)
        .message("You exceeded your current quota, please check your plan and billing details.");
    refusal.details = json!([
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                "quotaDimensions": { "location": "global", "model": "gemini-2.5-pro" },
                "quotaValue": "100",
            }],
        },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s" },
    ]);
    refusal.into()
}

/// A conversation that has become too long for the model.
pub(crate) fn context_overflow() -> Step {
    let mut refusal = refuse(400).message("prompt is too long: 250000 tokens > 200000 maximum");
    refusal.code = Some("context_length_exceeded");
    refusal.into()
}
