//! What follows a run, for people: what is about to be done, what was done, and the way back.

use std::io::{self, Write};

use super::style::{DIM, GOOD, NAME, Paint, STRONG, WARN};
use super::text::{clean, pad};
use super::words::{Count, Noun, shell};
use ralph_run::afterwards::{Deed, Done, Plan, Recovered};
use ralph_run::records::event::FinishChoice;

/// How many names of files are listed.
const NAMES: usize = 10;

/// How wide the labels of a plan are.
const LABEL: usize = 9;

/// Writes what an interrupted run had left.
pub(crate) fn write_recovered(
    out: &mut dyn Write,
    paint: Paint,
    recovered: &[Recovered],
) -> io::Result<()> {
    for it in recovered {
        let label = paint.apply(WARN, "recovered:");
        writeln!(out, "{label} {}: {}", clean(&it.found), clean(&it.done))?;
    }
    Ok(())
}

/// Writes what is about to be done.
pub(crate) fn write_plan(out: &mut dyn Write, paint: Paint, plan: &Plan) -> io::Result<()> {
    writeln!(out, "{}", paint.apply(STRONG, clean(&headline(plan))))?;
    for (label, text) in details(plan) {
        let label = paint.apply(DIM, pad(label, LABEL));
        writeln!(out, "  {label} {}", clean(&text))?;
    }
    Ok(())
}

/// Writes what was done, and how to take it back.
pub(crate) fn write_done(
    out: &mut dyn Write,
    paint: Paint,
    plan: &Plan,
    done: &Done,
) -> io::Result<()> {
    for notice in &done.notices {
        writeln!(
            out,
            "  {} {}",
            paint.apply(DIM, pad("note", LABEL)),
            clean(notice)
        )?;
    }
    let result = clean(&result(plan));
    writeln!(out, "{} {result}", paint.apply(GOOD, "done:"))?;
    let mut next = vec![(shell_words(&done.way_back), way_back(&plan.deed))];
    if done.is_open {
        next.push(("ralphtool resume".to_owned(), "goes on with the run"));
        next.push(("ralphtool finish".to_owned(), "ends it"));
    }
    let widest = next.iter().map(|(command, _)| command.len()).max();
    for (command, what) in next {
        let command = paint.apply(NAME, pad(&command, widest.unwrap_or(0)));
        writeln!(out, "  {command}  {}", paint.apply(DIM, what))?;
    }
    Ok(())
}

/// Writes that nothing was done.
pub(crate) fn write_dry(out: &mut dyn Write, paint: Paint) -> io::Result<()> {
    writeln!(out, "{}", paint.apply(DIM, "dry run: nothing was touched"))
}

/// Writes what there is to choose from at the end of a run, and leaves the cursor behind it.
pub(crate) fn write_question(
    out: &mut dyn Write,
    paint: Paint,
    change: &str,
    branch: &str,
) -> io::Result<()> {
    let question = format!("what becomes of the run of `{change}`?");
    writeln!(out, "{}", paint.apply(STRONG, clean(&question)))?;
    let stay = format!("keep: its commits stay on `{branch}`");
    for (key, what) in [
        (
            "c",
            "cleanup: back to your branch, the work as uncommitted changes",
        ),
        ("k", stay.as_str()),
        ("a", "abandon: everything as it was before the run"),
        ("q", "nothing: the run stays as it is"),
    ] {
        writeln!(out, "  {}  {}", paint.apply(NAME, key), clean(what))?;
    }
    write!(out, "[k] ")
}

/// A number of files, and the names of the first few.
pub(crate) fn files(paths: &[String]) -> String {
    let shown: Vec<&str> = paths.iter().take(NAMES).map(String::as_str).collect();
    let more = paths.len() - shown.len();
    let count = Count(paths.len() as u64, Noun::File);
    let names = shown.join(", ");
    match more {
        0 => format!("{count}: {names}"),
        _ => format!("{count}: {names} and {more} more"),
    }
}

fn headline(plan: &Plan) -> String {
    let Plan { change, branch, .. } = plan;
    match &plan.deed {
        Deed::Finish { choice } if plan.already => {
            format!("{}: the run of `{change}` is kept already", name(*choice))
        }
        Deed::Finish { choice } => match choice {
            FinishChoice::Cleanup => {
                format!("cleanup: the work of `{change}` goes home as uncommitted changes")
            }
            FinishChoice::Keep => format!("keep: the commits of `{change}` stay on `{branch}`"),
            FinishChoice::Abandon => {
                format!("abandon: everything goes back to before the run of `{change}`")
            }
        },
        Deed::Rewind { story } => {
            format!("rewind: the run of `{change}` goes back to before story {story}")
        }
        Deed::Restore { attempt, path } => match path {
            Some(path) => format!("restore: `{path}` as attempt {attempt} left it"),
            None => format!("restore: the files as attempt {attempt} left them"),
        },
        Deed::Undo { of } => format!("undo: {} is taken back", noun(of)),
    }
}

fn details(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(head) = &plan.head {
        details.push(("HEAD", format!("will be on `{head}`")));
    }
    details.extend(plan.branches.iter().map(|it| ("branch", it.clone())));
    if !plan.stories.is_empty() {
        let stories = plan.stories.join(", ");
        let text = format!("their checkpoints go, and stay in the vault: {stories}");
        details.push(("stories", text));
    }
    let moves = !plan.written.is_empty() || !plan.removed.is_empty();
    if !plan.written.is_empty() {
        details.push(("writes", files(&plan.written)));
    }
    if !plan.removed.is_empty() {
        details.push(("to vault", files(&plan.removed)));
    }
    if !moves && plan.head.is_some() {
        details.push(("files", "none is touched".to_owned()));
    }
    details.extend(plan.notices.iter().map(|it| ("note", it.clone())));
    details
}

fn result(plan: &Plan) -> String {
    let head = plan.head.as_deref().unwrap_or(&plan.branch);
    match &plan.deed {
        Deed::Finish { choice } => match choice {
            FinishChoice::Cleanup => {
                format!("HEAD is on `{head}`, the work is there as uncommitted changes")
            }
            FinishChoice::Keep => format!("the commits are on `{}`", plan.branch),
            FinishChoice::Abandon => {
                format!("HEAD is on `{head}`, everything is as it was before the run")
            }
        },
        Deed::Rewind { story } => format!("the run is at the checkpoint before story {story}"),
        Deed::Restore { attempt, .. } => format!("the files of attempt {attempt} are in the tree"),
        Deed::Undo { of } => match of.as_ref() {
            Deed::Finish { .. } => format!("{} is taken back, the run is open again", noun(of)),
            of => format!("{} is taken back", noun(of)),
        },
    }
}

const fn way_back(deed: &Deed) -> &'static str {
    match deed {
        Deed::Undo { .. } => "does it again",
        _ => "takes it back",
    }
}

fn noun(deed: &Deed) -> String {
    match deed {
        Deed::Finish { choice } => format!("the {}", name(*choice)),
        Deed::Rewind { story } => format!("the rewind to before story {story}"),
        Deed::Restore { attempt, .. } => format!("the restore of attempt {attempt}"),
        Deed::Undo { .. } => "the undo".to_owned(),
    }
}

const fn name(choice: FinishChoice) -> &'static str {
    match choice {
        FinishChoice::Cleanup => "cleanup",
        FinishChoice::Keep => "keep",
        FinishChoice::Abandon => "abandon",
    }
}

/// A command whose words are plain, quoted where a story's id is not.
fn shell_words(command: &str) -> String {
    let words: Vec<String> = command.split(' ').map(shell).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_base::ids::RunId;

    fn plan(deed: Deed) -> Plan {
        let names = |count: usize, kind: &str| {
            let names = (1..=count).map(|number| format!("{kind}-{number}.txt"));
            names.collect::<Vec<String>>()
        };
        Plan {
            deed,
            run: RunId("20261115-194501-x7k2".to_owned()),
            change: "add-retry".to_owned(),
            branch: "ralph/add-retry".to_owned(),
            already: false,
            head: Some("main".to_owned()),
            branches: vec!["`ralph/add-retry` goes; its tip abc is kept in the vault".to_owned()],
            stories: vec!["2".to_owned(), "3".to_owned()],
            written: names(12, "new"),
            removed: names(1, "old"),
            notices: vec!["\u{1b}[2Jsomething to know".to_owned()],
        }
    }

    #[test]
    fn everything_is_said_before_and_after() {
        let finish = |choice| Deed::Finish { choice };
        let restore = Deed::Restore {
            attempt: "2.1".to_owned(),
            path: Some("src".to_owned()),
        };
        let rewind = Deed::Rewind {
            story: "2".to_owned(),
        };
        let undo = |of: &Deed| Deed::Undo {
            of: Box::new(of.clone()),
        };
        let deeds = [
            finish(FinishChoice::Cleanup),
            finish(FinishChoice::Keep),
            finish(FinishChoice::Abandon),
            undo(&finish(FinishChoice::Abandon)),
            undo(&rewind),
            rewind,
            restore,
        ];
        let mut out = Vec::new();
        for deed in deeds {
            let plan = plan(deed);
            let done = Done {
                is_open: matches!(plan.deed, Deed::Undo { .. } | Deed::Rewind { .. }),
                way_back: plan.deed.way_back(),
                notices: vec!["something else".to_owned()],
            };
            write_plan(&mut out, Paint::Plain, &plan).unwrap();
            write_done(&mut out, Paint::Plain, &plan, &done).unwrap();
            writeln!(out).unwrap();
        }
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
