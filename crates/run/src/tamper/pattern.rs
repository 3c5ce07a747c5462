//! A regular expression of the language table, compiled when it is first used.

use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex, RegexBuilder};

/// A regular expression in which white space means nothing, `^` and `$` match at line ends, and
/// words in angle brackets stand for one of [`SHORTHANDS`].
#[derive(Debug)]
pub(super) struct Pattern {
    source: &'static str,
    regex: OnceLock<Option<Regex>>,
}

const SHORTHANDS: &[(&str, &str)] = &[
    // What may be between the marker of a test and its function.
    ("<gap>", r"(?:<args>|[^(){};])*?"),
    // Before a word that is neither a method nor the end of another word.
    ("<call>", r"(?:^|[^.\w$@:&>])"),
    ("<slashes>", r"//[^\n]*"),
    ("<hash>", r"\#[^\n]*"),
    ("<block>", r"/\*(?s:.)*?(?:\*/|\z)"),
    // A block comment that may hold another one.
    ("<nested>", r"/\*(?s:/\*.*?\*/|.)*?(?:\*/|\z)"),
    ("<double>", r#""(?:\\(?s:.)|[^"\\\n])*"?"#),
    ("<single>", r"'(?:\\(?s:.)|[^'\\\n])*'?"),
    ("<backtick>", r"`(?:\\(?s:.)|[^`\\])*`?"),
    ("<double3>", r#""""(?s:\\.|.)*?(?:"""|\z)"#),
    ("<single3>", r"'''(?s:\\.|.)*?(?:'''|\z)"),
    // A string over several lines.
    ("<long>", r#""(?:\\(?s:.)|[^"\\])*"?"#),
    // One character, so that the quote of a lifetime or of a number begins no string.
    ("<char>", r"'(?:\\[^\n']{1,10}|\\'|[^'\\\n])'"),
];

/// Parentheses nested up to twelve deep; a regular expression cannot count any number of them.
static ARGS: LazyLock<String> = LazyLock::new(|| {
    let innermost = r"(?:\([^()]*\))".to_owned();
    (0..11).fold(innermost, |inner, _| format!(r"(?:\((?:[^()]|{inner})*\))"))
});

impl Pattern {
    pub(super) const fn new(source: &'static str) -> Self {
        Self {
            source,
            regex: OnceLock::new(),
        }
    }

    /// None if the table holds an invalid expression; a test makes sure that it does not.
    pub(super) fn regex(&self) -> Option<&Regex> {
        let compile = || {
            let source = self.source.to_owned();
            let expand =
                |source: String, (name, meaning): &(&str, &str)| source.replace(name, meaning);
            let source = SHORTHANDS
                .iter()
                .fold(source, expand)
                .replace("<args>", &ARGS);
            let mut builder = RegexBuilder::new(&source);
            builder
                .multi_line(true)
                .ignore_whitespace(true)
                .build()
                .ok()
        };
        self.regex.get_or_init(compile).as_ref()
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    pub(super) fn count(&self, text: &str) -> usize {
        self.regex()
            .map_or(0, |regex| regex.find_iter(text).count())
    }

    pub(super) fn matches<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Captures<'a>> {
        let regex = self.regex().into_iter();
        regex.flat_map(move |regex| regex.captures_iter(text))
    }
}
