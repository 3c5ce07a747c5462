//! Phases, user stories and tasks that a text of a spec-kit plan names: `Phase 2`, `US1 and US3`,
//! `User Stories 1-3`, `T004–T007`.

/// What a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Phase,
    UserStory,
    Task,
}

/// One thing that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) kind: Kind,
    /// Its number as written, such as `2` or `3.1`.
    pub(super) number: String,
}

impl Mention {
    /// Its number before the first dot.
    pub(super) fn whole_number(&self) -> Option<u32> {
        self.number.split('.').next()?.parse().ok()
    }
}

/// Words before a number, longer ones before those they begin with; with `true` the number follows
/// at once.
const WORDS: [(&str, Kind, bool); 7] = [
    ("user stories", Kind::UserStory, false),
    ("user story", Kind::UserStory, false),
    ("story", Kind::UserStory, false),
    ("phases", Kind::Phase, false),
    ("phase", Kind::Phase, false),
    ("us", Kind::UserStory, true),
    ("t", Kind::Task, true),
];

/// The largest range that is counted: what is larger is no range of phases or tasks.
const LONGEST_RANGE: u32 = 500;

/// All that a text names, in order.
pub(super) fn mentions(text: &str) -> Vec<Mention> {
    let text = text.to_lowercase();
    let mut found = Vec::new();
    let mut rest = text.as_str();
    let mut is_word_start = true;
    while let Some(next) = rest.chars().next() {
        let group = is_word_start.then(|| group(rest)).flatten();
        if let Some((named, after)) = group {
            found.extend(named);
            rest = after;
            is_word_start = false;
        } else {
            is_word_start = !next.is_alphanumeric() && next != '_';
            rest = &rest[next.len_utf8()..];
        }
    }
    found
}

/// What a text begins with, if it names something, and how much of it that takes.
pub(super) fn leading(text: &str) -> Option<(Vec<Mention>, &str)> {
    let lower = text.to_lowercase();
    let (named, after) = group(&lower)?;
    // Lower case may have another length; then the text names nothing we know.
    let taken = lower.len().checked_sub(after.len())?;
    Some((named, text.get(taken..)?))
}

/// A word and its numbers at the start of a text.
fn group(text: &str) -> Option<(Vec<Mention>, &str)> {
    WORDS.iter().find_map(|(word, kind, is_joined)| {
        let rest = text.strip_prefix(word)?;
        let spaced = rest.trim_start_matches(' ');
        if !is_joined && spaced.len() == rest.len() {
            return None;
        }
        let (numbers, rest) = numbers(if *is_joined { rest } else { spaced }, word)?;
        let named = numbers.into_iter().map(|number| Mention {
            kind: *kind,
            number,
        });
        Some((named.collect(), rest))
    })
}

/// A number, a range or a list of them at the start of a text.
fn numbers<'a>(text: &'a str, word: &str) -> Option<(Vec<String>, &'a str)> {
    let (first, mut rest) = number(text)?;
    let mut found = vec![first.to_owned()];
    loop {
        if let Some((last, after)) = range_end(rest, word) {
            found.extend(between(found.last().map_or("", String::as_str), last));
            rest = after;
        } else if let Some((next, after)) = listed(rest) {
            found.push(next.to_owned());
            rest = after;
        } else {
            return Some((found, rest));
        }
    }
}

/// `2`, `3.1`, `017d`; the letters are not part of it.
fn number(text: &str) -> Option<(&str, &str)> {
    let length = crate::label::number_length(text);
    let (number, rest) = text.split_at(length);
    let letters = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    (length > 0).then(|| (number, &rest[letters.unwrap_or(rest.len())..]))
}

/// The end of a range whose start was read: `-3`, `–us4`.
fn range_end<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let rest = text.strip_prefix(['-', '–'])?;
    number(rest.strip_prefix(word).unwrap_or(rest))
}

/// The next number of a list whose first one was read: `, 3`, `/3`, ` and 3`.
fn listed(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(' ');
    let rest = [", and ", ",", "/", "&", "+", "and ", "or "]
        .iter()
        .find_map(|between| text.strip_prefix(between))?;
    number(rest.trim_start_matches(' '))
}

/// The numbers after the first one up to the last one, where both are whole.
fn between(first: &str, last: &str) -> Vec<String> {
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) if last > first && last - first <= LONGEST_RANGE => {
            (first + 1..=last).map(|it| it.to_string()).collect()
        }
        _ => vec![last.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_text_names_phases_user_stories_and_tasks() {
        #[track_caller]
        fn case(text: &str, want: &str) {
            let found: Vec<String> = mentions(text)
                .iter()
                .map(|it| format!("{:?} {}", it.kind, it.number))
                .collect();
            assert_eq!(found.join(", "), want);
        }
        case("Depends on User Story 1 (needs a login)", "UserStory 1");
        case(
            "Depends on US1, US2, US3 being done",
            "UserStory 1, UserStory 2, UserStory 3",
        );
        case(
            "User Stories 1 and 2; US4/US5",
            "UserStory 1, UserStory 2, UserStory 4, UserStory 5",
        );
        case(
            "US1–US3, phases 4-6",
            "UserStory 1, UserStory 2, UserStory 3, Phase 4, Phase 5, Phase 6",
        );
        case("US1's reader, Phase 3.1", "UserStory 1, Phase 3.1");
        case("after T024 and T017d_new", "Task 024, Task 017");
        case("(T004–T006)", "Task 004, Task 5, Task 6");
        case("Phase 1 (fixtures) + Phase 2", "Phase 1, Phase 2");
        case(
            "P1 before P2, version 2, 3 stories, trust 1, bonus1, status 2",
            "",
        );
        case("US1-999999999", "UserStory 1, UserStory 999999999");
        case("Story complete before moving on", "");
        case("İ US2", "UserStory 2");
        case("", "");
    }

    #[test]
    fn what_a_text_begins_with_is_taken_off() {
        let taken = |text| leading(text).map(|(named, rest)| (named.len(), rest));
        assert_eq!(taken("User Story 2 (P2): later"), Some((1, " (P2): later")));
        assert_eq!(taken("US1-3: together"), Some((3, ": together")));
        assert_eq!(taken("Setup (Phase 1)"), None);
        assert_eq!(taken("User stories can wait"), None);
    }
}
