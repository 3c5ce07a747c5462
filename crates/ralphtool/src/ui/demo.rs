//! What the demo says before and after its run.

use std::io::{self, Write};

use super::style::{BAD, DIM, GOOD, NAME, Paint, STRONG, WARN};
use super::text::{clean, clean_lines, columns, pad, wrap};
use super::words::{Count, Noun, shell};
use ralph_run::demo::summary::{OwnKind, OwnWork, ParkedAttempt, Remains, Touch};

/// Commands up to this width have what they do beside them in one column.
const COMMAND_WIDTH: usize = 40;

/// Text is broken at this width: a terminal's usual one.
const WIDTH: usize = 78;

/// What the demo is played on.
#[derive(Debug)]
pub(crate) struct DemoView<'a> {
    /// The throw-away folder.
    pub(crate) folder: &'a str,
    /// The throw-away repository in it.
    pub(crate) repository: &'a str,
    /// The change.
    pub(crate) change: &'a str,
    /// A file with an edit that is not committed.
    pub(crate) edited: &'a str,
    /// A file git has not been told about.
    pub(crate) untracked: &'a str,
    /// What to type for this program.
    pub(crate) program: &'a str,
}

/// Says what is about to happen.
pub(crate) fn write_start(
    out: &mut dyn Write,
    paint: Paint,
    view: &DemoView<'_>,
    stories: usize,
) -> io::Result<()> {
    let head = format!(
        "a throw-away repository with a change of {} is ready",
        Count(stories, Noun::Story)
    );
    writeln!(out, "{}", paint.apply(STRONG, head))?;
    writeln!(out, "  {}", paint.apply(NAME, clean(view.repository)))?;
    writeln!(
        out,
        "  you have edited {} and added {}, and committed neither",
        view.edited, view.untracked
    )?;
    writeln!(out, "  the embedded agent gets story 2 wrong at first")?;
    writeln!(out)
}

/// Says what happened and how to look around.
pub(crate) fn write_end(
    out: &mut dyn Write,
    paint: Paint,
    view: &DemoView<'_>,
    remains: &Remains,
) -> io::Result<()> {
    write_commits(out, paint, view, remains)?;
    for attempt in &remains.parked {
        write_attempt(out, paint, attempt)?;
    }
    write_own_work(out, paint, remains)?;
    write_commands(out, paint, &commands(view, remains))
}

/// Says where everything is when the run did not come to its end.
pub(crate) fn write_cut_short(
    out: &mut dyn Write,
    paint: Paint,
    view: &DemoView<'_>,
) -> io::Result<()> {
    let commands = [
        (
            format!("cd {}", shell(view.repository)),
            "what there is so far",
        ),
        remove(view),
    ];
    write_commands(out, paint, &commands)
}

fn write_commits(
    out: &mut dyn Write,
    paint: Paint,
    view: &DemoView<'_>,
    remains: &Remains,
) -> io::Result<()> {
    let head = format!("what is on ralph/{}", view.change);
    write_head(out, paint, &head)?;
    let widest = remains.commits.iter().map(|it| columns(&it.subject)).max();
    for commit in &remains.commits {
        let subject = pad(&clean(&commit.subject), widest.unwrap_or(0));
        let (id, size) = (clean(&commit.id), clean(&commit.size));
        let (id, size) = (paint.apply(WARN, id), paint.apply(DIM, size));
        writeln!(out, "  {id} {subject}  {size}")?;
    }
    write_head(out, paint, "what the stories changed")?;
    for line in clean_lines(&remains.stat) {
        writeln!(out, "  {}", line.trim_start())?;
    }
    Ok(())
}

fn write_attempt(out: &mut dyn Write, paint: Paint, attempt: &ParkedAttempt) -> io::Result<()> {
    let name = &attempt.name;
    let head = format!("attempt {name} failed: undone in the tree, kept whole to look at");
    write_head(out, paint, &head)?;
    for line in clean_lines(&attempt.reason) {
        for part in wrap(&line, WIDTH - 4) {
            writeln!(out, "  {}", paint.apply(BAD, part))?;
        }
    }
    for touch in &attempt.touches {
        let (verb, path) = match touch {
            Touch::Created(path) => ("created", path),
            Touch::Changed(path) => ("changed", path),
            Touch::Deleted(path) => ("deleted", path),
        };
        writeln!(out, "  {} {}", paint.apply(DIM, pad(verb, 9)), clean(path))?;
    }
    for subject in &attempt.commits {
        let verb = paint.apply(DIM, pad("committed", 9));
        writeln!(out, "  {verb} {}", clean(subject))?;
    }
    Ok(())
}

fn write_own_work(out: &mut dyn Write, paint: Paint, remains: &Remains) -> io::Result<()> {
    write_head(out, paint, "your own work, which you had not committed")?;
    for work in &remains.own_work {
        let (mark, style) = if work.is_there {
            ("is still there", GOOD)
        } else {
            ("is lost", BAD)
        };
        let what = match work.kind {
            OwnKind::Edited => "your edit",
            OwnKind::Untracked => "your untracked file",
        };
        let though = if was_deleted(remains, work) {
            ", though an attempt deleted it"
        } else {
            ""
        };
        let (path, mark) = (pad(&work.path, 9), paint.apply(style, mark));
        writeln!(out, "  {path} {what} {mark}{though}")?;
    }
    Ok(())
}

fn was_deleted(remains: &Remains, work: &OwnWork) -> bool {
    let mut touches = remains.parked.iter().flat_map(|attempt| &attempt.touches);
    touches.any(|touch| matches!(touch, Touch::Deleted(path) if *path == work.path))
}

fn commands(view: &DemoView<'_>, remains: &Remains) -> Vec<(String, &'static str)> {
    let stories = remains.commits.len().saturating_sub(1);
    let change = shell(view.change);
    let mut commands = vec![
        (format!("cd {}", shell(view.repository)), "go there"),
        (
            "git log --stat".to_owned(),
            "one commit a story, and its files",
        ),
        (
            format!("git diff HEAD~{stories}"),
            "all that the stories changed",
        ),
    ];
    for attempt in &remains.parked {
        let folder = shell(&format!("../attempt-{}", attempt.name));
        commands.extend([
            (
                format!("cat {folder}/changes.diff"),
                "what the failed attempt had done",
            ),
            (format!("ls {folder}/"), "its prompt and its output"),
        ]);
    }
    commands.extend([
        (
            format!("{} show {change}", shell(view.program)),
            "the change that was worked through",
        ),
        remove(view),
    ]);
    commands
}

fn remove(view: &DemoView<'_>) -> (String, &'static str) {
    let command = format!("rm -rf {}", shell(view.folder));
    (command, "when you have seen enough")
}

fn write_commands(
    out: &mut dyn Write,
    paint: Paint,
    commands: &[(String, &'static str)],
) -> io::Result<()> {
    write_head(out, paint, "look around")?;
    let widths = commands.iter().map(|(what, _)| columns(what));
    let widest = widths.filter(|width| *width <= COMMAND_WIDTH).max();
    for (what, why) in commands {
        let command = paint.apply(NAME, pad(what, widest.unwrap_or(0)));
        writeln!(out, "  {command}  {}", paint.apply(DIM, why))?;
    }
    Ok(())
}

fn write_head(out: &mut dyn Write, paint: Paint, head: &str) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "{}", paint.apply(STRONG, clean(head)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ralph_run::demo::summary::Commit;

    fn commit(id: &str, subject: &str, size: &str) -> Commit {
        Commit {
            id: id.to_owned(),
            subject: subject.to_owned(),
            size: size.to_owned(),
        }
    }

    fn remains() -> Remains {
        let own = |path: &str, kind| OwnWork {
            path: path.to_owned(),
            kind,
            is_there: true,
        };
        Remains {
            commits: vec![
                commit("c1", "initial state", "2 files changed"),
                commit("c2", "checkpoint: 1", "1 file changed"),
                commit("c3", "checkpoint: 2", "3 files changed"),
            ],
            stat: " greet.sh | 3 +++\n 1 file changed, 3 insertions(+)\n".to_owned(),
            parked: vec![ParkedAttempt {
                name: "2.1".to_owned(),
                reason: "the greeting has no name".to_owned(),
                touches: vec![
                    Touch::Created("junk.tmp".to_owned()),
                    Touch::Changed("greet.sh".to_owned()),
                    Touch::Deleted("ideas.txt".to_owned()),
                ],
                commits: vec!["WIP".to_owned()],
            }],
            own_work: vec![
                own("README.md", OwnKind::Edited),
                own("ideas.txt", OwnKind::Untracked),
            ],
        }
    }

    #[test]
    fn the_demo_tells_what_happened_and_how_to_look_around() {
        let view = DemoView {
            folder: "/tmp/demo-x7k2",
            repository: "/tmp/demo-x7k2/greeter",
            change: "greeting",
            edited: "README.md",
            untracked: "ideas.txt",
            program: "ralphtool",
        };
        let mut out = Vec::new();
        write_start(&mut out, Paint::Plain, &view, 3).unwrap();
        write_end(&mut out, Paint::Plain, &view, &remains()).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_demo_that_was_stopped_says_where_it_is() {
        let view = DemoView {
            folder: "/tmp/demo-x7k2",
            repository: "/tmp/demo-x7k2/greeter",
            change: "greeting",
            edited: "README.md",
            untracked: "ideas.txt",
            program: "ralphtool",
        };
        let mut out = Vec::new();
        write_cut_short(&mut out, Paint::Plain, &view).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                "\nlook around\n",
                "  cd /tmp/demo-x7k2/greeter  what there is so far\n",
                "  rm -rf /tmp/demo-x7k2      when you have seen enough\n",
            )
        );
    }
}
