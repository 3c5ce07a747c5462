//! Finding tasks again: which task before an attempt is which one after it.
//!
//! A task is its id and text. Order and duplicates are tolerated, and so is a note written
//! behind the text; a task with other words is another task.

use std::collections::HashMap;
use std::hash::Hash;

use crate::js;
use crate::tasks::Task;
use ralph_base::ids::StoryId;

/// A task and where it stands.
pub(crate) struct Place<'a> {
    /// The story it belongs to.
    pub story: &'a StoryId,
    /// The task file it is in.
    pub file: usize,
    /// The task.
    pub task: &'a Task,
}

/// For every old place the index of the new one that is the same task.
pub(crate) fn pair_up(old: &[Place<'_>], new: &[Place<'_>]) -> Vec<Option<usize>> {
    let mut pairing = Pairing {
        pairs: vec![None; old.len()],
        paired: vec![false; new.len()],
    };
    let (old_words, new_words) = (words(old), words(new));
    let (old, new) = (with_home(old, &old_words), with_home(new, &new_words));
    pairing.pair_equal(&old, &new);
    // The story's heading may have changed, or the task moved.
    pairing.pair_equal(&old_words, &new_words);
    pairing.pair_extended(&old, &new);
    pairing.pairs
}

/// The words of each task; spacing is no difference.
fn words(places: &[Place<'_>]) -> Vec<String> {
    let words = |place: &Place<'_>| {
        let words = place.task.raw.split(js::is_space);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.join(" ")
    };
    places.iter().map(words).collect()
}

/// The words of a task, and the file and story it is in.
type Homed<'a> = ((usize, &'a StoryId), &'a str);

fn with_home<'a>(places: &[Place<'a>], words: &'a [String]) -> Vec<Homed<'a>> {
    let homes = places.iter().map(|place| (place.file, place.story));
    homes.zip(words.iter().map(String::as_str)).collect()
}

struct Pairing {
    /// By old place.
    pairs: Vec<Option<usize>>,
    /// By new place.
    paired: Vec<bool>,
}

impl Pairing {
    /// Pairs equal keys, in document order.
    fn pair_equal<K: Hash + Eq>(&mut self, old: &[K], new: &[K]) {
        let mut free: HashMap<&K, Vec<usize>> = HashMap::new();
        for (index, key) in new.iter().enumerate().rev() {
            if !self.paired[index] {
                free.entry(key).or_default().push(index);
            }
        }
        for (index, key) in old.iter().enumerate() {
            if self.pairs[index].is_none() {
                let partner = free.get_mut(key).and_then(Vec::pop);
                self.pair(index, partner);
            }
        }
    }

    /// Pairs what is left with tasks of the same story that only got more text behind.
    fn pair_extended(&mut self, old: &[Homed<'_>], new: &[Homed<'_>]) {
        for (index, (home, words)) in old.iter().enumerate() {
            if self.pairs[index].is_some() || words.is_empty() {
                continue;
            }
            let partner = new
                .iter()
                .zip(&self.paired)
                .position(|((other, longer), paired)| {
                    !paired && other == home && extends(longer, words)
                });
            self.pair(index, partner);
        }
    }

    fn pair(&mut self, old: usize, new: Option<usize>) {
        self.pairs[old] = new;
        if let Some(new) = new {
            self.paired[new] = true;
        }
    }
}

fn extends(longer: &str, words: &str) -> bool {
    longer
        .strip_prefix(words)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
