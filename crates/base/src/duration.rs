//! Durations as people write them: `90s`, `15m`, `1h30m`, `7d`, `2w`; `0` and `off` mean no limit.

use std::fmt::Write as _;
use std::time::Duration;

use super::amount::{BadAmount, limit};

/// Units with their milliseconds, the largest first.
const UNITS: [(&str, u64); 6] = [
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

limit! {
    /// A limit in time, or none.
    TimeLimit(Duration),
    "not a duration; write it like `90s`, `15m`, `1h30m`, `7d`, `2w` or `off`",
    parse,
    exact
}

impl TimeLimit {
    /// A limit of that many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Some(Duration::from_secs(seconds)))
    }

    /// The duration, zero where there is none: for grace periods, where `off` means no grace.
    pub fn or_zero(self) -> Duration {
        self.0.unwrap_or(Duration::ZERO)
    }

    /// The error for a text that is no duration.
    pub fn refuse(text: &str) -> BadAmount {
        BadAmount {
            text: text.to_owned(),
            wanted: Self::WANTED,
        }
    }
}

/// Reads number and unit pairs, largest unit first, each unit once.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let end = after.find(|c: char| c.is_ascii_digit());
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        let name = match name.trim() {
            "min" => "m",
            name => name,
        };
        // The iterator continues after the unit it found, which enforces the order.
        let (_, millis) = units.find(|(unit, _)| *unit == name)?;
        let millis = number.parse::<u64>().ok()?.checked_mul(*millis)?;
        total = total.checked_add(Duration::from_millis(millis))?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

/// Writes a duration so that it can be read back: `1h30m`, `15m`, `30d`. Weeks are written as days:
/// `30d` would be `4w2d`.
pub fn exact(duration: Duration) -> String {
    let mut left = duration.as_millis();
    let mut text = String::new();
    for (name, millis) in &UNITS[1..] {
        let millis = u128::from(*millis);
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
        case("1w", Some(604_800), "7d");
        case("2w 1d 6h", Some(1_317_600), "15d6h");
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
            "1d1w",
            "5m5m",
            "99999999999999999999s",
            "é",
            "9999999999999999d",
        ] {
            assert!(text.parse::<TimeLimit>().is_err(), "{text} was accepted");
        }
    }
}
