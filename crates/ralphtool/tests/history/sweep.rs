//! The sweep: which command is killed where, on as many threads as there are processors, and a
//! table of the results.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Instant;

use super::stage::{Outcome, Stage};
use super::{Act, History};
use crate::sandbox::{Kill, Measured};

/// Where the kills of a sweep fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// At each n-th point of the program, which dies alone.
    Points(usize),
    /// The same, and everything it started dies with it.
    PointsWithChildren(usize),
    /// Everything dies before each n-th change that git makes to the disk.
    GitChanges(usize),
    /// This number of kills, drawn with a seed: at points, in git and at random times, some of them
    /// again during the recovery from the kill before.
    Drawn { seed: u64, kills: usize },
}

/// What a sweep went through: kills and violations by command.
#[derive(Debug, Default, Clone)]
pub(crate) struct Swept {
    commands: BTreeMap<(usize, &'static str), (usize, usize)>,
}

impl Swept {
    /// All kills.
    pub(crate) fn kills(&self) -> usize {
        self.commands.values().map(|(kills, _)| kills).sum()
    }

    fn count(&mut self, command: (usize, &'static str), kills: usize, violations: usize) {
        let counted = self.commands.entry(command).or_default();
        counted.0 += kills;
        counted.1 += violations;
    }
}

impl fmt::Display for Swept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "| command | kills | violations |\n| --- | --- | --- |")?;
        for ((_, command), (kills, violations)) in &self.commands {
            writeln!(out, "| `{command}` | {kills} | {violations} |")?;
        }
        let violations: usize = self.commands.values().map(|(_, wrong)| wrong).sum();
        write!(out, "| all | {} | {violations} |", self.kills())
    }
}

/// A history to be swept.
pub(crate) struct Sweep {
    history: History,
    what: What,
}

/// One command to kill, and how, and how again while it recovers.
struct Job {
    act: usize,
    kills: Vec<Kill>,
}

/// What all workers share.
#[derive(Default)]
struct Work {
    /// The next command and place in it, or the number of the next draw.
    cursor: Mutex<(usize, usize)>,
    swept: Mutex<Swept>,
    violations: Mutex<Vec<String>>,
}

impl Sweep {
    pub(crate) fn new(history: History, what: What) -> Self {
        Self { history, what }
    }

    /// Runs it all; prints the table, and fails where something does not hold.
    pub(crate) fn run(&self) -> Swept {
        let start = Instant::now();
        let work = Work::default();
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&work));
            }
        });
        let swept = work.swept.into_inner().unwrap();
        let violations = work.violations.into_inner().unwrap();
        let seconds = start.elapsed().as_secs();
        eprintln!("kill sweep, {:?}, {seconds} s:\n{swept}", self.what);
        assert!(violations.is_empty(), "{}", violations.join("\n\n"));
        swept
    }

    fn work(&self, work: &Work) {
        let mut stage = Stage::new(&self.history);
        while let Some(job) = self.next(work, &stage.measured) {
            let command = (job.act, self.history.acts[job.act].line);
            match stage.killed(job.act, &job.kills) {
                Outcome::PastTheEnd => {}
                Outcome::Survived(kills) => work.swept.lock().unwrap().count(command, kills, 0),
                Outcome::Violation(kills, text) => {
                    work.swept.lock().unwrap().count(command, kills, 1);
                    // What was found stays; a new stage takes its place.
                    let kept = std::mem::replace(&mut stage, Stage::new(&self.history)).keep();
                    let text = format!("{text}\nkept: {}", kept.display());
                    eprintln!("{text}\n");
                    work.violations.lock().unwrap().push(text);
                }
            }
        }
    }

    fn next(&self, work: &Work, measured: &[Measured]) -> Option<Job> {
        let mut cursor = work.cursor.lock().unwrap();
        let (stride, kill): (usize, fn(usize) -> Kill) = match self.what {
            What::Points(stride) => (stride, |number| Kill::AtPoint {
                number,
                with_children: false,
            }),
            What::PointsWithChildren(stride) => (stride, |number| Kill::AtPoint {
                number,
                with_children: true,
            }),
            What::GitChanges(stride) => (stride, Kill::InGit),
            What::Drawn { seed, kills } => {
                cursor.0 += 1;
                let is_left = work.swept.lock().unwrap().kills() < kills;
                let is_run =
                    |it: &Act| it.line.starts_with("loop") || it.line.starts_with("resume");
                let is_run: Vec<bool> = self.history.acts.iter().map(is_run).collect();
                return is_left.then(|| drawn(seed, cursor.0 as u64, (measured, &is_run)));
            }
        };
        cursor.1 += stride;
        // Commands that differ a little from run to run have a few more than were measured.
        while let Some(found) = measured.get(cursor.0) {
            let most = match kill(0) {
                Kill::InGit(_) => found.changes,
                _ => found.points,
            };
            if cursor.1 <= most {
                return Some(Job {
                    act: cursor.0,
                    kills: vec![kill(cursor.1)],
                });
            }
            // Counted over all commands, so that short ones have their share.
            *cursor = (cursor.0 + 1, cursor.1 - most);
        }
        None
    }
}

fn drawn(seed: u64, number: u64, (measured, is_run): (&[Measured], &[bool])) -> Job {
    let mut state =
        seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03);
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below.max(1) as u64).unwrap()
    };
    for _ in 0..8 {
        draw(2);
    }
    // A run takes longer and has many more states than other commands.
    let runs: Vec<usize> = (0..measured.len()).filter(|it| is_run[*it]).collect();
    let act = match draw(2) {
        0 => runs[draw(runs.len())],
        _ => draw(measured.len()),
    };
    let found = measured[act];
    let mut kills = Vec::new();
    // A quarter of them are killed once; the others again while they recover or are carried on.
    while kills.len() < 6 && (kills.is_empty() || draw(4) != 0) {
        // A recovery is shorter than most commands.
        let part = if kills.is_empty() { 1 } else { 1 + draw(4) };
        kills.push(match draw(4) {
            0 if found.points > 0 => Kill::AtPoint {
                number: 1 + draw(found.points / part),
                with_children: draw(4) != 0,
            },
            0 | 1 if found.changes > 0 => Kill::InGit(1 + draw(found.changes / part)),
            _ => {
                let thousandths = u32::try_from(draw(1000) / part).unwrap();
                Kill::After(found.length * thousandths / 1000)
            }
        });
    }
    Job { act, kills }
}
