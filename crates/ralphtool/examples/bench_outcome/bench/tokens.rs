//! What agents would use, by a simple model of context size: a scripted agent uses nothing.
//!
//! A process works in turns. In each turn it pays for all of its context, which is cached and costs a
//! tenth, and for what is new: what it reads or writes. So a context that is large before the work
//! begins makes each turn dearer.

use super::chance::Answer;
use super::draw::Deed;

/// What a process does before and while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Model {
    /// Turns in which a fresh agent reads the repository.
    pub(crate) reading_turns: u64,
    /// Tokens it reads in each of them.
    pub(crate) reading: u64,
    /// Tokens that are new in each turn of the work.
    pub(crate) working: u64,
    /// Tokens of instructions and tools, which any process has.
    pub(crate) instructions: u64,
    /// What a cached token costs, in hundredths of a new one.
    pub(crate) cached: u64,
}

impl Model {
    /// The one of the figures in the guide.
    pub(crate) const USUAL: Self = Self {
        reading_turns: 15,
        reading: 2_000,
        working: 1_000,
        instructions: 10_000,
        cached: 10,
    };
}

/// A process of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// The first of an attempt, with a session of its own.
    First(Work),
    /// One that continues the session.
    Again(Answer),
    /// A reviewer.
    Review,
}

/// How much an agent does in the first round of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// All of it, right or wrong.
    Whole,
    /// It ends in the middle.
    Half,
    /// Next to nothing.
    Nothing,
}

impl Work {
    /// That of a deed, done in a way.
    pub(crate) fn of(deed: Deed, way: &str) -> Self {
        match (deed, way) {
            (Deed::Lie, "nothing" | "boxes") => Self::Nothing,
            (Deed::Honest | Deed::Damage | Deed::Lie, _) => Self::Whole,
            (Deed::Fail | Deed::Crash | Deed::Hang, _) => Self::Half,
        }
    }

    const fn turns(self) -> u64 {
        match self {
            Self::Whole => 20,
            Self::Half => 10,
            Self::Nothing => 2,
        }
    }
}

/// Turns of an agent that looks into what it was told.
const REPAIR_TURNS: u64 = 8;
/// Turns of a reviewer, which reads the diff and what is around it.
const REVIEW_TURNS: u64 = 10;

/// What processes used, in tokens as dear as a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Used {
    /// With the context of a continued session still in the cache.
    pub(crate) warm: u64,
    /// With that context paid as new, once for each time a session is continued.
    pub(crate) cold: u64,
}

impl Used {
    pub(crate) fn add(&mut self, other: Self) {
        self.warm += other.warm;
        self.cold += other.cold;
    }
}

/// The context of a session, as it grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    model: Model,
    context: u64,
}

impl Session {
    pub(crate) const fn new(model: Model) -> Self {
        Self { model, context: 0 }
    }

    /// What a process of this session uses.
    pub(crate) fn run(&mut self, start: Start) -> Used {
        let Model {
            instructions,
            reading,
            reading_turns,
            working,
            ..
        } = self.model;
        match start {
            Start::First(work) => {
                self.context = 0;
                let begins = self.turn(instructions);
                let reads = self.turns(reading_turns, reading);
                let works = self.turns(work.turns(), working);
                let all = begins + reads + works;
                Used {
                    warm: all,
                    cold: all,
                }
            }
            Start::Again(_) => {
                let context = self.context;
                let warm = self.turns(REPAIR_TURNS, working);
                let cached = context * self.model.cached / 100;
                let cold = warm + context - cached;
                Used { warm, cold }
            }
            Start::Review => {
                self.context = 0;
                let begins = self.turn(instructions);
                let all = begins + self.turns(REVIEW_TURNS, working);
                Used {
                    warm: all,
                    cold: all,
                }
            }
        }
    }

    fn turns(&mut self, number: u64, new: u64) -> u64 {
        (0..number).map(|_| self.turn(new)).sum()
    }

    fn turn(&mut self, new: u64) -> u64 {
        let cached = self.context * self.model.cached / 100;
        self.context += new;
        cached + new
    }
}
