//! The rules of the prompt for marking what is done: each kind of plan has its own.

use super::PromptInput;
use ralph_plan::change::SourceKind;
use ralph_plan::source::tick_of;

/// The first rule: what to work through.
pub(super) const fn what_is_asked(source: SourceKind) -> &'static str {
    match source {
        SourceKind::PrdJson => {
            "Make every acceptance criterion of the story true. Keep changes small and within what the story asks for."
        }
        SourceKind::OpenSpec | SourceKind::SpecKit | SourceKind::Kiro | SourceKind::Checklist => {
            "Work through the open tasks of the story in order. Keep changes small and within what each task asks for."
        }
    }
}

/// The rules about boxes and flags, as items of a list.
pub(super) fn how_to_mark(input: &PromptInput<'_>) -> String {
    let file = input.change.task_files.get(input.story.file);
    let file = file.map_or_else(String::new, |file| format!("`{}`", file.path.display()));
    match input.change.source {
        SourceKind::PrdJson => flags(&file),
        source => boxes(input, &file, source),
    }
}

fn flags(file: &str) -> String {
    format!(
        "- Leave {file} as it is. The story is marked as done there for you when it is accepted: you need not set \
         its `passes` (or whatever that flag is called there), and must not touch those of other stories, nor remove, \
         reword or reorder stories and criteria."
    )
}

fn boxes(input: &PromptInput<'_>, file: &str, source: SourceKind) -> String {
    let tick = String::from_utf8_lossy(tick_of(input.change, &input.story.id));
    let strict = if input.strict_tasks {
        " A task of this story that is not ticked at the end fails the attempt."
    } else {
        ""
    };
    format!(
        "- Tick a task in {file} as soon as it is fully done, not when it is done in part or put off: change \
         its `- [ ]` to `- [{tick}]` and nothing else on the line. Do not remove, reword or reorder tasks, and do not \
         touch boxes of other stories.{strict}\n\
         - {}",
        other_boxes(source)
    )
}

const fn other_boxes(source: SourceKind) -> &'static str {
    match source {
        SourceKind::Kiro => {
            "Boxes marked `[~]` or `[/]` are deferred: leave them as they are. One marked `[-]` was already begun: \
             finish it. A star behind the box makes a task optional: tick it only if you did it. Boxes inside \
             code fences are examples."
        }
        SourceKind::Checklist => {
            "Boxes marked `[~]`, `[-]` or `[/]`, and those in a section called optional, future or nice to have, are \
             deferred: leave them as they are. Boxes inside code fences are examples."
        }
        SourceKind::OpenSpec | SourceKind::SpecKit | SourceKind::PrdJson => {
            "Boxes marked `[~]`, `[-]` or `[/]` are deferred: leave them as they are. Boxes inside code fences are examples."
        }
    }
}
