//! The embedded agent: this very program, started with a hidden word. In the repository of the demo
//! it is a shell script. On any other change it only adds a line per story to `DEMO.md`, so that
//! the loop can be tried without a key.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use super::repository::{CHANGE, IDENTITY};
use ralph_base::ids::StoryId;
use ralph_plan::source::{self, Surroundings};
use ralph_run::agent::DEMO_WORD;
use ralph_run::failure::Failure;

const SCRIPT: &str = include_str!("agent.sh");
/// The exit code for being started by hand.
const BAD_USAGE: u8 = 2;

/// Acts as the agent if the arguments, the program's name first, ask for it.
pub(in crate::cli) fn dispatch(args: &[OsString]) -> Option<ExitCode> {
    if args.get(1)? != DEMO_WORD {
        return None;
    }
    let variable = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let (Some(story), Some(change)) = (variable("RALPHTOOL_STORY"), variable("RALPHTOOL_CHANGE"))
    else {
        let usage = "this word is for `ralphtool run CHANGE --agent demo`, not for people";
        return Some(report(usage, BAD_USAGE));
    };
    if change == CHANGE && Path::new("greet.sh").is_file() {
        let mut sh = Command::new("sh");
        let error = sh.args(["-c", SCRIPT]).envs(IDENTITY).exec();
        return Some(report(&format!("could not run `sh`: {error}"), 1));
    }
    Some(match add_line(&change, &StoryId(story)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure.to_string(), 1),
    })
}

fn report(message: &str, code: u8) -> ExitCode {
    // There is nowhere else to report a failure.
    let _ = writeln!(io::stderr(), "error: {message}");
    code.into()
}

/// Adds a line to `DEMO.md`, ticks the boxes of the story and promises that it is done.
fn add_line(change: &str, story: &StoryId) -> Result<(), Failure> {
    let failed =
        |what: &str, error: io::Error| Failure::system(format!("could not {what}: {error}"));
    // An agent that does not read its prompt breaks the pipe.
    let prompt = io::stdin().read_to_end(&mut Vec::new());
    prompt.map_err(|error| failed("read the prompt", error))?;
    let mut lines =
        vec!["the demo agent implements nothing: it leaves a line in `DEMO.md`".to_owned()];
    let file = OpenOptions::new().create(true).append(true).open("DEMO.md");
    file.and_then(|mut file| writeln!(file, "- story {story} of `{change}`"))
        .map_err(|error| failed("add to `DEMO.md`", error))?;
    let folder = std::env::current_dir().map_err(|error| failed("find the folder", error))?;
    let around = Surroundings::from_environment(folder);
    let by_name =
        source::find_root(&around).and_then(|root| source::read_change(&root, change, &around));
    // A checklist is not found by its name; the loop ticks its boxes after the promise.
    if let Ok(change) = by_name {
        let ticked = source::tick_story(&change, story)?;
        lines.extend(ticked.iter().map(|task| format!("ticking {task}")));
    }
    lines.push("<promise>COMPLETE</promise>".to_owned());
    writeln!(io::stdout(), "{}", lines.join("\n")).map_err(|error| failed("write", error))
}
