//! A new change, written from a template: what `openspec new change` and a first conversation with
//! an agent would leave, small enough to be filled in by hand.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::lookup::broken_rule;
use super::root::{Root, find_root};
use crate::change::{Change, Scenario, Story, StoryState};
use crate::error::SourceError;
use crate::files::unwritable;
use crate::label::slug;
use crate::surroundings::Surroundings;

/// Longer names are refused by `OpenSpec`.
const LONGEST_NAME: usize = 200;

/// The files of a new change; `NAME` stands for its name.
const FILES: [(&str, &str); 4] = [
    (".openspec.yaml", "schema: spec-driven\n"),
    ("proposal.md", PROPOSAL),
    ("specs/NAME/spec.md", SPEC),
    ("tasks.md", TASKS),
];

const PROPOSAL: &str = "\
# NAME

## Why

TODO: what is missing or wrong today, and for which users.

## What Changes

- TODO: what they can do afterwards that they cannot do now.
";

const SPEC: &str = "\
## ADDED Requirements

### Requirement: TODO: a short name

The program SHALL TODO: one sentence on what it does.

#### Scenario: TODO: the normal case
- **WHEN** TODO: what the user does
- **THEN** TODO: what the user sees

#### Scenario: TODO: the case that goes wrong
- **WHEN** TODO: what is missing or invalid
- **THEN** TODO: the message, the exit code, what stays unchanged
";

const TASKS: &str = "\
# Tasks

<!--
Each `## N. Title` is a story: ralphtool gives it to an agent, checks the result, and commits it.
An agent can finish a story when it works on its own, fits in one sitting, names the files or
commands it is about, and has a test that fails before it and passes after it.
-->

## 1. TODO: the smallest part that works on its own

- [ ] 1.1 TODO: what to build, and in which file or command
- [ ] 1.2 TODO: the test that shows it

## 2. TODO: what builds on it

- [ ] 2.1 TODO: what to build, and what must not change
- [ ] 2.2 TODO: the test that shows it, and a line in the README
";

/// The first open story with a task that is still the template's: nothing says what to build.
pub fn template_story(change: &Change) -> Option<&Story> {
    let mut open = change
        .stories
        .iter()
        .filter(|story| story.state == StoryState::Open);
    open.find(|story| has_template_task(story))
}

/// Whether an open task of a story is still the template's.
pub fn has_template_task(story: &Story) -> bool {
    story.open_tasks().any(|task| {
        let is_it = |line: &str| line.strip_prefix("- [ ] ") == Some(task.raw.as_str());
        todo_lines().any(is_it)
    })
}

/// Whether a text still has lines of the template that the user is to replace.
pub(super) fn has_todo_lines(text: &str) -> bool {
    text.lines().any(is_todo_line)
}

/// Whether a scenario still says the template's words.
pub(super) fn is_template_scenario(scenario: &Scenario) -> bool {
    let heading = format!("#### Scenario: {}", scenario.name);
    is_todo_line(&heading) || has_todo_lines(&scenario.text)
}

fn is_todo_line(line: &str) -> bool {
    let line = line.trim_end();
    todo_lines().any(|it| it == line)
}

/// The lines of the template that say what to write.
fn todo_lines() -> impl Iterator<Item = &'static str> {
    let lines = FILES.iter().flat_map(|(_, text)| text.lines());
    lines.filter(|line| line.contains("TODO"))
}

/// A change that was just written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChange {
    /// Its name.
    pub name: String,
    /// Its folder, without symbolic links.
    pub folder: PathBuf,
    /// The files for the user to edit, relative to its folder, in the order to edit them.
    pub files: Vec<String>,
}

/// Checks that a new change may have this name: the rule of `openspec new change`, so that every
/// tool accepts it, and `ralph/NAME` can be a branch.
pub fn check_new_name(name: &str) -> Result<(), SourceError> {
    let refused = |rule: &str| {
        let message = format!("`{name}` cannot be the name of a new change: {rule}");
        let similar = similar_name(name).unwrap_or_else(|| "add-retry".to_owned());
        SourceError::unusable_but(message, format!("try `ralphtool new {similar}`"))
    };
    if let Some(rule) = broken_rule(name) {
        return Err(refused(rule));
    }
    if name.len() > LONGEST_NAME {
        let message = format!("the name of a change has at most {LONGEST_NAME} characters");
        return Err(SourceError::unusable(message));
    }
    let is_word = |word: &str| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        !word.is_empty() && word.chars().all(is_plain)
    };
    if !name.split('-').all(is_word) {
        return Err(refused(
            "use lowercase letters and digits, in words joined by single hyphens",
        ));
    }
    Ok(())
}

/// A name that is accepted and looks like one that is not; none where nothing of it can stay.
pub fn similar_name(name: &str) -> Option<String> {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii() { c } else { ' ' })
        .collect();
    if name == "archive" || !plain.contains(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let mut similar = slug(&plain);
    similar.truncate(LONGEST_NAME);
    Some(similar.trim_end_matches('-').to_owned())
}

/// Writes a new change from the template: into the project that is found from here, or else into a
/// new `openspec` folder at the top of the work tree. Refused where one of that name is there.
pub fn create(name: &str, around: &Surroundings) -> Result<NewChange, SourceError> {
    check_new_name(name)?;
    let root = root_for_new(around)?;
    let changes = root.changes();
    let folder = changes.join(name);
    fs::create_dir_all(&changes).map_err(unwritable(&changes))?;
    // Only this step decides whose folder it is: two processes cannot both make it.
    match fs::create_dir(&folder) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("`{}` already exists; nothing was written", folder.display());
            let hint =
                format!("`ralphtool show {name}` shows it; choose another name for a new one");
            return Err(SourceError::unusable_but(message, hint));
        }
        Err(error) => return Err(unwritable(&folder)(error)),
    }
    if let Err(error) = fill(&folder, name) {
        // Half a change is of no use; the folder was made above.
        let _ = fs::remove_dir_all(&folder);
        return Err(unwritable(&folder)(error));
    }
    Ok(NewChange {
        name: name.to_owned(),
        files: ["proposal.md", "specs/NAME/spec.md", "tasks.md"]
            .map(|path| path.replace("NAME", name))
            .to_vec(),
        folder,
    })
}

fn root_for_new(around: &Surroundings) -> Result<Root, SourceError> {
    match find_root(around) {
        Err(SourceError::NoRoot { start }) => {
            let top = around.searched_folders()?.pop().unwrap_or(start);
            Ok(Root::at(top))
        }
        found => found,
    }
}

fn fill(folder: &Path, name: &str) -> io::Result<()> {
    for (path, text) in FILES {
        let path = folder.join(path.replace("NAME", name));
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text.replace("NAME", name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{read_target, survey};
    use crate::summary::ChangeState;
    use pretty_assertions::assert_eq;

    fn around(folder: &Path) -> Surroundings {
        Surroundings {
            folder: folder.to_owned(),
            home: None,
            data_home: None,
            config_home: None,
            feature: None,
        }
    }

    #[test]
    fn a_new_change_has_two_open_stories_and_scenarios() {
        let project = tempfile::tempdir().unwrap();
        let around = around(project.path());
        let new = create("add-retry", &around).unwrap();
        let whole = project.path().canonicalize().unwrap();
        assert_eq!(new.folder, whole.join("openspec/changes/add-retry"));
        for file in &new.files {
            assert!(new.folder.join(file).is_file(), "{file}");
        }
        let change = read_target("add-retry", &around).unwrap();
        let warnings: Vec<_> = change.warnings.iter().map(|it| it.code).collect();
        assert_eq!(warnings, ["template"]);
        let stories: Vec<_> = change
            .stories
            .iter()
            .map(|story| (story.id.to_string(), story.state, story.tasks.len()))
            .collect();
        let open = StoryState::Open;
        assert_eq!(
            stories,
            [("1".to_owned(), open, 2), ("2".to_owned(), open, 2)]
        );
        // Its scenarios say nothing yet.
        assert_eq!(change.scenarios, []);
        let changes = survey(&around).unwrap().changes;
        let states: Vec<_> = changes.into_iter().map(|it| it.state).collect();
        assert_eq!(states, [ChangeState::Template]);
    }

    #[test]
    fn what_is_left_of_the_template_is_found_file_by_file() {
        let project = tempfile::tempdir().unwrap();
        let around = around(project.path());
        let folder = create("add-retry", &around).unwrap().folder;
        let edit = |file: &str, from: &str, to: &str| {
            let path = folder.join(file);
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{text}");
            fs::write(path, text.replace(from, to)).unwrap();
        };
        let left = || {
            let change = read_target("add-retry", &around).unwrap();
            let story = template_story(&change).map(|story| story.id.to_string());
            let scenarios = change.scenarios.len();
            let warnings = change.warnings.into_iter().map(|it| it.message);
            (story, scenarios, warnings.collect::<Vec<_>>().join("; "))
        };
        let still = |files: &str| format!("{files} still from the template: replace each TODO");
        let spec = "specs/add-retry/spec.md";
        let all = still(&format!("`proposal.md`, `{spec}` and `tasks.md` are"));
        assert_eq!(left(), (Some("1".to_owned()), 0, all));
        edit("tasks.md", "1.1 TODO: what", "1.1 Retry what");
        edit(
            "tasks.md",
            "1.2 TODO: the test that shows it",
            "1.2 Test it",
        );
        edit("tasks.md", "1. TODO: the smallest", "1. The smallest");
        let all = still(&format!("`proposal.md`, `{spec}` and `tasks.md` are"));
        assert_eq!(left(), (Some("2".to_owned()), 0, all));
        // A task that is skipped or ticked is not to be built.
        edit("tasks.md", "- [ ] 2.1 TODO", "- [~] 2.1 TODO");
        edit("tasks.md", "- [ ] 2.2 TODO", "- [x] 2.2 TODO");
        edit("tasks.md", "## 2. TODO: what", "## 2. What");
        let two = still(&format!("`proposal.md` and `{spec}` are"));
        assert_eq!(left(), (None, 0, two));
        edit("proposal.md", "TODO: ", "");
        edit(
            spec,
            "#### Scenario: TODO: the normal case",
            "#### Scenario: Normal",
        );
        edit(spec, "TODO: what the user does", "the user types it");
        edit(spec, "TODO: what the user sees", "it works");
        let one = still(&format!("`{spec}` is"));
        assert_eq!(left(), (None, 1, one));
        edit(spec, "TODO: ", "");
        assert_eq!(left(), (None, 2, String::new()));
    }

    #[test]
    fn a_change_that_is_there_is_not_overwritten() {
        let project = tempfile::tempdir().unwrap();
        let around = around(project.path());
        let new = create("add-retry", &around).unwrap();
        fs::write(new.folder.join("tasks.md"), "mine\n").unwrap();
        let error = create("add-retry", &around).unwrap_err();
        assert!(error.to_string().contains("already exists"), "{error}");
        assert_eq!(fs::read(new.folder.join("tasks.md")).unwrap(), b"mine\n");
    }

    #[test]
    fn a_new_change_goes_to_the_project_above_or_to_the_top_of_the_work_tree() {
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(top.path().join(".git")).unwrap();
        let whole = top.path().canonicalize().unwrap();
        let new = create("one", &around(&inner)).unwrap();
        assert_eq!(new.folder, whole.join("openspec/changes/one"));
        fs::create_dir_all(top.path().join("a/openspec/changes")).unwrap();
        let new = create("two", &around(&inner)).unwrap();
        assert_eq!(new.folder, whole.join("a/openspec/changes/two"));
    }

    #[test]
    fn names_that_other_tools_refuse_are_refused_with_one_they_accept() {
        #[track_caller]
        fn case(name: &str, hint: Option<&str>) {
            let refused = check_new_name(name).err().map(|error| error.hint());
            let want = hint.map(|hint| Some(hint.to_owned()));
            assert_eq!(refused, want, "{name}");
        }
        let example = Some("try `ralphtool new add-retry`");
        case("add-retry", None);
        case("2fa", None);
        case("Add Retry!", Some("try `ralphtool new add-retry`"));
        case("a_b", Some("try `ralphtool new a-b`"));
        case("-a--b-", Some("try `ralphtool new a-b`"));
        case("x/y", Some("try `ralphtool new x-y`"));
        case("", example);
        case("archive", example);
        case("漢字", example);
    }
}
