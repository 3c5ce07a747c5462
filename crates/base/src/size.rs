//! Sizes as people write them: `500MB`, `1.5GB`, `20GiB`; `0` and `off` mean no limit.

use super::amount::{in_whole_units, limit, number_and_unit, scaled};

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

limit! {
    /// A limit in bytes, or none.
    SizeLimit(u64),
    "not a size; write it like `500MB`, `20GB`, `1.5GiB` or `off`",
    parse,
    write
}

impl SizeLimit {
    /// A limit of that many bytes.
    pub const fn bytes(bytes: u64) -> Self {
        Self(Some(bytes))
    }

    /// The bytes, none at all where there is no limit: for room that is kept free.
    pub fn or_zero(self) -> u64 {
        self.0.unwrap_or(0)
    }

    /// True where the limit is there and exceeded.
    pub fn is_exceeded_by(self, bytes: u64) -> bool {
        self.0.is_some_and(|most| bytes > most)
    }
}

fn write(bytes: u64) -> String {
    in_whole_units(bytes, &UNITS)
}

fn parse(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text, |c| c.is_ascii_digit() || c == '.', &UNITS)?;
    Some(scaled(number, unit)?.total)
}

/// A size for people: `812 B`, `4.5 kB`, `45 kB`, `1.2 MB`; rounded down.
pub fn rounded(bytes: u64) -> String {
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
        case("1.5GiB", Some(1_610_612_736), "1536MiB");
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
