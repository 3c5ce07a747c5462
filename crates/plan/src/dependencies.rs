//! Which stories of a plan depend on which, as far as the plan says.
//!
//! Formats and settings write down what they say of each story; [`settle`] then removes what cannot
//! hold. After it, dependencies name stories of the plan only and form no cycle.

use crate::change::{Change, Dependencies, Story, Warning};
use ralph_base::ids::StoryId;

/// The warning about stories that depend on each other.
const CYCLE: &str = "dependency_cycle";

/// The warning about a story that depends on one that is not there.
const UNKNOWN: &str = "unknown_dependency";

/// Whether a warning is about stories that depend on each other.
pub(crate) fn is_about_dependencies(warning: &Warning) -> bool {
    warning.code == CYCLE || warning.code == UNKNOWN
}

/// Adds to what a plan says of its stories; what cannot hold is ignored, with a warning. Where
/// `said` gives nothing for a story, what the plan says stays.
pub fn add(change: &mut Change, said: impl Fn(&Story) -> Option<Dependencies>) {
    for story in &mut change.stories {
        if let Some(said) = said(story) {
            story.depends_on = said;
        }
    }
    let warnings = settle(&mut change.stories);
    change.warnings.extend(warnings);
}

/// Removes dependencies on what is no story of the plan and those that close a cycle, and says so.
pub(crate) fn settle(stories: &mut [Story]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for index in 0..stories.len() {
        let Some(said) = stories[index].depends_on.known().cloned() else {
            continue;
        };
        let kept =
            said.into_iter()
                .filter(|dependency| match problem(stories, index, dependency) {
                    Some(warning) => {
                        warnings.push(warning);
                        false
                    }
                    None => true,
                });
        stories[index].depends_on = kept.collect();
    }
    // Of a cycle, at least one story depends on a later one. Without that dependency, the order of
    // the document holds.
    for index in 0..stories.len() {
        let said = stories[index].depends_on.known().cloned();
        for dependency in said.into_iter().flatten() {
            let later = place(stories, &dependency).is_some_and(|place| place > index);
            let id = stories[index].id.clone();
            if later && reaches(stories, &dependency, &id) {
                if let Dependencies::Known(kept) = &mut stories[index].depends_on {
                    kept.remove(&dependency);
                }
                warnings.push(Warning::new(
                    CYCLE,
                    format!(
                        "story {id} depends on story {dependency}, which depends on story {id}: \
                         story {id} does not wait for it"
                    ),
                ));
            }
        }
    }
    warnings
}

/// Why a dependency of a story cannot be.
fn problem(stories: &[Story], index: usize, dependency: &StoryId) -> Option<Warning> {
    let id = &stories[index].id;
    if dependency == id {
        let message = format!("story {id} depends on itself, which is ignored");
        return Some(Warning::new(CYCLE, message));
    }
    place(stories, dependency).is_none().then(|| {
        let message = format!("story {id} depends on `{dependency}`, which is not in the plan");
        Warning::new(UNKNOWN, message)
    })
}

fn place(stories: &[Story], id: &StoryId) -> Option<usize> {
    stories.iter().position(|story| story.id == *id)
}

/// Whether one story depends on the other, directly or by what it depends on.
fn reaches(stories: &[Story], from: &StoryId, to: &StoryId) -> bool {
    let said = |id: &StoryId| place(stories, id).map(|place| &stories[place].depends_on);
    said(from).is_some_and(|it| it.all(said).contains(to))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::change::StoryState;

    fn id(text: &str) -> StoryId {
        StoryId(text.to_owned())
    }

    /// Stories with what is said of each; `None` where nothing is.
    fn stories(said: &[(&str, Option<&[&str]>)]) -> Vec<Story> {
        let story = |(name, on): &(&str, Option<&[&str]>)| Story {
            id: id(name),
            title: String::new(),
            tasks: Vec::new(),
            section: String::new(),
            line: 1,
            state: StoryState::Open,
            file: 0,
            depends_on: match on {
                None => Dependencies::Unknown,
                Some(on) => on.iter().map(|it| id(it)).collect(),
            },
        };
        said.iter().map(story).collect()
    }

    fn lines(stories: &[Story]) -> Vec<String> {
        let line = |story: &Story| match story.depends_on.known() {
            None => format!("{}: ?", story.id),
            Some(on) => {
                let on: Vec<&str> = on.iter().map(|it| it.0.as_str()).collect();
                format!("{}: {}", story.id, on.join(" "))
            }
        };
        stories.iter().map(line).collect()
    }

    #[track_caller]
    fn case(said: &[(&str, Option<&[&str]>)], want: &[&str], warnings: &[&str]) {
        let mut stories = stories(said);
        let found = settle(&mut stories);
        let found: Vec<String> = found.into_iter().map(|it| it.message).collect();
        assert_eq!(
            (&lines(&stories)[..], &found[..]),
            (&own(want)[..], &own(warnings)[..])
        );
    }

    fn own(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn dependencies_that_hold_stay_as_they_are() {
        let said: &[(&str, Option<&[&str]>)] = &[
            ("1", Some(&["3"])),
            ("2", None),
            ("3", Some(&[])),
            ("4", Some(&["1", "2"])),
        ];
        case(said, &["1: 3", "2: ?", "3: ", "4: 1 2"], &[]);
    }

    #[test]
    fn what_is_no_story_of_the_plan_is_ignored_with_a_warning() {
        case(
            &[("1", Some(&["1"])), ("2", Some(&["1", "9"]))],
            &["1: ", "2: 1"],
            &[
                "story 1 depends on itself, which is ignored",
                "story 2 depends on `9`, which is not in the plan",
            ],
        );
    }

    #[test]
    fn a_cycle_is_cut_where_a_story_depends_on_a_later_one() {
        case(
            &[("1", Some(&["2"])), ("2", Some(&["1"]))],
            &["1: ", "2: 1"],
            &["story 1 depends on story 2, which depends on story 1: story 1 does not wait for it"],
        );
        // The way back may be long; a later story outside of the cycle is still waited for.
        case(
            &[
                ("1", Some(&["3", "4"])),
                ("2", Some(&["1"])),
                ("3", Some(&["2"])),
                ("4", Some(&[])),
            ],
            &["1: 4", "2: 1", "3: 2", "4: "],
            &["story 1 depends on story 3, which depends on story 1: story 1 does not wait for it"],
        );
    }

    proptest! {
        #[test]
        fn whatever_is_said_there_is_an_order_in_which_all_stories_can_be_done(
            said in prop::collection::vec(
                prop::option::of(prop::collection::btree_set(0_usize..9, 0..5)), 0..8
            ),
        ) {
            let names: Vec<String> = (0..9).map(|it| it.to_string()).collect();
            let said: Vec<(&str, Option<Vec<&str>>)> = said.iter().enumerate().map(|(place, on)| {
                let on = on.as_ref().map(|on| on.iter().map(|it| names[*it].as_str()).collect());
                (names[place].as_str(), on)
            }).collect();
            let said: Vec<_> = said.iter().map(|(name, on)| (*name, on.as_deref())).collect();
            let mut stories = stories(&said);
            settle(&mut stories);
            let mut done: Vec<StoryId> = Vec::new();
            while let Some(next) = stories.iter().find(|it| {
                let mut on = it.depends_on.known().into_iter().flatten();
                !done.contains(&it.id) && on.all(|it| done.contains(it))
            }) {
                done.push(next.id.clone());
            }
            prop_assert_eq!(done.len(), stories.len());
            prop_assert_eq!(settle(&mut stories), vec![]);
        }
    }
}
