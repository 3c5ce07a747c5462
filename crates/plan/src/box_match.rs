//! Finding tasks again: which task before an attempt is which one after it.
//!
//! A task is its id and text. Order and duplicates are tolerated, and so is a note written
//! behind the text; a task with other words is another task.

use std::collections::HashMap;

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
        old_keys: old.iter().map(key).collect(),
        new_keys: new.iter().map(key).collect(),
        pairs: vec![None; old.len()],
        taken: vec![false; new.len()],
    };
    let home = |place: &Place<'_>| (place.file, place.story.clone());
    let old_homes: Vec<_> = old.iter().map(home).collect();
    let new_homes: Vec<_> = new.iter().map(home).collect();
    pairing.exact(
        |index| Some(&old_homes[index]),
        |index| Some(&new_homes[index]),
    );
    // The story's heading may have changed, or the task moved.
    pairing.exact(|_| None::<&()>, |_| None);
    pairing.extended(&old_homes, &new_homes);
    pairing.pairs
}

/// The words of a task; spacing is no difference.
fn key(place: &Place<'_>) -> String {
    let words: Vec<&str> = place
        .task
        .raw
        .split(js::is_space)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

struct Pairing {
    old_keys: Vec<String>,
    new_keys: Vec<String>,
    pairs: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Pairing {
    /// Pairs equal keys of equal homes, in document order.
    fn exact<'h, H: std::hash::Hash + Eq + 'h>(
        &mut self,
        old_home: impl Fn(usize) -> Option<&'h H>,
        new_home: impl Fn(usize) -> Option<&'h H>,
    ) {
        let mut free: HashMap<(Option<&H>, &str), Vec<usize>> = HashMap::new();
        for index in (0..self.new_keys.len())
            .rev()
            .filter(|index| !self.taken[*index])
        {
            let slot = (new_home(index), self.new_keys[index].as_str());
            free.entry(slot).or_default().push(index);
        }
        for index in 0..self.old_keys.len() {
            if self.pairs[index].is_some() {
                continue;
            }
            let slot = (old_home(index), self.old_keys[index].as_str());
            if let Some(partner) = free.get_mut(&slot).and_then(Vec::pop) {
                self.pairs[index] = Some(partner);
                self.taken[partner] = true;
            }
        }
    }

    /// Pairs what is left with tasks of the same story that only got more text behind.
    fn extended<H: Eq>(&mut self, old_homes: &[H], new_homes: &[H]) {
        for (index, home) in old_homes.iter().enumerate() {
            let key = &self.old_keys[index];
            if self.pairs[index].is_some() || key.is_empty() {
                continue;
            }
            let partner = (0..self.new_keys.len()).find(|candidate| {
                !self.taken[*candidate]
                    && new_homes[*candidate] == *home
                    && extends(&self.new_keys[*candidate], key)
            });
            if let Some(partner) = partner {
                self.pairs[index] = Some(partner);
                self.taken[partner] = true;
            }
        }
    }
}

fn extends(longer: &str, key: &str) -> bool {
    longer
        .strip_prefix(key)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
