//! The fold, told as short histories.

use pretty_assertions::assert_eq;

use super::*;
use crate::records::event::{
    AttemptFailed, AttemptStarted, BudgetLimits, FailedStory, FailureKind, FinishChoice,
    FinishFailed, Finished, GateFinished, GateResult, GateStarted, RunEnded, RunStarted,
    StoryCompleted, StoryOutline, StoryStarted, Tries, WIRE_VERSION,
};
use crate::settings::TamperCheck;
use ralph_agents::dialect::Output;
use ralph_base::ids::{AttemptNumber, RunId, StoryId};
use ralph_plan::change::StoryState;

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
    Event::RunStarted(start(resumed))
}

fn start(resumed: bool) -> RunStarted {
    RunStarted {
        change: "my-feature".to_owned(),
        branch: "ralph/my-feature".to_owned(),
        original: "main".to_owned(),
        original_commit: Some("c0".to_owned()),
        abandon_to: None,
        agent: "demo".to_owned(),
        model: None,
        stories_total: 3,
        stories_done: 1,
        max_retries: 3,
        gates: vec!["tests".to_owned()],
        resumed,
        stories: Vec::new(),
        budget: BudgetLimits::default(),
        story_budget: BudgetLimits::default(),
        gates_at_end: Vec::new(),
        reviews: Vec::new(),
        reviews_at_end: Vec::new(),
        fallback: Vec::new(),
    }
}

fn story_started() -> Event {
    Event::StoryStarted(StoryStarted {
        story: one(),
        title: "First".to_owned(),
        position: 2,
        total: 3,
        open_tasks: 2,
        tasks: Vec::new(),
    })
}

fn attempt_started(attempt: u32) -> Event {
    Event::AttemptStarted(AttemptStarted {
        story: one(),
        attempt: AttemptNumber(attempt),
        max_attempts: 4,
        uncounted: 0,
        transcript: format!("attempts/1.{attempt}"),
        base: Some("c0".to_owned()),
        output: Output::Text,
        agent: None,
    })
}

fn used(usage: Usage) -> Event {
    Event::Agent {
        story: one(),
        attempt: AttemptNumber(1),
        agent: AgentEvent::usage(usage),
    }
}

fn attempt_failed(usage: Usage) -> Event {
    Event::AttemptFailed(failure(usage))
}

fn failure(usage: Usage) -> AttemptFailed {
    AttemptFailed {
        story: one(),
        attempt: AttemptNumber(1),
        kind: FailureKind::Failed,
        reason: "no database".to_owned(),
        parked: "1.1".to_owned(),
        changed_files: 5,
        retrying: true,
        duration_ms: 1000,
        usage,
        repairs: 0,
    }
}

fn story_completed() -> Event {
    Event::StoryCompleted(completion())
}

fn completion() -> StoryCompleted {
    StoryCompleted {
        story: one(),
        title: "First".to_owned(),
        attempts: 2,
        commit: "c0ffee".to_owned(),
        changed_files: 4,
        duration_ms: 9000,
        usage: tokens(30),
        repairs: 0,
    }
}

fn run_ended(outcome: Outcome) -> Event {
    Event::RunEnded(ended(outcome))
}

fn ended(outcome: Outcome) -> RunEnded {
    RunEnded {
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
        tries: Tries {
            number,
            most: 4,
            uncounted: 0,
        },
        started_at: clock(at),
        transcript: format!("attempts/1.{number}"),
        base: Some("c0".to_owned()),
        output: Output::Text,
        agent: None,
        usage,
        prices: None,
        took: None,
        repairs: Vec::new(),
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
    tape.hear(Event::Finished(Finished {
        choice: FinishChoice::Keep,
        head: "ralph/my-feature".to_owned(),
        branch: "ralph/my-feature".to_owned(),
        changed_files: 4,
    }));
    let total = Usage {
        output_tokens: 30,
        cost_usd: Some(1.0),
        ..Usage::default()
    };
    let failed = AttemptStanding::Failed(failure(tokens(12)));
    let story = StoryProgress {
        position: Some(2),
        state: StoryStanding::Completed(completion()),
        attempts: vec![
            attempt(1, 2, tokens(12), failed),
            AttemptProgress {
                took: Some(Duration::from_secs(2)),
                ..attempt(2, 5, tokens(18), AttemptStanding::Succeeded)
            },
        ],
        commits: vec![Commit {
            id: "c0ffee".to_owned(),
            changed_files: 4,
            superseded: false,
        }],
        started_at: Some(clock(1)),
        open_tasks: 2,
        spent: Duration::from_secs(6),
        tried: Duration::from_secs(5),
        ..StoryProgress::new(one(), "First".to_owned())
    };
    let want = Progress {
        run: Some(RunId("r1".to_owned())),
        header: Some(start(false)),
        stories_total: 3,
        stories_done: 2,
        stories: vec![story],
        doing: Doing::Ended,
        attempts: 2,
        last_failure: Some(failure(tokens(12))),
        ended: Some(ended(Outcome::AllDone)),
        finish: Some(Finished {
            choice: FinishChoice::Keep,
            head: "ralph/my-feature".to_owned(),
            branch: "ralph/my-feature".to_owned(),
            changed_files: 4,
        }),
        started_at: Some(clock(0)),
        ended_at: Some(clock(8)),
        last_at: Some(clock(9)),
        last_number: tape.progress.last_number,
        worked_until: Some(clock(8)),
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
fn a_record_without_the_agents_own_words_comes_to_the_same_totals() {
    let mut tape = Tape::working();
    tape.hear(attempt_failed(tokens(12)));
    tape.hear(attempt_started(2));
    let Event::StoryCompleted(StoryCompleted {
        story,
        title,
        attempts,
        commit,
        changed_files,
        duration_ms,
        ..
    }) = story_completed()
    else {
        panic!("a story is complete");
    };
    let total = Usage {
        cost_usd: Some(1.25),
        ..tokens(30)
    };
    tape.hear(Event::StoryCompleted(StoryCompleted {
        story,
        title,
        attempts,
        commit,
        changed_files,
        duration_ms,
        usage: total,
        repairs: 0,
    }));
    assert_eq!(tape.progress.usage(), total);
    assert_eq!(tape.progress.stories[0].usage(), total);
    let last = Usage {
        cost_usd: Some(0.75),
        ..tokens(18)
    };
    assert_eq!(tape.progress.stories[0].attempts[1].usage, last);
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
    tape.hear(Event::GateStarted(GateStarted {
        story: one(),
        gate: "tests".to_owned(),
        baseline: false,
        whole: false,
        log: "gates/1.1-1.log".to_owned(),
        try_number: 1,
    }));
    let gate = Doing::Gate {
        story: one(),
        gate: "tests".to_owned(),
        baseline: false,
        since: clock(3),
    };
    assert_eq!(tape.progress.doing, gate);
    tape.hear(Event::GateFinished(GateFinished {
        story: one(),
        gate: "tests".to_owned(),
        baseline: false,
        whole: false,
        result: GateResult::Passed,
        duration_ms: 1,
        tries: 1,
        flaky: false,
        tests: None,
        new_failures: Vec::new(),
    }));
    assert_eq!(tape.progress.doing, Doing::Between);
    let (reason, until) = ("usage limit".to_owned(), clock(90));
    tape.hear(Event::Waiting {
        story: one(),
        reason: reason.clone(),
        until,
        continues: None,
    });
    let waiting = Doing::Waiting {
        story: one(),
        reason,
        until,
        continues: None,
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
        waits_for: None,
    });
    tape.hear(Event::TamperFound {
        story: one(),
        attempt: AttemptNumber(1),
        check: TamperCheck::Tests,
        paths: vec!["tests/a.rs".to_owned()],
        message: "a test is gone".to_owned(),
        failed: false,
    });
    tape.hear(Event::Requested {
        request: Request::Stop,
    });
    let want = Progress {
        warnings: vec![
            Warning {
                code: "deferred".to_owned(),
                importance: Importance::Note,
                message: "story `1` is skipped".to_owned(),
                story: None,
                attempt: None,
                paths: Vec::new(),
            },
            Warning {
                code: "tamper_tests".to_owned(),
                importance: Importance::Warning,
                message: "a test is gone".to_owned(),
                story: Some(one()),
                attempt: Some(AttemptNumber(1)),
                paths: vec!["tests/a.rs".to_owned()],
            },
        ],
        stories: vec![StoryProgress {
            state: StoryStanding::Skipped {
                reason: "deferred".to_owned(),
            },
            ..StoryProgress::new(one(), "First".to_owned())
        }],
        doing: Doing::Between,
        requested: Some(Request::Stop),
        started_at: Some(clock(0)),
        last_at: Some(clock(3)),
        last_number: tape.progress.last_number,
        worked_until: Some(clock(3)),
        ..Progress::default()
    };
    assert_eq!(tape.progress, want);
    let tampered = tape.progress.warnings[1].text();
    assert_eq!(tampered, "tests: a test is gone");
}

/// A run of three stories: the first done before, the other two open.
fn laid_out(resumed: bool) -> Event {
    let outline = |id: &str, state, tasks_done| StoryOutline {
        id: StoryId(id.to_owned()),
        title: format!("Title {id}"),
        state,
        tasks_done,
        tasks_total: 3,
        tasks_deferred: 0,
        depends_on: None,
    };
    let Event::RunStarted(RunStarted {
        change,
        branch,
        original,
        original_commit,
        abandon_to,
        agent,
        model,
        stories_total,
        stories_done,
        max_retries,
        gates,
        budget,
        ..
    }) = run_started(resumed)
    else {
        panic!("a run starts");
    };
    Event::RunStarted(RunStarted {
        change,
        branch,
        original,
        original_commit,
        abandon_to,
        agent,
        model,
        stories_total,
        stories_done,
        max_retries,
        gates,
        resumed,
        stories: vec![
            outline("0", StoryState::Done, 3),
            outline("1", StoryState::Open, 1),
            outline("2", StoryState::Open, 0),
        ],
        budget,
        story_budget: BudgetLimits::default(),
        gates_at_end: Vec::new(),
        reviews: Vec::new(),
        reviews_at_end: Vec::new(),
        fallback: Vec::new(),
    })
}

fn standings(tape: &Tape) -> Vec<(&str, &StoryStanding)> {
    let stories = tape.progress.stories.iter();
    stories.map(|it| (it.id.0.as_str(), &it.state)).collect()
}

#[test]
fn all_stories_are_listed_in_document_order_from_the_start() {
    use StoryStanding::{Done, Running, Unfinished, Waiting};
    let mut tape = Tape::new();
    tape.hear(laid_out(false));
    assert_eq!(
        standings(&tape),
        [("0", &Done), ("1", &Waiting), ("2", &Waiting)]
    );
    tape.hear(story_started());
    assert_eq!(
        standings(&tape),
        [("0", &Done), ("1", &Running), ("2", &Waiting)]
    );
    // Nothing was tried yet.
    tape.hear(run_ended(Outcome::Stopped));
    assert_eq!(standings(&tape)[1], ("1", &Waiting));
    tape.hear(laid_out(true));
    tape.hear(story_started());
    tape.hear(attempt_started(1));
    tape.hear(run_ended(Outcome::Stopped));
    assert_eq!(standings(&tape)[1], ("1", &Unfinished));
    tape.hear(laid_out(true));
    assert_eq!(
        standings(&tape),
        [("0", &Done), ("1", &Waiting), ("2", &Waiting)]
    );
    tape.hear(story_started());
    tape.hear(attempt_started(1));
    tape.hear(story_completed());
    let story = &tape.progress.stories[1];
    assert!(matches!(story.state, StoryStanding::Completed { .. }));
    assert_eq!((story.tasks_done, story.tasks_total), (3, 3));
    tape.hear(laid_out(true));
    assert_eq!(
        standings(&tape)[1],
        ("1", &Waiting),
        "its boxes are open again"
    );
}

#[test]
fn what_failed_stays_so_when_a_run_was_killed_and_is_to_do_again_when_it_had_ended() {
    let failed = |story: &str, continues| StoryExhausted {
        title: "T".to_owned(),
        failed: FailedStory {
            story: StoryId(story.to_owned()),
            kind: FailureKind::Failed,
            reason: "no".to_owned(),
            attempts: 1,
            gate: None,
        },
        continues,
    };
    let not_run = |story: &str| Event::StorySkipped {
        story: StoryId(story.to_owned()),
        title: "T".to_owned(),
        reason: "it depends on story 1, which failed".to_owned(),
        waits_for: Some(StoryId("1".to_owned())),
    };
    let next = |tape: &Tape| tape.progress.next_to_run().map(|it| it.id.0.clone());
    let third = |tape: &Tape| tape.progress.stories[2].state.clone();
    let mut tape = Tape::new();
    tape.hear(laid_out(false));
    tape.hear(Event::StoryExhausted(failed("1", true)));
    let counts = tape.progress.story_counts();
    assert_eq!((counts.failed, counts.not_run, counts.open), (1, 0, 1));
    assert_eq!(next(&tape).as_deref(), Some("2"));
    tape.hear(not_run("2"));
    assert_eq!(tape.progress.story_counts().not_run, 1);
    // Killed and resumed.
    tape.hear(laid_out(true));
    let second = &tape.progress.stories[1].state;
    assert_eq!(*second, StoryStanding::Failed(failed("1", true)));
    assert_eq!(third(&tape), StoryStanding::Waiting);
    tape.hear(not_run("2"));
    tape.hear(run_ended(Outcome::Stopped));
    assert_eq!(next(&tape).as_deref(), Some("1"));
    // Resumed after its end.
    tape.hear(laid_out(true));
    assert_eq!(tape.progress.stories[1].state, StoryStanding::Waiting);
    // A story that ended the run is not given up when it is resumed.
    tape.hear(Event::StoryExhausted(failed("1", false)));
    assert_eq!(next(&tape).as_deref(), Some("1"));
    tape.hear(laid_out(true));
    assert_eq!(tape.progress.stories[1].state, StoryStanding::Waiting);
}

#[test]
fn a_story_knows_its_gates_and_where_they_wrote() {
    let mut tape = Tape::new();
    tape.hear(laid_out(false));
    tape.hear(story_started());
    let gate = |baseline, log: &str| {
        Event::GateStarted(GateStarted {
            story: one(),
            gate: "tests".to_owned(),
            baseline,
            whole: false,
            log: log.to_owned(),
            try_number: 1,
        })
    };
    tape.hear(gate(true, "a.log"));
    tape.hear(gate_passed(true));
    tape.hear(attempt_started(1));
    tape.hear(gate(false, "b.log"));
    let gates = &tape.progress.stories[1].gates;
    let shown: Vec<_> = gates
        .iter()
        .map(|it| {
            (
                it.log.as_str(),
                it.attempt.is_none(),
                it.result.clone(),
                it.duration,
            )
        })
        .collect();
    let took = Some(Duration::from_millis(1));
    assert_eq!(
        shown,
        [
            ("a.log", true, Some(GateResult::Passed), took),
            ("b.log", false, None, None)
        ]
    );
    let of_attempt = tape.progress.stories[1].gates_of(AttemptNumber(1));
    assert_eq!(of_attempt.count(), 1);
}

fn gate_passed(baseline: bool) -> Event {
    Event::GateFinished(GateFinished {
        story: one(),
        gate: "tests".to_owned(),
        baseline,
        whole: false,
        result: GateResult::Passed,
        duration_ms: 1,
        tries: 1,
        flaky: false,
        tests: None,
        new_failures: Vec::new(),
    })
}

#[test]
fn a_gate_that_is_ended_with_its_attempt_gives_no_verdict() {
    for request in [Request::Stop, Request::Skip] {
        let mut tape = Tape::working();
        tape.hear(Event::GateStarted(GateStarted {
            story: one(),
            gate: "tests".to_owned(),
            baseline: false,
            whole: false,
            log: "gates/1.1-1.log".to_owned(),
            try_number: 1,
        }));
        tape.hear(Event::Requested { request });
        tape.hear(Event::GateFinished(GateFinished {
            story: one(),
            gate: "tests".to_owned(),
            baseline: false,
            whole: false,
            result: GateResult::Failed {
                how: "signal 2".to_owned(),
                tail: String::new(),
                cannot_run: false,
            },
            duration_ms: 200,
            tries: 1,
            flaky: false,
            tests: None,
            new_failures: Vec::new(),
        }));
        let gate = &tape.progress.stories[0].gates[0];
        let shown = (&gate.result, gate.duration);
        assert_eq!(shown, (&None, Some(Duration::from_millis(200))));
    }
}

#[test]
fn the_time_left_is_guessed_from_the_stories_of_this_run() {
    let mut tape = Tape::new();
    tape.hear(laid_out(false));
    tape.hear(story_started());
    tape.hear(attempt_started(1));
    assert_eq!(tape.progress.estimate(clock(5)), None, "nothing to go by");
    tape.seconds = 101;
    tape.hear(story_completed());
    let left = |tape: &Tape, at| tape.progress.estimate(clock(at)).map(|it| it.as_secs());
    assert_eq!(left(&tape, 110), Some(100), "one story is left");
    let Event::StoryStarted(StoryStarted {
        total, open_tasks, ..
    }) = story_started()
    else {
        panic!("a story starts");
    };
    tape.hear(Event::StoryStarted(StoryStarted {
        story: StoryId("2".to_owned()),
        title: "Second".to_owned(),
        position: 3,
        total,
        open_tasks,
        tasks: Vec::new(),
    }));
    assert_eq!(left(&tape, 132), Some(70));
    assert_eq!(left(&tape, 900), Some(0), "longer than the first one took");
    tape.hear(run_ended(Outcome::AllDone));
    assert_eq!(left(&tape, 901), None, "it is over");
}

#[test]
fn what_the_user_asks_for_is_seen_at_once_and_when_it_holds() {
    let mut tape = Tape::working();
    let ask = |request| Event::Requested { request };
    tape.hear(ask(Request::Pause));
    assert!(tape.progress.pausing);
    assert_eq!(tape.progress.requested, None, "it is no stop");
    tape.hear(attempt_failed(tokens(1)));
    tape.hear(Event::Paused {
        story: one(),
        continues: None,
    });
    assert_eq!(
        tape.progress.doing,
        Doing::Paused {
            story: one(),
            continues: None
        }
    );
    assert!(!tape.progress.pausing);
    tape.hear(Event::NoteAdded {
        text: "use tabs".to_owned(),
        story: Some(one()),
    });
    let waiting = |tape: &Tape| tape.progress.notes.waiting().count();
    assert_eq!(waiting(&tape), 1);
    tape.hear(ask(Request::GoOn));
    assert_eq!(tape.progress.doing, Doing::Between);
    tape.hear(attempt_started(2));
    assert_eq!(waiting(&tape), 0, "it is delivered");
    tape.hear(ask(Request::Skip));
    assert!(tape.progress.skipping);
    tape.hear(Event::StorySkipped {
        story: one(),
        title: "First".to_owned(),
        reason: "skipped on request".to_owned(),
        waits_for: None,
    });
    assert!(!tape.progress.skipping);
}

#[test]
fn a_wait_goes_on_when_a_pause_is_taken_back() {
    let mut tape = Tape::working();
    tape.hear(Event::AttemptFailed(failure(Usage::default())));
    let ask = |request| Event::Requested { request };
    let waiting = Doing::Waiting {
        story: one(),
        reason: "usage limit reached".to_owned(),
        until: clock(18_000),
        continues: None,
    };
    tape.hear(Event::Waiting {
        story: one(),
        reason: "usage limit reached".to_owned(),
        until: clock(18_000),
        continues: None,
    });
    tape.hear(ask(Request::Pause));
    assert_eq!(
        (tape.progress.pausing, &tape.progress.doing),
        (true, &waiting)
    );
    tape.hear(ask(Request::GoOn));
    assert_eq!(
        (tape.progress.pausing, &tape.progress.doing),
        (false, &waiting)
    );
    tape.hear(ask(Request::TryNow));
    assert_eq!(tape.progress.doing, Doing::Between);
}

#[test]
fn a_pause_does_not_count_as_time_of_its_story() {
    let mut tape = Tape::working();
    tape.hear(Event::AttemptFailed(failure(Usage::default())));
    tape.hear(Event::Paused {
        story: one(),
        continues: None,
    });
    let shown = |tape: &Tape, at: i64| tape.progress.stories[0].elapsed(clock(at));
    assert_eq!(shown(&tape, 4), Duration::from_secs(3));
    assert_eq!(shown(&tape, 3600), Duration::from_secs(3));
    tape.seconds = 3600;
    tape.hear(Event::Requested {
        request: Request::GoOn,
    });
    tape.hear(attempt_started(2));
    assert_eq!(shown(&tape, 3605), Duration::from_secs(8));
    tape.hear(story_completed());
    assert_eq!(shown(&tape, 9999), Duration::from_secs(5));
}

#[test]
fn a_finish_that_failed_is_forgotten_when_one_works() {
    let mut tape = Tape::working();
    tape.hear(run_ended(Outcome::Stopped));
    let choice = FinishChoice::Cleanup;
    tape.hear(Event::FinishFailed(FinishFailed {
        choice,
        reason: "disk full".to_owned(),
        hint: "free some space".to_owned(),
        begun: false,
    }));
    let failure = FinishFailed {
        choice,
        reason: "disk full".to_owned(),
        hint: "free some space".to_owned(),
        begun: false,
    };
    assert_eq!(tape.progress.finish_failure, Some(failure));
    tape.hear(Event::Finished(Finished {
        choice,
        head: "main".to_owned(),
        branch: "ralph/my-feature".to_owned(),
        changed_files: 4,
    }));
    assert_eq!(tape.progress.finish_failure, None);
}

#[test]
fn neither_an_interruption_nor_the_choice_at_the_end_makes_a_run_or_a_story_older() {
    let mut tape = Tape::working();
    tape.seconds = 10;
    tape.hear(run_ended(Outcome::Stopped));
    let ages = |tape: &Tape, at| {
        let run = tape.progress.elapsed(clock(at)).as_secs();
        (run, tape.progress.stories[0].elapsed(clock(at)).as_secs())
    };
    assert_eq!(ages(&tape, 500), (10, 9));
    tape.seconds = 1000;
    tape.hear(run_started(true));
    tape.hear(story_started());
    assert_eq!(ages(&tape, 1011), (21, 19));
}

#[test]
fn records_of_earlier_versions_read() {
    let old = r#"{"v":1,"seq":0,"at":"2026-11-15T21:59:00Z","run":"r1","event":"run_started","change":"c","branch":"b","original":"main","original_commit":null,"agent":"demo","model":null,"stories_total":1,"stories_done":0,"max_retries":3,"gates":[],"resumed":false}
{"v":1,"seq":1,"at":"2026-11-15T21:59:00Z","run":"r1","event":"attempt_started","story":"1","attempt":1,"max_attempts":4,"transcript":"t"}
{"v":1,"seq":2,"at":"2026-11-15T21:59:00Z","run":"r1","event":"gate_started","story":"1","gate":"g","baseline":true}"#;
    for line in old.lines() {
        serde_json::from_str::<Record>(line).unwrap();
    }
}

#[test]
fn findings_of_attempts_that_failed_are_no_reason_to_doubt_the_story() {
    let found = |attempt| Event::TamperFound {
        story: one(),
        attempt: AttemptNumber(attempt),
        check: TamperCheck::Tests,
        paths: vec!["tests/a.rs".to_owned()],
        message: format!("1 test deleted in attempt {attempt}"),
        failed: false,
    };
    let mut tape = Tape::working();
    tape.hear(found(1));
    tape.hear(Event::warning("no_changes", "attempt 1"));
    tape.hear(attempt_failed(tokens(1)));
    tape.hear(attempt_started(2));
    tape.hear(found(2));
    tape.hear(Event::warning("ticked", "a note"));
    tape.hear(Event::warning("swept", "how the run went"));
    let texts =
        |progress: &Progress| -> Vec<String> { progress.findings().map(Warning::text).collect() };
    assert_eq!(texts(&tape.progress), [""; 0], "it is not done yet");
    tape.hear(story_completed());
    assert_eq!(
        texts(&tape.progress),
        ["tests: 1 test deleted in attempt 2"]
    );
    let story = &tape.progress.stories[0];
    assert!(tape.progress.is_doubtful(story));
}

#[test]
fn a_cost_is_known_only_as_far_as_agents_report_it() {
    let mut tape = Tape::new();
    tape.hear(run_started(false));
    tape.hear(story_started());
    assert_eq!(tape.progress.cost(), KnownCost::Exact(0.0));
    tape.hear(attempt_started(1));
    assert_eq!(tape.progress.cost(), KnownCost::Unknown);
    tape.hear(used(tokens(10)));
    assert_eq!(tape.progress.cost(), KnownCost::Exact(0.5));
    tape.hear(attempt_failed(tokens(10)));
    tape.hear(attempt_started(2));
    assert_eq!(tape.progress.cost(), KnownCost::SoFar(0.5));
    tape.hear(attempt_failed(Usage::default()));
    assert_eq!(tape.progress.cost(), KnownCost::AtLeast(0.5));
}

#[test]
fn a_cost_is_missing_where_a_budget_of_money_needs_one() {
    let missing = |usd| {
        let mut tape = Tape::new();
        tape.hear(Event::RunStarted(RunStarted {
            story_budget: BudgetLimits {
                usd,
                ..BudgetLimits::default()
            },
            ..start(false)
        }));
        tape.hear(story_started());
        let before = tape.progress.is_cost_missing();
        tape.hear(attempt_started(1));
        (before, tape.progress.is_cost_missing())
    };
    assert_eq!(missing(Some(1.0)), (false, true));
    assert_eq!(missing(None), (false, false));
}

/// The run of story 1 ends like this.
fn ended_with(outcome: Outcome) -> Event {
    Event::RunEnded(RunEnded {
        outcome,
        stories_done: 2,
        stories_total: 3,
        attempts: 1,
        duration_ms: 1,
        usage: Usage::default(),
    })
}

#[test]
fn done_without_the_gates_at_the_end_is_unverified() {
    let begun = || {
        let mut tape = Tape::new();
        tape.hear(Event::RunStarted(RunStarted {
            gates: vec!["e2e".to_owned(), "tests".to_owned(), "all".to_owned()],
            gates_at_end: vec!["e2e".to_owned(), "all".to_owned()],
            reviews: Vec::new(),
            reviews_at_end: Vec::new(),
            ..start(false)
        }));
        tape.hear(story_started());
        tape.hear(attempt_started(1));
        tape
    };
    let unverified = |mut tape: Tape, outcome: Outcome| {
        tape.hear(ended_with(outcome));
        let progress = tape.progress;
        assert_eq!(progress.alerts(), Vec::from_iter(progress.unverified()));
        progress.unverified().unwrap_or_default()
    };
    let skipped = || Outcome::Skipped {
        stories: vec![StoryId("2".to_owned())],
        not_run: Vec::new(),
    };
    let mut done = begun();
    done.hear(story_completed());
    assert_eq!(done.progress.unverified(), None, "more is to come");
    let neither = "gates `e2e`, `all` have not run yet: they run when every story is done";
    assert_eq!(
        unverified(done, Outcome::StoryDone { story: None }),
        neither
    );
    let mut done = begun();
    done.hear(story_completed());
    assert_eq!(unverified(done, skipped()), neither);

    let mut judged = begun();
    judged.hear(story_completed());
    red_at_the_end(&mut judged);
    let one = "gate `all` has not run yet: it runs when every story is done";
    assert_eq!(unverified(judged, Outcome::StoryDone { story: None }), one);
    let mut again = begun();
    again.hear(story_completed());
    red_at_the_end(&mut again);
    again.hear(story_started());
    again.hear(attempt_started(2));
    again.hear(story_completed());
    assert_eq!(
        unverified(again, Outcome::StoryDone { story: None }),
        neither
    );

    let mut stopped = begun();
    stopped.hear(story_completed());
    assert_eq!(unverified(stopped, Outcome::Stopped), "");
    assert_eq!(unverified(begun(), skipped()), "", "nothing was done");
}

/// A gate judges the whole change once story 1 is done, and is red.
fn red_at_the_end(tape: &mut Tape) {
    tape.hear(Event::GateStarted(GateStarted {
        story: one(),
        gate: "e2e".to_owned(),
        baseline: false,
        whole: true,
        log: String::new(),
        try_number: 1,
    }));
    tape.hear(Event::GateFinished(GateFinished {
        story: one(),
        gate: "e2e".to_owned(),
        baseline: false,
        whole: true,
        result: GateResult::Failed {
            how: "exit code 1".to_owned(),
            tail: String::new(),
            cannot_run: false,
        },
        duration_ms: 1,
        tries: 1,
        flaky: false,
        tests: None,
        new_failures: Vec::new(),
    }));
}

#[test]
fn a_gate_at_the_end_is_red_since_before_only_where_that_is_recorded() {
    let mut tape = Tape::working();
    tape.hear(story_completed());
    red_at_the_end(&mut tape);
    let reopened = Event::StoryReopened {
        review: false,
        story: one(),
        gate: "e2e".to_owned(),
        reason: "boom".to_owned(),
        commit: "c9".to_owned(),
    };
    tape.hear(reopened);
    assert_eq!(tape.progress.red_in_work, BTreeSet::new());

    let mut tape = Tape::working();
    tape.hear(story_completed());
    red_at_the_end(&mut tape);
    tape.hear(Event::warning("red_before", "it is red"));
    assert_eq!(
        tape.progress.red_in_work,
        BTreeSet::from(["e2e".to_owned()])
    );
}

#[test]
fn work_is_unverified_without_gates_and_where_a_gate_stays_red() {
    let mut tape = Tape::new();
    assert_eq!(tape.progress.unverified(), None, "nothing is known yet");
    tape.hear(Event::RunStarted(RunStarted {
        gates: Vec::new(),
        ..start(false)
    }));
    assert_eq!(tape.progress.unverified().as_deref(), Some(NO_GATES));
    tape.hear(run_started(true));
    assert_eq!(tape.progress.unverified(), None);
    tape.progress.red_in_work.insert("tests".to_owned());
    let red = "gate `tests` red since before the run";
    assert_eq!(tape.progress.unverified().as_deref(), Some(red));
}
