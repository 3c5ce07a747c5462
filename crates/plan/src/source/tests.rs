use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::TempDir;

use crate::change::SourceKind;
use crate::show::ChangeView;
use crate::summary::ChangeState;

use super::*;

mod plans;

/// A folder with files in it, and a home beside them.
struct Place {
    folder: TempDir,
}

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self {
            folder: TempDir::new().unwrap(),
        };
        for (path, text) in files {
            place.write(path, text);
        }
        place
    }

    fn path(&self, inner: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(inner)
    }

    fn write(&self, inner: &str, text: impl AsRef<[u8]>) {
        let path = self.path(inner);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn around(&self, inner: &str) -> Surroundings {
        Surroundings {
            folder: self.path(inner),
            home: Some(self.path("home")),
            data_home: None,
            config_home: None,
            feature: None,
        }
    }

    fn root(&self) -> Result<Root, SourceError> {
        find_root(&self.around(""))
    }

    fn change(&self, name: &str) -> Result<Change, SourceError> {
        read_change(&self.root()?, name, &self.around(""))
    }
}

fn message_and_hint(error: &SourceError) -> (String, Option<String>) {
    (error.to_string(), error.hint())
}

fn texts(change: &Change) -> Vec<(String, String)> {
    let tasks = change.stories.iter().flat_map(|story| {
        let id = story.id.to_string();
        story
            .tasks
            .iter()
            .map(move |task| (id.clone(), task.raw.clone()))
    });
    tasks.collect()
}

#[test]
fn the_root_is_the_nearest_folder_with_specs_or_changes() {
    let place = Place::with(&[
        ("openspec/changes/a/tasks.md", ""),
        ("src/openspec/notes.md", ""),
        ("src/deep/x", ""),
    ]);
    let root = find_root(&place.around("src/deep")).unwrap();
    assert_eq!(
        root,
        Root {
            path: place.path(""),
            warnings: Vec::new()
        }
    );
}

#[test]
fn a_store_below_openspec_makes_no_project() {
    let place = Place::with(&[("openspec/specs/.openspec-store/store.yaml", "id: specs\n")]);
    assert!(matches!(place.root(), Err(SourceError::NoRoot { .. })));
}

#[test]
fn a_configuration_may_declare_a_store() {
    let place = Place::with(&[
        ("openspec/config.yaml", "store: team\n"),
        ("store/.openspec-store/store.yaml", "version: 1\nid: team\n"),
        ("store/openspec/changes/a/tasks.md", "- [ ] a\n"),
    ]);
    assert_eq!(
        place.root().unwrap_err().to_string(),
        format!(
            "found no store `team` in `{}`",
            place
                .path("home/.local/share/openspec/stores/registry.yaml")
                .display()
        )
    );
    let registry = format!(
        "version: 1\nstores:\n  team:\n    backend:\n      type: git\n      local_path: {}\n",
        place.path("store").display()
    );
    place.write("home/.local/share/openspec/stores/registry.yaml", registry);
    let root = place.root().unwrap();
    assert_eq!(root.path, place.path("store"));
    assert_eq!(texts(&place.change("a").unwrap()).len(), 1);

    place.write("store/.openspec-store/store.yaml", "id: other\n");
    assert_eq!(
        place.root().unwrap_err().to_string(),
        format!(
            "`{}` is not the store `team`",
            place.path("store").display()
        )
    );

    place.write("openspec/specs/x/spec.md", "");
    let root = place.root().unwrap();
    assert_eq!(root.path, place.path(""));
    assert_eq!(root.warnings[0].code, "store_ignored");
}

#[test]
fn the_default_store_serves_where_there_is_no_project() {
    let place = Place::with(&[
        ("work/x", ""),
        ("config/openspec/config.json", r#"{"defaultStore": "mine"}"#),
        ("store/.openspec-store/store.yaml", "id: mine\n"),
    ]);
    let registry = format!(
        "stores: {{mine: {{backend: {{local_path: {}}}}}}}\n",
        place.path("store").display()
    );
    place.write("data/openspec/stores/registry.yaml", registry);
    let around = Surroundings {
        data_home: Some(place.path("data")),
        config_home: Some(place.path("config")),
        ..place.around("work")
    };
    let root = find_root(&around).unwrap();
    assert_eq!(root.path, place.path("store"));
}

#[test]
fn without_a_project_only_a_legacy_folder_will_do() {
    let place = Place::with(&[("x", "")]);
    let (message, hint) = message_and_hint(&place.root().unwrap_err());
    let here = place.path("");
    let here = here.display().to_string();
    assert_eq!(
        message,
        format!("found no plan in `{}` or above", here.trim_end_matches('/'))
    );
    assert!(hint.unwrap().contains("ralphtool new NAME"));
    place.write("openspec/project.md", "# Project");
    assert_eq!(place.root().unwrap().path, place.path(""));
}

#[test]
fn a_change_is_read_whole() {
    let place = Place::with(&[
        (
            "openspec/config.yml",
            "schema: spec-driven\ncontext: |\n  Rust only.\noperations:\n  apply:\n    guidance: [Test first, '']\n",
        ),
        (
            "openspec/changes/add-retry/.openspec.yaml",
            "schema: spec-driven\ncreated: 2026-11-15\nextra: {a: 1}\n",
        ),
        ("openspec/changes/add-retry/proposal.md", "## Why\n"),
        (
            "openspec/changes/add-retry/tasks.md",
            "## 1. Retry\n- [x] 1.1 Try\n- [~] 1.2 Later\n- [ ]\n",
        ),
        (
            "openspec/changes/add-retry/specs/loop/retry/spec.md",
            "## ADDED Requirements\n### Requirement: R\nIt MUST.\n#### Scenario: S\n- **WHEN** a\n",
        ),
        (
            "openspec/changes/add-retry/specs/.hidden/spec.md",
            "## ADDED Requirements\n",
        ),
        (
            "openspec/changes/add-retry/specs/spec.md",
            "## ADDED Requirements\n",
        ),
    ]);
    let change = place.change("add-retry").unwrap();
    assert_eq!(change.context.as_deref(), Some("Rust only."));
    assert_eq!(change.guidance, ["Test first"]);
    assert_eq!(
        change
            .warnings
            .iter()
            .map(|warning| warning.code)
            .collect::<Vec<_>>(),
        ["unread_spec"]
    );
    let documents: Vec<_> = change
        .documents
        .iter()
        .map(|document| (document.artifact.as_str(), document.paths.len()))
        .collect();
    assert_eq!(documents, [("proposal", 1), ("specs", 2), ("tasks", 1)]);
    assert_eq!(
        serde_json::to_value(ChangeView::of(&change)).unwrap(),
        json!({
            "change": "add-retry",
            "root": place.path("").to_str().unwrap().trim_end_matches('/'),
            "kind": "openspec",
            "stories": [{"id": "1", "title": "Retry", "state": "open", "depends_on": null, "tasks": [
                {"id": "1.1", "raw": "1.1 Try", "text": "Try", "done": true, "state": "done"},
                {"id": "1.2", "raw": "1.2 Later", "text": "Later", "done": false, "state": "deferred"},
            ]}],
            "scenarios": [{"capability": "loop/retry", "requirement": "R", "name": "S", "text": "- **WHEN** a"}],
        })
    );
}

#[test]
fn a_schema_may_track_other_files() {
    let place = Place::with(&[
        ("openspec/config.yaml", "schema: multi\n"),
        (
            "openspec/schemas/multi/schema.yaml",
            "name: multi\nversion: 1\nartifacts:\n  - id: work\n    generates: 'work/**/*.md'\n  - id: plan\n    generates: plan.md\napply:\n  requires: [work]\n  tracks: 'work/**/*.md'\n",
        ),
        ("openspec/changes/a/work/ui.md", "## 1. U\n- [ ] u\n"),
        ("openspec/changes/a/work/api/core.md", "## 1. A\n- [ ] a\n"),
        ("openspec/changes/a/work/.old.md", "- [ ] hidden\n"),
        ("openspec/changes/a/tasks.md", "- [ ] not tracked\n"),
        (
            "home/.local/share/openspec/schemas/user/schema.yaml",
            "artifacts: []\napply: {tracks: loop/checkpoints.md}\n",
        ),
        ("openspec/changes/b/.openspec.yaml", "schema: user\n"),
        ("openspec/changes/b/loop/checkpoints.md", "- [ ] b\n"),
        ("openspec/changes/c/.openspec.yaml", "schema: nope\n"),
        ("openspec/changes/c/tasks.md", "- [x] c\n- [ ] d\n"),
        ("openspec/changes/d/.openspec.yaml", "schema: ../up\n"),
    ]);
    let pair = |id: &str, raw: &str| (id.to_owned(), raw.to_owned());
    assert_eq!(
        texts(&place.change("a").unwrap()),
        [pair("work-api-core-1", "a"), pair("work-ui-1", "u")]
    );
    assert_eq!(
        texts(&place.change("b").unwrap()),
        [pair("checkpoints", "b")]
    );
    let (message, hint) = message_and_hint(&place.change("c").unwrap_err());
    assert!(message.starts_with("found no schema `nope`, asked for by `"));
    assert_eq!(hint.unwrap(), "there are `multi`, `spec-driven`, `user`");
    assert!(place.change("d").is_err());

    let listed = survey(&place.around("")).unwrap().changes;
    let invalid = listed.iter().find(|summary| summary.name == "c").unwrap();
    assert_eq!((invalid.tasks_done, invalid.tasks_total), (1, 2));
    assert!(
        matches!(&invalid.state, ChangeState::Unreadable { reason } if reason.contains("nope"))
    );
}

#[test]
fn a_schema_cannot_lead_out_of_the_change() {
    let place = Place::with(&[
        ("openspec/changes/a/.openspec.yaml", "schema: out\n"),
        (
            "openspec/schemas/out/schema.yaml",
            "artifacts: []\napply: {tracks: ../../x.md}\n",
        ),
        (
            "openspec/schemas/none/schema.yaml",
            "name: none\nartifacts: []\n",
        ),
        ("openspec/changes/b/.openspec.yaml", "schema: none\n"),
    ]);
    let error = place.change("a").unwrap_err().to_string();
    assert!(error.starts_with("could not use the schema"), "{error}");
    assert_eq!(place.change("b").unwrap().warnings[0].code, "no_task_file");
}

#[test]
fn a_broken_configuration_is_a_warning_a_broken_change_an_error() {
    let place = Place::with(&[
        (
            "openspec/config.yaml",
            "context: [1]\noperations: {apply: {guidance: text}}\nschema: ''\n",
        ),
        ("openspec/project.md", "# Project\n"),
        ("openspec/changes/a/tasks.md", "- [ ] a\n"),
        ("openspec/changes/b/.openspec.yaml", "schema: [\n"),
    ]);
    let change = place.change("a").unwrap();
    assert_eq!(change.warnings.len(), 2);
    assert_eq!(change.documents[0].artifact, "project");
    assert!(matches!(
        place.change("b"),
        Err(SourceError::Malformed { .. })
    ));
    place.write("openspec/config.yaml", "a: b: c: [\n");
    assert_eq!(place.change("a").unwrap().warnings[0].code, "config");
}

#[test]
fn names_are_looked_up_by_openspecs_rules() {
    let place = Place::with(&[
        ("openspec/changes/Weird_Name/tasks.md", ""),
        ("openspec/changes/add-auth/tasks.md", ""),
        ("openspec/changes/archive/old/tasks.md", ""),
        ("openspec/changes/group/inner/proposal.md", ""),
        ("openspec/changes/group/deep/er/tasks.md", ""),
        ("openspec/changes/.hid/tasks.md", ""),
        ("elsewhere/tasks.md", "- [ ] a\n"),
    ]);
    symlink(
        place.path("elsewhere"),
        place.path("openspec/changes/linked"),
    )
    .unwrap();
    assert!(place.change("Weird_Name").is_ok());
    assert_eq!(
        place.change("linked").unwrap().task_files[0].path,
        place.path("elsewhere/tasks.md")
    );
    for name in ["", "archive", ".hid", "..", "a/b", "a\\b", "a\0"] {
        let error = place.change(name).unwrap_err().to_string();
        assert!(
            error.contains("cannot be the name of a change"),
            "{error:?}"
        );
    }
    let (message, hint) = message_and_hint(&place.change("add-outh").unwrap_err());
    assert_eq!(
        message,
        format!(
            "found no change `add-outh` in `{}`",
            place.path("openspec/changes").display()
        )
    );
    assert_eq!(hint.as_deref(), Some("did you mean `add-auth`?"));
    let (_, hint) = message_and_hint(&place.change("zzz").unwrap_err());
    assert_eq!(
        hint.as_deref(),
        Some("there are `Weird_Name`, `add-auth`, `group`")
    );
    let (message, hint) = message_and_hint(&place.change("group").unwrap_err());
    assert_eq!(
        message,
        "`group` is not a change, but a folder around `group/deep/er`, `group/inner`"
    );
    assert!(hint.unwrap().contains("group-deep-er"));
}

#[test]
fn the_list_has_progress_and_state_newest_first() {
    let place = Place::with(&[
        (
            "openspec/changes/done/tasks.md",
            "## 1. A\n- [x] a\n## 2. B\n- [~] b\n",
        ),
        (
            "openspec/changes/open/tasks.md",
            "## 1. A\n- [x] a\n## 2. B\n- [ ] b\n",
        ),
        ("openspec/changes/empty/proposal.md", ""),
        ("openspec/changes/wrap/inner/tasks.md", ""),
        ("openspec/changes/archive/x/tasks.md", ""),
        ("openspec/changes/file.md", ""),
    ]);
    for (age, name) in [
        "open/tasks.md",
        "done/tasks.md",
        "empty/proposal.md",
        "wrap/inner/tasks.md",
    ]
    .iter()
    .enumerate()
    {
        let file = fs::File::options()
            .write(true)
            .open(place.path("openspec/changes").join(name))
            .unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000 - age as u64);
        file.set_modified(time).unwrap();
    }
    let listed: Vec<_> = survey(&place.around(""))
        .unwrap()
        .changes
        .into_iter()
        .map(|found| {
            (
                found.name,
                found.tasks_done,
                found.tasks_total,
                found.stories_done,
                found.stories_total,
                found.state,
            )
        })
        .collect();
    let invalid = ChangeState::Unreadable {
        reason: "`wrap` is not a change, but a folder around `wrap/inner`".to_owned(),
    };
    assert_eq!(
        listed,
        [
            ("open".to_owned(), 1, 2, 1, 2, ChangeState::Open),
            ("done".to_owned(), 1, 2, 1, 2, ChangeState::Deferred),
            ("empty".to_owned(), 0, 0, 0, 0, ChangeState::NoTasks),
            ("wrap".to_owned(), 0, 0, 0, 0, invalid),
        ]
    );
}

#[test]
fn any_checklist_is_a_change() {
    let place = Place::with(&[
        ("specs/Fix Plan.md", "## High\n- [ ] a\n"),
        ("specs/tasks.md", "- [ ] 1. a\n  - [ ] 1.1 b\n- [ ] 2. c\n"),
        ("specs/design.md", ""),
    ]);
    let plan = read_file(&place.path("specs/Fix Plan.md")).unwrap();
    assert_eq!(
        (plan.name.as_str(), plan.source),
        ("fix-plan", SourceKind::Checklist)
    );
    assert_eq!(plan.documents.len(), 1);
    let tasks = read_file(&place.path("specs/tasks.md")).unwrap();
    assert_eq!(tasks.stories.len(), 2);
    assert_eq!(tasks.documents[0].artifact, "design");
    assert_eq!(
        read_file(&place.path("specs")).unwrap_err().to_string(),
        format!("`{}` is not a file", place.path("specs").display())
    );
    assert!(matches!(
        read_file(&place.path("none.md")),
        Err(SourceError::Unreadable { .. })
    ));
}

#[test]
fn a_target_is_a_name_a_folder_or_a_file() {
    let place = Place::with(&[
        ("openspec/changes/a/tasks.md", "- [ ] a\n"),
        ("plan.md", "- [ ] p\n"),
        ("sub/x", ""),
    ]);
    let read = |from: &str, target: &str| read_target(target, &place.around(from)).unwrap();
    let by_name = read("sub", "a");
    assert_eq!(by_name.name, "a");
    assert_eq!(read("", "openspec/changes/a"), by_name);
    assert_eq!(read("sub", "../openspec/changes/a/"), by_name);
    assert_eq!(read("", "plan.md").source, SourceKind::Checklist);
    assert_eq!(
        read("", "openspec/changes/a/tasks.md").source,
        SourceKind::Checklist
    );
    assert!(read_target("none.md", &place.around("")).is_err());

    place.write("openspec/changes/a/tasks.md", "- [x] a\n");
    place.write("plan.md", "- [x] p\n");
    for before in [by_name, read("", "plan.md")] {
        let again = read_again(&before, &place.around("sub")).unwrap();
        assert_eq!((again.name.clone(), again.next_open()), (before.name, None));
    }
}

#[test]
fn boxes_are_ticked_and_restored_in_place() {
    let place = Place::with(&[("real/tasks.md", "")]);
    let before: &[u8] =
        b"\xef\xbb\xbf## 1. A\r\n- [ ] 1.1 a\xff\r\n## 2. B\r\n- [ ] 2.1 b\r\n- [ ] 2.2 c";
    place.write("real/tasks.md", before);
    fs::create_dir_all(place.path("openspec/changes/a")).unwrap();
    symlink(
        "../../../real/tasks.md",
        place.path("openspec/changes/a/tasks.md"),
    )
    .unwrap();
    let real = place.path("real/tasks.md");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();

    let change = place.change("a").unwrap();
    let story = StoryId("2".to_owned());
    let worked = b"\xef\xbb\xbf## 1. A\r\n- [x] 1.1 a\xff\r\n## 2. B\r\n- [x] 2.1 b\r\n- [ ] 2.2 c";
    fs::write(&real, worked).unwrap();
    let check = check_story(&change, &story).unwrap();
    assert_eq!(check.still_open, ["2.2 c"]);
    assert_eq!(restore_foreign(&check).unwrap(), ["1.1 a\u{fffd}"]);
    assert_eq!(tick_story(&change, &story).unwrap(), ["2.2 c"]);

    let after: &[u8] =
        b"\xef\xbb\xbf## 1. A\r\n- [ ] 1.1 a\xff\r\n## 2. B\r\n- [x] 2.1 b\r\n- [x] 2.2 c";
    assert_eq!(fs::read(&real).unwrap(), after);
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(place.path("openspec/changes/a/tasks.md").is_symlink());
    assert_eq!(fs::read_dir(place.path("real")).unwrap().count(), 1);
    assert_eq!(tick_story(&change, &story).unwrap(), [""; 0]);
}

#[test]
fn a_task_file_that_is_gone_has_lost_its_tasks() {
    let place = Place::with(&[("openspec/changes/a/tasks.md", "- [ ] a\n")]);
    let change = place.change("a").unwrap();
    fs::remove_file(place.path("openspec/changes/a/tasks.md")).unwrap();
    let check = check_story(&change, &StoryId("tasks".to_owned())).unwrap();
    assert_eq!(check.missing, ["a"]);
    assert_eq!(
        tick_story(&change, &StoryId("tasks".to_owned())).unwrap(),
        [""; 0]
    );
}

#[test]
fn a_huge_file_is_refused() {
    let place = Place::with(&[("openspec/changes/a/tasks.md", "")]);
    let file = fs::File::options()
        .write(true)
        .open(place.path("openspec/changes/a/tasks.md"))
        .unwrap();
    file.set_len(16 * 1024 * 1024 + 1).unwrap();
    let error = place.change("a").unwrap_err();
    let tasks = place.path("openspec/changes/a/tasks.md");
    assert_eq!(
        error.to_string(),
        format!(
            "`{}` is too large to be read: 16777217 bytes",
            tasks.display()
        )
    );
    assert!(error.hint().is_some());
}

#[test]
fn task_files_outside_the_work_tree_are_restored_and_their_replacements_kept() {
    let before = "## 1. A\n- [ ] 1.1 a\n";
    let tasks = "openspec/changes/c/tasks.md";
    let place = Place::with(&[(tasks, before)]);
    let change = place.change("c").unwrap();
    let kept = place.path("vault/outside");
    keep_outside(&change, &place.path(""), &kept).unwrap();
    assert!(!kept.exists(), "a checkpoint holds what is inside");
    restore_outside(&kept).unwrap();

    keep_outside(&change, &place.path("code"), &kept).unwrap();
    place.write(tasks, "## 1. A\n- [x] 1.1 a\n");
    restore_outside(&kept).unwrap();
    restore_outside(&kept).unwrap();
    assert_eq!(fs::read_to_string(place.path(tasks)).unwrap(), before);
    let displaced = fs::read_dir(&kept)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("displaced"))
        .map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(displaced.collect::<Vec<_>>(), ["## 1. A\n- [x] 1.1 a\n"]);
}
