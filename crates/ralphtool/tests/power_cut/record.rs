//! Records a history: once on an ordinary disk, for what must be there after each command, and once
//! on a disk that keeps every write.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::cut::{Event, Random};
use super::ended::ended_state;
use super::fuse::Recorded;
use super::history::{ACTS, furnish};
use super::place::{Mounted, Place, leave_namespace};
use crate::sandbox::{Running, Sandbox, WholeState};

/// Longer than any command of a history takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the history leaves that is not cut.
pub(crate) struct Reference {
    /// The disk before the first command.
    pub(crate) base: PathBuf,
    /// Everything of the user's before the first command.
    pub(crate) before: WholeState,
    /// What each command was called with.
    args: Vec<Vec<String>>,
    /// How often the journal showed the effect of each command before it was run.
    pub(crate) effects: Vec<usize>,
    /// What was there after each command.
    pub(crate) ended: Vec<String>,
}

impl Reference {
    /// Runs the history on an ordinary disk.
    pub(crate) fn run(place: &Place) -> Result<Self, String> {
        let base = place.format("base")?;
        let mounted = place.mount(&base)?;
        let sandbox = Sandbox::on(&place.top()).made();
        furnish(&sandbox);
        let before = WholeState::of(&sandbox);
        drop(mounted);

        let image = place.beside("reference");
        fs::copy(&base, &image).map_err(|error| error.to_string())?;
        let _mounted = place.mount(&image)?;
        let mut reference = Self {
            base,
            before,
            args: Vec::new(),
            effects: Vec::new(),
            ended: Vec::new(),
        };
        for act in ACTS {
            reference.effects.push(act.effects(&sandbox));
            let args = act.args(&sandbox);
            let mut command = program(&sandbox);
            command.args(&args);
            let output = Running::start(command, &place.beside("")).end_within(PATIENCE);
            assert_eq!(output.code, 0, "{args:?}: {output:#?}");
            reference.args.push(args);
            reference.ended.push(ended_state(&sandbox));
            if act.line == "finish --abandon" {
                let difference = reference
                    .before
                    .difference(&WholeState::of(&sandbox), |_| true);
                assert_eq!(difference, "");
            }
        }
        Ok(reference)
    }

    /// Runs the history on a disk that records. A busy one writes at any time, as a machine does
    /// that has been up for a while; otherwise writes happen when the program syncs.
    pub(crate) fn record(&self, place: &Place, is_busy: bool) -> Result<Vec<Event>, String> {
        let record = || {
            leave_namespace()?;
            let recording = Recording::start(place, &self.base)?;
            let recorded = recording.disk.clone();
            let sandbox = Sandbox::on(&place.top());
            let ticks = is_busy.then(|| Ticks::start(&sandbox));
            for act in 0..ACTS.len() {
                self.record_act(&sandbox, &recorded, act);
            }
            drop(ticks);
            Ok(recording.end())
        };
        std::thread::scope(|scope| scope.spawn(record).join().unwrap())
    }

    fn record_act(&self, sandbox: &Sandbox, recorded: &Recorded, act: usize) {
        recorded.lock().log.push(Event::Starts { act });
        let mut command = program(sandbox);
        command.args(&self.args[act]);
        // Not on the disk: this process must not use it.
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut said = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(commit) = announced(&line) {
                recorded.lock().log.push(Event::Announced { commit });
            }
            said.push_str(&line);
            said.push('\n');
        }
        let status = child.wait().unwrap();
        assert!(status.success(), "{:?}: {status}\n{said}", self.args[act]);
        recorded.lock().log.push(Event::Ends { act });
    }
}

/// A disk that records, mounted; unmounted in this order.
pub(crate) struct Recording {
    pub(crate) disk: Recorded,
    _file_system: Mounted,
    _image: Mounted,
}

impl Recording {
    /// Mounts a disk with the content of an image, in the namespace of the calling thread.
    pub(crate) fn start(place: &Place, base: &Path) -> Result<Self, String> {
        let file = place.beside("recorded");
        fs::write(&file, "").map_err(|error| error.to_string())?;
        let bytes = fs::read(base).map_err(|error| error.to_string())?;
        let disk = Recorded::new(bytes);
        let served = disk.serve(&file);
        served.map_err(|error| format!("no FUSE: {error}"))?;
        let image = Mounted::at(&file);
        Ok(Self {
            _file_system: place.mount(&file)?,
            _image: image,
            disk,
        })
    }

    /// What happened until now; what the end itself writes is not part of it.
    pub(crate) fn end(self) -> Vec<Event> {
        std::mem::take(&mut self.disk.lock().log)
    }
}

/// The part of a log in which a command ran, and the time until the next one.
pub(crate) fn part(log: &[Event], wanted: usize) -> Range<usize> {
    let start = |wanted: usize| {
        log.iter()
            .position(|event| matches!(event, Event::Starts { act } if *act == wanted))
    };
    start(wanted).unwrap_or(0)..start(wanted + 1).unwrap_or(log.len())
}

fn announced(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    (event["event"] == "story_completed").then(|| event["commit"].as_str().map(str::to_owned))?
}

/// The program in the repository of a disk, as the only one of the machine: it sees no process of
/// another cut of the same run, and everything it starts ends with it.
pub(crate) fn program(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.command("unshare");
    let alone = ["--pid", "--fork", "--mount-proc", "--kill-child", "--"];
    command.args(alone);
    // The first process of a machine is none that a user starts.
    command.args(["sh", "-c", "\"$@\"; exit $?", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_ralphtool"));
    command
}

/// Makes the file system write what it has whenever it likes, not only when the program syncs.
struct Ticks {
    child: Child,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ticks {
    fn start(sandbox: &Sandbox) -> Self {
        // The sync of one file writes the file system's own journal with all that is in it.
        let script = "while read line; do echo $line > tick; sync tick; done";
        let mut command = sandbox.command("sh");
        command.current_dir(&sandbox.root).args(["-c", script]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let pipe = child.stdin.take().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = Some(std::thread::spawn(move || tick(pipe, &seen)));
        Self {
            child,
            over,
            thread,
        }
    }
}

fn tick(mut pipe: ChildStdin, over: &AtomicBool) {
    let mut random = Random::new(7);
    while !over.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1 + random.next() % 30));
        if pipe.write_all(b"x\n").is_err() {
            return;
        }
    }
}

impl Drop for Ticks {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = self.child.wait();
    }
}
