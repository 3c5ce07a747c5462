//! The tests of one file: their names, where they begin and end, how much they check, and what in
//! the file keeps tests from being run.

use std::collections::BTreeSet;

use super::code::{Code, find, is_word};
use super::languages::{Body, Form, Language, language_of};
use super::pattern::{Hit, count, hits, skip_group, skip_space, skip_word};

/// How far behind a mark its function may begin.
const REACH: usize = 4000;

/// Calls behind a title's word that keep it from being run, or others.
const SKIPPING: &[&str] = &[
    "skip", "todo", "fixme", "skipIf", "runIf", "failing", "fails", "only",
];

/// One file with tests.
#[derive(Debug)]
pub(super) struct Sheet<'a> {
    language: &'static Language,
    code: Code<'a>,
    places: Vec<Place>,
    /// How often something keeps tests from being run.
    pub(super) skips: usize,
    /// Functions that check something.
    pub(super) helpers: BTreeSet<String>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    /// What it is called.
    pub(super) name: String,
    /// How often it checks something.
    pub(super) asserts: usize,
    /// How much code it is.
    pub(super) weight: usize,
    /// The words of its body.
    pub(super) words: BTreeSet<String>,
}

#[derive(Debug)]
struct Place {
    name: String,
    start: usize,
    /// Where the name ends.
    named: usize,
    end: usize,
}

impl<'a> Sheet<'a> {
    /// Reads a file, if its language is known and it may hold tests.
    pub(super) fn read(path: &str, text: &'a str) -> Option<Self> {
        let language = language_of(path)?;
        let is_test_path = language.is_test_path(path);
        if !is_test_path && !language.anywhere {
            return None;
        }
        let code = Code::new(text, &language.syntax);
        let mut sheet = Self {
            language,
            code,
            places: Vec::new(),
            skips: 0,
            helpers: BTreeSet::new(),
        };
        let mut titled_skips = 0;
        for form in language.forms {
            match form {
                Form::Marked { marks, keyword } => sheet.marked(marks, *keyword),
                Form::Named { pattern, starts } => sheet.named(pattern, starts),
                Form::Titled {
                    words,
                    groups,
                    skipped,
                    quoted,
                } if is_test_path => {
                    titled_skips += sheet.titled(words, *quoted, skipped, Kind::Test);
                    titled_skips += sheet.titled(groups, *quoted, skipped, Kind::Group);
                }
                Form::Titled { .. } => {}
            }
        }
        if sheet.places.is_empty() && !is_test_path {
            return None;
        }
        sheet
            .places
            .sort_unstable_by_key(|place| (place.start, place.named));
        let mut named = BTreeSet::new();
        sheet.places.retain(|place| named.insert(place.named));
        sheet.find_ends();
        let comments = count(text.as_bytes(), language.comment_skips);
        sheet.skips = count(&sheet.code.bare, language.skips) + comments + titled_skips;
        sheet.helpers = sheet.find_helpers();
        Some(sheet)
    }

    /// Its tests, where calls of these functions count as checks too.
    pub(super) fn tests(&self, helpers: &BTreeSet<String>) -> Vec<Test> {
        self.places
            .iter()
            .map(|place| {
                let bare = &self.code.bare[place.start..place.end];
                let written = self.code.written(place.named, place.end);
                Test {
                    name: place.name.clone(),
                    asserts: self.asserts(bare) + calls(bare, helpers),
                    weight: self.code.weight(place.named, place.end),
                    words: written
                        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                        .filter(|word| !word.is_empty())
                        .map(str::to_owned)
                        .collect(),
                }
            })
            .collect()
    }

    fn asserts(&self, bare: &[u8]) -> usize {
        let hollow = count(bare, self.language.hollow);
        count(bare, self.language.asserts).saturating_sub(hollow)
    }

    fn marked(&mut self, marks: &[&str], keyword: Option<&str>) {
        for mark in marks {
            let found: Vec<Hit> = hits(&self.code.bare, mark).collect();
            for hit in found {
                if let Some((start, end)) = self.function_after(hit.start, keyword) {
                    self.add(hit.start, start, end);
                }
            }
        }
    }

    /// The name of the function a mark stands before.
    fn function_after(&self, mark: usize, keyword: Option<&str>) -> Option<(usize, usize)> {
        let bare = &self.code.bare[..self.code.bare.len().min(mark + REACH)];
        let mut at = mark;
        while at < bare.len() {
            match bare[at] {
                b'[' => at = skip_group(bare, at),
                b'@' => {
                    at = skip_word(bare, at + 1);
                    if bare.get(at) == Some(&b'(') {
                        at = skip_group(bare, at);
                    }
                }
                b'{' | b'}' | b';' => return None,
                byte if is_word(byte) => {
                    let end = skip_word(bare, at);
                    if let Some(keyword) = keyword {
                        let word = keyword.trim_end_matches('$').trim_end().as_bytes();
                        if &bare[at..end] == word {
                            return self.name_at(skip_space(bare, end));
                        }
                        if bare.get(end) == Some(&b'(') {
                            at = skip_group(bare, end);
                            continue;
                        }
                    } else if bare.get(skip_space(bare, end)) == Some(&b'(') {
                        return Some((at, end));
                    }
                    at = end;
                }
                _ => at += 1,
            }
        }
        None
    }

    /// A function's name, which Kotlin may write in backticks.
    fn name_at(&self, at: usize) -> Option<(usize, usize)> {
        let bare = &self.code.bare;
        if bare.get(at) == Some(&b'`') {
            let end = at + 1 + find(bare.get(at + 1..)?, b"`")?;
            return Some((at, end + 1));
        }
        let end = skip_word(bare, at);
        (end > at).then_some((at, end))
    }

    fn named(&mut self, pattern: &str, starts: &[&str]) {
        let found: Vec<Hit> = hits(&self.code.bare, pattern).collect();
        for hit in found {
            let name = self.code.written(hit.word.0, hit.word.1);
            if starts.iter().any(|start| name.starts_with(start)) {
                self.add(hit.start, hit.word.0, hit.word.1);
            }
        }
    }

    /// Finds calls with a title; says how many of them keep tests from being run.
    fn titled(&mut self, words: &[&str], quoted: bool, skipped: &[&str], kind: Kind) -> usize {
        let mut skips = 0;
        let mut found = Vec::new();
        for word in words {
            for hit in hits(&self.code.bare, word) {
                let Some(call) = self.call(hit, quoted) else {
                    continue;
                };
                if call.skips || skipped.contains(word) {
                    skips += 1;
                }
                if kind == Kind::Test
                    && let Some((start, end)) = call.title
                {
                    found.push((hit.start, start, end));
                }
            }
        }
        for (start, from, to) in found {
            self.add(start, from, to);
        }
        skips
    }

    /// What is called at a word: `it("…"`, `test.skip("…"`, `it.each(…)("…"`, `test "…" do`.
    fn call(&self, hit: Hit, quoted: bool) -> Option<Call> {
        let bare = &self.code.bare;
        let before = bare[..hit.start].trim_ascii_end().last();
        let directly = hit.start.checked_sub(1).map(|at| bare[at]);
        if matches!(before, Some(b'.' | b'>'))
            || matches!(directly, Some(b'$' | b'@' | b':' | b'&'))
        {
            return None;
        }
        let mut at = hit.end;
        let mut skips = false;
        while bare.get(at) == Some(&b'.') {
            let end = skip_word(bare, at + 1);
            let part = self.code.written(at + 1, end);
            skips |= SKIPPING.contains(&part);
            at = end;
            let takes_table = matches!(part, "each" | "for" | "skipIf" | "runIf");
            if takes_table && bare.get(at) == Some(&b'(') {
                at = skip_group(bare, at);
            } else if takes_table && bare.get(at) == Some(&b'`') {
                at += 2 + find(bare.get(at + 1..)?, b"`")?;
            }
        }
        let spaced = skip_space(bare, at);
        let is_call = bare.get(spaced) == Some(&b'(');
        let from = if is_call {
            skip_space(bare, spaced + 1)
        } else {
            spaced
        };
        let title = match bare.get(from)? {
            quote @ (b'"' | b'\'' | b'`') => {
                let length = find(bare.get(from + 1..)?, &[*quote])?;
                Some((from + 1, from + 1 + length))
            }
            _ if quoted || skips && is_call => None,
            _ if is_call => {
                let length = bare[from..].iter().position(|byte| *byte == b')')?;
                Some((from, from + length))
            }
            // `it { is_expected.to be_valid }`
            b'{' => {
                let line = bare[from..].iter().position(|byte| *byte == b'\n');
                Some((from, from + line.unwrap_or(bare.len() - from)))
            }
            _ => None,
        };
        let is_something = title.is_some() || is_call && skips;
        is_something.then_some(Call { title, skips })
    }

    fn add(&mut self, start: usize, from: usize, to: usize) {
        let name = self.code.written(from, to);
        let words: Vec<&str> = name.split_whitespace().collect();
        self.places.push(Place {
            name: words.join(" "),
            start,
            named: to,
            end: self.code.bare.len(),
        });
    }

    fn find_ends(&mut self) {
        let starts: Vec<usize> = self.places.iter().map(|place| place.start).collect();
        for (index, place) in self.places.iter_mut().enumerate() {
            let next = starts.get(index + 1).copied();
            let limit = next.unwrap_or(self.code.bare.len()).max(place.named);
            place.end = match self.language.body {
                Body::UntilNext => limit,
                Body::Indented => indented_end(&self.code.bare, place.start, limit),
                Body::Brackets => bracket_end(&self.code.bare, place, limit),
            };
        }
    }

    fn find_helpers(&self) -> BTreeSet<String> {
        let patterns = self.language.helpers.iter();
        let mut functions: Vec<Hit> = patterns
            .flat_map(|pattern| hits(&self.code.bare, pattern))
            .collect();
        functions.sort_by_key(|hit| hit.start);
        let tests: BTreeSet<usize> = self.places.iter().map(|place| place.start).collect();
        let names: BTreeSet<&str> = self
            .places
            .iter()
            .map(|place| place.name.as_str())
            .collect();
        let mut helpers = BTreeSet::new();
        for (index, function) in functions.iter().enumerate() {
            let next_function = functions.get(index + 1).map(|next| next.start);
            let next_test = tests.range(function.end..).next().copied();
            let ends = next_function.into_iter().chain(next_test);
            let end = ends.min().unwrap_or(self.code.bare.len()).max(function.end);
            let name = self.code.written(function.word.0, function.word.1);
            if !names.contains(name) && self.asserts(&self.code.bare[function.end..end]) > 0 {
                helpers.insert(name.to_owned());
            }
        }
        helpers
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Test,
    Group,
}

struct Call {
    title: Option<(usize, usize)>,
    skips: bool,
}

fn calls(bare: &[u8], helpers: &BTreeSet<String>) -> usize {
    bare.split(|byte| !is_word(*byte))
        .filter_map(|word| std::str::from_utf8(word).ok())
        .filter(|word| helpers.contains(*word))
        .count()
}

/// The end of the last line that is indented more than the one a test begins in.
fn indented_end(bare: &[u8], start: usize, limit: usize) -> usize {
    let line_start = bare[..start].iter().rposition(|byte| *byte == b'\n');
    let line_start = line_start.map_or(0, |at| at + 1);
    let depth = indent(&bare[line_start..]);
    let mut end = start;
    let mut at = line_start;
    for (number, line) in bare[line_start..limit]
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
    {
        let is_blank = line.trim_ascii().is_empty();
        // A signature may be closed at the depth it began.
        let closes = line.trim_ascii_start().starts_with(b")");
        if number > 0 && !is_blank && !closes && indent(line) <= depth {
            break;
        }
        at += line.len();
        if !is_blank {
            end = at;
        }
    }
    end
}

fn indent(line: &[u8]) -> usize {
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blanks.count()
}

/// The end of the call or the function a test is.
fn bracket_end(bare: &[u8], place: &Place, limit: usize) -> usize {
    // A title stands within the call, whose bracket is before it.
    let head = &bare[place.start..place.named];
    let call = head.iter().position(|byte| *byte == b'(');
    let is_title = bare
        .get(place.named)
        .is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`' | b')'));
    let mut end = match call {
        Some(open) if is_title => {
            // Behind the table of `it.each(…)(…`.
            let closed = skip_group(bare, place.start + open);
            if closed < place.named {
                skip_group(bare, skip_space(bare, closed))
            } else {
                closed
            }
        }
        // `@test "…" {`: behind the quote.
        None if is_title => place.named + 1,
        _ => place.named,
    };
    let rest = &bare[end..limit.max(end)];
    let braces = rest
        .iter()
        .position(|byte| matches!(byte, b'{' | b';' | b'}'));
    if let Some(at) = braces
        && rest[at] == b'{'
        && (!is_title || rest[..at].trim_ascii().is_empty())
    {
        end = skip_group(bare, end + at);
    } else if !is_title {
        end = limit;
    }
    end.min(limit.max(place.named))
}
