//! The processes that agents were, as their scripts noted them: one line each.
//!
//! `first STORY.ATTEMPT DEED WAY`, `again STORY.ATTEMPT ANSWER`, `review STORY`.

use std::collections::HashMap;

use super::Result;
use super::chance::Answer;
use super::draw::Deed;
use super::tokens::{Model, Session, Start, Used, Work};

/// All processes of a change, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Starts {
    /// Those that began an attempt.
    pub(crate) first: usize,
    /// Those that continued its session.
    pub(crate) again: usize,
    /// Reviewers.
    pub(crate) reviews: usize,
    /// What they would have used.
    pub(crate) used: Used,
}

impl Starts {
    /// Reads what the scripts noted.
    pub(crate) fn read(text: &str, model: Model) -> Result<Self> {
        let mut starts = Self::default();
        let mut sessions: HashMap<&str, Session> = HashMap::new();
        for line in text.lines() {
            let (session, start) = parse(line).ok_or_else(|| format!("no process is `{line}`"))?;
            match start {
                Start::First(_) => starts.first += 1,
                Start::Again(_) => starts.again += 1,
                Start::Review => starts.reviews += 1,
            }
            let session = sessions.entry(session).or_insert(Session::new(model));
            starts.used.add(session.run(start));
        }
        Ok(starts)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.first += other.first;
        self.again += other.again;
        self.reviews += other.reviews;
        self.used.add(other.used);
    }

    /// All processes.
    pub(crate) fn all(&self) -> usize {
        self.first + self.again + self.reviews
    }
}

/// The session of a process, and what it did.
fn parse(line: &str) -> Option<(&str, Start)> {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["first", session, deed, way] => {
            let deed = Deed::ALL.into_iter().find(|it| it.name() == *deed)?;
            Some((session, Start::First(Work::of(deed, way))))
        }
        ["again", session, answer] => {
            let answer = Answer::ALL.into_iter().find(|it| it.name() == *answer)?;
            Some((session, Start::Again(answer)))
        }
        ["review", _] => Some(("review", Start::Review)),
        _ => None,
    }
}
