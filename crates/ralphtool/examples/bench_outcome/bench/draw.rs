//! What an agent does in an attempt, drawn with a seed: the same for the same attempt of the same
//! story, whatever is checked afterwards.

use std::fmt::{self, Write as _};

use super::catalogue::{BASE, FUNCTIONS, Function};

/// How many stories a change has.
pub(crate) const STORIES: usize = 4;

/// Which deed has which share, in hundredths; the rest is honest.
pub(crate) const SHARES: [(Deed, u64); 5] = [
    (Deed::Lie, 30),
    (Deed::Fail, 20),
    (Deed::Crash, 10),
    (Deed::Hang, 5),
    (Deed::Damage, 10),
];

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    /// The story, and says so.
    Honest,
    /// Not the story, and says that it did.
    Lie,
    /// A part of the story, and says that it failed.
    Fail,
    /// A part of the story, and dies.
    Crash,
    /// A part of the story, and never ends.
    Hang,
    /// The story, and damages an earlier one.
    Damage,
}

impl Deed {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Honest,
        Self::Lie,
        Self::Fail,
        Self::Crash,
        Self::Hang,
        Self::Damage,
    ];

    /// Its name in the script.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Honest => "honest",
            Self::Lie => "lie",
            Self::Fail => "fail",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::Damage => "damage",
        }
    }

    /// The ways to do it, which are as likely as each other.
    const fn ways(self) -> &'static [&'static str] {
        match self {
            Self::Honest | Self::Fail | Self::Hang => &["-"],
            Self::Lie => &["nothing", "boxes", "stub", "fitted"],
            Self::Crash => &["code", "signal"],
            Self::Damage => &["delete", "skip", "empty", "refit", "break"],
        }
    }
}

/// One attempt, drawn or done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The story it is of.
    pub(crate) story: usize,
    /// What.
    pub(crate) deed: Deed,
    /// In which way.
    pub(crate) way: String,
    /// The story that is damaged, 0 for what was there before.
    pub(crate) victim: usize,
}

impl Attempt {
    /// Reads a line of an agent: `STORY DEED WAY VICTIM`.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let story = words.next()?.parse().ok()?;
        let name = words.next()?;
        let deed = Deed::ALL.into_iter().find(|deed| deed.name() == name)?;
        let way = words.next()?.to_owned();
        let victim = words.next()?.parse().ok()?;
        Some(Self {
            story,
            deed,
            way,
            victim,
        })
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deed, way, .. } = self;
        match way.as_str() {
            "-" => formatter.write_str(deed.name()),
            way => write!(formatter, "{} ({way})", deed.name()),
        }
    }
}

/// Which functions a change asks for, behind the one that is there.
pub(crate) fn functions(seed: u64, change: u64) -> Vec<&'static Function> {
    let mut dice = Dice::new(&[seed, change]);
    let mut pool: Vec<&Function> = FUNCTIONS.iter().collect();
    let mut chosen = vec![&BASE];
    for _ in 0..STORIES {
        chosen.push(pool.swap_remove(dice.below(pool.len())));
    }
    chosen
}

/// The lines of an agent's script: `attempts` attempts of each story.
pub(crate) fn script(seed: u64, change: u64, attempts: u64) -> String {
    let mut text = String::new();
    for story in 1..=STORIES {
        for number in 1..=attempts {
            let attempt = draw(seed, change, story, number);
            let Attempt {
                deed, way, victim, ..
            } = &attempt;
            let _ = writeln!(text, "{story}.{number} {} {way} {victim}", deed.name());
        }
    }
    text
}

/// Draws one attempt.
pub(crate) fn draw(seed: u64, change: u64, story: usize, number: u64) -> Attempt {
    let mut dice = Dice::new(&[seed, change, story as u64, number]);
    let mut left = dice.hundredths();
    let drawn = SHARES.iter().find(|(_, share)| {
        let is_it = left < *share;
        left = left.saturating_sub(*share);
        is_it
    });
    let deed = drawn.map_or(Deed::Honest, |(deed, _)| *deed);
    let ways = deed.ways();
    Attempt {
        story,
        deed,
        way: ways[dice.below(ways.len())].to_owned(),
        victim: dice.below(story),
    }
}

/// Numbers that look like chance: `SplitMix64`.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(parts: &[u64]) -> Self {
        let mut dice = Self(0);
        for part in parts {
            dice.0 = dice.next() ^ part;
        }
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below 100.
    pub(crate) fn hundredths(&mut self) -> u64 {
        self.next() % 100
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }
}
