//! Counts as runners write them: `3 failed, 2 passed`.

/// The number before one of these words, in parts such as `3 failed`; 0 where there is none.
pub(super) fn number_of<'a>(parts: impl Iterator<Item = &'a str>, words: &[&str]) -> usize {
    let numbers = parts.filter_map(|part| {
        let (number, word) = part.trim().split_once(' ')?;
        words
            .contains(&word)
            .then(|| number.parse::<usize>().ok())?
    });
    numbers.sum()
}
