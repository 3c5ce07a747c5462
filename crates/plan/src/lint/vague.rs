//! Tasks that any change would satisfy, or none: nothing could show that they are done.

use super::Finding;
use super::open_tasks::OpenTask;
use super::words::{is_word_of, words};
use crate::change::Change;

pub(super) const CODE: (&str, &str) = (
    "vague_task",
    "a task says neither what changes nor what could be checked: \"Improve error handling\"",
);

/// What is to be done, without saying how it is seen.
const VERBS: &str = "\
    add address adjust clean cleanup complete consider create do enhance ensure finalise \
    finalize finish fix handle harden implement improve investigate look maintain make modernise \
    modernize optimise optimize polish refactor refine review rework simplify streamline support \
    tidy tune tweak update upgrade verify write";

/// What every project has.
const THINGS: &str = "\
    accessibility app bug bugs case cases code codebase comment comments coverage design doc \
    docs documentation edge error errors everything exception exceptions experience feature \
    features format formatting handling implementation integration issue issues it layout logic \
    naming performance problem problems project quality readability reliability robustness \
    security software speed stability structure stuff style styles styling suite tests things ui \
    unit usability ux";

/// What stands between them and adds nothing.
const FILLERS: &str = "\
    a accordingly all also an and any appropriate as at better clear current deprecated existing \
    for further general good if in into its legacy more necessary needed new nicer of old on or \
    other our overall possible properly related relevant remaining robust some sure the to up \
    user various where";

/// What leaves the decision open.
const OPEN_ENDS: &[&str] = &[
    "where it makes sense",
    "where appropriate",
    "where possible",
    "where useful",
    "as appropriate",
    "as needed",
    "as necessary",
    "and so on",
    "etc",
    "tbd",
];

const HINT: &str = "name the function, file or command, and say what holds afterwards";

pub(super) fn find(change: &Change, tasks: &[OpenTask<'_>]) -> Vec<Finding> {
    // A task with others below it is their heading, and may say for all of them what they are about.
    let leaves = tasks.iter().filter(|open| open.is_leaf);
    let unexplained = leaves.filter(|open| !open.parent().is_some_and(|it| is_concrete(&it.text)));
    let vague = unexplained.filter_map(|open| {
        let what = vagueness(&open.text)?;
        let message = match what {
            Vague::Whole => format!(
                "\"{}\" says neither what changes nor how to check it",
                open.task.text
            ),
            Vague::End(end) => format!("\"{end}\" leaves open what is to be done"),
        };
        let finding = Finding::new(CODE.0, message).hint(HINT);
        Some(finding.in_task(change, open.story, open.task))
    });
    vague.collect()
}

/// What is vague in a task.
enum Vague {
    /// All of it.
    Whole,
    /// These words.
    End(&'static str),
}

fn vagueness(text: &str) -> Option<Vague> {
    if says_nothing(text) {
        return Some(Vague::Whole);
    }
    if is_concrete(text) {
        return None;
    }
    let spaced = words(text).collect::<Vec<_>>().join(" ");
    let padded = format!(" {spaced} ");
    let open = OPEN_ENDS
        .iter()
        .find(|end| padded.contains(&format!(" {end} ")))?;
    Some(Vague::End(open))
}

/// Whether a text has only words that fit every project.
fn says_nothing(text: &str) -> bool {
    if text.contains(['`', '/', '(', ':', '"']) {
        return false;
    }
    let mut words = words(text).peekable();
    let is_general = |word: String| {
        [VERBS, THINGS, FILLERS]
            .iter()
            .any(|list| is_word_of(&word, list))
    };
    words.peek().is_some() && words.all(is_general)
}

/// Whether a text names something: code, a number, a file, a name.
fn is_concrete(text: &str) -> bool {
    let has_mark = text.contains([
        '`', '"', '“', '/', '\\', '(', '{', '<', '=', '@', '#', '$', '_', ':', '—', '–',
    ]);
    let is_name = |(index, word): (usize, &str)| {
        let mut letters = word.chars();
        let first = letters.next().is_some_and(char::is_uppercase);
        let rest = letters.any(char::is_uppercase);
        (index > 0 && first)
            || rest
            || word.trim_end_matches('.').contains('.')
            || word.starts_with("--")
    };
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    has_mark || has_digit || !text.is_ascii() || text.split_whitespace().enumerate().any(is_name)
}
