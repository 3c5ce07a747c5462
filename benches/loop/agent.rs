//! The instant agent: ticks the first open box, writes one file, says that it is done, and notes
//! when it began and ended. It is this very program, started with a word of its own.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Result;

/// The word that makes this program act as the agent; the task file and the log follow.
pub(crate) const WORD: &str = "__agent";

/// An open box.
pub(crate) const OPEN: &str = "- [ ] ";

const DONE: &str = "- [x] ";

/// Does one story.
pub(crate) fn work(args: &[OsString]) -> Result<()> {
    let start = now();
    let [tasks, log] = args else {
        return Err("the agent needs a task file and a log".into());
    };
    let text = fs::read_to_string(tasks)?;
    let story = text.matches(DONE).count() + 1;
    fs::write(tasks, text.replacen(OPEN, DONE, 1))?;
    let folder = Path::new("work");
    fs::create_dir_all(folder)?;
    let text = format!("story {story}\n{start}\n");
    fs::write(folder.join(format!("story-{story}.txt")), text)?;
    let mut out = io::stdout();
    out.write_all(b"<promise>COMPLETE</promise>\n")?;
    out.flush()?;
    let mut log = OpenOptions::new().append(true).create(true).open(log)?;
    let end = now();
    log.write_all(format!("agent {start} {end}\n").as_bytes())?;
    Ok(())
}

/// Nanoseconds of the wall clock: the one clock that all processes share.
pub(crate) fn now() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_nanos()
}
