//! A change: a written plan of stories, each a group of tasks, with what belongs to it.
//!
//! Values only; [`crate::source`] reads them from disk.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

use crate::tasks::{Task, TaskState};
use ralph_base::ids::StoryId;

/// What kind of plan a change was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A folder below `openspec/changes`.
    OpenSpec,
    /// A feature of spec-kit: a folder below `specs`.
    SpecKit,
    /// A folder below `.kiro/specs`.
    Kiro,
    /// One markdown file with checkboxes.
    Checklist,
    /// One JSON file of stories, each with a flag.
    PrdJson,
}

impl Serialize for SourceKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl SourceKind {
    /// The name of the format.
    pub const fn word(self) -> &'static str {
        match self {
            Self::OpenSpec => "openspec",
            Self::SpecKit => "spec-kit",
            Self::Kiro => "kiro",
            Self::Checklist => "checklist",
            Self::PrdJson => "prd.json",
        }
    }

    /// What its tasks look like, for people whose plan has none.
    pub const fn example(self) -> &'static str {
        match self {
            Self::OpenSpec | Self::SpecKit | Self::Kiro | Self::Checklist => {
                "a task is a line such as `- [ ] 1.1 Add the retry`"
            }
            Self::PrdJson => {
                "a story is an entry of `userStories` such as \
                 `{\"id\": \"US-001\", \"title\": \"Add the retry\", \"passes\": false}`"
            }
        }
    }
}

/// A written plan, as read from disk at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The name people call it by.
    pub name: String,
    /// The folder the plan belongs to; not necessarily where code is edited.
    pub root: PathBuf,
    /// What kind of plan it is.
    pub source: SourceKind,
    /// All stories, in document order.
    pub stories: Vec<Story>,
    /// What the added and modified requirements ask for.
    pub scenarios: Vec<Scenario>,
    /// The files an agent should read, by artifact, in the order of the schema.
    pub documents: Vec<Document>,
    /// Project context from the configuration: required input.
    pub context: Option<String>,
    /// Guidance for applying a change from the configuration: advice.
    pub guidance: Vec<String>,
    /// What the user should know about the files.
    pub warnings: Vec<Warning>,
    /// The files that hold the boxes, as read.
    pub task_files: Vec<TaskFile>,
}

/// One group of tasks, done by one agent run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// What people call it.
    pub id: StoryId,
    /// Its heading without the number.
    pub title: String,
    /// Its boxes, in file order; fenced and text-less ones included.
    pub tasks: Vec<Task>,
    /// The markdown of the whole section, as written.
    pub section: String,
    /// Whether there is something left to do.
    pub state: StoryState,
    /// Which of the change's task files it is in.
    pub file: usize,
    /// The line of that file its section begins with, from 1.
    pub line: usize,
}

/// Whether a story has something left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StoryState {
    /// At least one task is open.
    Open,
    /// Every task is ticked.
    Done,
    /// What is unfinished is skipped.
    Deferred,
}

/// A file with boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its path within the change, with slashes.
    pub label: String,
    /// Its content when it was read.
    pub bytes: Vec<u8>,
}

/// The files of one artifact of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The artifact: `proposal`, `specs`, `design`, `tasks`, or what the schema calls it.
    pub artifact: String,
    /// Its files, sorted.
    pub paths: Vec<PathBuf>,
}

impl Document {
    pub(crate) fn new(artifact: &str, paths: Vec<PathBuf>) -> Self {
        Self {
            artifact: artifact.to_owned(),
            paths,
        }
    }
}

/// One scenario of an added or modified requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scenario {
    /// The capability whose delta spec it is in.
    pub capability: String,
    /// The requirement it belongs to.
    pub requirement: String,
    /// Its name.
    pub name: String,
    /// Its steps, as written.
    pub text: String,
    /// The line its heading stands on in the delta spec, from 1.
    #[serde(skip)]
    pub line: usize,
}

/// Something the user should know; it stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Stable name of the warning.
    pub code: &'static str,
    /// For people.
    pub message: String,
}

impl Warning {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

/// How many of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Finished ones.
    pub done: usize,
    /// All of them.
    pub total: usize,
}

impl Tally {
    /// Counts tasks, ticked or not.
    pub(crate) fn of<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        tasks.into_iter().fold(Self::default(), |tally, task| Self {
            done: tally.done + usize::from(task.state == TaskState::Done),
            total: tally.total + 1,
        })
    }
}

impl Change {
    /// A change with nothing in it yet.
    pub(crate) const fn new(name: String, root: PathBuf, source: SourceKind) -> Self {
        Self {
            name,
            root,
            source,
            stories: Vec::new(),
            scenarios: Vec::new(),
            documents: Vec::new(),
            context: None,
            guidance: Vec::new(),
            warnings: Vec::new(),
            task_files: Vec::new(),
        }
    }

    /// The first story with something left to do, in document order.
    pub fn next_open(&self) -> Option<&Story> {
        self.stories
            .iter()
            .find(|story| story.state == StoryState::Open)
    }

    /// The story of that id.
    pub fn story(&self, id: &StoryId) -> Option<&Story> {
        self.stories.iter().find(|story| story.id == *id)
    }

    /// Finished and all tasks, as `OpenSpec` counts them.
    pub fn task_tally(&self) -> Tally {
        Tally::of(self.stories.iter().flat_map(|story| &story.tasks))
    }

    /// Finished and all stories.
    pub fn story_tally(&self) -> Tally {
        let done = |story: &&Story| story.is_done();
        Tally {
            done: self.stories.iter().filter(done).count(),
            total: self.stories.len(),
        }
    }
}

impl Story {
    /// Whether no task is left to do and at least one is done.
    pub fn is_done(&self) -> bool {
        self.state.counts_as_done(Tally::of(&self.tasks).done)
    }

    /// Tasks that are deferred.
    pub fn deferred_tasks(&self) -> usize {
        let deferred = |task: &&Task| task.state == TaskState::Deferred;
        self.tasks.iter().filter(deferred).count()
    }

    /// Tasks that are to be done: neither ticked nor skipped, and not in a code fence.
    pub fn open_tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| task.is_open_work())
    }
}

impl StoryState {
    /// Whether a story counts as done: no task is left to do, and at least one is done. Its deferred
    /// tasks are counted apart.
    pub const fn counts_as_done(self, tasks_done: usize) -> bool {
        match self {
            Self::Open => false,
            Self::Done => true,
            Self::Deferred => tasks_done > 0,
        }
    }

    /// The state of a story with these tasks.
    pub fn of(tasks: &[Task]) -> Self {
        let mut work = tasks.iter().filter(|task| task.is_required()).peekable();
        if work.peek().is_none() {
            // Only boxes in fences and optional ones: nothing that has to be done, nor finished.
            let ticked = tasks.iter().all(|task| task.state == TaskState::Done);
            return if ticked { Self::Done } else { Self::Deferred };
        }
        work.fold(Self::Done, |state, task| match (state, task.state) {
            (Self::Open, _) | (_, TaskState::Open) => Self::Open,
            (_, TaskState::Deferred) => Self::Deferred,
            (state, TaskState::Done) => state,
        })
    }
}
