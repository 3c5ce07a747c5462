//! How lists of names, counts, figures and times are written everywhere.

use std::fmt::Display;
use std::time::Duration;

use jiff::{Timestamp, Zoned};

use ralph_vault::git::status::TreeState;

pub use ralph_base::allowance::rounded_dollars as cost;

/// Names in backticks with commas between them.
pub(crate) fn quoted<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    let names = names
        .into_iter()
        .map(|name| in_backticks(&name.to_string()));
    names.collect::<Vec<_>>().join(", ")
}

/// A text in backticks, unless it has its own: backticks do not nest.
fn in_backticks(text: &str) -> String {
    if text.contains('`') {
        return text.to_owned();
    }
    format!("`{text}`")
}

/// `1 run`, `2 runs`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    count(number, what)
}

/// A number of things: `1 story`, `2 stories`.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        return format!("{number} {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

/// A place in an order: `first`, `second`, `11th`.
pub fn ordinal(number: u32) -> String {
    const WORDS: [&str; 10] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
        "tenth",
    ];
    let index = usize::try_from(number)
        .unwrap_or(usize::MAX)
        .wrapping_sub(1);
    if let Some(word) = WORDS.get(index) {
        return (*word).to_owned();
    }
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// How long something took: `0.4s`, `12s`, `3m12s`, `1h05m`, `2d03h`.
pub fn elapsed(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("0.{}s", ms / 100),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A number of tokens: `812`, `4.5k`, `45k`, `1.2M`; rounded down, so that no unit reads `1000`.
pub fn tokens(count: u64) -> String {
    let (unit, size) = match count {
        ..1_000 => return count.to_string(),
        1_000..1_000_000 => ("k", 1_000),
        1_000_000..1_000_000_000 => ("M", 1_000_000),
        _ => ("G", 1_000_000_000),
    };
    let tenths = count / (size / 10);
    if tenths < 100 {
        format!("{}.{}{unit}", tenths / 10, tenths % 10)
    } else {
        format!("{}{unit}", tenths / 10)
    }
}

/// A time of day as it is near another time: `03:40`, on another day `Nov 16 03:40`.
pub fn clock_time(at: Timestamp, near: &Zoned) -> String {
    let at = at.to_zoned(near.time_zone().clone());
    let format = if at.date() == near.date() {
        "%H:%M"
    } else {
        "%b %-d %H:%M"
    };
    at.strftime(format).to_string()
}

/// Whole milliseconds.
pub(crate) fn in_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The time between two moments; none where the clock went back.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// The files of a work tree that are not committed: `1 changed file, 2 untracked files`.
pub(crate) fn uncommitted(tree: &TreeState) -> Option<String> {
    let counts = [
        (tree.staged, "staged"),
        (tree.changed, "changed"),
        (tree.untracked.len(), "untracked"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| counted(*count, &format!("{what} file")))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::ordinal;

    #[test]
    fn places_in_an_order_are_words_up_to_ten() {
        let said: Vec<String> = [1, 2, 10, 11, 12, 13, 21, 22, 23, 111, 0]
            .map(ordinal)
            .into();
        let want = [
            "first", "second", "tenth", "11th", "12th", "13th", "21st", "22nd", "23rd", "111th",
            "0th",
        ];
        assert_eq!(said, want);
    }
}
