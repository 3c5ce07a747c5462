//! What else hangs on chance, drawn with the same seed: whether an agent that is told what is wrong can
//! fix it, what a reviewer notices, and which runs of a gate fail for no reason.

use std::fmt::Write as _;

use super::draw::{Dice, STORIES};

/// How likely each is, in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Odds {
    /// An agent fixes what it is told.
    pub(crate) fix: u64,
    /// A reviewer notices that a task is not met.
    pub(crate) notice: u64,
    /// A reviewer finds fault with work that is right.
    pub(crate) false_alarm: u64,
    /// The project's own tests are red although nothing is wrong.
    pub(crate) flake: u64,
}

impl Odds {
    /// Those of the figures in the guide.
    pub(crate) const USUAL: Self = Self {
        fix: 70,
        notice: 90,
        false_alarm: 3,
        flake: 5,
    };
}

/// What an agent does that is told what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// All of it is right afterwards.
    Fix,
    /// Nothing, and says that it did.
    Nothing,
    /// Something else that is wrong, and says that it did.
    Wrong,
}

impl Answer {
    pub(crate) const ALL: [Self; 3] = [Self::Fix, Self::Nothing, Self::Wrong];

    /// Its name in the script.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Nothing => "nothing",
            Self::Wrong => "wrong",
        }
    }
}

/// What each draw is for; it is a part of its seed.
const ANSWERS: u64 = 1_000;
const REVIEWS: u64 = 2_000;
const FLAKES: u64 = 3_000;

/// The most rounds of an attempt, reviews of a story and runs of a gate that are drawn.
const MOST: u64 = 200;

/// The draw of what an agent answers in a round of an attempt.
pub(crate) fn answer(odds: Odds, seed: u64, place: [u64; 3], round: u64) -> Answer {
    let [change, story, attempt] = place;
    let mut dice = Dice::new(&[seed, change, story, attempt, ANSWERS + round]);
    if dice.hundredths() < odds.fix {
        return Answer::Fix;
    }
    // One that cannot fix it is as likely to change nothing as to try something else.
    if dice.hundredths() < 50 {
        Answer::Nothing
    } else {
        Answer::Wrong
    }
}

/// The lines of a reviewer's script: `STORY.N notice|miss alarm|calm`.
pub(crate) fn reviews(odds: Odds, seed: u64, change: u64) -> String {
    let mut text = String::new();
    for story in 1..=STORIES {
        for number in 1..=MOST {
            let mut dice = Dice::new(&[seed, change, story as u64, REVIEWS + number]);
            let notices = dice.hundredths() < odds.notice;
            let alarms = dice.hundredths() < odds.false_alarm;
            let notice = if notices { "notice" } else { "miss" };
            let alarm = if alarms { "alarm" } else { "calm" };
            let _ = writeln!(text, "{story}.{number} {notice} {alarm}");
        }
    }
    text
}

/// The runs of the project's own tests that are red for no reason: `STORY.N`, counted by story.
pub(crate) fn flakes(odds: Odds, seed: u64, change: u64) -> String {
    let mut text = String::new();
    for story in 1..=STORIES {
        for number in 1..=MOST {
            let mut dice = Dice::new(&[seed, change, story as u64, FLAKES + number]);
            if dice.hundredths() < odds.flake {
                let _ = writeln!(text, "{story}.{number}");
            }
        }
    }
    text
}

/// The lines of an agent's script for rounds after the first: `STORY.ATTEMPT.ROUND ANSWER`.
pub(crate) fn answers(odds: Odds, seed: u64, change: u64, attempts: u64, rounds: u64) -> String {
    let mut text = String::new();
    for story in 1..=STORIES {
        for attempt in 1..=attempts {
            for round in 2..=rounds {
                let place = [change, story as u64, attempt];
                let answer = answer(odds, seed, place, round).name();
                let _ = writeln!(text, "{story}.{attempt}.{round} {answer}");
            }
        }
    }
    text
}
