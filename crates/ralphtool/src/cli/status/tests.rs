use ralph_base::ids::{AttemptNumber, RunId, StoryId};
use ralph_run::records::counts::StoryCounts;
use ralph_run::records::event::{FailureKind, Outcome};
use ralph_run::records::next::NextStep;
use ralph_run::status::{FailureStatus, StoryStatus};

use super::*;
use crate::ui::text;

fn at(time: &str) -> Timestamp {
    format!("2026-01-02T{time}Z").parse().unwrap()
}

fn status(state: RunState) -> Status {
    Status {
        state: Some(state),
        headline: state.word().to_owned(),
        open: true,
        run: Some(RunId("20260102-120000-abcd".to_owned())),
        change: Some("add-retry\u{1b}[2J".to_owned()),
        branch: Some("ralph/add-retry".to_owned()),
        original: Some("main".to_owned()),
        owner: Some("process 4711 since noon".to_owned()),
        stories: StoryCounts {
            total: 5,
            done: 1,
            open: 4,
            ..StoryCounts::default()
        },
        story: Some(StoryStatus {
            id: StoryId("2".to_owned()),
            title: "Retry with backoff".to_owned(),
            position: Some(2),
            attempt: Some(AttemptNumber(2)),
            max_attempts: Some(4),
            uncounted_attempts: None,
            repair: None,
            max_repairs: None,
        }),
        agent: Some("claude".to_owned()),
        model: Some("opus".to_owned()),
        doing: Some(Activity::Agent {
            since: at("12:10:00"),
            says: Some("Bash: cargo test\u{7}".to_owned()),
        }),
        elapsed_ms: 754_000,
        attempts: 3,
        tokens: 45_000,
        cost_usd: Some(0.42),
        warnings: 2,
        last_failure: Some(FailureStatus {
            attempt: "2.1".to_owned(),
            kind: FailureKind::Gate,
            reason: "gate `tests` failed: exit code 101\nboom".to_owned(),
        }),
        next: vec![NextStep::new(
            "ralphtool attach",
            "shows its screen in this terminal",
        )],
        ..Status::nothing(None)
    }
}

fn lines(columns: Option<usize>, status: &Status) -> Vec<String> {
    let mut page = Page::of_width(Paint::Plain, columns);
    write(&mut page, status, &now());
    page.text.lines().map(str::to_owned).collect()
}

fn now() -> Zoned {
    at("12:12:34").to_zoned(TimeZone::UTC)
}

#[test]
fn status_is_a_page_or_one_line() {
    let mut text = String::new();
    let working = status(RunState::Running);
    let mut repairing = status(RunState::Running);
    if let Some(story) = &mut repairing.story {
        (story.repair, story.max_repairs) = (Some(1), Some(2));
    }
    let waiting = Status {
        doing: Some(Activity::Waiting {
            reason: "the 5-hour limit".to_owned(),
            until: at("15:00:00"),
            continues: Some(AttemptNumber(2)),
        }),
        story: None,
        last_failure: None,
        ..status(RunState::Waiting)
    };
    let stopped = Status {
        doing: None,
        outcome: Some(Outcome::Stopped),
        owner: None,
        headline: "stopped by you".to_owned(),
        ..status(RunState::Stopped)
    };
    let nothing = Status::nothing(None);
    for status in [&working, &repairing, &waiting, &stopped, &nothing] {
        text += &(lines(None, status).join("\n") + "\n");
        text += &(line(status, &now()) + "\n\n");
    }
    text += &lines(Some(40), &working).join("\n");
    insta::assert_snapshot!(text);
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for state in [
        RunState::Running,
        RunState::Choosing,
        RunState::Interrupted,
        RunState::Done,
    ] {
        for columns in [20, 40, 80] {
            for line in lines(Some(columns), &status(state)) {
                assert!(text::columns(&line) <= columns, "{line}");
            }
        }
    }
}
