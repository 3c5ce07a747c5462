//! How many stories and tasks of a change are done, deferred, skipped and open.

use serde::Serialize;

use crate::words::count;

/// The stories of a change. A story counts as done if no task is left to do and at least one is
/// done; its deferred tasks are counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct StoryCounts {
    /// All stories.
    #[serde(rename = "stories_total")]
    pub total: usize,
    /// Stories that are done.
    #[serde(rename = "stories_done")]
    pub done: usize,
    /// Stories of which every task is deferred in the plan.
    #[serde(rename = "stories_deferred")]
    pub deferred: usize,
    /// Stories the user skipped.
    #[serde(rename = "stories_skipped")]
    pub skipped: usize,
    /// Stories that are left to do, without the skipped ones.
    #[serde(rename = "stories_open")]
    pub open: usize,
    /// Deferred tasks of stories that are done.
    pub tasks_deferred: usize,
}

impl StoryCounts {
    /// The counts in words: `2 of 3 done (4 tasks deferred), 1 skipped`.
    pub fn in_words(&self) -> String {
        let mut parts = vec![format!(
            "{} of {} done{}",
            self.done,
            self.total,
            self.left_out()
        )];
        parts.extend(self.rest());
        parts.join(", ")
    }

    /// The same with the noun: `2 of 3 stories done, 1 deferred`.
    pub fn in_full(&self) -> String {
        let stories = count(self.total, "story");
        let mut parts = vec![format!(
            "{} of {stories} done{}",
            self.done,
            self.left_out()
        )];
        parts.extend(self.rest());
        parts.join(", ")
    }

    /// What is deferred, if anything is: `1 story and 3 tasks deferred`.
    pub(crate) fn deferred_in_words(&self) -> Option<String> {
        let stories = (self.deferred > 0).then(|| count(self.deferred, "story"));
        let tasks = (self.tasks_deferred > 0).then(|| count(self.tasks_deferred, "task"));
        let parts: Vec<String> = stories.into_iter().chain(tasks).collect();
        (!parts.is_empty()).then(|| format!("{} deferred", parts.join(" and ")))
    }

    fn rest(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.deferred > 0 {
            parts.push(format!("{} deferred", self.deferred));
        }
        if self.skipped > 0 {
            parts.push(format!("{} skipped", self.skipped));
        }
        parts
    }

    /// What the stories that are done left out.
    fn left_out(&self) -> String {
        match self.tasks_deferred {
            0 => String::new(),
            tasks => format!(" ({} deferred)", count(tasks, "task")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_name_what_is_deferred_and_skipped() {
        let plain = StoryCounts {
            total: 3,
            done: 2,
            open: 1,
            ..StoryCounts::default()
        };
        assert_eq!(plain.in_words(), "2 of 3 done");
        assert_eq!(plain.in_full(), "2 of 3 stories done");
        let odd = StoryCounts {
            deferred: 1,
            skipped: 1,
            tasks_deferred: 1,
            ..plain
        };
        let words = "2 of 3 done (1 task deferred), 1 deferred, 1 skipped";
        assert_eq!(odd.in_words(), words);
    }
}
