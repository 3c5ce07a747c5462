//! What the demo says before and after its run.

use std::io::{self, Write};

use super::style::{DIM, NAME, Paint, STRONG};
use super::text::{clean, clean_lines, columns, pad};
use super::words::{Count, Noun, shell};

/// What is left to look at when the demo's run is over.
#[derive(Debug)]
pub(crate) struct DemoView<'a> {
    /// The throw-away folder.
    pub(crate) folder: &'a str,
    /// The throw-away repository in it.
    pub(crate) repository: &'a str,
    /// The change.
    pub(crate) change: &'a str,
    /// The branch the run began on.
    pub(crate) original: &'a str,
    /// `git log --oneline` of the branch.
    pub(crate) log: &'a str,
    /// `git diff --stat` of the whole change.
    pub(crate) stat: &'a str,
    /// The attempts that failed.
    pub(crate) parked: Vec<DemoAttempt<'a>>,
}

/// An attempt that failed in the demo.
#[derive(Debug)]
pub(crate) struct DemoAttempt<'a> {
    /// Its name, such as `2.1`.
    pub(crate) name: &'a str,
    /// Why it failed.
    pub(crate) reason: &'a str,
    /// The paths it had changed.
    pub(crate) paths: Vec<&'a str>,
    /// The folder with prompt and output.
    pub(crate) transcript: &'a str,
}

/// Says what is about to happen.
pub(crate) fn write_start(
    out: &mut dyn Write,
    paint: Paint,
    repository: &str,
    stories: usize,
) -> io::Result<()> {
    let head = format!(
        "a throw-away repository with a change of {} is ready",
        Count(stories, Noun::Story)
    );
    writeln!(out, "{}", paint.apply(STRONG, head))?;
    writeln!(out, "  {}", paint.apply(DIM, clean(repository)))?;
    writeln!(out, "  the embedded agent gets story 2 wrong at first")?;
    writeln!(out)
}

/// Says what happened and how to look around.
pub(crate) fn write_end(out: &mut dyn Write, paint: Paint, view: &DemoView<'_>) -> io::Result<()> {
    write_block(out, paint, "what is on the branch", view.log)?;
    write_block(out, paint, "what the whole change did", view.stat)?;
    for attempt in &view.parked {
        let head = format!("what attempt {} left, kept out of the tree", attempt.name);
        let mut lines: Vec<String> = clean_lines(attempt.reason);
        lines.extend(
            attempt
                .paths
                .iter()
                .map(|path| format!("  {}", clean(path))),
        );
        write_block(out, paint, &head, &lines.join("\n"))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", paint.apply(STRONG, "look around"))?;
    let commands = commands(view);
    let widest = commands.iter().map(|(what, _)| columns(what)).max();
    for (what, why) in &commands {
        let command = paint.apply(NAME, pad(what, widest.unwrap_or(0)));
        writeln!(out, "  {command}  {}", paint.apply(DIM, why))?;
    }
    Ok(())
}

fn commands(view: &DemoView<'_>) -> Vec<(String, &'static str)> {
    let range = format!("{}...ralph/{}", view.original, view.change);
    let mut commands = vec![
        (format!("cd {}", shell(view.repository)), "go there"),
        (
            "git log --stat --reverse".to_owned(),
            "one commit a story, and the files of each",
        ),
        (format!("git diff {}", shell(&range)), "the whole change"),
    ];
    if let Some(attempt) = view.parked.first() {
        let transcript = format!("ls {}", shell(attempt.transcript));
        commands.push((transcript, "prompt and output of the failed attempt"));
    }
    let remove = format!("rm -rf {}", shell(view.folder));
    commands.push((remove, "when you have seen enough"));
    commands
}

fn write_block(out: &mut dyn Write, paint: Paint, head: &str, text: &str) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "{}", paint.apply(STRONG, clean(head)))?;
    for line in clean_lines(text) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_tells_what_happened_and_how_to_look_around() {
        let view = DemoView {
            folder: "/tmp/demo-x7k2",
            repository: "/tmp/demo-x7k2/repository",
            change: "greeting",
            original: "main",
            log: "c3 checkpoint: 2\nc2 checkpoint: 1\nc1 initial state\n",
            stat: " greet.sh | 3 +++\n 1 file changed, 3 insertions(+)\n",
            parked: vec![DemoAttempt {
                name: "2.1",
                reason: "the greeting has no name",
                paths: vec!["greet.sh", "junk.tmp"],
                transcript: "/tmp/demo-x7k2/state/attempts/2.1",
            }],
        };
        let mut out = Vec::new();
        write_start(&mut out, Paint::Plain, view.repository, 3).unwrap();
        write_end(&mut out, Paint::Plain, &view).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
