//! What durations, sizes, money and tokens have in common: decimal numbers with units, and limits
//! that `0` and `off` switch off.

/// A text that is not the amount it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is {wanted}")]
pub struct BadAmount {
    pub text: String,
    /// Such as "not a size; write it like `500MB`".
    pub wanted: &'static str,
}

/// Declares a limit: an amount, or none, which is written `off`. `$parse` reads a trimmed text,
/// `$write` writes an amount so that it can be read again.
macro_rules! limit {
    ($(#[$doc:meta])* $name:ident($amount:ty), $wanted:literal, $parse:path, $write:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub Option<$amount>);

        impl $name {
            /// No limit.
            pub const OFF: Self = Self(None);
            const WANTED: &'static str = $wanted;
        }

        impl std::str::FromStr for $name {
            type Err = super::amount::BadAmount;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let trimmed = text.trim();
                if trimmed == "0" || trimmed.eq_ignore_ascii_case("off") {
                    return Ok(Self::OFF);
                }
                let amount = $parse(trimmed).ok_or_else(|| Self::Err {
                    text: text.to_owned(),
                    wanted: Self::WANTED,
                })?;
                Ok(Self(Some(amount).filter(|it| *it != <$amount>::default())))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.0 {
                    Some(amount) => f.write_str(&$write(amount)),
                    None => f.write_str("off"),
                }
            }
        }
    };
}
pub(crate) use limit;

/// A decimal number times a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scaled {
    /// The product, rounded down.
    pub total: u64,
    pub is_exact: bool,
}

/// Multiplies a number such as `12` or `1.5` by a unit.
pub(crate) fn scaled(number: &str, unit: u64) -> Option<Scaled> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    // More digits might not fit into the product below; no unit has that many.
    let (kept, lost) = fraction.split_at(fraction.len().min(18));
    let divisor = 10_u128.pow(u32::try_from(kept.len()).ok()?);
    let product = u128::from(unit) * format!("0{kept}").parse::<u128>().ok()?;
    let part = u64::try_from(product / divisor).ok()?;
    Some(Scaled {
        total: whole
            .parse::<u64>()
            .ok()?
            .checked_mul(unit)?
            .checked_add(part)?,
        is_exact: lost.is_empty() && product % divisor == 0,
    })
}

/// Splits a text such as `1.5GB` where the number ends, and finds the unit, in any case.
pub(crate) fn number_and_unit<'a>(
    text: &'a str,
    is_of_number: fn(char) -> bool,
    units: &[(&str, u64)],
) -> Option<(&'a str, u64)> {
    let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    let (number, name) = text.split_at(end);
    let mut units = units.iter();
    let (_, unit) = units.find(|(it, _)| it.eq_ignore_ascii_case(name.trim()))?;
    Some((number, *unit))
}

/// Writes an amount in the first unit that leaves no remainder.
pub(crate) fn in_whole_units(amount: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().find(|(_, unit)| amount.is_multiple_of(*unit));
    let (name, unit) = whole.unwrap_or(&("", 1));
    format!("{}{name}", amount / unit)
}
