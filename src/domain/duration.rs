//! Durations as people write them: `90s`, `15m`, `1h30m`; `0` and `off` mean no limit.

use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::time::Duration;

/// A limit in time, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeLimit(pub(crate) Option<Duration>);

/// A text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration; write it like `90s`, `15m`, `1h30m` or `off`")]
pub(crate) struct BadDuration(String);

impl BadDuration {
    /// A text that says no duration where one is needed.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl TimeLimit {
    /// No limit.
    pub(crate) const OFF: Self = Self(None);

    /// A limit of that many seconds.
    pub(crate) const fn seconds(seconds: u64) -> Self {
        Self(Some(Duration::from_secs(seconds)))
    }

    /// The duration, zero where there is none: for grace periods, where `off` means no grace.
    pub(crate) fn or_zero(self) -> Duration {
        self.0.unwrap_or(Duration::ZERO)
    }
}

impl FromStr for TimeLimit {
    type Err = BadDuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        if trimmed == "0" || trimmed.eq_ignore_ascii_case("off") {
            return Ok(Self::OFF);
        }
        let duration = parse(trimmed).ok_or_else(|| BadDuration(text.to_owned()))?;
        Ok(Self((!duration.is_zero()).then_some(duration)))
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(duration) => f.write_str(&exact(duration)),
            None => f.write_str("off"),
        }
    }
}

/// Reads number and unit pairs, largest unit first, each unit once.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut smallest = usize::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (rank, millis) = unit(rest[..end].trim())?;
        if rank >= smallest {
            return None;
        }
        smallest = rank;
        total = total.checked_add(Duration::from_millis(number.checked_mul(millis)?))?;
        rest = &rest[end..];
    }
    (smallest != usize::MAX).then_some(total)
}

/// The rank and the milliseconds of a unit.
fn unit(name: &str) -> Option<(usize, u64)> {
    match name {
        "d" => Some((4, 86_400_000)),
        "h" => Some((3, 3_600_000)),
        "m" | "min" => Some((2, 60_000)),
        "s" => Some((1, 1_000)),
        "ms" => Some((0, 1)),
        _ => None,
    }
}

/// Writes a duration so that it can be read back: `1h30m`, `15m`, `1m30s`.
pub(crate) fn exact(duration: Duration) -> String {
    let mut left = duration.as_millis();
    let mut text = String::new();
    for (name, millis) in [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
        ("ms", 1),
    ] {
        if left >= millis {
            let _ = write!(text, "{}{name}", left / millis);
            left %= millis;
        }
    }
    if text.is_empty() {
        text.push_str("0s");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn reads_durations_and_writes_them_back() {
        #[track_caller]
        fn case(text: &str, seconds: Option<u64>, written: &str) {
            let limit: TimeLimit = text.parse().unwrap();
            assert_eq!(limit, TimeLimit(seconds.map(Duration::from_secs)));
            assert_eq!(limit.to_string(), written);
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        case("90s", Some(90), "1m30s");
        case("15m", Some(900), "15m");
        case("15min", Some(900), "15m");
        case("1h30m", Some(5400), "1h30m");
        case("1h 30m", Some(5400), "1h30m");
        case("2d", Some(172_800), "2d");
        case("0", None, "off");
        case("0s", None, "off");
        case("off", None, "off");
        case(" Off ", None, "off");
        let short: TimeLimit = "250ms".parse().unwrap();
        assert_eq!(short.to_string(), "250ms");
    }

    #[test]
    fn refuses_what_is_not_a_duration() {
        for text in [
            "",
            "15",
            "m",
            "-5m",
            "1.5h",
            "5x",
            "30m1h",
            "5m5m",
            "99999999999999999999s",
            "é",
            "9999999999999999d",
        ] {
            assert!(text.parse::<TimeLimit>().is_err(), "{text} was accepted");
        }
    }
}
