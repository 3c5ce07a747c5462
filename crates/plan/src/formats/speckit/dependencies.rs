//! Which phases of a spec-kit plan depend on which, by its section "Dependencies".
//!
//! The section is prose that spec-kit writes from a template: each user story has an entry such as
//! `- **User Story 2 (P2)**: Depends on US1`. A story whose entry is not there, or not understood,
//! may depend on everything before it. Where a sentence may be read in two ways, it is read as a
//! dependency: to leave out a story is better than to build it on work that is missing. A later
//! phase is never waited for.
//!
//! `[P]` marks say which tasks of one phase can be done at the same time, and nothing about phases.

use std::collections::BTreeSet;

use super::mentions::{Kind, Mention, leading, mentions};
use crate::change::{Dependencies, Story, TaskFile};
use crate::label::label;
use crate::outline::Outline;

/// Words that join a story to what it depends on: `US3 depends on US2`.
const ON: [&str; 9] = [
    "depends on ",
    "depend on ",
    "requires ",
    "require ",
    "needs ",
    "need ",
    "builds on ",
    "after ",
    "once ",
];

/// Words that join a story to what depends on it: `US2 before US3`.
const BEFORE: [&str; 7] = [
    "before ",
    "blocks ",
    "block ",
    "prerequisite for ",
    "required for ",
    "→",
    "->",
];

/// Parts of words that say that there is no dependency.
const NO_DEPENDENCY: [&str; 3] = ["no dep", "not dep", "no cross"];

/// Parts of words that say the same where the clause has no `not`.
const INDEPENDENT: [&str; 3] = ["independen", "parallel", "immediately"];

/// What names a dependency even in a clause about other stories: `in parallel with US2 after US1`.
const IN_ANY_CASE: [&str; 6] = [
    " after ",
    " once ",
    "depends on ",
    "requires ",
    "needs ",
    "builds on ",
];

/// Subsections that speak of tasks within a phase, or of who may work on what.
const OTHER_SUBJECTS: [&str; 4] = ["parallel", "within", "example", "strategy"];

/// What ends a clause.
const CLAUSE_ENDS: [&str; 10] = [
    "(", ")", ";", " - ", "—", " – ", ". ", " but ", ", so ", ": ",
];

/// Says of each story of a file which others it depends on.
pub(super) fn read(stories: &mut [Story], file: &TaskFile) {
    let outline = Outline::of(&file.bytes);
    let mut plan = Plan::of(stories, &outline);
    for item in items(&file.bytes, &outline) {
        plan.take_in(&item);
    }
    for (place, known) in plan.dependencies(stories) {
        let ids = known.into_iter().map(|it| stories[it].id.clone());
        stories[place].depends_on = ids.collect::<Dependencies>();
    }
}

/// The phases of a plan and what was read about them. Phases are named by their places.
struct Plan {
    phases: Vec<Phase>,
    /// Numbers of phases and user stories that have a heading, with tasks or without.
    headings: Vec<Mention>,
}

/// One phase: a story of ralphtool.
struct Phase {
    number: String,
    /// The user stories it is about; none for setup, foundation and polish.
    user_stories: BTreeSet<u32>,
    tasks: BTreeSet<u32>,
    /// The section says what it depends on.
    has_entry: bool,
    /// Phases it depends on.
    on: BTreeSet<usize>,
}

impl Plan {
    fn of(stories: &[Story], outline: &Outline) -> Self {
        let phases = stories.iter().map(Phase::of).collect();
        let headings = outline.headings.iter().flat_map(|heading| {
            let numbered = label(&heading.title).number.map(|number| Mention {
                kind: Kind::Phase,
                number,
            });
            numbered.into_iter().chain(mentions(&heading.title))
        });
        Self {
            phases,
            headings: headings.collect(),
        }
    }

    /// Takes in what one item of the section says.
    fn take_in(&mut self, item: &str) {
        let entry = entry(item);
        let (about, text) = match &entry {
            Some((mention, text)) => (self.places_of(mention), *text),
            None => (Vec::new(), item),
        };
        let mut is_understood = true;
        let mut says_something = false;
        for clause in clauses(text).into_iter().flat_map(Clause::read) {
            is_understood &= self.knows(&clause.left) && self.knows(&clause.right);
            says_something |= clause.says_something();
            self.relate(&about, &clause);
        }
        if is_understood && says_something {
            for place in about {
                self.phases[place].has_entry = true;
            }
        }
    }

    /// Takes note of what a clause in the entry of some phases says.
    fn relate(&mut self, about: &[usize], clause: &Clause) {
        let left = self.places(&clause.left);
        let right = self.places(&clause.right);
        match clause.relation {
            Relation::None => self.add(about, &left),
            Relation::On => {
                self.add(&left, &right);
                self.add(about, &left);
                self.add(about, &right);
            }
            Relation::Before if right.is_empty() => self.add(about, &left),
            Relation::Before => {
                self.add(&right, &left);
                self.add(&right, about);
            }
        }
    }

    /// Makes phases depend on earlier ones.
    fn add(&mut self, later: &[usize], earlier: &[usize]) {
        for place in later {
            let before = earlier.iter().copied().filter(|it| it < place);
            self.phases[*place].on.extend(before);
        }
    }

    fn places(&self, named: &[Mention]) -> Vec<usize> {
        named.iter().flat_map(|it| self.places_of(it)).collect()
    }

    fn places_of(&self, mention: &Mention) -> Vec<usize> {
        let places = 0..self.phases.len();
        places
            .filter(|it| self.phases[*it].is_named(mention))
            .collect()
    }

    /// Whether what a text names is in the plan. A task may be gone; a phase may have no tasks.
    fn knows(&self, named: &[Mention]) -> bool {
        let mut named = named.iter().filter(|it| it.kind != Kind::Task);
        named.all(|it| !self.places_of(it).is_empty() || self.headings.contains(it))
    }

    /// The phases of which it is known what they depend on, and what that is.
    fn dependencies(mut self, stories: &[Story]) -> Vec<(usize, BTreeSet<usize>)> {
        if !self.phases.iter().any(|phase| phase.has_entry) {
            return Vec::new();
        }
        for (place, story) in stories.iter().enumerate() {
            for task in &story.tasks {
                let named = depends_note(&task.raw).map(mentions).unwrap_or_default();
                let places = self.places(&named);
                self.add(&[place], &places);
            }
        }
        let known = |(place, phase): (usize, &Phase)| {
            if phase.user_stories.is_empty() {
                return Some((place, (0..place).collect()));
            }
            let before = self.phases[..place].iter().enumerate();
            // What is no user story comes before all of them, or after those before it.
            let shared = before.filter(|(_, it)| {
                it.user_stories.is_empty() || !it.user_stories.is_disjoint(&phase.user_stories)
            });
            let on = shared.map(|(it, _)| it).chain(phase.on.iter().copied());
            phase.has_entry.then(|| (place, on.collect()))
        };
        self.phases.iter().enumerate().filter_map(known).collect()
    }
}

impl Phase {
    fn of(story: &Story) -> Self {
        let titled = mentions(&story.title);
        let mut user_stories: BTreeSet<u32> = user_stories(&titled);
        if user_stories.is_empty() {
            let tags = story.tasks.iter().flat_map(|task| tags(&task.text));
            user_stories = tags
                .flat_map(|tag| self::user_stories(&mentions(tag)))
                .collect();
        }
        let tasks = story.tasks.iter().filter_map(|task| {
            let named = mentions(task.id.as_deref()?);
            named
                .iter()
                .find(|it| it.kind == Kind::Task)?
                .whole_number()
        });
        Self {
            number: story.id.0.clone(),
            user_stories,
            tasks: tasks.collect(),
            has_entry: false,
            on: BTreeSet::new(),
        }
    }

    fn is_named(&self, mention: &Mention) -> bool {
        let number = mention.whole_number();
        let is_in = |all: &BTreeSet<u32>| number.is_some_and(|it| all.contains(&it));
        match mention.kind {
            Kind::Phase => self.number == mention.number,
            Kind::UserStory => is_in(&self.user_stories),
            Kind::Task => is_in(&self.tasks),
        }
    }
}

fn user_stories(named: &[Mention]) -> BTreeSet<u32> {
    let named = named.iter().filter(|it| it.kind == Kind::UserStory);
    named.filter_map(Mention::whole_number).collect()
}

/// What is in brackets at the start of a task: `[P] [US1] Make it`.
fn tags(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (tag, after) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
        rest = after;
        Some(tag)
    })
}

/// What a task says it depends on: `Show it (depends on T002)`.
fn depends_note(task: &str) -> Option<&str> {
    let lower = task.to_ascii_lowercase();
    let start = lower.find("(depends on ")?;
    let note = &task[start..];
    Some(note.split_once(')').map_or(note, |(note, _)| note))
}

/// The paragraphs and list items of the sections about dependencies, a line each.
fn items(bytes: &[u8], outline: &Outline) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in 0..outline.lines() {
        if outline.is_fenced(line) || !is_about_dependencies(outline, line) {
            is_open = false;
            continue;
        }
        let text = outline.text(bytes, line..line + 1);
        let text = text.trim();
        let is_heading = text.starts_with('#');
        if text.is_empty() || is_heading || text.starts_with('|') {
            is_open = false;
            continue;
        }
        match (list_item(text), items.last_mut()) {
            (None, Some(last)) if is_open => {
                last.push(' ');
                last.push_str(text);
            }
            (item, _) => items.push(item.unwrap_or(text).to_owned()),
        }
        is_open = true;
    }
    for item in &mut items {
        item.retain(|c| !matches!(c, '*' | '`'));
    }
    items
}

fn is_about_dependencies(outline: &Outline, line: usize) -> bool {
    let mut is_inside = false;
    for title in outline.around(line) {
        let title = title.to_lowercase();
        if OTHER_SUBJECTS.iter().any(|other| title.contains(other)) {
            return false;
        }
        is_inside |= title.starts_with("dependenc");
    }
    is_inside
}

/// The text of a list item.
fn list_item(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if rest.len() < line.len() {
        rest.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+'])
    };
    rest?.strip_prefix(' ').map(str::trim_start)
}

/// The one phase or user story that an item is about, and the rest of the item.
fn entry(item: &str) -> Option<(Mention, &str)> {
    let (mut named, rest) = leading(item)?;
    let only = named
        .pop()
        .filter(|it| named.is_empty() && it.kind != Kind::Task)?;
    Some((only, rest))
}

fn clauses(text: &str) -> Vec<&str> {
    let mut clauses = vec![text];
    for end in CLAUSE_ENDS {
        clauses = clauses.into_iter().flat_map(|it| it.split(end)).collect();
    }
    clauses.into_iter().flat_map(at_commas).collect()
}

/// Splits at commas, but not in a list such as `US1, US2 and US3`.
fn at_commas(clause: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, comma) in clause.match_indices(", ") {
        let next = &clause[at + comma.len()..];
        let next = next.strip_prefix("and ").unwrap_or(next);
        if leading(next).is_none() && !next.starts_with(|c: char| c.is_ascii_digit()) {
            parts.push(&clause[start..at]);
            start = at + comma.len();
        }
    }
    parts.push(&clause[start..]);
    parts
}

/// How the two sides of a clause belong together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// There is one side only.
    None,
    /// The left side depends on the right one.
    On,
    /// The right side depends on the left one.
    Before,
}

/// What a clause says.
struct Clause {
    relation: Relation,
    left: Vec<Mention>,
    right: Vec<Mention>,
    /// It says that there is no dependency.
    is_negative: bool,
}

impl Clause {
    /// What a clause says; of a chain such as `US1 → US2 → US3` what each of its links says.
    fn read(text: &str) -> Vec<Self> {
        let text = text.trim().to_lowercase();
        if is_negative(&text) {
            let right = IN_ANY_CASE.iter().filter_map(|word| text.split_once(word));
            let right = right
                .map(|(_, after)| after)
                .max_by_key(|after| after.len());
            return vec![Self {
                relation: Relation::On,
                left: Vec::new(),
                right: right.map(mentions).unwrap_or_default(),
                is_negative: true,
            }];
        }
        let mut found = Vec::new();
        let mut rest = text.as_str();
        loop {
            let (relation, left, right) = split(rest);
            found.push(Self {
                relation,
                left: mentions(left),
                right: mentions(right),
                is_negative: false,
            });
            if split(right).0 != Relation::Before {
                return found;
            }
            rest = right;
        }
    }

    fn says_something(&self) -> bool {
        let names_any = !self.left.is_empty() || !self.right.is_empty();
        self.is_negative || names_any || self.relation == Relation::On
    }
}

/// Whether a clause, in lower case, says that there is no dependency.
fn is_negative(clause: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| clause.contains(word));
    let is_denied = has(&["not ", "n't "]);
    clause.starts_with("may ") || has(&NO_DEPENDENCY) || (has(&INDEPENDENT) && !is_denied)
}

/// Splits a clause at the first word that joins two sides.
fn split(text: &str) -> (Relation, &str, &str) {
    let joined = |words: &'static [&'static str], relation| {
        let found = words.iter().filter_map(move |word| {
            let at = text.find(word)?;
            let is_word = !text[..at].ends_with(char::is_alphanumeric);
            is_word.then_some((at, word.len(), relation))
        });
        found.min()
    };
    let on = joined(&ON, 0).into_iter();
    let first = on.chain(joined(&BEFORE, 1)).min();
    match first {
        None => (Relation::None, text, ""),
        Some((at, length, relation)) => {
            let relation = if relation == 0 {
                Relation::On
            } else {
                Relation::Before
            };
            (relation, &text[..at], &text[at + length..])
        }
    }
}

#[cfg(test)]
mod tests;
