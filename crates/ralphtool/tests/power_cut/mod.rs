//! Records a history, cuts it, and counts.

mod cut;
mod ended;
mod fuse;
mod history;
mod place;
mod record;
mod trial;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cut::{Cut, Event, Loss, Random};
use history::ACTS;
use place::{Place, leave_namespace, run};
use record::{Recording, Reference, part};
use trial::Trial;

/// Cuts that were made, by command and loss, and what did not hold.
#[derive(Default)]
pub(crate) struct Cuts {
    made: BTreeMap<(usize, Loss), (usize, usize)>,
    pub(crate) violations: Vec<String>,
}

/// A cut that is to be made.
struct Job {
    recording: usize,
    act: usize,
    cut: Cut,
}

impl Cuts {
    /// Makes `count` cuts; returns none if this machine cannot.
    pub(crate) fn make(count: usize, seed: u64) -> Option<Self> {
        if is_skipped() {
            return None;
        }
        let place = Place::new();
        let reference = on_own_mounts(|| Reference::run(&place)).unwrap();
        let recordings = [false, true].map(|is_busy| reference.record(&place, is_busy).unwrap());
        for log in &recordings {
            let writes = log.iter().filter(|it| matches!(it, Event::Write { .. }));
            let flushes = log.iter().filter(|it| matches!(it, Event::Flush));
            eprintln!(
                "recorded: {} writes, {} flushes",
                writes.count(),
                flushes.count()
            );
        }
        let jobs = draw(count, seed, &recordings);
        let next = AtomicUsize::new(0);
        let cuts = Mutex::new(Self::default());
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let (place, reference) = (&place, &reference);
                let (jobs, next, cuts, recordings) = (&jobs, &next, &cuts, &recordings);
                scope.spawn(move || {
                    leave_namespace().unwrap();
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let log = &recordings[job.recording];
                        let trial = Trial {
                            place,
                            reference,
                            log,
                            worker,
                        };
                        let checked = trial.check(&job.cut, job.act);
                        cuts.lock().unwrap().count(job, checked, &trial);
                    }
                });
            }
        });
        let cuts = cuts.into_inner().unwrap();
        cuts.report();
        Some(cuts)
    }

    fn count(&mut self, job: &Job, checked: Result<(), String>, trial: &Trial) {
        let figures = self.made.entry((job.act, job.cut.loss)).or_default();
        figures.0 += 1;
        let Err(text) = checked else {
            return;
        };
        figures.1 += 1;
        let text = format!("{:?} in `{}`\n{text}", job.cut, ACTS[job.act].line);
        eprintln!("{text}\n");
        if let Some(folder) = std::env::var_os("RALPHTOOL_KEEP_CUTS") {
            let name = format!("{}.{}.image", job.recording, job.cut.seed);
            let kept = std::path::Path::new(&folder).join(name);
            trial.keep(&job.cut, &kept);
            let _ = fs::write(kept.with_extension("txt"), &text);
        }
        self.violations.push(text);
    }

    fn report(&self) {
        for (number, act) in ACTS.iter().enumerate() {
            for loss in Loss::EACH {
                if let Some((made, violations)) = self.made.get(&(number, loss)) {
                    let line = act.line;
                    eprintln!("{line:35} {loss:20} {made:4} cuts {violations:3} violations");
                }
            }
        }
        let made: usize = self.made.values().map(|figures| figures.0).sum();
        let violations = self.violations.len();
        eprintln!("power cuts: {made} cuts, {violations} violations");
    }
}

/// Half of the cuts fall into the commands that run the agent, which do most.
fn draw(count: usize, seed: u64, recordings: &[Vec<Event>]) -> Vec<Job> {
    let mut random = Random::new(seed);
    let runs: Vec<usize> = (0..ACTS.len())
        .filter(|act| ACTS[*act].line.contains("--on-finish"))
        .collect();
    let job = |number: usize| {
        let act = if number.is_multiple_of(2) {
            runs[random.below(runs.len())]
        } else {
            random.below(ACTS.len())
        };
        let recording = number % 3 % recordings.len();
        let loss = Loss::EACH[random.below(Loss::EACH.len())];
        let cut = Cut::draw(&part(&recordings[recording], act), loss, &mut random);
        Job {
            recording,
            act,
            cut,
        }
    };
    (0..count).map(job).collect()
}

/// Whether this machine cannot record a disk; prints the reason.
fn is_skipped() -> bool {
    let place = Place::new();
    let try_it = || {
        let image = place.format("probe")?;
        Recording::start(&place, &image).map(drop)
    };
    let Err(obstacle) = on_own_mounts(try_it) else {
        return false;
    };
    let is_required = std::env::var_os("RALPHTOOL_REQUIRE_POWER_CUTS").is_some_and(|it| it == "1");
    assert!(!is_required, "power cuts are not possible: {obstacle}");
    eprintln!("SKIPPED: no power was cut, because this machine cannot record a disk: {obstacle}");
    true
}

/// What is left of two files after a cut that takes everything that was not synced: the first was
/// synced, the second written later. None where this machine cannot cut.
pub(crate) fn left_of_two_files() -> Option<Vec<String>> {
    if is_skipped() {
        return None;
    }
    let place = Place::new();
    let cut_two = || {
        let image = place.format("image")?;
        let recording = Recording::start(&place, &image)?;
        let script = "echo one > synced; sync synced; echo two > later";
        run(Command::new("sh")
            .args(["-c", script])
            .current_dir(place.top()))?;
        let log = recording.end();
        let cut = Cut {
            at: log.len(),
            loss: Loss::All,
            seed: 1,
        };
        cut.apply(&log, &image).map_err(|error| error.to_string())?;
        let _mounted = place.mount(&image)?;
        let entries = fs::read_dir(place.top()).unwrap().flatten();
        let files = entries.filter(|entry| entry.path().is_file());
        Ok(files
            .map(|file| {
                let text = fs::read_to_string(file.path()).unwrap();
                format!("{}: {text}", file.file_name().display())
            })
            .collect())
    };
    Some(on_own_mounts(cut_two).unwrap())
}

/// Runs something on a thread with mounts of its own.
fn on_own_mounts<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    let enter = || {
        leave_namespace()?;
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter).join().unwrap())
}
