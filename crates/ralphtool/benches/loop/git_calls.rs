//! The git processes of a contender, in separate runs: recording them takes time.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::Result;
use crate::command::answer;
use crate::contender::{Contender, Git, contenders};
use crate::fixture::Place;
use crate::repository::Repository;
use crate::run::{Gap, Run};

/// Runs every contender once, and lists what it called.
pub(crate) fn listed(repository: &Repository, places: &[Place]) -> Result<String> {
    let mut text = String::new();
    for (contender, place) in contenders().iter().zip(places) {
        let run = contender.run(repository, place, Git::Logged)?;
        text.push_str(&of(*contender, &run));
    }
    Ok(text)
}

fn of(contender: Contender, run: &Run) -> String {
    let mut text = String::new();
    for (what, gaps) in [("story", &run.stories), ("restore", &run.restores)] {
        let counts = || gaps.iter().map(|gap| gap.git_calls.len());
        let _ = writeln!(
            text,
            "\n{}: {} to {} git processes a {what}, for example",
            contender.name(),
            counts().min().unwrap_or(0),
            counts().max().unwrap_or(0)
        );
        for call in gaps.get(gaps.len() / 2).map_or(&[][..], Gap::calls) {
            let _ = writeln!(text, "  git {}", without_settings(call));
        }
    }
    text
}

impl Gap {
    fn calls(&self) -> &[String] {
        &self.git_calls
    }
}

/// A call without the settings that are given on its command line.
fn without_settings(call: &str) -> String {
    let mut words = call.split(' ');
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "-c" {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// Makes a `git` that notes its arguments and then becomes the real one; gives a `PATH` with it.
pub(crate) fn logging_git(place: &Place, log: &Path) -> Result<OsString> {
    let real = answer(place.command("sh").args(["-c", "command -v git"]))?;
    let folder = place.beside("bin");
    fs::create_dir(&folder)?;
    let script = folder.join("git");
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{}'\nexec '{}' \"$@\"\n",
        log.display(),
        real.trim()
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders)?)
}
