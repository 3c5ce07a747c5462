//! The formats of plans. Each module has all about one: where its plans are, how they are read,
//! and how a box of theirs is ticked. Here it is only decided which of them is asked.

mod checklist;
mod kiro;
pub(crate) mod openspec;
mod prd_json;
mod single_file;
mod spec_folder;
pub(crate) mod speckit;

use std::fs;
use std::path::{Path, PathBuf};

use self::spec_folder::SpecFolder;
pub(crate) use self::spec_folder::TASKS;
use crate::boxes::{After, BoxEdit, StoryCheck, check_boxes, open_boxes, set_marks, tick_letter};
use crate::change::{Change, SourceKind, Story, TaskFile, Warning};
use crate::error::SourceError;
use crate::stories::{Rules, read_markdown};
use crate::surroundings::Surroundings;
use ralph_base::ids::StoryId;

/// A plan that is not `OpenSpec`'s, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub kind: SourceKind,
    /// The name people call it by.
    pub name: String,
    /// Its folder or file.
    pub path: PathBuf,
}

impl Found {
    /// The plan in a folder, if it is one.
    pub(crate) fn in_folder(folder: &Path) -> Option<Self> {
        // Kiro's first: a folder in `.kiro/specs` is in one called `specs`, too.
        let formats = [&kiro::FOLDER, &speckit::FOLDER];
        let format = formats.into_iter().find(|it| it.is_place(folder))?;
        format.is_plan(folder).then(|| Self {
            kind: format.kind,
            name: spec_folder::name_of(folder),
            path: folder.to_owned(),
        })
    }

    /// The plan in a file. Its content is not checked.
    pub(crate) fn in_file(path: &Path) -> Self {
        let folder = path.parent().and_then(|it| fs::canonicalize(it).ok());
        let folder = folder.filter(|_| path.ends_with(spec_folder::TASKS));
        if let Some(found) = folder.and_then(|folder| Self::in_folder(&folder)) {
            return found;
        }
        let is_json = path.extension().is_some_and(|end| end == "json");
        Self {
            kind: if is_json {
                SourceKind::PrdJson
            } else {
                SourceKind::Checklist
            },
            name: single_file::name_of(path),
            path: path.to_owned(),
        }
    }

    /// Reads it.
    pub(crate) fn read(&self) -> Result<Change, SourceError> {
        match self.kind {
            SourceKind::SpecKit => speckit::FOLDER.read(&self.path),
            SourceKind::Kiro => kiro::FOLDER.read(&self.path),
            SourceKind::PrdJson => prd_json::read(&self.path),
            SourceKind::OpenSpec | SourceKind::Checklist => checklist::read(&self.path),
        }
    }
}

/// Finds all plans that are not `OpenSpec`'s. Each format is searched from the folder upwards
/// until some of its plans are found: a project inside a project has its own.
pub(crate) fn find(around: &Surroundings) -> Result<Vec<Found>, SourceError> {
    let projects = around.searched_folders()?;
    let formats: [fn(&Path) -> Vec<Found>; 4] = [
        |project| plan_folders(&speckit::FOLDER, project),
        |project| plan_folders(&kiro::FOLDER, project),
        |project| plan_files(&checklist::find(project)),
        |project| plan_files(&prd_json::find(project)),
    ];
    let nearest = |find: fn(&Path) -> Vec<Found>| {
        let mut found = projects.iter().map(|project| find(project));
        found.find(|found| !found.is_empty()).unwrap_or_default()
    };
    Ok(formats.into_iter().flat_map(nearest).collect())
}

fn plan_folders(format: &SpecFolder, project: &Path) -> Vec<Found> {
    let found = format.folders(project);
    let found = found.filter_map(|folder| Found::in_folder(&folder));
    found.filter(|found| found.kind == format.kind).collect()
}

fn plan_files(paths: &[PathBuf]) -> Vec<Found> {
    paths.iter().map(|path| Found::in_file(path)).collect()
}

/// The stories in files that were read before, and warnings about them. Of a `prd.json` that cannot
/// be read there are none.
pub fn read_stories(files: &[TaskFile], source: SourceKind) -> (Vec<Story>, Vec<Warning>) {
    match rules(source) {
        Some(rules) => read_markdown(files, rules),
        None => prd_json::read_stories(files),
    }
}

/// Compares the boxes before an attempt at a story with the same files after it.
pub(crate) fn check(before: &Change, files: &[TaskFile], story: &StoryId) -> StoryCheck {
    let Some(rules) = rules(before.source) else {
        return prd_json::check(before, files, story);
    };
    let (stories, _) = read_markdown(files, rules);
    let after = After {
        files,
        stories: &stories,
    };
    check_boxes(before, &after, story, tick_of(before, story))
}

/// What ticks the boxes of a story: the letter its file uses.
pub fn tick_of(change: &Change, story: &StoryId) -> &'static [u8] {
    let first = rules(change.source).map_or(Rules::PLAIN.first_tick, |rules| rules.first_tick);
    let file = change.story(story).map_or(0, |story| story.file);
    match change.task_files.get(file) {
        Some(file) => tick_letter(&file.bytes, first),
        None => first,
    }
}

/// Edits that open every ticked box of a story.
pub(crate) fn open(change: &Change, story: &StoryId) -> Vec<BoxEdit> {
    match rules(change.source) {
        Some(_) => open_boxes(change, story),
        None => prd_json::open(change, story),
    }
}

/// Makes the edits in a file as it is now; a box that is not there any more is left out.
pub(crate) fn apply(bytes: &[u8], edits: &[&BoxEdit]) -> Vec<u8> {
    prd_json::set_flags(set_marks(bytes, edits), edits)
}

/// How boxes are read, where a plan has boxes.
const fn rules(source: SourceKind) -> Option<&'static Rules> {
    match source {
        SourceKind::OpenSpec => Some(&Rules::PLAIN),
        SourceKind::SpecKit => Some(&speckit::RULES),
        SourceKind::Kiro => Some(&kiro::RULES),
        SourceKind::Checklist => Some(&checklist::RULES),
        SourceKind::PrdJson => None,
    }
}
