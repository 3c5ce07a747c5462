//! How long the program takes to start: its version, a list of many changes.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::fixture::{Place, tasks};
use crate::options::Options;
use crate::spread::{Spread, float, ms};
use crate::{Result, interrupt};

/// Calls of each command.
const CALLS: usize = 200;

/// Changes of the project that is listed.
const CHANGES: usize = 500;

/// Task files, where none are given.
const TASK_FILES: usize = 300;

/// What one can do without the program to see what is still open.
const GREP: &str = r"grep -c '^- \[ \] ' openspec/changes/*/tasks.md";

/// Measures all of it.
pub(crate) fn measured(options: &Options) -> Result<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_ralphtool"));
    let mut text = format!(
        "\nthe program: {:.2} MB\n\n| what | command | ms: median of {CALLS} calls (lowest-highest) |\n\
         | --- | --- | --- |\n",
        float(fs::metadata(program)?.len()) / 1e6
    );
    let nothing = Place::make(&options.folder, std::iter::empty())?;
    let version = |program: &str| {
        let mut command = nothing.command(program);
        command.arg("--version");
        command
    };
    let start = [
        ("true", nothing.command("true")),
        ("git --version", version("git")),
        (
            "ralphtool --version",
            version(env!("CARGO_BIN_EXE_ralphtool")),
        ),
    ];
    rows(&mut text, "start", start)?;
    let changes = (0..CHANGES).map(|number| (change(number), tasks(1 + number % 20)));
    let project = Place::make(&options.folder, changes)?;
    rows(&mut text, &format!("{CHANGES} changes"), list(&project))?;
    let files = task_files(options.tasks.as_deref())?;
    let what = format!("{} task files, {:.1} MB", files.len(), size(&files));
    let project = Place::make(&options.folder, files.into_iter())?;
    rows(&mut text, &what, list(&project))?;
    Ok(text)
}

fn list(project: &Place) -> [(&'static str, Command); 2] {
    let mut grep = project.command("sh");
    grep.args(["-c", GREP]);
    let mut list = project.command(env!("CARGO_BIN_EXE_ralphtool"));
    list.arg("list");
    [("grep -c", grep), ("ralphtool list", list)]
}

fn change(number: usize) -> PathBuf {
    PathBuf::from(format!("openspec/changes/change-{number:03}/tasks.md"))
}

/// All task files of a folder, each in a change of its own, or some that are made up.
fn task_files(folder: Option<&Path>) -> Result<Vec<(PathBuf, String)>> {
    let Some(folder) = folder else {
        let made_up = (0..TASK_FILES).map(|number| (change(number), tasks(10 + number % 50)));
        return Ok(made_up.collect());
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    let named = files.iter().enumerate();
    named
        .map(|(number, file)| {
            let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
            Ok((change(number), text))
        })
        .collect()
}

fn size(files: &[(PathBuf, String)]) -> f64 {
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    float(bytes as u64) / 1e6
}

/// Runs commands in turns, so that all run under about the same load.
fn rows<const N: usize>(
    text: &mut String,
    what: &str,
    mut commands: [(&'static str, Command); N],
) -> Result<()> {
    let mut times = vec![Vec::new(); N];
    for _ in 0..CALLS {
        interrupt::check()?;
        for ((name, command), times) in commands.iter_mut().zip(&mut times) {
            command.stdin(Stdio::null()).stdout(Stdio::null());
            let start = Instant::now();
            let status = command.status()?;
            times.push(ms(start.elapsed()));
            // `grep` says with 1 that it found nothing, which is no error.
            if status.code().is_none_or(|code| code > 1) {
                return Err(format!("`{name}` ended with {status}").into());
            }
        }
    }
    for ((name, _), times) in commands.iter().zip(times) {
        let times = Spread::of(times).shown_finely();
        writeln!(text, "| {what} | `{name}` | {times} |")?;
    }
    Ok(())
}
