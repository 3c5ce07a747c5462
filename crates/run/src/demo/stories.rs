//! What the embedded agent does for each story of the demo. The first attempt at the second
//! story goes wrong in the ways real ones do.

use std::process::{Command, Stdio};

use super::agent::{AgentError, Assignment, Promise, append};
use super::stage::SOMEBODY;
use super::{CHECKS, EDITED, SCRIPT, UNTRACKED};
use ralph_base::files::Tried;

/// The last line of the checks; new ones go before it.
const LAST_CHECK: &str = "\nexit \"$failed\"\n";
/// What the failing attempt leaves lying around.
const JUNK: &str = "debug.log";

/// Works on one story.
pub(super) fn work(it: &mut Assignment<'_>) -> Result<Promise, AgentError> {
    match (it.story.0.as_str(), it.is_retry) {
        ("1", _) => greet_by_name(it),
        ("2", false) => stumble(it),
        ("2", true) => speak_languages(it),
        ("3", _) => tell_people(it),
        (other, _) => Ok(Promise::Failed(format!("I do not know story {other}"))),
    }
}

fn greet_by_name(it: &mut Assignment<'_>) -> Result<Promise, AgentError> {
    it.say("writing greet.sh: it takes a name")?;
    it.write(SCRIPT, include_str!("files/greet-by-name.sh"))?;
    it.add_checks("expect \"Hello, Ada\" Ada\n")?;
    it.finish()
}

/// The right idea, a file that does not parse, and a mess.
fn stumble(it: &mut Assignment<'_>) -> Result<Promise, AgentError> {
    it.say("writing greet.sh: it gets `--lang`")?;
    it.write(SCRIPT, include_str!("files/greet-broken.sh"))?;
    it.say("committing early")?;
    it.commit("WIP: languages")?;
    it.say("running the checks, into debug.log")?;
    let (_, output) = it.run_checks()?;
    it.write(JUNK, &output)?;
    it.say("deleting ideas.txt: it looks like a leftover")?;
    let ideas = it.folder.join(UNTRACKED);
    if ideas.exists() {
        std::fs::remove_file(&ideas).tried("delete", &ideas)?;
    }
    it.learn("a `case` in greet.sh needs its `esac`; `sh checks.sh` tells")?;
    Ok(Promise::Failed(
        "the checks are red: greet.sh does not parse, its `case` is never closed with `esac`"
            .to_owned(),
    ))
}

fn speak_languages(it: &mut Assignment<'_>) -> Result<Promise, AgentError> {
    it.say("the last attempt left the `case` open: closing it this time")?;
    it.write(SCRIPT, include_str!("files/greet-in-languages.sh"))?;
    it.add_checks(
        "expect \"Hallo, Ada\" --lang de Ada\n\
         expect \"Bonjour, world\" --lang fr\n\
         expect \"greet.sh: unknown language: xx\" --lang xx Ada\n",
    )?;
    it.finish()
}

fn tell_people(it: &mut Assignment<'_>) -> Result<Promise, AgentError> {
    it.say("describing the usage in README.md")?;
    let readme = it.folder.join(EDITED);
    append(&readme, include_str!("files/usage.md"))?;
    it.say("starting CHANGELOG.md")?;
    it.write("CHANGELOG.md", include_str!("files/CHANGELOG.md"))?;
    it.finish()
}

impl Assignment<'_> {
    /// Checks, ticks and promises; what the checks say decides.
    fn finish(&mut self) -> Result<Promise, AgentError> {
        self.say("running the checks")?;
        let (green, output) = self.run_checks()?;
        if !green {
            return Ok(Promise::Failed(format!("the checks are red:\n{output}")));
        }
        self.tick()?;
        Ok(Promise::Complete)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), AgentError> {
        let path = self.folder.join(name);
        Ok(std::fs::write(&path, text).tried("write", &path)?)
    }

    fn add_checks(&mut self, lines: &str) -> Result<(), AgentError> {
        self.say("adding checks for it to checks.sh")?;
        let path = self.folder.join(CHECKS);
        let text = std::fs::read_to_string(&path).tried("read", &path)?;
        let more = text.replacen(LAST_CHECK, &format!("{lines}{LAST_CHECK}"), 1);
        self.write(CHECKS, &more)
    }

    fn run_checks(&self) -> Result<(bool, String), AgentError> {
        let output = Command::new("sh")
            .arg(CHECKS)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| AgentError::Program {
                program: "sh",
                source,
            })?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((output.status.success(), text))
    }

    /// A commit of the agent's own, which nobody asked for.
    fn commit(&self, message: &str) -> Result<(), AgentError> {
        Command::new("git")
            .args(["commit", "-q", "--all", "-m", message])
            .current_dir(&self.folder)
            .envs(SOMEBODY)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map(drop)
            .map_err(|source| AgentError::Program {
                program: "git",
                source,
            })
    }
}
