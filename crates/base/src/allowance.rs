//! Money and tokens as people write them: `5`, `$2.50`; `500000`, `500k`, `1.5M`; `0` and `off`
//! mean no limit.

use std::fmt;
use std::str::FromStr;

use super::amount::{BadAmount, in_whole_units, limit, number_and_unit, scaled};

/// Units of tokens, those that are written back first.
const UNITS: [(&str, u64); 3] = [("M", 1_000_000), ("k", 1_000), ("", 1)];

limit! {
    /// A limit in millionths of a US dollar, or none.
    CostLimit(u64),
    "not an amount in dollars; write it like `5`, `2.50` or `off`",
    money,
    exact_dollars
}

limit! {
    /// A limit in tokens, or none.
    TokenLimit(u64),
    "not a number of tokens; write it like `500000`, `500k`, `1.5M` or `off`",
    tokens,
    write_tokens
}

/// A US dollar, in the parts in which money is counted.
const DOLLAR: u64 = 1_000_000;

impl CostLimit {
    /// The limit in US dollars.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the largest limit has fewer digits than a float keeps"
    )]
    pub fn usd(self) -> Option<f64> {
        self.0.map(|millionths| millionths as f64 / DOLLAR as f64)
    }
}

/// What something cost, rounded to be read: `$12.30`, `$0.42`, and small amounts with the digits that
/// matter: `$0.015`, `$0.004`, `<$0.001`.
pub fn rounded_dollars(usd: f64) -> String {
    if usd > 0.0 && usd < 0.001 {
        return "<$0.001".to_owned();
    }
    let digits = if usd < 0.1 { 3 } else { 2 };
    cents_at_least(&format!("{usd:.digits$}"))
}

/// A limit of that many US dollars, as the user wrote it: `$5.00`, `$0.015`.
pub fn limit_dollars(usd: f64) -> String {
    cents_at_least(&format!("{usd:.6}"))
}

/// Drops zeros at the end, but keeps two decimals.
fn cents_at_least(number: &str) -> String {
    let cents = number.find('.').map_or(number.len(), |point| point + 3);
    let (kept, rest) = number.split_at(cents.min(number.len()));
    format!("${kept}{}", rest.trim_end_matches('0'))
}

/// What a million tokens cost, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(u64);

/// What the tokens of a model cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Tokens that are read.
    pub input: Rate,
    /// Tokens that are written.
    pub output: Rate,
    /// Tokens that are read from a cache.
    pub cached_input: Rate,
    /// Tokens that are put into a cache.
    pub cache_write: Rate,
}

impl FromStr for Rate {
    type Err = BadAmount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let millionths = money(text.trim()).filter(|it| *it <= Self::MOST);
        millionths.map(Self).ok_or_else(|| BadAmount {
            text: text.to_owned(),
            wanted: CostLimit::WANTED,
        })
    }
}

impl Rate {
    /// More than any model costs: 4000 dollars.
    const MOST: u64 = 4_000 * DOLLAR;

    /// What this number of tokens costs, in US dollars.
    #[expect(
        clippy::cast_precision_loss,
        reason = "an estimate of money, not a count"
    )]
    pub fn usd(self, tokens: u64) -> f64 {
        self.0 as f64 * tokens as f64 / 1e12
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000);
        let short = digits.trim_end_matches('0').trim_end_matches('.');
        write!(f, "${short}")
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in, {} out, {} cached, {} written to a cache, a million tokens",
            self.input, self.output, self.cached_input, self.cache_write
        )
    }
}

/// A limit far above what a run costs, and small enough to be exact as a float.
const MOST: u64 = 1_000_000_000 * DOLLAR;

/// An amount of US dollars in millionths, if nothing of it is lost.
fn money(text: &str) -> Option<u64> {
    let amount = scaled(text.strip_prefix('$').unwrap_or(text), DOLLAR)?;
    (amount.is_exact && amount.total <= MOST).then_some(amount.total)
}

fn exact_dollars(millionths: u64) -> String {
    cents_at_least(&format!(
        "{}.{:06}",
        millionths / DOLLAR,
        millionths % DOLLAR
    ))
}

fn tokens(text: &str) -> Option<u64> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let (number, unit) = number_and_unit(text, is_of_number, &UNITS)?;
    let amount = scaled(&number.replace('_', ""), unit)?;
    amount.is_exact.then_some(amount.total)
}

fn write_tokens(tokens: u64) -> String {
    in_whole_units(tokens, &UNITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn reads_money_and_writes_it_back() {
        #[track_caller]
        fn case(text: &str, millionths: Option<u64>, written: &str) {
            let limit: CostLimit = text.parse().unwrap();
            assert_eq!(limit, CostLimit(millionths));
            assert_eq!(limit.to_string(), written);
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        case("5", Some(5_000_000), "$5.00");
        case("$2.5", Some(2_500_000), "$2.50");
        case("0.07", Some(70_000), "$0.07");
        case("0.015", Some(15_000), "$0.015");
        case("0.004", Some(4_000), "$0.004");
        case("10.000", Some(10_000_000), "$10.00");
        case("0", None, "off");
        case(" Off ", None, "off");
        assert_eq!(CostLimit(Some(2_500_000)).usd(), Some(2.5));
        for text in [
            "",
            "$",
            "-1",
            "1,50",
            "1.",
            ".5.",
            "0.0000001",
            "+1",
            "1e2",
            "99999999999999",
        ] {
            assert!(text.parse::<CostLimit>().is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn small_amounts_keep_the_digits_that_matter() {
        #[track_caller]
        fn case(usd: f64, rounded: &str, limit: &str) {
            let written = (rounded_dollars(usd), limit_dollars(usd));
            assert_eq!(written, (rounded.to_owned(), limit.to_owned()));
        }
        case(0.0, "$0.00", "$0.00");
        case(0.0004, "<$0.001", "$0.0004");
        case(0.004, "$0.004", "$0.004");
        case(0.015, "$0.015", "$0.015");
        case(0.07, "$0.07", "$0.07");
        case(0.4242, "$0.42", "$0.4242");
        case(12.3, "$12.30", "$12.30");
        case(1500.0, "$1500.00", "$1500.00");
    }

    #[test]
    fn reads_rates_and_writes_them_back() {
        #[track_caller]
        fn case(text: &str, millionths: u64, written: &str) {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(
                (rate, rate.to_string().as_str()),
                (Rate(millionths), written)
            );
        }
        case("3", 3_000_000, "$3");
        case("$0.075", 75_000, "$0.075");
        case("0", 0, "$0");
        for text in ["", "off", "-1", "0.0000001", "5000"] {
            assert!(text.parse::<Rate>().is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn reads_tokens_and_writes_them_back() {
        #[track_caller]
        fn case(text: &str, tokens: Option<u64>, written: &str) {
            let limit: TokenLimit = text.parse().unwrap();
            assert_eq!(limit, TokenLimit(tokens));
            assert_eq!(limit.to_string(), written);
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        case("500000", Some(500_000), "500k");
        case("2_000_000", Some(2_000_000), "2M");
        case("1.5M", Some(1_500_000), "1500k");
        case("812", Some(812), "812");
        case("0", None, "off");
        case("off", None, "off");
        for text in ["", "k", "-1", "1.5", "1.k", "5x", "99999999999999999999"] {
            assert!(text.parse::<TokenLimit>().is_err(), "{text} was accepted");
        }
    }
}
