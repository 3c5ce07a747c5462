//! What an API's refusal means, from its status and from the words of the agent's error channel.
//!
//! Only for fields and lines in which an agent reports errors, never for its prose.

use jiff::Timestamp;
use serde_json::Value;

use super::trouble::Trouble;
use crate::agent_event::Refusal;

/// What to do about an account that cannot pay.
const ADD_CREDIT: &str = "add credit to the account, or use another one";
/// What to do about a model that is not there.
pub(crate) const OTHER_MODEL: &str = "choose another model with `--model` or `model = \"…\"`";

/// Words of a conversation that outgrew the model's context.
const OVERFLOW: [&str; 7] = [
    "context_length_exceeded",
    "context window",
    "maximum context length",
    "context length",
    "prompt is too long",
    "exceeds the maximum number of tokens",
    "input_too_large",
];
/// Words of an account that cannot pay.
const CREDIT: [&str; 4] = [
    "insufficient_quota",
    "insufficient credit",
    "credit balance",
    "billing hard limit",
];
/// Words of a login or key that is not good.
const LOGIN: [&str; 6] = [
    "unauthorized",
    "unauthenticated",
    "invalid api key",
    "invalid_api_key",
    "api key not valid",
    "not logged in",
];
/// Words of a limit.
const LIMIT: [&str; 9] = [
    "usage limit",
    "rate limit",
    "rate_limit",
    "too many requests",
    "resource_exhausted",
    // Not any quota: disks have one too.
    "current quota",
    "daily quota",
    "quota metric",
    "exhausted your",
];
/// Words of an API that is down or cannot be reached.
const OUTAGE: [&str; 17] = [
    "overloaded",
    "high demand",
    "server_error",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "stream disconnected",
    "error sending request",
    "connection failed",
    "connect error",
    "cannot connect",
    "fetch failed",
    "request timed out",
    "connection timed out",
    "econnrefused",
    "econnreset",
    "etimedout",
];
/// Words of a model that is not there.
const NOT_THERE: [&str; 4] = ["not found", "not_found", "does not exist", "not supported"];
/// All that some agents say of a connection that broke off.
const BROKE_OFF: &str = "terminated";

/// How Gemini CLI and its descendants wrap a failed request.
pub(crate) const API_ERROR: &str = "[API Error: ";

/// A refusal as an agent reports it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ApiError<'a> {
    /// The HTTP status, if it is known.
    pub status: Option<u64>,
    /// In the agent's words, or the API's.
    pub message: &'a str,
    /// More of what the API answered, not for people.
    pub body: &'a str,
    /// When a limit ends, if it is known.
    pub resets_at: Option<Timestamp>,
    /// How to log in.
    pub log_in: &'a str,
}

impl<'a> ApiError<'a> {
    /// A refusal with these words.
    pub(crate) fn new(status: Option<u64>, message: &'a str, log_in: &'a str) -> Self {
        Self {
            status,
            message,
            log_in,
            ..Self::default()
        }
    }

    /// What follows from it.
    pub(crate) fn trouble(&self) -> Trouble {
        let message = in_words(self.message);
        let signs = format!("{}\n{}", self.message, self.body).to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| signs.contains(word));
        let is_model = signs.contains("model") && says(&NOT_THERE);
        match self.status {
            Some(402) => Trouble::refused(Refusal::Credit, &message, ADD_CREDIT),
            _ if says(&CREDIT) => Trouble::refused(Refusal::Credit, &message, ADD_CREDIT),
            Some(401 | 403) => Trouble::refused(Refusal::Login, &message, self.log_in),
            Some(429) => Trouble::limit(message, self.resets_at),
            Some(413) => Trouble::Overflow(message),
            Some(408 | 500..=599) => Trouble::outage(message),
            _ if says(&OVERFLOW) => Trouble::Overflow(message),
            Some(404) | None if is_model => Trouble::refused(Refusal::Model, &message, OTHER_MODEL),
            None if says(&LOGIN) => Trouble::refused(Refusal::Login, &message, self.log_in),
            None if says(&LIMIT) => Trouble::limit(message, self.resets_at),
            None if says(&OUTAGE) || message == BROKE_OFF => Trouble::outage(message),
            _ => Trouble::Other(message),
        }
    }
}

/// The words for people in a message that may be an API's JSON answer.
pub(crate) fn in_words(message: &str) -> String {
    let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(message.trim()) else {
        return message.trim().to_owned();
    };
    let places = ["/error/message", "/message", "/detail", "/error"];
    places
        .iter()
        .find_map(|place| value.pointer(place)?.as_str())
        .unwrap_or(message)
        .trim()
        .to_owned()
}

/// The words inside of `[API Error: words]`, or the whole message.
pub(crate) fn unwrapped(message: &str) -> &str {
    message
        .split_once(API_ERROR)
        .and_then(|(_, rest)| Some(rest.rsplit_once(']')?.0))
        .unwrap_or(message)
}

/// The HTTP status of an error that a message begins with.
pub(crate) fn leading_status(message: &str) -> Option<u64> {
    number_after(message, "").filter(|status| (400..600).contains(status))
}

/// The number that follows these words.
pub(crate) fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    let rest = rest.trim_start();
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_status_says_more_than_words() {
        let sort =
            |status: Option<u64>, message: &str| match ApiError::new(status, message, "log in")
                .trouble()
            {
                Trouble::Limit(limit) if limit.is_outage => "outage",
                Trouble::Limit(_) => "limit",
                Trouble::Refused { cause, .. } => match cause {
                    Refusal::Login => "login",
                    Refusal::Credit => "credit",
                    Refusal::Model => "model",
                    Refusal::Other => "refused",
                },
                Trouble::Overflow(_) => "overflow",
                Trouble::Other(_) => "other",
            };
        for (status, message, want) in [
            (Some(401), "no", "login"),
            (Some(403), "rate limit", "login"),
            (Some(429), "slow down", "limit"),
            (
                Some(429),
                r#"{"error":{"code":"insufficient_quota"}}"#,
                "credit",
            ),
            (Some(402), "pay", "credit"),
            (Some(529), "busy", "outage"),
            (Some(404), "model not found", "model"),
            (Some(404), "no such page", "other"),
            (Some(400), "bad: rate limit", "other"),
            (Some(400), "context_length_exceeded", "overflow"),
            (None, "The model `x` does not exist", "model"),
            (None, "Rate limit reached", "limit"),
            (None, "Overloaded", "outage"),
            (None, "terminated", "outage"),
            (None, "the tool was terminated", "other"),
            (None, "EDQUOT: disk quota exceeded, write", "other"),
            (None, "something else", "other"),
        ] {
            assert_eq!(sort(status, message), want, "{status:?} {message}");
        }
    }

    #[test]
    fn people_read_the_words_of_a_json_answer() {
        for (message, want) in [
            (r#"{"error":{"message":"too long","code":"x"}}"#, "too long"),
            (r#"{"detail":"no such model"}"#, "no such model"),
            (r#"{"message":"Overloaded"}"#, "Overloaded"),
            (r#"{"other":1}"#, r#"{"other":1}"#),
            (" plain ", "plain"),
        ] {
            assert_eq!(in_words(message), want);
        }
    }

    #[test]
    fn a_number_is_found_after_its_words() {
        assert_eq!(number_after("unexpected status 401 X", "status"), Some(401));
        assert_eq!(number_after("status", "status"), None);
        assert_eq!(number_after("status: x", "status:"), None);
    }
}
