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
    /// Stories that used up their retries.
    #[serde(rename = "stories_failed")]
    pub failed: usize,
    /// Stories that are not run because they depend on one that is open.
    #[serde(rename = "stories_not_run")]
    pub not_run: usize,
    /// Stories that are left to do, without those that were skipped, failed or are not run.
    #[serde(rename = "stories_open")]
    pub open: usize,
    /// Deferred tasks of stories that are done.
    pub tasks_deferred: usize,
}

impl StoryCounts {
    /// The counts in words: `2 of 3 done (4 tasks deferred), 1 skipped`.
    pub fn in_words(&self) -> String {
        let mut parts = vec![self.done_in_words()];
        parts.extend(self.rest());
        parts.join(", ")
    }

    /// What is done: `2 of 3 done`.
    pub(super) fn done_in_words(&self) -> String {
        format!("{} of {} done{}", self.done, self.total, self.left_out())
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

    /// Stories that are not done and did not fail: `1 deferred`, `1 skipped`, `2 not run`.
    pub(super) fn left_in_words(&self) -> Vec<String> {
        let counts = [
            (self.deferred, "deferred"),
            (self.skipped, "skipped"),
            (self.not_run, "not run"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        counts
            .map(|(count, what)| format!("{count} {what}"))
            .collect()
    }

    fn rest(&self) -> Vec<String> {
        let failed = (self.failed > 0).then(|| format!("{} failed", self.failed));
        failed.into_iter().chain(self.left_in_words()).collect()
    }

    /// Stories that are not done, and that a resumed run would try.
    pub const fn left(&self) -> usize {
        self.open + self.skipped + self.failed + self.not_run
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
            failed: 1,
            not_run: 2,
            tasks_deferred: 1,
            ..plain
        };
        let words = "2 of 3 done (1 task deferred), 1 failed, 1 deferred, 1 skipped, 2 not run";
        assert_eq!(odd.in_words(), words);
        assert_eq!(odd.left(), 5);
    }
}
