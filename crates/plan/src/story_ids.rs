//! Story ids: the number where it is unique, else a slug of the title, unique in the change.
//!
//! Ids come from headings only, never from boxes, so ticking changes none.

use std::collections::{HashMap, HashSet};

use crate::label::{Label, slug};
use ralph_base::ids::StoryId;

/// What a story could be called.
pub(crate) struct Candidate<'a> {
    /// Its heading.
    pub label: &'a Label,
    /// The file it is in.
    pub file: &'a str,
}

/// Names every story, in the order given.
pub(crate) fn assign(candidates: &[Candidate<'_>]) -> Vec<StoryId> {
    let mut uses: HashMap<(&str, &str), usize> = HashMap::new();
    for candidate in candidates {
        if let Some(number) = &candidate.label.number {
            *uses.entry((candidate.file, number)).or_default() += 1;
        }
    }
    let mut names: Vec<Name> = candidates
        .iter()
        .map(|candidate| match &candidate.label.number {
            Some(number) if uses.get(&(candidate.file, number)) == Some(&1) => Name {
                text: number.clone(),
                is_number: true,
            },
            _ => Name {
                text: slug(&candidate.label.title),
                is_number: false,
            },
        })
        .collect();
    prefix_with_files(candidates, &mut names);
    make_unique(names)
}

/// A name that may still clash.
struct Name {
    text: String,
    is_number: bool,
}

/// Puts the file's name in front of names that occur in more than one file.
fn prefix_with_files(candidates: &[Candidate<'_>], names: &mut [Name]) {
    let mut files: HashMap<String, HashSet<&str>> = HashMap::new();
    for (candidate, name) in candidates.iter().zip(&*names) {
        let files = files.entry(name.text.clone()).or_default();
        files.insert(candidate.file);
    }
    for (candidate, name) in candidates.iter().zip(names) {
        if files[&name.text].len() < 2 {
            continue;
        }
        let file = candidate.file;
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        name.text = format!("{}-{}", slug(stem), name.text);
        name.is_number = false;
    }
}

/// Numbers keep their name; slugs that are used get `-2`, `-3` and so on.
fn make_unique(names: Vec<Name>) -> Vec<StoryId> {
    let numbers = names.iter().filter(|name| name.is_number);
    let mut used: HashSet<String> = numbers.map(|name| name.text.clone()).collect();
    names
        .into_iter()
        .map(|name| {
            if name.is_number {
                StoryId(name.text)
            } else {
                StoryId(unused(&name.text, &mut used))
            }
        })
        .collect()
}

fn unused(slug: &str, used: &mut HashSet<String>) -> String {
    let mut name = slug.to_owned();
    let mut count = 1;
    while !used.insert(name.clone()) {
        count += 1;
        name = format!("{slug}-{count}");
    }
    name
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::label::label;
    use super::*;

    #[track_caller]
    fn case(headings: &[(&str, &str)], want: &[&str]) {
        let labels: Vec<Label> = headings.iter().map(|(_, heading)| label(heading)).collect();
        let candidates: Vec<_> = headings
            .iter()
            .zip(&labels)
            .map(|((file, _), label)| Candidate { label, file })
            .collect();
        let ids: Vec<String> = assign(&candidates).into_iter().map(|id| id.0).collect();
        assert_eq!(ids, want);
    }

    #[test]
    fn numbers_where_unique_else_slugs() {
        case(
            &[("t.md", "1. A"), ("t.md", "Phase 2: B"), ("t.md", "Notes")],
            &["1", "2", "notes"],
        );
        case(
            &[("t.md", "1. A"), ("t.md", "1. B"), ("t.md", "3. C")],
            &["a", "b", "3"],
        );
        case(
            &[("t.md", "Same"), ("t.md", "Same"), ("t.md", "Same 2")],
            &["same", "same-2", "same-2-2"],
        );
        case(
            &[("t.md", "1. 2"), ("t.md", "1. 3"), ("t.md", "2. X")],
            &["2-2", "3", "2"],
        );
    }

    #[test]
    fn several_files_share_no_id() {
        case(
            &[
                ("work/api.md", "1. A"),
                ("work/api.md", "2. B"),
                ("work/ui.md", "1. A"),
            ],
            &["work-api-1", "2", "work-ui-1"],
        );
    }
}
