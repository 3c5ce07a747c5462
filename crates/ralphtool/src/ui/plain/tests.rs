//! A whole scripted run as each kind of log shows it.

use super::script::{self, Script, Sink, completed, ended, id, started};
use super::*;
use ralph_base::ids::AttemptNumber;
use ralph_run::records::event::{
    AttemptContinued, Event, FailedStory, FailureKind, FinishChoice, Finished, Outcome,
    RepairStarted, Request,
};

fn options(screen: Screen, paint: Paint, verbosity: Verbosity) -> PlainOptions {
    PlainOptions {
        screen,
        paint,
        verbosity,
        next: NextSteps::Shown,
        zone: TimeZone::UTC,
    }
}

fn terminal(width: usize) -> Screen {
    Screen::Terminal(Box::new(move || width))
}

/// What the log of these records is.
fn log(records: &[Record], options: PlainOptions) -> String {
    let sink = Sink::default();
    let mut reporter = Plain::new(Box::new(sink.clone()), options);
    for record in records {
        reporter.show(record, record.at).unwrap();
    }
    reporter.close().unwrap();
    sink.text()
}

/// Escape codes made visible.
fn visible(text: &str) -> String {
    text.replace('\u{1b}', "␛").replace('\r', "␍")
}

#[test]
fn a_piped_log_is_plain_timestamped_lines() {
    let text = log(
        &script::run(),
        options(Screen::Pipe, Paint::Plain, Verbosity::Normal),
    );
    assert!(!text.contains(['\u{1b}', '\r']));
    insta::assert_snapshot!(text);
}

#[test]
fn a_quiet_log_has_warnings_failures_and_the_summary() {
    let quiet = options(Screen::Pipe, Paint::Plain, Verbosity::Quiet);
    insta::assert_snapshot!(log(&script::run(), quiet));
}

#[test]
fn a_verbose_log_has_what_the_agent_says_and_does() {
    let verbose = options(Screen::Pipe, Paint::Plain, Verbosity::Verbose);
    let text = log(&script::run(), verbose);
    assert!(!text.contains(['\u{1b}', '\r']));
    insta::assert_snapshot!(text);
}

#[test]
fn a_terminal_has_colours_and_one_live_line() {
    let colored = options(terminal(80), Paint::Colored, Verbosity::Normal);
    insta::assert_snapshot!(visible(&log(&script::run(), colored)));
}

#[test]
fn a_terminal_without_redrawing_has_no_live_line() {
    let dumb = options(Screen::DumbTerminal, Paint::Plain, Verbosity::Normal);
    let text = log(&script::run(), dumb);
    assert!(!text.contains(['\u{1b}', '\r', '⠋']));
    assert!(text.contains("21:59:01 story 2/3: Retry the upload"));
}

#[test]
fn the_live_line_is_drawn_ten_times_a_second_at_most_and_fits() {
    let sink = Sink::default();
    let options = options(terminal(30), Paint::Plain, Verbosity::Normal);
    let mut reporter = Plain::new(Box::new(sink.clone()), options);
    let records = script::run();
    for record in &records[..8] {
        reporter.show(record, record.at).unwrap();
    }
    let before = sink.text().matches(ERASE).count();
    let start = records[7].at;
    for ms in (0..1000).step_by(10) {
        reporter
            .tick(start + SignedDuration::from_millis(ms))
            .unwrap();
    }
    let text = sink.text();
    assert_eq!(text.matches(ERASE).count() - before, 9);
    let last = text.rsplit(ERASE).next().unwrap();
    assert_eq!(last.chars().count(), 29, "{last}");
}

#[test]
fn the_live_line_shows_place_time_tokens_and_cost() {
    let mut status = Status::new();
    let mut lines = vec![];
    for record in script::run() {
        status.apply(&record);
        let line = status.line(record.at + SignedDuration::from_secs(7), 120);
        lines.push(line.unwrap_or_else(|| "-".to_owned()));
    }
    lines.dedup();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_live_line_shows_a_wait_until_it_ends() {
    let mut script = Script::new();
    script.then(0, started());
    let until = "2026-11-16T03:00:00Z".parse().unwrap();
    script.then(
        1,
        Event::Waiting {
            story: id("2"),
            reason: "usage limit reached".to_owned(),
            until,
            continues: None,
        },
    );
    for request in [Request::Pause, Request::GoOn] {
        script.then(1, Event::Requested { request });
    }
    let mut status = Status::new();
    for record in script.records() {
        status.apply(&record);
    }
    let now = until - SignedDuration::from_mins(5);
    let shown = status.line(now, 120);
    assert_eq!(shown.as_deref(), Some("waiting, 5m00s left"));
    let try_now = Event::Requested {
        request: Request::TryNow,
    };
    for record in script.then(1, try_now).records() {
        status.apply(&record);
    }
    assert_eq!(status.line(now, 120), None);
}

#[test]
fn the_log_says_when_and_why_a_session_continues() {
    let (story, attempt) = (id("2"), AttemptNumber(1));
    let mut script = Script::new();
    script
        .then(0, started())
        .attempt(1)
        .then(
            1,
            Event::RepairStarted(RepairStarted {
                story: story.clone(),
                attempt,
                repair: 1,
                max_repairs: 2,
                kind: FailureKind::Gate,
                gate: Some("tests".to_owned()),
                reason: "gate `tests` failed: exit code 1\n1 of 9 failed".to_owned(),
            }),
        )
        .then(
            9,
            Event::Waiting {
                story: story.clone(),
                reason: "usage limit reached".to_owned(),
                until: "2026-11-15T22:30:00Z".parse().unwrap(),
                continues: Some(attempt),
            },
        )
        .then(
            9,
            Event::Paused {
                story: story.clone(),
                continues: Some(attempt),
            },
        )
        .then(
            9,
            Event::AttemptContinued(AttemptContinued { story, attempt }),
        );
    let records = script.records();
    let normal = options(Screen::Pipe, Paint::Plain, Verbosity::Normal);
    insta::assert_snapshot!(log(&records, normal));
    let mut status = Status::new();
    let mut lines = vec![];
    for record in &records {
        status.apply(record);
        lines.extend(status.line(record.at + SignedDuration::from_secs(7), 120));
    }
    let want = [
        "attempt 1/4 · 7s",
        "repair 1/2 · 7s",
        "waiting, 30m42s left",
        "paused · 7s",
        "attempt 1 · 7s",
    ];
    assert_eq!(lines, want);
}

#[test]
fn a_quiet_terminal_has_no_live_line() {
    let quiet = options(terminal(80), Paint::Plain, Verbosity::Quiet);
    assert!(!log(&script::run(), quiet).contains(ERASE));
}

#[test]
fn every_kind_of_failure_has_its_words() {
    use FailureKind::{
        Auth, Crashed, Failed, Gate, Interrupted, Limit, NoSignal, Stopped, Tasks, Timeout,
    };
    let mut script = Script::new();
    for kind in [
        Failed,
        Gate,
        Tasks,
        NoSignal,
        Crashed,
        Timeout,
        Limit,
        Auth,
        Stopped,
        Interrupted,
    ] {
        script.failed(4, kind, "");
    }
    let quiet = options(Screen::Pipe, Paint::Plain, Verbosity::Quiet);
    insta::assert_snapshot!(log(&script.records(), quiet));
}

#[test]
fn the_summary_says_why_and_what_to_type() {
    let exhausted = Outcome::stopped_at(FailedStory {
        story: id("2"),
        kind: FailureKind::Gate,
        reason: "gate `tests` failed: exit code 101\na\nb\nc\nd".to_owned(),
        attempts: 4,
        gate: Some("tests".to_owned()),
    });
    let limited = Outcome::UsageLimit {
        until: "2026-11-16T03:40:00Z".parse().unwrap(),
        reason: "the limit ends in 5h00m, more than `--max-wait 1h` allows".to_owned(),
    };
    let budget = Outcome::BudgetUsedUp {
        story: None,
        used: "$5.05".to_owned(),
        limit: "$5.00".to_owned(),
        flags: "--max-cost 10".to_owned(),
    };
    let broken = Outcome::Broken {
        reason: "could not write the checkpoint of story 2: no space left on device".to_owned(),
        hint: "make room, then run `ralphtool run add-retry` again".to_owned(),
    };
    let cases = [
        (Outcome::AllDone, 2, Some(FinishChoice::Cleanup)),
        (
            Outcome::StoryDone { story: None },
            2,
            Some(FinishChoice::Keep),
        ),
        (exhausted, 1, Some(FinishChoice::Keep)),
        (Outcome::Stopped, 1, Some(FinishChoice::Keep)),
        (limited, 1, Some(FinishChoice::Cleanup)),
        (budget, 1, Some(FinishChoice::Keep)),
        (broken, 1, None),
    ];
    let mut all = String::new();
    for (outcome, done, finish) in cases {
        let mut script = Script::new();
        script.then(0, started());
        script.attempt(4);
        match done {
            2 => script.then(1, completed()),
            _ => script.failed(4, FailureKind::Gate, "gate `tests` failed"),
        };
        script.then(1, ended(outcome, done));
        if let Some(choice) = finish {
            script.then(
                1,
                Event::Finished(Finished {
                    choice,
                    head: "main".to_owned(),
                    branch: "ralph/add-retry".to_owned(),
                    changed_files: 9,
                }),
            );
        }
        let quiet = options(Screen::Pipe, Paint::Plain, Verbosity::Quiet);
        all.push_str(&log(&script.records(), quiet));
    }
    insta::assert_snapshot!(all);
}
