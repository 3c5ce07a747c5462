//! When a quota of the Gemini API is free again, as far as its refusal says so.

use jiff::civil::time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The hour, in UTC, by which daily quotas are renewed: midnight in California, in winter.
const RENEWED: i8 = 8;

/// The HTTP status inside of an API's JSON answer.
pub(super) fn code_in(message: &str) -> Option<u64> {
    let value: Value = serde_json::from_str(message).ok()?;
    value.pointer("/error/code")?.as_u64()
}

/// When it may be tried again, given the time of the refusal.
pub(super) fn resets_at(message: &str, refused_at: Timestamp) -> Option<Timestamp> {
    if let Some(wait) = wait_in(message) {
        return refused_at.checked_add(wait).ok();
    }
    let is_daily = message.contains("daily quota") || message.contains("PerDay");
    if is_daily {
        return renewal_after(refused_at);
    }
    None
}

/// The wait that the message names: `retry in 34.07s`, `reset after 3h22m7s`, `"retryDelay":"34s"`.
fn wait_in(message: &str) -> Option<SignedDuration> {
    let before = [
        "retry in ",
        "retry after ",
        "reset after ",
        "\"retryDelay\":\"",
        "\"retryDelay\": \"",
    ];
    let rest = before
        .iter()
        .find_map(|words| Some(message.split_once(words)?.1))?;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || ".hms".contains(c)));
    // The full stop of a sentence may follow.
    let wait = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
    let wait: SignedDuration = wait.parse().ok()?;
    wait.is_positive().then_some(wait)
}

fn renewal_after(refused_at: Timestamp) -> Option<Timestamp> {
    let now = refused_at.to_zoned(TimeZone::UTC);
    let today = now.date().to_datetime(time(RENEWED, 0, 0, 0));
    let today = today.to_zoned(TimeZone::UTC).ok()?.timestamp();
    if today > refused_at {
        return Some(today);
    }
    today.checked_add(SignedDuration::from_hours(24)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_refusal_may_name_its_end() {
        let reset = |message: &str| {
            let at = "2026-11-15T19:30:00Z".parse().unwrap();
            resets_at(message, at).map(|at| at.to_string())
        };
        let at = |text: &str| Some(text.to_owned());
        for (message, want) in [
            ("Please retry in 34.5s.", at("2026-11-15T19:30:34.5Z")),
            (
                "Your quota will reset after 3h22m7s.",
                at("2026-11-15T22:52:07Z"),
            ),
            ("Suggested retry after 60s.", at("2026-11-15T19:31:00Z")),
            (r#"{"retryDelay":"7s"}"#, at("2026-11-15T19:30:07Z")),
            (
                "You have exhausted your daily quota on this model.",
                at("2026-11-16T08:00:00Z"),
            ),
            ("retry in a while", None),
            ("something else", None),
        ] {
            assert_eq!(reset(message), want, "{message}");
        }
    }
}
