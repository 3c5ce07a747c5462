//! The fold, told as short histories.

use pretty_assertions::assert_eq;

use super::*;
use crate::domain::dialect::Output;
use crate::domain::event::{BudgetLimits, FailureKind, FinishChoice, GateResult, WIRE_VERSION};
use crate::domain::ids::{AttemptNumber, RunId, StoryId};

/// A fold and the clock of its records.
struct Tape {
    progress: Progress,
    seconds: i64,
    seq: u64,
}

impl Tape {
    fn new() -> Self {
        Self {
            progress: Progress::default(),
            seconds: 0,
            seq: 0,
        }
    }

    /// A run with its first agent at work since second 2.
    fn working() -> Self {
        let mut tape = Self::new();
        tape.hear(run_started(false));
        tape.hear(story_started());
        tape.hear(attempt_started(1));
        tape
    }

    /// Every record comes a second after the one before.
    fn hear(&mut self, event: Event) {
        self.progress.apply(&Record {
            v: WIRE_VERSION,
            seq: self.seq,
            at: clock(self.seconds),
            run: RunId("r1".to_owned()),
            event,
        });
        self.seq += 1;
        self.seconds += 1;
    }
}

fn clock(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_014_400 + seconds).unwrap()
}

fn one() -> StoryId {
    StoryId("1".to_owned())
}

fn tokens(output_tokens: u64) -> Usage {
    Usage {
        output_tokens,
        cost_usd: Some(0.5),
        ..Usage::default()
    }
}

fn run_started(resumed: bool) -> Event {
    Event::RunStarted {
        change: "my-feature".to_owned(),
        branch: "ralph/my-feature".to_owned(),
        original: "main".to_owned(),
        original_commit: Some("c0".to_owned()),
        agent: "demo".to_owned(),
        model: None,
        stories_total: 3,
        stories_done: 1,
        max_retries: 3,
        gates: vec!["tests".to_owned()],
        resumed,
        stories: Vec::new(),
        budget: BudgetLimits::default(),
    }
}

fn story_started() -> Event {
    Event::StoryStarted {
        story: one(),
        title: "First".to_owned(),
        position: 2,
        total: 3,
        open_tasks: 2,
    }
}

fn attempt_started(attempt: u32) -> Event {
    Event::AttemptStarted {
        story: one(),
        attempt: AttemptNumber(attempt),
        max_attempts: 4,
        transcript: format!("attempts/1.{attempt}"),
        base: Some("c0".to_owned()),
        output: Output::Text,
        isolated: false,
    }
}

fn used(usage: Usage) -> Event {
    Event::Agent {
        story: one(),
        attempt: AttemptNumber(1),
        agent: AgentEvent::Usage { usage },
    }
}

fn attempt_failed(usage: Usage) -> Event {
    Event::AttemptFailed {
        story: one(),
        attempt: AttemptNumber(1),
        kind: FailureKind::Failed,
        reason: "no database".to_owned(),
        parked: "1.1".to_owned(),
        changed_files: 5,
        retrying: true,
        duration_ms: 1000,
        usage,
    }
}

fn story_completed() -> Event {
    Event::StoryCompleted {
        story: one(),
        title: "First".to_owned(),
        attempts: 2,
        commit: "c0ffee".to_owned(),
        changed_files: 4,
        duration_ms: 9000,
        usage: tokens(30),
    }
}

fn run_ended(outcome: Outcome) -> Event {
    Event::RunEnded {
        outcome,
        stories_done: 2,
        stories_total: 3,
        attempts: 2,
        duration_ms: 9000,
        usage: tokens(30),
    }
}

fn attempt(number: u32, at: i64, usage: Usage, state: AttemptStanding) -> AttemptProgress {
    AttemptProgress {
        number: AttemptNumber(number),
        max_attempts: 4,
        started_at: clock(at),
        transcript: format!("attempts/1.{number}"),
        base: Some("c0".to_owned()),
        output: Output::Text,
        isolated: false,
        usage,
        state,
    }
}

#[test]
fn a_story_that_needs_two_attempts_ends_complete_with_both_of_them_counted() {
    let mut tape = Tape::working();
    tape.hear(used(tokens(10)));
    tape.hear(attempt_failed(tokens(12)));
    tape.hear(attempt_started(2));
    tape.hear(used(tokens(18)));
    tape.hear(story_completed());
    tape.hear(run_ended(Outcome::AllDone));
    tape.hear(Event::Finished {
        choice: FinishChoice::Keep,
        head: "ralph/my-feature".to_owned(),
        branch: "ralph/my-feature".to_owned(),
        changed_files: 4,
    });
    let total = Usage {
        output_tokens: 30,
        cost_usd: Some(1.0),
        ..Usage::default()
    };
    let failed = AttemptStanding::Failed {
        kind: FailureKind::Failed,
        reason: "no database".to_owned(),
        parked: "1.1".to_owned(),
        changed_files: 5,
        duration: Duration::from_secs(1),
    };
    let story = StoryProgress {
        position: Some(2),
        state: StoryStanding::Completed {
            commit: "c0ffee".to_owned(),
            changed_files: 4,
            duration: Duration::from_secs(9),
        },
        attempts: vec![
            attempt(1, 2, tokens(12), failed),
            attempt(2, 5, tokens(18), AttemptStanding::Succeeded),
        ],
        started_at: Some(clock(1)),
        open_tasks: 2,
        spent: Duration::from_secs(6),
        ..StoryProgress::new(one(), "First".to_owned())
    };
    let want = Progress {
        header: Some(Header {
            run: RunId("r1".to_owned()),
            change: "my-feature".to_owned(),
            branch: "ralph/my-feature".to_owned(),
            original: "main".to_owned(),
            original_commit: Some("c0".to_owned()),
            agent: "demo".to_owned(),
            model: None,
            max_retries: 3,
            gates: vec!["tests".to_owned()],
            resumed: false,
            budget: BudgetLimits::default(),
        }),
        stories_total: 3,
        stories_done: 2,
        stories: vec![story],
        doing: Doing::Ended,
        attempts: 2,
        last_failure: Some(LastFailure {
            attempt: AttemptId {
                story: one(),
                attempt: AttemptNumber(1),
            },
            kind: FailureKind::Failed,
            reason: "no database".to_owned(),
            changed_files: 5,
        }),
        outcome: Some(Outcome::AllDone),
        finish: Some(Finish {
            choice: FinishChoice::Keep,
            head: "ralph/my-feature".to_owned(),
            changed_files: 4,
        }),
        started_at: Some(clock(0)),
        ended_at: Some(clock(8)),
        last_at: Some(clock(9)),
        settled: total,
        ..Progress::default()
    };
    assert_eq!(tape.progress, want);
    assert_eq!(tape.progress.usage(), total);
}

#[test]
fn totals_include_the_attempt_in_flight() {
    let mut tape = Tape::working();
    tape.hear(used(tokens(10)));
    assert_eq!(tape.progress.usage(), tokens(10));
    tape.hear(used(tokens(25)));
    assert_eq!(tape.progress.usage(), tokens(25));
}

#[test]
fn what_happens_right_now_follows_the_records() {
    let mut tape = Tape::working();
    let working = Doing::Working {
        story: one(),
        attempt: AttemptNumber(1),
        since: clock(2),
    };
    assert_eq!(tape.progress.doing, working);
    tape.hear(Event::GateStarted {
        story: one(),
        gate: "tests".to_owned(),
        baseline: false,
        log: "gates/1.1-1.log".to_owned(),
    });
    let gate = Doing::Gate {
        story: one(),
        gate: "tests".to_owned(),
        baseline: false,
        since: clock(3),
    };
    assert_eq!(tape.progress.doing, gate);
    tape.hear(Event::GateFinished {
        story: one(),
        gate: "tests".to_owned(),
        baseline: false,
        result: GateResult::Passed,
        duration_ms: 1,
    });
    assert_eq!(tape.progress.doing, Doing::Between);
    let (reason, until) = ("usage limit".to_owned(), clock(90));
    tape.hear(Event::Waiting {
        story: one(),
        reason: reason.clone(),
        until,
    });
    let waiting = Doing::Waiting {
        story: one(),
        reason,
        until,
    };
    assert_eq!(tape.progress.doing, waiting);
}

#[test]
fn a_resumed_run_keeps_what_the_interrupted_one_used_and_how_long_it_took() {
    let mut tape = Tape::working();
    tape.hear(used(tokens(10)));
    tape.seconds = 1000;
    tape.hear(run_started(true));
    tape.hear(story_started());
    let interrupted = attempt(1, 2, tokens(10), AttemptStanding::Interrupted);
    let story = tape.progress.stories.last();
    assert_eq!(
        story.map(|story| story.attempts.clone()),
        Some(vec![interrupted])
    );
    assert_eq!(tape.progress.usage(), tokens(10));
}

#[test]
fn a_run_that_ended_gets_no_older() {
    let mut tape = Tape::working();
    tape.hear(run_ended(Outcome::Stopped));
    tape.seconds = 400;
    tape.hear(Event::Requested {
        request: Request::Stop,
    });
    assert_eq!(tape.progress.stories[0].state, StoryStanding::Unfinished);
}

#[test]
fn warnings_skips_and_requests_are_kept() {
    let mut tape = Tape::new();
    tape.hear(Event::Warning {
        code: "deferred".to_owned(),
        message: "story `1` is skipped".to_owned(),
    });
    tape.hear(Event::StorySkipped {
        story: one(),
        title: "First".to_owned(),
        reason: "deferred".to_owned(),
    });
    tape.hear(Event::Requested {
        request: Request::Stop,
    });
    let want = Progress {
        warnings: vec![Warning {
            code: "deferred".to_owned(),
            message: "story `1` is skipped".to_owned(),
        }],
        stories: vec![StoryProgress {
            state: StoryStanding::Skipped {
                reason: "deferred".to_owned(),
            },
            ..StoryProgress::new(one(), "First".to_owned())
        }],
        doing: Doing::Between,
        requested: Some(Request::Stop),
        started_at: Some(clock(0)),
        last_at: Some(clock(2)),
        ..Progress::default()
    };
    assert_eq!(tape.progress, want);
}
