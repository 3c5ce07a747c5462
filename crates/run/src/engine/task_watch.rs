//! The boxes of the story at hand while an agent or a gate runs: the task files are read again when
//! they have changed, and what is new is recorded.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Engine;
use crate::records::event::{Event, StoryStarted, TaskOutline};
use ralph_base::ids::StoryId;
use ralph_plan::change::Change;
use ralph_plan::source;

/// How often the task files are looked at.
const PACE: Duration = Duration::from_secs(1);

/// What was recorded of the tasks of the story at hand.
#[derive(Debug)]
pub(super) struct TaskWatch {
    story: StoryId,
    recorded: Vec<TaskOutline>,
    /// The stamps of the task files when they were last read.
    stamps: Vec<Option<Stamp>>,
    next_look: Instant,
}

/// What changes when a file is written: its time, size and inode.
type Stamp = (i64, i64, u64, u64);

impl TaskWatch {
    /// Work on a story began, with these tasks.
    pub(super) fn of(started: &StoryStarted) -> Self {
        Self {
            story: started.story.clone(),
            recorded: started.tasks.clone(),
            stamps: Vec::new(),
            next_look: Instant::now() + PACE,
        }
    }

    /// Waits for the time of the next look. Cancel-safe.
    pub(super) async fn due(watch: Option<&Self>) {
        match watch {
            Some(watch) => sleep_until(watch.next_look).await,
            None => std::future::pending().await,
        }
    }

    /// The tasks as they are on disk, if the files were written since the last look. A file that
    /// cannot be read at the moment is left for the next one.
    fn look(&mut self, change: &Change) -> Option<Vec<TaskOutline>> {
        self.next_look = Instant::now() + PACE;
        let files = change.task_files.iter();
        let stamps = files.map(|file| stamp(&file.path)).collect();
        if self.stamps == stamps {
            return None;
        }
        self.stamps = stamps;
        let story = source::read_story(change, &self.story).ok()??;
        Some(TaskOutline::of(&story.tasks))
    }

    /// The event to record where the tasks are not as they were last recorded.
    fn changed_to(&mut self, tasks: Vec<TaskOutline>) -> Option<Event> {
        if self.recorded == tasks {
            return None;
        }
        self.recorded.clone_from(&tasks);
        let story = self.story.clone();
        Some(Event::TasksChanged { story, tasks })
    }
}

impl Engine {
    /// Looks whether boxes were ticked meanwhile.
    pub(super) fn look_at_tasks(&mut self) {
        let (Some(watch), Some(base)) = (&mut self.task_watch, &self.story_base) else {
            return;
        };
        if let Some(tasks) = watch.look(base) {
            self.pending_events.extend(watch.changed_to(tasks));
        }
    }

    /// The task files are those of the checkpoint again, or were edited by the user.
    pub(super) fn tasks_are_as_read(&mut self) {
        let (Some(watch), Some(base)) = (&mut self.task_watch, &self.story_base) else {
            return;
        };
        if let Some(story) = base.story(&watch.story) {
            let tasks = TaskOutline::of(&story.tasks);
            self.pending_events.extend(watch.changed_to(tasks));
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.size(),
        metadata.ino(),
    ))
}
