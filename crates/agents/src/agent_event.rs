//! What an agent says and does while it works, in the same form for all agents.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How much text one event carries; the whole stays in the transcript.
pub(crate) const TEXT_CAP: usize = 16 * 1024;

/// Tokens and money an agent reports for one attempt so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Input tokens that were not served from a cache.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from a cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to a cache.
    pub cache_write_tokens: u64,
    /// What it cost, in US dollars: as the agent says, or as the prices of the configuration do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// True where tokens were used whose cost is not known.
    pub fn lacks_cost(&self) -> bool {
        self.cost_usd.is_none() && self.total_tokens() > 0
    }

    /// All tokens together.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens
    }

    /// Adds another attempt's usage.
    pub fn add(&mut self, other: &Self) {
        let cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (mine, theirs) => Some(mine.unwrap_or(0.0) + theirs.unwrap_or(0.0)),
        };
        *self = Self {
            cost_usd,
            ..self.combined(other, |mine, theirs| mine + theirs)
        };
    }

    /// Both with their tokens combined, kind by kind, and the cost of this one.
    fn combined(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            input_tokens: combine(self.input_tokens, other.input_tokens),
            output_tokens: combine(self.output_tokens, other.output_tokens),
            cache_read_tokens: combine(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: combine(self.cache_write_tokens, other.cache_write_tokens),
            cost_usd: self.cost_usd,
        }
    }

    /// The usage as reported by an agent that counts input read from a cache as input, too.
    #[must_use]
    pub(crate) fn without_cached_input(self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(self.cache_read_tokens),
            ..self
        }
    }

    /// What was used since an earlier total of the same session. A total that is smaller does not
    /// include the earlier one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        if self.total_tokens() < earlier.total_tokens() {
            *self
        } else {
            self.without(earlier)
        }
    }

    /// What is left of a total without a part of it.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        let cost = |total: f64| (total - part.cost_usd.unwrap_or(0.0)).max(0.0);
        Self {
            cost_usd: self.cost_usd.map(cost),
            ..self.combined(part, u64::saturating_sub)
        }
    }
}

/// Why an agent may not work at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It is not logged in, or its key is not good.
    Login,
    /// Its account cannot pay.
    Credit,
    /// The model is not there, or not for this account.
    Model,
    /// The agent does not say, or it is something else.
    #[default]
    Other,
}

/// One thing an agent said or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The agent's session began.
    Session {
        /// The agent's own session id.
        id: String,
        /// The model it uses.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        model: Option<String>,
    },
    /// Words of the main agent, whole blocks or lines.
    Text {
        /// The words.
        text: String,
    },
    /// The main agent's reasoning, where it shows it.
    Thinking {
        /// The words.
        text: String,
    },
    /// A tool was called.
    ToolCall {
        /// The tool's name.
        tool: String,
        /// One line that says what it does.
        summary: String,
    },
    /// A tool answered.
    ToolResult {
        /// How many bytes it answered.
        bytes: u64,
        /// The tool failed.
        is_error: bool,
        /// Its last lines that are not empty.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        tail: Vec<String>,
    },
    /// Tokens and cost so far, cumulative for the attempt.
    Usage {
        /// The figures.
        usage: Usage,
        /// The prices of the configuration the cost is computed from; none if the agent reports it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        prices: Option<String>,
    },
    /// The agent waits and tries again by itself.
    Retrying {
        /// Why.
        message: String,
    },
    /// The agent hit a rate or usage limit and gave up.
    Limit {
        /// In the agent's words.
        message: String,
        /// When the limit ends, where the agent says so.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        resets_at: Option<Timestamp>,
    },
    /// The agent was refused: it is not logged in, or its key, credit or model is not good.
    Auth {
        /// What it lacks.
        #[serde(default)]
        cause: Refusal,
        /// In the agent's words.
        message: String,
    },
    /// The conversation outgrew the model's context.
    Overflow {
        /// In the agent's words.
        message: String,
    },
    /// The agent reports an error.
    Error {
        /// In the agent's words.
        message: String,
    },
    /// The agent's turn is over; its final words decide the attempt.
    Final {
        /// The turn ended with an error.
        is_error: bool,
    },
    /// A line of the stream that is not understood; kept, never fatal.
    Unknown {
        /// The start of the line.
        line: String,
    },
}

impl AgentEvent {
    /// What an agent says it used.
    pub const fn usage(usage: Usage) -> Self {
        let prices = None;
        Self::Usage { usage, prices }
    }

    /// Words of the main agent, cut where they do not fit.
    pub fn text(text: &str) -> Self {
        Self::Text {
            text: event_text(text),
        }
    }

    /// One line of plain text, without its end.
    pub(crate) fn text_line(line: &[u8]) -> Self {
        // A little more than fits, so that a cut is marked.
        let start = &line[..line.len().min(TEXT_CAP + 16)];
        Self::text(as_text(start).trim_end())
    }
}

/// Receives the events of an agent in order.
pub trait EventSink {
    /// Receives one event.
    fn push(&mut self, event: AgentEvent);
}

impl EventSink for Vec<AgentEvent> {
    fn push(&mut self, event: AgentEvent) {
        Vec::push(self, event);
    }
}

/// The start of a text, cut at a character boundary.
pub fn start_of(text: &str, cap: usize) -> &str {
    let mut end = text.len().min(cap);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The first characters of a text.
pub fn first_chars(text: &str, count: usize) -> &str {
    // Most are short enough in bytes already.
    if text.len() <= count {
        return text;
    }
    let end = text.char_indices().nth(count);
    end.map_or(text, |(end, _)| &text[..end])
}

/// A text that fits into an event.
pub fn event_text(text: &str) -> String {
    let start = start_of(text, TEXT_CAP);
    if start.len() == text.len() {
        return text.to_owned();
    }
    format!("{start} …")
}

/// Bytes as text, with replacement characters where they are not UTF-8.
pub(crate) fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly all bytes are valid, and checking is faster than converting.
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}
