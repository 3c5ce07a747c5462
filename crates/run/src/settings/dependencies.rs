//! What the settings say about the stories that depend on others: `depends`, and `[[story]]`.

use super::Settings;
use ralph_base::ids::StoryId;
use ralph_plan::change::{Change, Dependencies, Story};
use ralph_plan::dependencies;

impl Settings {
    /// Adds what the settings say to what a plan says of its stories. What is said of one story
    /// counts more than the plan, and the plan more than what is said of all.
    pub fn add_dependencies(&self, change: &mut Change) {
        let name = change.name.clone();
        dependencies::add(change, |story| self.dependencies_of(story, &name));
    }

    fn dependencies_of(&self, story: &Story, change: &str) -> Option<Dependencies> {
        let of_story = || self.stories.value.iter().filter(|it| it.id == story.id.0);
        let of_change = of_story().filter(|it| it.change.as_deref() == Some(change));
        let mut said = of_change.chain(of_story().filter(|it| it.change.is_none()));
        if let Some(said) = said.find_map(|it| it.depends_on.as_ref()) {
            return Some(said.iter().cloned().map(StoryId).collect());
        }
        let is_free = !self.depends.value && story.depends_on == Dependencies::Unknown;
        is_free.then_some(Dependencies::NONE)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::file;
    use super::*;
    use ralph_plan::change::{SourceKind, TaskFile};
    use ralph_plan::source::read_stories;

    /// A plan of three stories that says nothing, or of the second that it depends on the third.
    fn plan(source: SourceKind) -> Change {
        let text = match source {
            SourceKind::PrdJson => {
                r#"[{"id": "1", "passes": false, "dependencies": {}}, {"id": "2", "passes": false,
                "dependsOn": ["3"]}, {"id": "3", "passes": false}]"#
            }
            _ => "## 1. A\n- [ ] a\n## 2. B\n- [ ] b\n## 3. C\n- [ ] c\n",
        };
        let task_files = vec![TaskFile {
            path: "/p".into(),
            label: "p".to_owned(),
            bytes: text.into(),
        }];
        let (stories, warnings) = read_stories(&task_files, source);
        Change {
            name: "c".to_owned(),
            root: "/".into(),
            source,
            stories,
            scenarios: Vec::new(),
            documents: Vec::new(),
            context: None,
            guidance: Vec::new(),
            warnings,
            task_files,
        }
    }

    #[track_caller]
    fn case(settings: &str, source: SourceKind, want: [&str; 3], warnings: &[&str]) {
        let layer = file::parse("ralphtool.toml", settings).unwrap();
        let mut change = plan(source);
        let settings = Settings::resolve([layer]).unwrap();
        settings.add_dependencies(&mut change);
        // A plan that is read again gets the same.
        let line = |story: &Story| match story.depends_on.known() {
            None => "?".to_owned(),
            Some(on) => on
                .iter()
                .map(|it| it.0.as_str())
                .collect::<Vec<_>>()
                .join(" "),
        };
        let found: Vec<String> = change.stories.iter().map(line).collect();
        let said: Vec<&str> = change
            .warnings
            .iter()
            .map(|it| it.message.as_str())
            .collect();
        assert_eq!(
            (found, said),
            (want.map(str::to_owned).to_vec(), warnings.to_vec())
        );
    }

    #[test]
    fn what_is_said_of_a_story_counts_more_than_the_plan_and_the_plan_more_than_depends() {
        use SourceKind::{OpenSpec, PrdJson};
        case("", OpenSpec, ["?", "?", "?"], &[]);
        case("", PrdJson, ["?", "3", ""], &[]);
        case("depends = true", OpenSpec, ["?", "?", "?"], &[]);
        case("depends = false", OpenSpec, ["", "", ""], &[]);
        case("depends = false", PrdJson, ["", "3", ""], &[]);
        let third = "[[story]]\nid = \"3\"\ndepends_on = [\"1\"]\n";
        case(third, OpenSpec, ["?", "?", "1"], &[]);
        case(third, PrdJson, ["?", "3", "1"], &[]);
        case(
            &format!("depends = false\n{third}"),
            OpenSpec,
            ["", "", "1"],
            &[],
        );
        let none = "[[story]]\nid = \"2\"\ndepends_on = []\n";
        case(none, PrdJson, ["?", "", ""], &[]);
        let other = third.replace("id", "change = \"other\"\nid");
        case(&other, OpenSpec, ["?", "?", "?"], &[]);
        let own = none.replace("id", "change = \"c\"\nid").replace('2', "3");
        case(&format!("{third}{own}"), OpenSpec, ["?", "?", ""], &[]);
        case(
            "[[story]]\nid = \"3\"\nmodel = \"m\"\n",
            OpenSpec,
            ["?", "?", "?"],
            &[],
        );
    }

    #[test]
    fn dependencies_in_the_settings_that_cannot_hold_are_reported() {
        let text = "[[story]]\nid = \"1\"\ndepends_on = [\"2\", \"9\"]\n\
                    [[story]]\nid = \"2\"\ndepends_on = [\"1\"]\n";
        case(
            text,
            SourceKind::OpenSpec,
            ["", "1", "?"],
            &[
                "story 1 depends on `9`, which is not in the plan",
                "story 1 depends on story 2, which depends on story 1: story 1 does not wait for it",
            ],
        );
    }
}
