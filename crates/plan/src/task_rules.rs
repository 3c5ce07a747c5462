//! What boxes mean beyond the marks in them: each kind of plan has habits of its own.

use super::change::SourceKind;
use super::label::label;
use super::outline::Outline;
use super::tasks::{Task, TaskKind, TaskState};

/// Sections of a checklist whose boxes need not be ticked.
const OPTIONAL_SECTIONS: [&str; 4] = ["optional", "future", "future enhancements", "nice to have"];

/// Reads the boxes of one file as its kind of plan means them.
pub(crate) fn apply(tasks: &mut [Task], bytes: &[u8], outline: &Outline, source: SourceKind) {
    for task in tasks
        .iter_mut()
        .filter(|task| outline.is_fenced(task.line - 1))
    {
        task.kind = TaskKind::Fenced;
    }
    match source {
        SourceKind::Kiro => kiro(tasks, bytes),
        SourceKind::Checklist => optional_sections(tasks, outline),
        SourceKind::OpenSpec | SourceKind::SpecKit | SourceKind::PrdJson => {}
    }
}

/// What ticks a box in a file: the letter that is used there already. The command of spec-kit that
/// implements a feature writes a capital one.
pub(crate) fn tick(tasks: &[Task], bytes: &[u8], source: SourceKind) -> &'static [u8] {
    let done = tasks.iter().filter(|task| task.state == TaskState::Done);
    let mut marks = done
        .map(|task| bytes[task.mark.clone()].trim_ascii())
        .peekable();
    let capital = match marks.peek() {
        Some(_) => marks.all(|mark| mark == b"X"),
        None => source == SourceKind::SpecKit,
    };
    if capital { b"X" } else { b"x" }
}

/// Kiro marks a task somebody has begun with `[-]`: it is not set aside but still to be done. A
/// star behind the box makes a task optional, and whatever is nested below it.
fn kiro(tasks: &mut [Task], bytes: &[u8]) {
    let mut below: Option<usize> = None;
    for task in tasks.iter_mut().filter(|task| task.is_work()) {
        if bytes[task.mark.clone()].trim_ascii() == b"-" {
            task.state = TaskState::Open;
        }
        let inherited = below.is_some_and(|indent| task.indent > indent);
        if !inherited {
            let starred = task.raw.starts_with("* ") || task.raw == "*";
            below = starred.then_some(task.indent);
        }
        if below.is_some() {
            make_optional(task);
        }
    }
}

fn optional_sections(tasks: &mut [Task], outline: &Outline) {
    for task in tasks.iter_mut().filter(|task| task.is_work()) {
        if outline.around(task.line - 1).any(is_optional) {
            make_optional(task);
        }
    }
}

fn is_optional(heading: &str) -> bool {
    let title = label(heading).title;
    let title = title.trim_end_matches(':').trim();
    OPTIONAL_SECTIONS
        .iter()
        .any(|known| title.eq_ignore_ascii_case(known))
}

fn make_optional(task: &mut Task) {
    task.kind = TaskKind::Optional;
    if task.state == TaskState::Open {
        task.state = TaskState::Deferred;
    }
}
