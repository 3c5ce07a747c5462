//! How fast ralphtool reads an agent's output, compared with the same agent writing to a file.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::account::Account;
use crate::contender::ralphtool_loop;
use crate::fixture::{Place, TASKS, tasks};
use crate::options::Options;
use crate::repository::thousands;
use crate::run::between;
use crate::spread::{Spread, float};
use crate::talker::{self, Speech};
use crate::watch::{self, Memory};

/// The head of the table.
const HEAD: &str = "\
| an agent says | taken by | MB/s to the end | ratio | MB/s for the agent | processor, s | memory, MB: alone, tree | transcript |
| --- | --- | --- | --- | --- | --- | --- | --- |
";

const LEGEND: &str = "
`to the end`: from the agent's first byte to the end of the command, minus the same with no output; `for
the agent`: from its first byte to its last, after which much may still be unread; `processor`: what all of them
used, the agent included. The output of the command goes to a file; with `--dir` it can be one in memory,
which needs no disk.
";

/// Runs of each listener.
const RUNS: usize = 3;

/// Who takes what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listener {
    /// A file: nothing can be faster.
    File,
    /// `ralphtool run`, its own output to a file.
    Plain,
    /// `ralphtool run --json`, its own output to a file.
    Json,
}

/// What one run showed.
#[derive(Debug, Clone, Copy)]
struct Heard {
    /// Seconds from the first byte to the end of the command.
    to_the_end: f64,
    /// Seconds from the first byte to the last.
    for_the_agent: f64,
    /// Seconds of processors, the agent included.
    processor: f64,
    said: u64,
    kept: u64,
    memory: Memory,
}

/// Measures all that is to be said.
pub(crate) fn measured(options: &Options) -> Result<String> {
    let mut text = HEAD.to_owned();
    for speech in &options.speeches {
        text.push_str(&rows(*speech, &options.folder)?);
    }
    text.push_str(LEGEND);
    Ok(text)
}

fn rows(speech: Speech, folder: &Path) -> Result<String> {
    let mut heard: Vec<(Listener, Heard)> = Vec::new();
    for turn in 0..RUNS {
        for listener in Listener::ALL {
            let nothing = listener.listen(speech.empty(), folder)?;
            let mut all = listener.listen(speech, folder)?;
            all.to_the_end -= nothing.to_the_end;
            let rate = all.rate_to_the_end();
            let name = listener.name();
            writeln!(
                io::stderr(),
                "{}, run {} of {RUNS}: {name}: {rate:.1} MB/s",
                speech.name(),
                turn + 1
            )?;
            heard.push((*listener, all));
        }
    }
    let over = |who: Listener, what: fn(&Heard) -> f64| {
        let mine = heard.iter().filter(|(listener, _)| *listener == who);
        Spread::of(mine.map(|(_, heard)| what(heard)))
    };
    let floor = over(Listener::File, Heard::rate_to_the_end).median;
    let mut text = String::new();
    for listener in Listener::ALL {
        let mine = || heard.iter().filter(|(who, _)| who == listener);
        let memory = mine().fold(Memory::default(), |peak, (_, it)| peak.max(it.memory));
        let is_whole = mine().all(|(_, heard)| heard.said == heard.kept);
        let said = mine().map(|(_, heard)| heard.said).max().unwrap_or(0);
        let to_the_end = over(*listener, Heard::rate_to_the_end);
        let _ = writeln!(
            text,
            "| {}, {:.0} MB | {} | {} | {:.2}x | {} | {} | {:.0}, {:.0} | {} |",
            speech.name(),
            float(said) / 1e6,
            listener.name(),
            to_the_end.shown_whole(),
            to_the_end.median / floor,
            over(*listener, Heard::rate_for_the_agent).shown_whole(),
            over(*listener, |heard| heard.processor).shown_finely(),
            float(memory.alone) / 1024.0,
            float(memory.tree) / 1024.0,
            if is_whole { "complete" } else { "INCOMPLETE" }
        );
    }
    Ok(text)
}

impl Heard {
    fn rate_to_the_end(&self) -> f64 {
        float(self.said) / 1e6 / self.to_the_end
    }

    fn rate_for_the_agent(&self) -> f64 {
        float(self.said) / 1e6 / self.for_the_agent
    }
}

impl Speech {
    fn name(self) -> String {
        let count = |number| thousands(usize::try_from(number).unwrap_or(usize::MAX));
        match self {
            Self::Text(_) => "text".to_owned(),
            Self::Events(number) => format!("{} events", count(number)),
        }
    }
}

impl Listener {
    const ALL: &[Self] = &[Self::File, Self::Plain, Self::Json];

    fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Plain => "ralphtool run",
            Self::Json => "ralphtool run --json",
        }
    }

    fn listen(self, speech: Speech, folder: &Path) -> Result<Heard> {
        let one_story = std::iter::once((TASKS.into(), tasks(1)));
        let place = Place::make(folder, one_story)?;
        let note = place.beside("note");
        let output = fs::File::create(place.beside("output"))?;
        let mut command = self.command(&place, speech, &note)?;
        command.stdin(Stdio::null());
        command.stderr(output.try_clone()?).stdout(output);
        let before = Account::of_children();
        let (status, memory) = watch::run(&mut command)?;
        let ended = crate::agent::now();
        if !status.success() {
            let text = fs::read_to_string(place.beside("output"))?;
            let last = text.lines().rev().take(5).collect::<Vec<_>>().join("\n");
            return Err(format!("{} ended with {status}:\n{last}", self.name()).into());
        }
        let said = talker::said(&note)?;
        Ok(Heard {
            to_the_end: between(said.start, ended).as_secs_f64(),
            for_the_agent: between(said.start, said.end).as_secs_f64(),
            processor: (Account::of_children() - before).processor().as_secs_f64(),
            said: said.bytes,
            kept: fs::metadata(self.transcript(&place)?)?.len(),
            memory,
        })
    }

    fn command(self, place: &Place, speech: Speech, note: &Path) -> Result<Command> {
        let agent = speech.command_line(note)?;
        match self {
            Self::File => {
                let mut command = place.command("sh");
                command.args(["-c", "file=$1; shift; \"$@\" >\"$file\"", "sh"]);
                command.arg(place.beside("said")).args(agent);
                Ok(command)
            }
            Self::Plain => ralphtool_loop(place, &agent, speech.output()),
            Self::Json => {
                let mut command = ralphtool_loop(place, &agent, speech.output())?;
                command.arg("--json");
                Ok(command)
            }
        }
    }

    /// The file with everything that was said.
    fn transcript(self, place: &Place) -> Result<std::path::PathBuf> {
        if self == Self::File {
            return Ok(place.beside("said"));
        }
        let mut folders = vec![place.beside("state")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.ends_with("1.1/stdout") {
                    return Ok(path);
                }
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                }
            }
        }
        Err("there is no transcript".into())
    }
}
