//! Globs over paths: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}` and `**` for any folders.
//!
//! A pattern becomes a list of steps through which all possibilities are followed at once, so that
//! no pattern makes a match slow.

use thiserror::Error;

/// A pattern for paths with slashes in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    steps: Vec<Step>,
}

/// Why a pattern is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum GlobError {
    /// `[a` and no end.
    #[error("a `[` is not closed")]
    OpenClass,
    /// `[z-a]`.
    #[error("a range in `[]` ends before it begins")]
    BackwardRange,
    /// `{a` and no end, or an end without a beginning.
    #[error("a `{{` or `}}` has no other half")]
    LoneBrace,
    /// `\` as the last character.
    #[error("it ends with `\\`")]
    DanglingEscape,
}

/// How deep braces may be nested.
const DEEPEST: usize = 50;

/// What happens at one place of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A character of this kind is taken.
    Take(Kind),
    /// Goes on at each of these places.
    Fork(Vec<usize>),
}

/// Which characters fit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Exactly(char),
    /// Any within a name.
    Inner,
    /// Any, slashes too.
    Any,
    /// Any within a name that is in one of the ranges, or in none of them.
    OneOf {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl Kind {
    fn fits(&self, found: char) -> bool {
        match self {
            Self::Exactly(wanted) => *wanted == found,
            Self::Inner => found != '/',
            Self::Any => true,
            Self::OneOf { ranges, negated } => {
                let within = |(low, high): &(char, char)| (*low..=*high).contains(&found);
                found != '/' && ranges.iter().any(within) != *negated
            }
        }
    }
}

impl Glob {
    /// Reads a pattern.
    pub(crate) fn new(pattern: &str) -> Result<Self, GlobError> {
        let mut reader = Reader {
            pattern: pattern.chars().collect(),
            at: 0,
            steps: Vec::new(),
        };
        reader.sequence(0)?;
        Ok(Self {
            steps: reader.steps,
        })
    }

    /// Whether the whole of a path fits.
    pub(crate) fn is_match(&self, path: &str) -> bool {
        let mut places = Places::new(self.steps.len());
        places.add(0, &self.steps);
        for found in path.chars() {
            let mut next = Places::new(self.steps.len());
            for at in places.taking {
                if matches!(&self.steps[at], Step::Take(kind) if kind.fits(found)) {
                    next.add(at + 1, &self.steps);
                }
            }
            places = next;
        }
        places.reached[self.steps.len()]
    }
}

/// Where in a pattern one may be after some characters.
struct Places {
    reached: Vec<bool>,
    /// Those of them where a character is taken next.
    taking: Vec<usize>,
}

impl Places {
    fn new(steps: usize) -> Self {
        Self {
            reached: vec![false; steps + 1],
            taking: Vec::new(),
        }
    }

    fn add(&mut self, place: usize, steps: &[Step]) {
        let mut waiting = vec![place];
        while let Some(at) = waiting.pop() {
            if std::mem::replace(&mut self.reached[at], true) {
                continue;
            }
            match steps.get(at) {
                Some(Step::Take(_)) => self.taking.push(at),
                Some(Step::Fork(places)) => waiting.extend(places),
                None => {}
            }
        }
    }
}

/// Turns characters into steps.
struct Reader {
    pattern: Vec<char>,
    at: usize,
    steps: Vec<Step>,
}

impl Reader {
    /// Reads up to the end, or within braces up to their next `,` or `}`.
    fn sequence(&mut self, depth: usize) -> Result<(), GlobError> {
        while let Some(next) = self.peek() {
            match next {
                ',' | '}' if depth > 0 => return Ok(()),
                '}' => return Err(GlobError::LoneBrace),
                '{' => self.braces(depth + 1)?,
                '[' => self.class()?,
                '*' => self.stars(),
                '?' => self.take_one(Kind::Inner),
                '\\' => {
                    self.at += 1;
                    let escaped = self.peek().ok_or(GlobError::DanglingEscape)?;
                    self.take_one(Kind::Exactly(escaped));
                }
                plain => self.take_one(Kind::Exactly(plain)),
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<char> {
        self.pattern.get(self.at).copied()
    }

    fn take_one(&mut self, kind: Kind) {
        self.at += 1;
        self.steps.push(Step::Take(kind));
    }

    /// Reads `{a,b}`: a fork to each of them, and from the end of each to what follows.
    fn braces(&mut self, depth: usize) -> Result<(), GlobError> {
        if depth > DEEPEST {
            return Err(GlobError::LoneBrace);
        }
        let fork = self.steps.len();
        self.steps.push(Step::Fork(Vec::new()));
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        loop {
            self.at += 1;
            starts.push(self.steps.len());
            self.sequence(depth)?;
            ends.push(self.steps.len());
            self.steps.push(Step::Fork(Vec::new()));
            match self.peek() {
                Some(',') => {}
                Some(_) => break,
                None => return Err(GlobError::LoneBrace),
            }
        }
        self.at += 1;
        let after = self.steps.len();
        self.steps[fork] = Step::Fork(starts);
        for end in ends {
            self.steps[end] = Step::Fork(vec![after]);
        }
        Ok(())
    }

    /// Reads `[a-z]`, `[!a-z]` or `[^a-z]`. A `]` in front and a `-` at an end are themselves.
    fn class(&mut self) -> Result<(), GlobError> {
        self.at += 1;
        let negated = matches!(self.peek(), Some('!' | '^'));
        self.at += usize::from(negated);
        let mut ranges = Vec::new();
        loop {
            let low = self.peek().ok_or(GlobError::OpenClass)?;
            if low == ']' && !ranges.is_empty() {
                break;
            }
            self.at += 1;
            let high = match (self.peek(), self.pattern.get(self.at + 1)) {
                (Some('-'), Some(high)) if *high != ']' => *high,
                _ => low,
            };
            if high != low {
                self.at += 2;
            }
            if high < low {
                return Err(GlobError::BackwardRange);
            }
            ranges.push((low, high));
        }
        self.take_one(Kind::OneOf { ranges, negated });
        Ok(())
    }

    /// Reads `*`, or `**` where it stands for folders: alone between slashes.
    fn stars(&mut self) {
        let begins = self.at == 0 || self.pattern[self.at - 1] == '/';
        let from = self.at;
        while self.peek() == Some('*') {
            self.at += 1;
        }
        let is_folders = begins && self.at - from == 2;
        match self.peek() {
            // No folder, or some and a slash.
            Some('/') if is_folders => {
                self.at += 1;
                let fork = self.steps.len();
                self.steps.push(Step::Fork(Vec::new()));
                self.any_number(Kind::Any);
                self.steps.push(Step::Take(Kind::Exactly('/')));
                self.steps[fork] = Step::Fork(vec![fork + 1, self.steps.len()]);
            }
            None if is_folders => {
                // Below a folder there is at least a name.
                if from > 0 {
                    self.steps.push(Step::Take(Kind::Any));
                }
                self.any_number(Kind::Any);
            }
            _ => self.any_number(Kind::Inner),
        }
    }

    fn any_number(&mut self, kind: Kind) {
        let fork = self.steps.len();
        let places = vec![fork + 1, fork + 3];
        self.steps.push(Step::Fork(places));
        self.steps.push(Step::Take(kind));
        self.steps.push(Step::Fork(vec![fork]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        Glob::new(pattern).unwrap().is_match(path)
    }

    #[test]
    fn a_pattern_fits_whole_paths_only() {
        for (pattern, paths, others) in [
            ("a.md", &["a.md"][..], &["b/a.md", "a.mdx", "xa.md", ""][..]),
            ("*.md", &["a.md", ".md"], &["b/a.md", "a.txt", "a.md/b"]),
            ("a*c*", &["ac", "abc", "abcd", "acc"], &["a/c", "ab", "bac"]),
            ("?.md", &["a.md", "ä.md"], &["ab.md", ".md", "/.md"]),
            ("[a-c].md", &["a.md", "c.md"], &["d.md", "-.md"]),
            ("[!a-c].md", &["d.md"], &["a.md", "/.md"]),
            ("[^a]", &["b"], &["a"]),
            ("[]-]x", &["]x", "-x"], &["ax"]),
            ("{a,b/c}.md", &["a.md", "b/c.md"], &["b.md", "a,b.md"]),
            ("{a,{b,}c}", &["a", "bc", "c"], &["b", ""]),
            ("a,b", &["a,b"], &["a"]),
            (r"\*[x]", &["*x"], &["ax"]),
            ("!(a)", &["!(a)"], &["b"]),
        ] {
            for path in paths {
                assert!(fits(pattern, path), "{pattern} should fit {path}");
            }
            for other in others {
                assert!(!fits(pattern, other), "{pattern} should not fit {other}");
            }
        }
    }

    #[test]
    fn two_stars_between_slashes_are_any_folders() {
        for (pattern, paths, others) in [
            (
                "specs/**/*.md",
                &["specs/a.md", "specs/a/b.md", "specs/a/b/c.md"][..],
                &["a.md", "specs.md", "specsa.md", "x/specs/a.md"][..],
            ),
            ("**/a", &["a", "b/a", "c/b/a"], &["ba", "a/b"]),
            ("a/**", &["a/b", "a/b/c"], &["a", "a/", "ab"]),
            ("**", &["a", "a/b", ""], &[]),
            ("a**b", &["ab", "axb"], &["a/b"]),
            ("a/**/b/**/c", &["a/b/c", "a/x/b/y/z/c"], &["a/c", "ab/c"]),
        ] {
            for path in paths {
                assert!(fits(pattern, path), "{pattern} should fit {path}");
            }
            for other in others {
                assert!(!fits(pattern, other), "{pattern} should not fit {other}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (pattern, error) in [
            ("[a", GlobError::OpenClass),
            ("[]", GlobError::OpenClass),
            ("[b-a]", GlobError::BackwardRange),
            ("{a", GlobError::LoneBrace),
            ("{a,{b}", GlobError::LoneBrace),
            ("a}", GlobError::LoneBrace),
            ("a\\", GlobError::DanglingEscape),
        ] {
            assert_eq!(Glob::new(pattern), Err(error), "{pattern}");
        }
        assert_eq!(Glob::new(&"{".repeat(100_000)), Err(GlobError::LoneBrace));
    }

    #[test]
    fn no_pattern_is_slow() {
        let stars = Glob::new(&"*a".repeat(60)).unwrap();
        assert!(!stars.is_match(&"a".repeat(250).replace('a', "aa").replace("aa", "ab")));
        let braces = Glob::new(&"{a,aa,**/a}".repeat(40)).unwrap();
        assert!(!braces.is_match(&format!("{}b", "a".repeat(250))));
    }
}
