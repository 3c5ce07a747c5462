//! What is known of a run that is resumed: from its journal and its record.

use std::collections::BTreeMap;

use crate::machine::{Carry, Resumption};
use crate::records::event::{FailedStory, GateResult};
use crate::records::progress::{GateProgress, Progress};
use ralph_base::ids::StoryId;
use ralph_vault::{LastAttempt, OpenRun};

/// Where an open run continues.
pub(super) fn resumption(open: OpenRun, so_far: Progress, max_retries: u32) -> Resumption {
    let is_interrupted = so_far.ended.is_none();
    let left: Vec<_> = so_far.failed_stories().filter(|it| it.continues).collect();
    let failed = left.iter().map(|it| it.failed.clone());
    let failed_before = left.iter().map(|it| it.failed.story.clone());
    let last = open.last_attempt.as_ref();
    let used_up = last.filter(|last| last.retries_used > max_retries);
    Resumption {
        unreviewed: so_far.unreviewed(),
        failed: failed.filter(|_| is_interrupted).collect(),
        used_up: used_up
            .filter(|_| is_interrupted)
            .and_then(|last| failed_story(&so_far, last)),
        failed_before: failed_before.filter(|_| !is_interrupted).collect(),
        carries: carries(open.last_attempt, open.left_attempts, &so_far, max_retries),
        used: so_far.used(),
        stories: so_far.used_by_stories(),
        attempts: open.attempts,
        questions: so_far.open_questions(),
        notes: so_far.notes,
        red_before: so_far.red_before,
        red_in_work: so_far.red_in_work,
    }
}

/// What the next attempt at each story gets to know of the last one.
fn carries(
    last: Option<LastAttempt>,
    left: BTreeMap<StoryId, LastAttempt>,
    so_far: &Progress,
    max_retries: u32,
) -> BTreeMap<StoryId, Carry> {
    let reopened = so_far.reopened.clone();
    // The retries of a story that was left start afresh.
    let left = left.into_iter().map(|(story, last)| {
        let carry = Carry::after(last.attempt, 0, last.reason, max_retries);
        (story, carry)
    });
    let mut carries: BTreeMap<StoryId, Carry> = left.collect();
    if let Some(last) = last {
        // The first attempt after a story was opened again has no failed one before it.
        let why = reopened.filter(|(story, _)| *story == last.attempt.story);
        let reason = last.reason.or(why.map(|(_, reason)| reason));
        let story = last.attempt.story.clone();
        let carry = Carry::after(last.attempt, last.retries_used, reason, max_retries);
        carries.insert(story, carry);
    } else {
        let reopened = reopened.map(|(story, reason)| (story, Carry::reopened(reason)));
        carries.extend(reopened);
    }
    carries
}

/// The story of an attempt that failed as the last one it may have.
fn failed_story(so_far: &Progress, last: &LastAttempt) -> Option<FailedStory> {
    let id = &last.attempt.story;
    let failed = so_far.last_failure_of(id)?;
    if failed.attempt != last.attempt.attempt {
        return None;
    }
    let story = so_far.stories.iter().find(|it| it.id == *id)?;
    let gates = story.gates_of(failed.attempt);
    let is_red = |it: &&GateProgress| {
        it.result.as_ref().is_some_and(GateResult::is_red) && !it.was_red_before
    };
    // After repairs, the last one.
    let red = gates.filter(is_red).last();
    Some(FailedStory {
        story: id.clone(),
        kind: failed.kind,
        reason: failed.reason.clone(),
        attempts: failed.attempt.0,
        gate: red.map(|it| it.name.clone()),
    })
}
