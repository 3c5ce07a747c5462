//! The limit of an account, as each service reports it: the agents give up at once, or soon.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::request::Api;
use super::script::{Refusal, refuse};

/// The refusal of an account whose limit ends in `ends_in` seconds.
pub(crate) fn refusal(api: Api, ends_in: i64) -> Refusal {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let ends_at = i64::try_from(now.as_secs()).unwrap() + ends_in;
    match api {
        Api::Anthropic => claude(ends_at),
        Api::Responses => codex(ends_at),
        // It reports no end; the agent asks again at once, several times.
        Api::Chat => refuse(429).header("retry-after-ms", 10),
        Api::Gemini => gemini(ends_in),
    }
}

/// The limit of a Claude subscription, which is over at a time (seconds since 1970).
fn claude(resets_at: i64) -> Refusal {
    refuse(429)
        .message("This request would exceed your account's rate limit. Please try again later.")
        .header("retry-after", 7200)
        .header("anthropic-ratelimit-unified-status", "rejected")
        .header("anthropic-ratelimit-unified-reset", resets_at)
        .header(
            "anthropic-ratelimit-unified-representative-claim",
            "five_hour",
        )
        .header("anthropic-ratelimit-unified-fallback", "unavailable")
        .header("anthropic-ratelimit-unified-5h-status", "rejected")
        .header("anthropic-ratelimit-unified-5h-reset", resets_at)
        .header("anthropic-ratelimit-unified-5h-utilization", "1.0")
        .header("anthropic-ratelimit-unified-overage-status", "rejected")
}

/// The limit of a `ChatGPT` plan, which is over at a time (seconds since 1970).
fn codex(resets_at: i64) -> Refusal {
    let error = json!({
        "type": "usage_limit_reached",
        "message": "The usage limit has been reached",
        "plan_type": "plus",
        "resets_at": resets_at,
    });
    let mut refusal = refuse(429)
        .header("x-codex-primary-used-percent", "100.0")
        .header("x-codex-primary-window-minutes", 300)
        .header("x-codex-primary-reset-at", resets_at);
    refusal.body = Some(json!({ "error": error }));
    refusal
}

/// The quota of a Google account, which is renewed in `renewed_in` seconds.
fn gemini(renewed_in: i64) -> Refusal {
    let message = "You have exhausted your capacity on this model. Your quota will reset after";
    let mut refusal = refuse(429).message(&format!("{message} {renewed_in}s."));
    refusal.details = json!([{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "QUOTA_EXHAUSTED",
        "domain": "cloudcode-pa.googleapis.com",
        "metadata": { "model": "gemini-2.5-pro" },
    }]);
    refusal
}
