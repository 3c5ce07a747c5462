//! The tests of one file: their names and extents, how much they check, and what in the file keeps
//! tests from running. This is no parser: what it misreads, it misreads before and after an attempt
//! alike.

use std::collections::BTreeSet;
use std::ops::Range;

use regex::{Captures, Match};

use super::languages::{Body, HOLLOW, Language, language_of};
use super::pattern::Pattern;

/// Stands for a byte inside a string.
const INSIDE: char = '\u{1f}';

#[derive(Debug)]
pub(super) struct TestFile<'a> {
    pub(super) path: &'a str,
    language: &'static Language,
    text: &'a str,
    /// The text with comments blanked and string contents replaced; every byte stays in place.
    code: String,
    places: Vec<Place>,
    /// How many markers keep tests from running.
    pub(super) skips: usize,
    /// Functions that assert something.
    pub(super) helpers: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test<'a> {
    pub(super) path: &'a str,
    pub(super) name: String,
    pub(super) assertions: usize,
    /// The length of its code without white space.
    pub(super) weight: usize,
    pub(super) words: BTreeSet<String>,
}

#[derive(Debug)]
struct Place {
    start: usize,
    name: Range<usize>,
    end: usize,
}

impl<'a> TestFile<'a> {
    /// None if the language is unknown, or the file has no tests.
    pub(super) fn read(path: &'a str, text: &'a str) -> Option<Self> {
        let language = language_of(path)?;
        let is_test_path = language.is_test_path(path);
        if !is_test_path && !language.anywhere {
            return None;
        }
        let code = strip(text, &language.literals);
        let mut places = heads(&language.tests, &code);
        if places.is_empty() && !is_test_path {
            return None;
        }
        let starts: Vec<usize> = places.iter().map(|place| place.start).collect();
        for (index, place) in places.iter_mut().enumerate() {
            let limit = starts.get(index + 1).copied().unwrap_or(code.len());
            place.end = match language.body {
                Body::UntilNext => limit,
                Body::Indented => indented_end(&code, place, limit),
                Body::Brackets => bracket_end(&code, place).min(limit),
            };
        }
        let mut file = Self {
            path,
            language,
            text,
            skips: language.skips.count(&code),
            code,
            places,
            helpers: BTreeSet::new(),
        };
        file.helpers = file.find_helpers();
        Some(file)
    }

    /// Its tests, where calls of these helpers count as assertions.
    pub(super) fn tests(&self, helpers: &BTreeSet<String>) -> Vec<Test<'a>> {
        let test = |place: &Place| {
            let body = place.name.end..place.end;
            let code = &self.code[body.clone()];
            // An attribute before the name may be an assertion; the name never is.
            let head = self.assertions(place.start..place.name.start);
            let calls = words(code).filter(|word| helpers.contains(*word)).count();
            Test {
                path: self.path,
                name: self.name(place),
                assertions: head + self.assertions(body.clone()) + calls,
                weight: code.chars().filter(|it| !it.is_whitespace()).count(),
                words: words(self.written(body)).map(str::to_owned).collect(),
            }
        };
        self.places.iter().map(test).collect()
    }

    /// A part of the text as it was written. A pattern can match half of a blanked character, which
    /// is several bytes in the text; then there is none.
    fn written(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    fn name(&self, place: &Place) -> String {
        let name = self.written(place.name.clone()).split_whitespace();
        let name: Vec<&str> = name.collect();
        name.join(" ")
    }

    fn assertions(&self, range: Range<usize>) -> usize {
        let code = &self.code[range];
        let hollow = HOLLOW.count(code);
        self.language.assertions.count(code).saturating_sub(hollow)
    }

    /// Functions that are no tests, with an assertion before the next function or test.
    fn find_helpers(&self) -> BTreeSet<String> {
        let functions = heads(&self.language.helpers, &self.code);
        let starts = functions.iter().chain(&self.places).map(|it| it.start);
        let starts: BTreeSet<usize> = starts.collect();
        let tests: BTreeSet<usize> = self.places.iter().map(|test| test.name.start).collect();
        functions
            .iter()
            .filter(|function| !tests.contains(&function.name.start))
            .filter(|function| {
                let next = starts.range(function.name.end..).next();
                let end = next.copied().unwrap_or(self.code.len());
                self.assertions(function.name.end..end) > 0
            })
            .map(|function| self.name(function))
            .collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// The group that is part of a match; alternatives of a pattern have one each.
fn group<'a>(found: &Captures<'a>) -> Option<Match<'a>> {
    found.iter().skip(1).flatten().next()
}

/// Every match of a pattern whose group is a name.
fn heads(pattern: &Pattern, code: &str) -> Vec<Place> {
    let place = |found: Captures<'_>| {
        Some(Place {
            start: found.get_match().start(),
            name: group(&found)?.range(),
            end: code.len(),
        })
    };
    pattern.matches(code).filter_map(place).collect()
}

/// Blanks comments and what is inside strings, so that a word that is found is really code.
fn strip(text: &str, literals: &Pattern) -> String {
    let mut code = String::with_capacity(text.len());
    for found in literals.matches(text) {
        if group(&found).is_some() {
            continue;
        }
        let (inside, blank) = blanked(&found.get_match());
        code.push_str(&text[code.len()..inside.start]);
        // White space stays, so that lines keep their numbers and their indentation.
        for letter in text[inside].chars() {
            if letter.is_whitespace() {
                code.push(letter);
            } else {
                code.extend(std::iter::repeat_n(blank, letter.len_utf8()));
            }
        }
    }
    code.push_str(&text[code.len()..]);
    code
}

/// What is blanked of a comment or a string, which keeps its quotes, and with what.
fn blanked(literal: &Match<'_>) -> (Range<usize>, char) {
    let text = literal.as_str();
    let is_comment = text.trim_start().starts_with(['/', '#']);
    let quote = text.find(['"', '\'', '`']).filter(|_| !is_comment);
    let Some(open) = quote else {
        return (literal.range(), ' ');
    };
    let is_closed = text[open + 1..].ends_with(&text[open..=open]);
    let end = literal.end() - usize::from(is_closed);
    (literal.start() + open + 1..end, INSIDE)
}

/// The end of the last line that is indented more than the one a test begins in.
fn indented_end(code: &str, place: &Place, limit: usize) -> usize {
    let line_start = code[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = code[line_start..limit].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let mut at = line_start + first.len();
    let mut end = at;
    for line in lines {
        let words = line.trim_start();
        at += line.len();
        if words.is_empty() {
            continue;
        }
        // A signature may be closed, and a string go on, at any depth.
        let is_open = words.starts_with([')', INSIDE]);
        if !is_open && indent(line) <= indent(first) {
            break;
        }
        end = at;
    }
    end.max(place.name.end)
}

/// The end of the call that a test is, with the block that may follow it, or of the function.
fn bracket_end(code: &str, place: &Place) -> usize {
    let mut depth = 0_usize;
    let mut is_call = false;
    for (at, byte) in code.bytes().enumerate().skip(place.start) {
        if at == place.name.end {
            is_call = depth > 0;
        }
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b';' => {}
            _ => continue,
        }
        if depth > 0 || at < place.name.end {
            continue;
        }
        match byte {
            b'}' => return at + 1,
            b')' if is_call && !code[at + 1..].trim_start().starts_with('{') => return at + 1,
            // A function of one expression ends where the next test begins.
            b';' => return code.len(),
            _ => {}
        }
    }
    code.len()
}
