//! A scripted history of commands, and the sweep that kills it at every point.

mod ended;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::sandbox::{Output, Sandbox, TASKS, files, swift_folder};
use ended::ended_state;

/// Fails once, then leaves what a gate finds, then does its work; told apart by what the prompt
/// says of the attempt before, so that an attempt that was killed changes nothing.
const AGENT: &str = r#"
if [ $RALPHTOOL_STORY = 3 ]; then
    case "$prompt" in
        *"no luck"*) ;;
        *) echo junk > junk.txt; rm dir/b.txt; failed "no luck"; exit ;;
    esac
fi
if [ $RALPHTOOL_STORY = 2 ]; then
    case "$prompt" in
        *"exit code"* | *"been here"*) ;;
        *"no luck"*) echo bad > bad.txt; echo worse > a.txt; tick 2; complete; exit ;;
        *) echo junk > junk.txt; rm dir/b.txt; echo mess > .env; git add junk.txt
           git -c user.name=a -c user.email=a@a commit -qm mess; failed "no luck"; exit ;;
    esac
fi
echo "work" > "story-$RALPHTOOL_STORY.txt"
# Notes outlive a rewind: the second time it is done at once.
[ $RALPHTOOL_STORY != 2 ] || echo "been here" > "$RALPHTOOL_LEARNINGS"
if [ $RALPHTOOL_STORY = 1 ]; then
    git add "story-1.txt"
    git -c user.name=a -c user.email=a@a commit -qm "by the agent" -- story-1.txt
fi
tick "$RALPHTOOL_STORY"
complete
"#;

/// One command of a history, and how the journal shows that it took effect: by so many lines of
/// these steps.
#[derive(Debug, Clone)]
struct Act {
    args: Vec<&'static str>,
    effect: &'static [&'static str],
}

/// Commands one after the other.
#[derive(Debug, Clone)]
pub(crate) struct History {
    acts: Vec<Act>,
    tasks: &'static str,
}

const MOVED: &[&str] = &["\"step\":\"move_intent\""];
const KEPT: &[&str] = &["\"step\":\"kept\""];

fn act(line: &'static str, effect: &'static [&'static str]) -> Act {
    Act {
        args: line.split(' ').collect(),
        effect,
    }
}

impl History {
    /// A story that fails once and then succeeds, taken home.
    pub(crate) fn short() -> Self {
        Self {
            acts: vec![act("loop c --on-finish cleanup", MOVED)],
            tasks: "## 3. Third\n- [ ] 3.1 Do c\n",
        }
    }

    /// Success with commits of the agent's, failure, a red gate, keep, cleanup, undo, rewind,
    /// resume, a parked attempt put back, abandon.
    pub(crate) fn whole() -> Self {
        Self {
            acts: vec![
                act("loop c --on-finish keep", KEPT),
                act("finish --cleanup", MOVED),
                act("undo", MOVED),
                act("rewind 2", MOVED),
                act("resume --on-finish keep", KEPT),
                act("attempts restore FAILED", MOVED),
                act("undo", MOVED),
                act("finish --abandon", MOVED),
            ],
            tasks: TASKS,
        }
    }
}

/// What a sweep went through.
#[derive(Debug, Default, Clone)]
pub(crate) struct Swept {
    /// Points that were killed at.
    pub(crate) points: usize,
    /// Of these, how many with a second kill during the recovery.
    pub(crate) double: usize,
}

/// Where the second kills fall.
struct Doubled {
    seed: u64,
    samples: usize,
}

/// A history to be swept.
pub(crate) struct Sweep {
    history: History,
    /// How far apart the points are.
    stride: usize,
    doubled: Option<Doubled>,
}

impl Sweep {
    pub(crate) fn new(history: History) -> Self {
        Self {
            history,
            stride: 1,
            doubled: None,
        }
    }

    /// Kills at each n-th point only.
    pub(crate) fn every(mut self, stride: usize) -> Self {
        self.stride = stride;
        self
    }

    /// Kills again while the first kill is recovered from, at points drawn with a seed.
    pub(crate) fn doubled(mut self, seed: u64, samples: usize) -> Self {
        self.doubled = Some(Doubled { seed, samples });
        self
    }

    /// Runs it all on as many threads as there are processors.
    pub(crate) fn run(&self) -> Swept {
        let work = Work::default();
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&work));
            }
        });
        let swept = work.swept.into_inner().unwrap();
        let failures = work.failures.into_inner().unwrap();
        eprintln!(
            "kill sweep: {} points in {} commands, {} double kills, {} violations",
            swept.points,
            self.history.acts.len(),
            swept.double,
            failures.len()
        );
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
        swept
    }

    fn work(&self, work: &Work) {
        let stage = Stage::new(&self.history);
        while let Some(job) = self.next(work) {
            if !work.failures.lock().unwrap().is_empty() {
                return;
            }
            match stage.killed(&job) {
                Outcome::PastTheEnd => work.is_past_the_end(job.act),
                Outcome::Survived => {
                    let mut swept = work.swept.lock().unwrap();
                    swept.points += 1;
                    swept.double += usize::from(job.second.is_some());
                }
                Outcome::Violation(text) => {
                    eprintln!("{text}");
                    work.failures.lock().unwrap().push(text);
                }
            }
        }
    }

    fn next(&self, work: &Work) -> Option<Job> {
        match &self.doubled {
            None => work.next_point(self.history.acts.len(), self.stride),
            Some(doubled) => {
                let number = work.drawn.fetch_add(1, Ordering::SeqCst);
                (number < doubled.samples)
                    .then(|| Job::drawn(doubled.seed, number, self.history.acts.len()))
            }
        }
    }
}

/// Which point to kill at.
#[derive(Debug, Clone)]
struct Job {
    act: usize,
    point: usize,
    second: Option<usize>,
}

impl Job {
    fn drawn(seed: u64, number: usize, acts: usize) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (number as u64 + 1);
        let mut draw = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        // The first command has by far the most points.
        let act = if draw(2) == 0 { 0 } else { draw(acts) };
        Self {
            act,
            point: 1 + draw(if act == 0 { 300 } else { 50 }),
            second: Some(1 + draw(60)),
        }
    }
}

/// What all workers share.
#[derive(Default)]
struct Work {
    cursor: Mutex<(usize, usize)>,
    over: [AtomicBool; 16],
    drawn: AtomicUsize,
    swept: Mutex<Swept>,
    failures: Mutex<Vec<String>>,
}

impl Work {
    fn next_point(&self, acts: usize, stride: usize) -> Option<Job> {
        let mut cursor = self.cursor.lock().unwrap();
        if cursor.0 < acts && self.over[cursor.0].load(Ordering::SeqCst) {
            *cursor = (cursor.0 + 1, 0);
        }
        cursor.1 += stride;
        (cursor.0 < acts).then_some(Job {
            act: cursor.0,
            point: cursor.1,
            second: None,
        })
    }

    fn is_past_the_end(&self, act: usize) {
        self.over[act].store(true, Ordering::SeqCst);
    }
}

enum Outcome {
    PastTheEnd,
    Survived,
    Violation(String),
}

/// One worker's place: a sandbox, and copies of it from before each command of the reference run.
struct Stage {
    history: History,
    sandbox: Sandbox,
    saved: tempfile::TempDir,
    /// What the reference run had after each command.
    wanted: Vec<String>,
    /// What the reference run's record says at the end.
    log: Vec<String>,
}

impl Stage {
    fn new(history: &History) -> Self {
        let sandbox = Sandbox::new();
        sandbox.tasks(history.tasks);
        sandbox.config("[[gate]]\nname = \"good\"\nrun = \"test ! -e bad.txt\"");
        sandbox.git("commit -qam tasks");
        sandbox.make_dirty();
        sandbox.write("intended.txt", "only announced\n");
        sandbox.git("add -N intended.txt");
        sandbox.agent(AGENT);
        let mut stage = Self {
            history: history.clone(),
            sandbox,
            saved: tempfile::tempdir_in(swift_folder()).unwrap(),
            wanted: Vec::new(),
            log: Vec::new(),
        };
        let before = users_state(&stage.sandbox);
        for (number, act) in history.acts.iter().enumerate() {
            copy(&stage.sandbox.root, &stage.place(number));
            stage.run(act, None).ends_with(0);
            stage.wanted.push(ended_state(&stage.sandbox));
            if act.args.contains(&"--abandon") {
                // The user's state is back exactly.
                assert_eq!(users_state(&stage.sandbox), before);
            }
        }
        stage.log = stage.log_now();
        stage
    }

    fn place(&self, number: usize) -> PathBuf {
        self.saved.path().join(number.to_string())
    }

    fn run(&self, act: &Act, kill_at: Option<usize>) -> Output {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        let failed = self.failed_attempt();
        let args = act.args.iter().map(|word| match *word {
            "FAILED" => failed.as_str(),
            word => word,
        });
        command.args(args);
        if let Some(point) = kill_at {
            command.env("RALPHTOOL_KILL_AT", point.to_string());
        }
        self.sandbox.start_command(command).end()
    }

    /// Runs the history from the given command on, killed at the given point.
    fn killed(&self, job: &Job) -> Outcome {
        restore(&self.place(job.act), &self.sandbox.root);
        let first = self.effects(job.act);
        let output = self.run(&self.history.acts[job.act], Some(job.point));
        if output.code != 137 {
            return Outcome::PastTheEnd;
        }
        let mut told = vec![format!("{job:?} {:?}", self.history.acts[job.act].args)];
        let mut second = job.second;
        let mut number = job.act;
        let mut before = first;
        let mut settled = false;
        let mut tries = 0;
        while number < self.history.acts.len() {
            let act = &self.history.acts[number];
            if self.effects(number) > before {
                // It took effect, or will with the next start.
                if settled && let Some(difference) = self.difference(number) {
                    told.push(difference);
                    return Outcome::Violation(told.join("\n"));
                }
                number += 1;
                if number < self.history.acts.len() {
                    before = self.effects(number);
                }
                continue;
            }
            tries += 1;
            let output = self.run(act, second.take());
            told.push(format!(
                "$ {:?} -> {}\n{}{}",
                act.args, output.code, output.stdout, output.stderr
            ));
            settled = output.code == 0;
            if tries > 40 || output.code != 0 && output.code != 137 {
                return Outcome::Violation(told.join("\n"));
            }
        }
        if !settled {
            // The last command was killed after its intent: any command that moves something recovers.
            let output = self.run(&act("attempts restore none", MOVED), None);
            told.push(format!("{}{}", output.stdout, output.stderr));
        }
        let log = self.log_now();
        if log != self.log {
            told.push(format!("the record: {log:#?}\ninstead of {:#?}", self.log));
            return Outcome::Violation(told.join("\n"));
        }
        match self.difference(self.history.acts.len() - 1) {
            Some(difference) => {
                told.push(difference);
                Outcome::Violation(told.join("\n"))
            }
            None => Outcome::Survived,
        }
    }

    /// The whole lines of the journal; a torn one is none.
    fn journal(&self) -> Vec<String> {
        let vault = self.sandbox.root.join("state/ralphtool");
        let found = fs::read_dir(&vault).ok().and_then(|mut it| it.next());
        let journal = found.map(|entry| entry.unwrap().path().join("journal"));
        let bytes = journal.and_then(|path| fs::read(path).ok());
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        let whole = text.split_inclusive('\n').filter(|it| it.ends_with('\n'));
        whole.map(str::to_owned).collect()
    }

    /// How often the journal shows the effect of a command.
    fn effects(&self, number: usize) -> usize {
        let effect = self.history.acts[number].effect;
        let lines = self.journal();
        let shows = |line: &&String| effect.iter().any(|step| line.contains(step));
        lines.iter().filter(shows).count()
    }

    /// The first attempt that failed by itself; a kill may give it another number.
    fn failed_attempt(&self) -> String {
        let lines = self.journal();
        let parked = lines.iter().find(|line| {
            line.contains("\"step\":\"parked\"") && line.contains("\"kind\":\"failed\"")
        });
        let label = parked.and_then(|line| {
            let json: serde_json::Value = serde_json::from_str(line.get(9..)?).ok()?;
            Some(json["label"].as_str()?.to_owned())
        });
        label.unwrap_or_default()
    }

    fn difference(&self, number: usize) -> Option<String> {
        let now = ended_state(&self.sandbox);
        let wanted = &self.wanted[number];
        // Commits of the same second may come in any order.
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        if sorted(&now) == sorted(wanted) {
            return None;
        }
        let mut text = format!("after {:?}:\n", self.history.acts[number].args);
        let lines = |text: &str| -> BTreeMap<String, usize> {
            text.lines().fold(BTreeMap::new(), |mut all, line| {
                *all.entry(line.to_owned()).or_default() += 1;
                all
            })
        };
        let (now, wanted) = (lines(&now), lines(wanted));
        for line in now.keys().filter(|line| !wanted.contains_key(*line)) {
            let _ = writeln!(text, "+ {line}");
        }
        for line in wanted.keys().filter(|line| !now.contains_key(*line)) {
            let _ = writeln!(text, "- {line}");
        }
        Some(text)
    }

    /// What the records say of stories, failures and finishes, interruptions left out.
    fn log_now(&self) -> Vec<String> {
        let mut log = Vec::new();
        for run in self.sandbox.runs() {
            let text = fs::read_to_string(run.join("events.jsonl")).unwrap();
            for line in text.lines() {
                let event: serde_json::Value = serde_json::from_str(line).unwrap();
                let get = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
                match get("event").as_str() {
                    "attempt_failed" if get("kind") != "interrupted" => log.push(format!(
                        "{} {} {}",
                        get("story"),
                        get("kind"),
                        get("reason")
                    )),
                    "story_completed" => log.push(format!("{} done", get("story"))),
                    "finished" => log.push(format!("{} {}", get("choice"), get("head"))),
                    _ => {}
                }
            }
        }
        log
    }
}

/// Everything the user could notice but the one file of ours.
fn users_state(sandbox: &Sandbox) -> String {
    let all = crate::sandbox::everything(&sandbox.repo);
    let ours = |line: &&str| !line.starts_with(".git/ralphtool.id");
    all.lines().filter(ours).collect::<Vec<_>>().join("\n")
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(status.unwrap().success());
}

/// Puts a copy back in place, at the same path.
fn restore(saved: &Path, root: &Path) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    let status = Command::new("cp")
        .args(["-a", "-T"])
        .arg(saved)
        .arg(root)
        .status();
    assert!(status.unwrap().success());
    assert!(!files(root).is_empty());
}
