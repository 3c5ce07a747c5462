use pretty_assertions::assert_eq;

use super::*;
use crate::records::event::{Event, Finished, Record, Request, RunEnded, RunStarted, WIRE_VERSION};
use jiff::Timestamp;
use jiff::tz::TimeZone;

fn record(second: i64, event: Event) -> Record {
    Record {
        v: WIRE_VERSION,
        seq: 0,
        at: Timestamp::from_second(second).unwrap(),
        run: RunId("r".to_owned()),
        event,
    }
}

fn begun() -> Event {
    Event::RunStarted(RunStarted {
        change: "c".to_owned(),
        branch: "ralph/c".to_owned(),
        original: "main".to_owned(),
        original_commit: None,
        abandon_to: None,
        agent: "claude".to_owned(),
        model: None,
        stories_total: 2,
        stories_done: 0,
        max_retries: 3,
        gates: Vec::new(),
        resumed: false,
        stories: Vec::new(),
        story_budget: BudgetLimits::default(),
        budget: BudgetLimits::default(),
        gates_at_end: Vec::new(),
        reviews: Vec::new(),
        reviews_at_end: Vec::new(),
        fallback: Vec::new(),
    })
}

fn ended(outcome: Outcome, stories_done: usize) -> Event {
    Event::RunEnded(RunEnded {
        outcome,
        stories_done,
        stories_total: 2,
        attempts: 1,
        duration_ms: 0,
        usage: ralph_agents::agent_event::Usage::default(),
    })
}

fn finished(choice: FinishChoice) -> Event {
    Event::Finished(Finished {
        choice,
        head: "main".to_owned(),
        branch: "ralph/c".to_owned(),
        changed_files: 1,
    })
}

/// State, and what to type first.
fn state_and_next_command(events: &[Event], is_open: bool, is_busy: bool) -> (RunState, String) {
    let mut progress = Progress::default();
    for (second, event) in (0..).zip(events) {
        progress.apply(&record(second, event.clone()));
    }
    let place = Whereabouts {
        run: RunId("r".to_owned()),
        change: "c".to_owned(),
        is_open,
        owner: is_busy.then(|| "process 1".to_owned()),
        half_way: None,
        head: None,
    };
    let now = Timestamp::from_second(1_000).unwrap();
    let mut status = Status::of(&place, &progress, &now.to_zoned(TimeZone::UTC));
    (status.state.unwrap(), status.next.remove(0).command)
}

#[test]
fn a_run_stands_where_journal_lock_and_records_say() {
    let story = || StoryId("1".to_owned());
    let waiting = Event::Waiting {
        story: story(),
        reason: "limit".to_owned(),
        until: Timestamp::from_second(2_000).unwrap(),
        continues: None,
    };
    let paused = Event::Paused {
        story: story(),
        continues: None,
    };
    let stopped = || ended(Outcome::Stopped, 1);
    let done = || ended(Outcome::AllDone, 2);
    let keep = || finished(FinishChoice::Keep);
    let (attach, resume) = ("ralphtool attach", "ralphtool resume");
    let finish = "ralphtool finish";
    let cases = [
        (vec![begun()], true, true, RunState::Running, attach),
        (
            vec![begun(), waiting],
            true,
            true,
            RunState::Waiting,
            attach,
        ),
        (vec![begun(), paused], true, true, RunState::Paused, attach),
        (
            vec![begun(), stopped()],
            true,
            true,
            RunState::Choosing,
            attach,
        ),
        (vec![begun()], true, false, RunState::Interrupted, resume),
        (
            vec![begun(), stopped()],
            true,
            false,
            RunState::Stopped,
            resume,
        ),
        (vec![begun(), done()], true, false, RunState::Done, finish),
        (
            vec![begun(), done(), keep()],
            false,
            false,
            RunState::Done,
            "ralphtool finish --cleanup",
        ),
        (
            vec![begun(), stopped(), keep()],
            false,
            false,
            RunState::Stopped,
            resume,
        ),
        // Closed in the journal, and the record of it is not written yet.
        (
            vec![begun(), done()],
            false,
            true,
            RunState::Choosing,
            attach,
        ),
        // Its process was killed before it wrote that record.
        (
            vec![begun(), done()],
            false,
            false,
            RunState::Done,
            "ralphtool log last",
        ),
        // The finish was taken back.
        (
            vec![begun(), done(), keep()],
            true,
            false,
            RunState::Done,
            finish,
        ),
        // It resumes a kept one.
        (
            vec![begun(), stopped(), keep(), begun()],
            true,
            true,
            RunState::Running,
            attach,
        ),
        (
            vec![begun(), done(), finished(FinishChoice::Cleanup)],
            false,
            false,
            RunState::Done,
            "ralphtool log last",
        ),
    ];
    for (events, is_open, is_busy, state, next) in cases {
        let got = state_and_next_command(&events, is_open, is_busy);
        assert_eq!(
            got,
            (state, next.to_owned()),
            "{events:?} {is_open} {is_busy}"
        );
    }
}

#[test]
fn a_run_that_is_no_more_takes_no_time() {
    let mut progress = Progress::default();
    progress.apply(&record(10, begun()));
    let warning = Event::Warning {
        code: "w".to_owned(),
        message: "m".to_owned(),
    };
    progress.apply(&record(20, warning));
    let request = Event::Requested {
        request: Request::Pause,
    };
    progress.apply(&record(40, request));
    let mut place = Whereabouts {
        run: RunId("r".to_owned()),
        change: "c".to_owned(),
        is_open: true,
        owner: None,
        half_way: Some(("an attempt was in progress", "it is parked")),
        head: None,
    };
    let now = Timestamp::from_second(100).unwrap();
    let now = now.to_zoned(TimeZone::UTC);
    let status = Status::of(&place, &progress, &now);
    assert_eq!((status.elapsed_ms, status.warnings), (30_000, 1));
    assert_eq!(status.interrupted.map(|it| it.then), Some("it is parked"));
    place.owner = Some("process 1".to_owned());
    let status = Status::of(&place, &progress, &now);
    assert_eq!((status.elapsed_ms, status.interrupted), (90_000, None));
}

#[test]
fn an_agent_is_shown_by_its_last_line() {
    let text = |text: &str| AgentEvent::Text {
        text: text.to_owned(),
    };
    assert_eq!(says(&text("one\n two \n\n")).as_deref(), Some("two"));
    let call = AgentEvent::ToolCall {
        tool: "Bash".to_owned(),
        summary: "cargo test".to_owned(),
    };
    assert_eq!(says(&call).as_deref(), Some("Bash: cargo test"));
    assert_eq!(says(&AgentEvent::Final { is_error: false }), None);
}

/// `UPDATE_SCHEMA=1 cargo test schema` writes it again.
#[test]
fn the_committed_schema_is_that_of_the_status() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/status.schema.json");
    let schema = schemars::schema_for!(Status);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/status.schema.json is out of date: run `UPDATE_SCHEMA=1 cargo test schema`"
    );
}
