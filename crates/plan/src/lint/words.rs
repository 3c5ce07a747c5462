//! The words of a text, and which of them say what it is about.

use std::collections::BTreeSet;

/// Words that stand in any plan, and so say nothing about what a text has in common with another.
const COMMON: &str = "\
    a add after all an and any are as at be been before between both by can case correct \
    correctly current default display do does down during each else ensure error errors every \
    existing fail failed fails failure for from get gets given had handle has have if implement \
    in into invalid is it its least less make may more most must new no not of off on one only \
    or other out over per remove requirement result return returns same scenario set shall \
    should show shows still success successful successfully such support system test tests than \
    that the then this to two under up update upon use used user users uses using valid via was \
    when which while will with without within would";

/// Words that almost any English text of some length has.
const ENGLISH: &str = "the and for with to of from when in";

/// The words of a text in lower case; `camelCase` and `snake_case` are several.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in text.chars() {
        let begins = c.is_uppercase() && was_small;
        if (begins || !c.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase() || c.is_ascii_digit();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// What a text is about: its words without endings and without those that stand in any plan.
pub(super) fn subjects(text: &str) -> BTreeSet<String> {
    let words = words(text).filter(|word| word.is_ascii() && word.len() > 2);
    let words = words.filter(|word| !is_word_of(word, COMMON));
    words.map(|word| stem(&word).to_owned()).collect()
}

/// A word without its ending, so that `retries` and `retried` are one. Two that differ may become one:
/// then a text seems to be about more than it is.
fn stem(word: &str) -> &str {
    let endings = [
        "ations", "ation", "ments", "ment", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es",
        "ly", "al", "s", "e", "y",
    ];
    let stems = endings
        .iter()
        .filter_map(|ending| word.strip_suffix(ending));
    stems.clone().find(|stem| stem.len() >= 3).unwrap_or(word)
}

/// Whether a text is in English, as far as its most frequent words show it.
pub(super) fn is_english(text: &str) -> bool {
    let (mut all, mut known) = (0, 0);
    for word in words(text) {
        all += 1;
        known += usize::from(is_word_of(&word, ENGLISH));
    }
    known * 50 >= all && known > 0
}

/// Whether a word is in a list with spaces between its words, in any case.
pub(super) fn is_word_of(word: &str, list: &str) -> bool {
    let mut list = list.split_whitespace();
    list.any(|known| word.eq_ignore_ascii_case(known))
}
