//! Sizes as people write them: `500MB`, `1.5GB`, `20GiB`; `0` and `off` mean no limit.

use std::fmt;
use std::str::FromStr;

/// Units by name, those that are written back first.
const UNITS: [(&str, u64); 10] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
    ("", 1),
];

/// A limit in bytes, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeLimit(pub(crate) Option<u64>);

/// A text that is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size; write it like `500MB`, `20GB`, `1.5GiB` or `off`")]
pub(crate) struct BadSize(String);

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
        if trimmed.eq_ignore_ascii_case("off") {
            return Ok(Self::OFF);
        }
        let bytes = parse(trimmed).ok_or_else(|| BadSize(text.to_owned()))?;
        Ok(Self((bytes > 0).then_some(bytes)))
    }
}

impl fmt::Display for SizeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bytes) = self.0 else {
            return f.write_str("off");
        };
        let whole = UNITS.iter().find(|(_, unit)| bytes % unit == 0);
        let (name, unit) = whole.unwrap_or(&("B", 1));
        write!(f, "{}{name}", bytes / unit)
    }
}

/// A size for people: `812 B`, `4.5 kB`, `45 kB`, `1.2 MB`; rounded down.
pub(crate) fn rounded(bytes: u64) -> String {
    let unit = UNITS[1..4].iter().find(|(_, unit)| bytes >= *unit);
    let Some((name, unit)) = unit else {
        return format!("{bytes} B");
    };
    let tenths = bytes / (unit / 10);
    if tenths < 100 {
        return format!("{}.{} {name}", tenths / 10, tenths % 10);
    }
    format!("{} {name}", tenths / 10)
}

/// Reads a number, with a fraction if need be, and a unit in any case.
fn parse(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = UNITS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?
        .1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let mut bytes = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut part = unit;
    if fraction.is_empty() {
        return None;
    }
    for digit in fraction.chars() {
        part /= 10;
        bytes = bytes.checked_add(part.checked_mul(u64::from(digit.to_digit(10)?))?)?;
    }
    Some(bytes)
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
            assert_eq!(limit, SizeLimit(bytes));
            assert_eq!(limit.to_string(), written);
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        case("20GB", Some(20_000_000_000), "20GB");
        case("50mb", Some(50_000_000), "50MB");
        case("1.5 GB", Some(1_500_000_000), "1500MB");
        case("2GiB", Some(2_147_483_648), "2GiB");
        case("64KiB", Some(65_536), "64KiB");
        case("812", Some(812), "812B");
        case("812 B", Some(812), "812B");
        case("0", None, "off");
        case(" Off ", None, "off");
    }

    #[test]
    fn sizes_for_people_are_short() {
        let sizes = [0, 812, 4_520, 45_999, 999_999, 1_250_000, 20_000_000_000];
        let want = [
            "0 B", "812 B", "4.5 kB", "45 kB", "999 kB", "1.2 MB", "20 GB",
        ];
        assert_eq!(sizes.map(rounded), want);
    }

    #[test]
    fn refuses_what_is_not_a_size() {
        for text in [
            "",
            "GB",
            "-1GB",
            "1,5GB",
            "1.GB",
            "1.2.3GB",
            "5XB",
            "99999999999999999999B",
            "99999999999TB",
            "é",
        ] {
            assert!(text.parse::<SizeLimit>().is_err(), "{text} was accepted");
        }
    }
}
