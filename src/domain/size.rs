//! Sizes as people write them: `50MB`, `2GiB`, `800kB`; `0` and `off` mean no limit.

use std::fmt;
use std::str::FromStr;

/// A limit in bytes, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeLimit(pub(crate) Option<u64>);

/// A text that is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size; write it like `800kB`, `50MB`, `2GiB` or `off`")]
pub(crate) struct BadSize(String);

/// Units by name, the largest first.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

impl SizeLimit {
    /// No limit.
    pub(crate) const OFF: Self = Self(None);

    /// A limit of that many bytes.
    pub(crate) const fn bytes(bytes: u64) -> Self {
        Self(Some(bytes))
    }

    /// The bytes, none at all where there is no limit: for room that is kept free.
    pub(crate) fn or_zero(self) -> u64 {
        self.0.unwrap_or(0)
    }

    /// True where the limit is there and exceeded.
    pub(crate) fn is_exceeded_by(self, bytes: u64) -> bool {
        self.0.is_some_and(|most| bytes > most)
    }
}

impl FromStr for SizeLimit {
    type Err = BadSize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        if trimmed == "0" || trimmed.eq_ignore_ascii_case("off") {
            return Ok(Self::OFF);
        }
        let bytes = parse(trimmed).ok_or_else(|| BadSize(text.to_owned()))?;
        Ok(Self((bytes > 0).then_some(bytes)))
    }
}

impl fmt::Display for SizeLimit {
    /// Exactly, so that it can be read back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bytes) = self.0 else {
            return f.write_str("off");
        };
        let whole = |(_, unit): &&(&str, u64)| bytes.is_multiple_of(*unit);
        let (name, unit) = UNITS.iter().find(whole).unwrap_or(&("B", 1));
        write!(f, "{}{name}", bytes / unit)
    }
}

fn parse(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let name = text[digits..].trim_start();
    let (_, unit) = UNITS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    number.checked_mul(*unit)
}

/// A size for people, rounded: `812 B`, `1.2 GB`.
pub(crate) fn rounded(bytes: u64) -> String {
    let decimal = |(name, unit): &&(&str, u64)| !name.ends_with("iB") && bytes >= *unit;
    let (name, unit) = UNITS.iter().find(decimal).unwrap_or(&("B", 1));
    let (whole, tenth) = (bytes / unit, bytes % unit * 10 / unit);
    if whole >= 10 || *unit == 1 {
        format!("{whole} {name}")
    } else {
        format!("{whole}.{tenth} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn reads_sizes_and_writes_them_back() {
        #[track_caller]
        fn case(text: &str, bytes: Option<u64>, written: &str) {
            let limit: SizeLimit = text.parse().unwrap();
            assert_eq!(
                (limit, limit.to_string().as_str()),
                (SizeLimit(bytes), written)
            );
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        case("50MB", Some(50_000_000), "50MB");
        case("50 mb", Some(50_000_000), "50MB");
        case("2GiB", Some(2 << 30), "2GiB");
        case("1500kB", Some(1_500_000), "1500kB");
        case("1001B", Some(1001), "1001B");
        case("64KiB", Some(65_536), "64KiB");
        case("3TB", Some(3_000_000_000_000), "3TB");
        case("0", None, "off");
        case("0MB", None, "off");
        case(" Off ", None, "off");
    }

    #[test]
    fn refuses_what_is_not_a_size() {
        for text in [
            "",
            "50",
            "MB",
            "-5MB",
            "1.5GB",
            "5X",
            "5 M B",
            "99999999TB",
            "é",
        ] {
            assert!(text.parse::<SizeLimit>().is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn rounds_for_people() {
        let shown = [0, 812, 1_000, 4_560, 45_000, 1_234_567_890, 64_000_000_000].map(rounded);
        assert_eq!(
            shown,
            [
                "0 B", "812 B", "1.0 kB", "4.5 kB", "45 kB", "1.2 GB", "64 GB"
            ]
        );
    }
}
