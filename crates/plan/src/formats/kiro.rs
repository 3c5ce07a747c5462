//! Kiro: a folder below `.kiro/specs` with a `tasks.md` of numbered items.

use super::spec_folder::{SharedDocument, SpecFolder, TASKS};
use crate::change::SourceKind;
use crate::outline::Outline;
use crate::stories::{NumberedItems, Rules};
use crate::tasks::{Task, TaskState};

/// How its boxes are read.
pub(super) const RULES: Rules = Rules {
    adjust,
    numbered_items: NumberedItems::AreStories,
    ..Rules::PLAIN
};

/// How its folders are read.
pub(super) const FOLDER: SpecFolder = SpecFolder {
    kind: SourceKind::Kiro,
    rules: &RULES,
    places: &[".kiro/specs"],
    signs: &["requirements.md", "bugfix.md", "design.md", TASKS],
    documents: &["requirements.md", "bugfix.md", "design.md"],
    shared: SharedDocument {
        artifact: "steering",
        places: &["steering"],
    },
};

/// Kiro marks a task in progress with `[-]`: it is not skipped but still to be done. A star
/// after the box makes a task optional, and all tasks nested below it.
fn adjust(tasks: &mut [Task], bytes: &[u8], _: &Outline) {
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
            task.make_optional();
        }
    }
}
