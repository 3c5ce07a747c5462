//! Tests of plans that are not `OpenSpec`'s: where they are found, and what they are called.

use pretty_assertions::assert_eq;

use super::*;

const TASKS: &str = "## Phase 1: A\n- [ ] T001 a\n";
const STORIES: &str = r#"{"userStories": [{"id": "a", "title": "A", "passes": false}]}"#;

/// Kind, name and path of what is found from a folder.
fn found(place: &Place, inner: &str) -> Vec<(&'static str, String, String)> {
    let mut changes = survey(&place.around(inner)).unwrap().changes;
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let row = |it: crate::summary::ChangeSummary| (it.kind.word(), it.name, it.path);
    changes.into_iter().map(row).collect()
}

#[test]
fn plans_are_searched_up_to_the_top_of_the_work_tree() {
    let place = Place::with(&[
        ("prd.json", STORIES),
        ("repo/.git/HEAD", ""),
        ("repo/specs/001-a/tasks.md", TASKS),
        ("repo/fix_plan.md", "- [ ] a\n"),
        ("repo/inner/fix_plan.md", "- [ ] b\n"),
        ("repo/inner/deep/x", ""),
    ]);
    let top = place.path("repo").display().to_string();
    let row = |kind, name: &str, path: &str| (kind, name.to_owned(), path.to_owned());
    assert_eq!(
        found(&place, "repo/inner"),
        [
            row("spec-kit", "001-a", &format!("{top}/specs/001-a")),
            row("checklist", "fix-plan", "fix_plan.md"),
        ]
    );
    assert_eq!(found(&place, "repo").len(), 2);
    // Without a repository only the folder itself is searched.
    assert_eq!(found(&place, ""), [row("prd.json", "prd", "prd.json")]);
    assert!(matches!(
        survey(&place.around("repo/.git")),
        Ok(Survey { changes, .. }) if changes.len() == 2
    ));
    let empty = Place::with(&[("x", "")]);
    assert!(matches!(
        survey(&empty.around("")),
        Ok(Survey { changes, .. }) if changes.is_empty()
    ));
}

#[test]
fn folders_of_specs_without_a_plan_are_no_plans() {
    let place = Place::with(&[
        ("specs/auth/spec.md", "# Auth\n"),
        ("specs/002-b/plan.md", "# B\n"),
        (".kiro/specs/empty/notes.md", ""),
        (".kiro/specs/new/requirements.md", ""),
    ]);
    let names: Vec<String> = found(&place, "").into_iter().map(|it| it.1).collect();
    assert_eq!(names, ["new", "002-b"]);
    let new = read_target("new", &place.around("")).unwrap();
    assert_eq!(
        (new.stories.len(), new.warnings[0].code),
        (0, "no_task_file")
    );
}

#[test]
fn the_list_says_which_stories_depend_on_which() {
    let stories = r#"[
        {"id": "A", "passes": false, "dependsOn": ["B"]},
        {"id": "B", "passes": false, "dependsOn": ["A"]}
    ]"#;
    let place = Place::with(&[("prd.json", stories), ("fix_plan.md", "- [ ] a\n")]);
    let mut found = survey(&place.around("")).unwrap();
    found.changes.sort_by(|a, b| a.path.cmp(&b.path));
    let said: Vec<_> = found
        .changes
        .iter()
        .map(|it| serde_json::to_value(&it.depends_on))
        .collect();
    let said: Vec<_> = said.into_iter().map(Result::unwrap).collect();
    assert_eq!(said, [json!(null), json!({"A": [], "B": ["A"]})]);
    let warnings: Vec<_> = found.warnings.into_iter().map(|it| it.message).collect();
    let want =
        "`prd`: story A depends on story B, which depends on story A: story A does not wait for it";
    assert_eq!(warnings, [want]);
}

#[test]
fn every_kind_is_read_again_from_where_it_was_read() {
    let place = Place::with(&[
        ("specs/001-a/tasks.md", TASKS),
        (".kiro/specs/k/tasks.md", "- [ ] 1. a\n- [ ] 2. b\n"),
        ("fix_plan.md", "- [ ] a\n"),
        ("prd.json", STORIES),
        ("sub/x", ""),
    ]);
    let around = place.around("");
    for (target, path, kind) in [
        ("001-a", "specs/001-a", SourceKind::SpecKit),
        ("k", ".kiro/specs/k/", SourceKind::Kiro),
        ("fix-plan", "./fix_plan.md", SourceKind::Checklist),
        ("prd", "prd.json", SourceKind::PrdJson),
    ] {
        let change = read_target(target, &around).unwrap();
        assert_eq!((change.name.as_str(), change.source), (target, kind));
        assert_eq!(read_target(path, &around).unwrap(), change);
        assert_eq!(name_of(path, &around), target);
        let elsewhere = place.around("sub");
        assert_eq!(read_again(&change, &elsewhere).unwrap(), change);
        let plan = place_of(&change).unwrap();
        let again = read_from(Path::new(&plan), target, &elsewhere).unwrap();
        assert_eq!(again, change);
        let file = change.task_files[0].path.display().to_string();
        assert_eq!(read_target(&file, &elsewhere).unwrap(), change);
    }
}

#[test]
fn a_change_and_another_plan_of_one_name_are_distinguished_by_path() {
    let place = Place::with(&[
        ("openspec/changes/prd/tasks.md", "- [ ] a\n"),
        ("prd.json", STORIES),
    ]);
    let error = read_target("prd", &place.around("")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`prd` is the name of several plans: `openspec/changes/prd`, `prd.json`"
    );
    let read = |path: &str| read_target(path, &place.around("")).unwrap().source;
    assert_eq!(
        ["openspec/changes/prd", "prd.json"].map(read),
        [SourceKind::OpenSpec, SourceKind::PrdJson]
    );
}

#[test]
fn the_feature_spec_kit_is_at_is_said_by_the_environment_or_its_file() {
    let place = Place::with(&[(
        ".specify/feature.json",
        r#"{"feature_directory": "/p/specs/002-b"}"#,
    )]);
    let by_file = current_feature(&place.around("")).unwrap();
    assert_eq!(by_file.as_deref(), Some("002-b"));
    let around = Surroundings {
        feature: Some("001-a".into()),
        ..place.around("")
    };
    assert_eq!(current_feature(&around).unwrap().as_deref(), Some("001-a"));
    place.write(".specify/feature.json", "not JSON");
    assert_eq!(current_feature(&place.around("")).unwrap(), None);
}

#[test]
fn what_a_feature_says_is_to_be_read_but_its_checklists() {
    let place = Place::with(&[
        ("specs/001-a/tasks.md", TASKS),
        ("specs/001-a/spec.md", ""),
        ("specs/001-a/plan.md", ""),
        ("specs/001-a/contracts/api.yaml", ""),
        ("specs/001-a/checklists/ux.md", "- [ ] CHK001 Clear?\n"),
        (".specify/memory/constitution.md", ""),
    ]);
    let change = read_target("specs/001-a", &place.around("")).unwrap();
    let artifacts: Vec<&str> = change
        .documents
        .iter()
        .map(|it| it.artifact.as_str())
        .collect();
    assert_eq!(
        artifacts,
        ["constitution", "spec", "plan", "contracts", "tasks"]
    );
    assert_eq!(change.task_tally().total, 1);

    let place = Place::with(&[
        (".kiro/specs/k/tasks.md", "- [ ] 1. a\n"),
        (".kiro/specs/k/design.md", ""),
        (".kiro/specs/k/requirements.md", ""),
        (".kiro/steering/tech.md", ""),
        (".kiro/steering/logo.png", ""),
    ]);
    let change = read_target("k", &place.around("")).unwrap();
    let documents = change.documents.iter();
    let counts: Vec<_> = documents
        .map(|it| (it.artifact.as_str(), it.paths.len()))
        .collect();
    assert_eq!(
        counts,
        [
            ("steering", 1),
            ("requirements", 1),
            ("design", 1),
            ("tasks", 1)
        ]
    );
}
