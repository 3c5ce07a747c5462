//! The run that the scenes show: five stories, of which one was done before, one needs three
//! attempts, one is at work, one waits and one is deferred.

use super::stage::Stage;
use crate::tui::screen::run::RunMode;
use crate::ui::plain::script::{id, usage};
use ralph_agents::agent_event::{AgentEvent, Usage};
use ralph_agents::dialect::Output;
use ralph_base::ids::AttemptNumber;
use ralph_plan::change::StoryState;
use ralph_plan::tasks::TaskState;
use ralph_run::policy::roster::Choice;
use ralph_run::records::event::{
    AttemptFailed, AttemptStarted, BudgetLimits, Event, FailedStory, FailureKind, FinishChoice,
    Finished, GateFinished, GateResult, GateRetried, GateStarted, Outcome, RepairStarted, RunEnded,
    RunStarted, StoryCompleted, StoryExhausted, StoryOutline, StoryStarted, TaskOutline,
};

/// The folder of an attempt.
pub(super) fn folder(story: &str, attempt: u32) -> String {
    format!("/state/runs/20261115-215900-x7k2/attempts/{story}.{attempt}")
}

const TITLES: [&str; 5] = [
    "Read the settings",
    "Retry the upload 🚀 with 指数バックオフ",
    "Tell the user how often it was tried, how long it will wait, and why the last try failed, \
     on every face there is",
    "Metrics",
    "Dashboards 📊 for 運用",
];

fn outline(place: usize, state: StoryState) -> StoryOutline {
    StoryOutline {
        id: id(&(place + 1).to_string()),
        title: TITLES[place].to_owned(),
        state,
        tasks_done: if state == StoryState::Done { 4 } else { 0 },
        tasks_total: 4,
        tasks_deferred: 0,
        depends_on: None,
    }
}

/// The run begins.
pub(in crate::tui) fn started() -> Event {
    started_with(1, StoryState::Open)
}

fn started_with(stories_done: usize, second: StoryState) -> Event {
    Event::RunStarted(RunStarted {
        change: "add-retry".to_owned(),
        branch: "ralph/add-retry".to_owned(),
        original: "main".to_owned(),
        original_commit: Some("c0".to_owned()),
        abandon_to: None,
        agent: "claude".to_owned(),
        model: Some("opus".to_owned()),
        stories_total: 5,
        stories_done,
        max_retries: 3,
        gates: vec!["tests".to_owned(), "lint 🧹".to_owned()],
        resumed: stories_done > 1,
        stories: vec![
            outline(0, StoryState::Done),
            outline(1, second),
            outline(2, StoryState::Open),
            outline(3, StoryState::Open),
            outline(4, StoryState::Deferred),
        ],
        budget: BudgetLimits {
            usd: Some(5.0),
            tokens: Some(2_000_000),
            time_ms: Some(7_200_000),
        },
        story_budget: BudgetLimits::default(),
        gates_at_end: Vec::new(),
        reviews: Vec::new(),
        reviews_at_end: Vec::new(),
        fallback: Vec::new(),
    })
}

/// The run goes on after its second story.
pub(in crate::tui) fn started_again() -> Event {
    started_with(2, StoryState::Done)
}

/// The tasks of a story, of which this number is done.
pub(in crate::tui) fn tasks(done: usize) -> Vec<TaskOutline> {
    let texts = [
        "1.1 Find every caller of `Client::send`",
        "1.2 Give each of them one request to send, 指数バックオフ",
        "1.3 Document the delay, for every face there is, with an example that shows it",
        "1.4 Say so in the changelog",
    ];
    let texts = texts.into_iter().enumerate();
    let task = |(place, text): (usize, &str)| TaskOutline {
        text: text.to_owned(),
        state: if place < done {
            TaskState::Done
        } else {
            TaskState::Open
        },
    };
    texts.map(task).collect()
}

/// Work on a story begins.
pub(in crate::tui) fn story(place: usize) -> Event {
    Event::StoryStarted(StoryStarted {
        story: id(&place.to_string()),
        title: TITLES[place - 1].to_owned(),
        position: place,
        total: 5,
        open_tasks: 4,
        tasks: tasks(0),
    })
}

/// An attempt begins.
pub(in crate::tui) fn attempt(story: &str, attempt: u32) -> Event {
    Event::AttemptStarted(AttemptStarted {
        story: id(story),
        attempt: AttemptNumber(attempt),
        max_attempts: 4,
        uncounted: 0,
        transcript: folder(story, attempt),
        base: Some(format!("base{story}")),
        output: Output::ClaudeJson,
        agent: Some(Choice {
            agent: "claude".to_owned(),
            model: Some("opus".to_owned()),
        }),
    })
}

/// An attempt fails.
pub(in crate::tui) fn failed(story: &str, attempt: u32, kind: FailureKind, reason: &str) -> Event {
    Event::AttemptFailed(AttemptFailed {
        story: id(story),
        attempt: AttemptNumber(attempt),
        kind,
        reason: reason.to_owned(),
        parked: format!("{story}.{attempt}"),
        changed_files: 3,
        retrying: attempt < 4,
        duration_ms: 192_000,
        usage: usage(45_000, 0.42),
        repairs: 0,
    })
}

/// The agent of the attempt is to repair what the gate `tests` found.
pub(in crate::tui) fn repair(story: &str, attempt: u32, repair: u32, tail: &str) -> Event {
    Event::RepairStarted(RepairStarted {
        story: id(story),
        attempt: AttemptNumber(attempt),
        repair,
        max_repairs: 2,
        kind: FailureKind::Gate,
        gate: Some("tests".to_owned()),
        reason: format!("gate `tests` failed: exit code 101\n{tail}"),
    })
}

/// The agent says or does something.
pub(in crate::tui) fn says(story: &str, attempt: u32, agent: AgentEvent) -> Event {
    Event::Agent {
        story: id(story),
        attempt: AttemptNumber(attempt),
        agent,
    }
}

/// The agent speaks.
pub(in crate::tui) fn speaks(story: &str, attempt: u32, text: &str) -> Event {
    let text = text.to_owned();
    says(story, attempt, AgentEvent::Text { text })
}

/// A gate begins.
pub(in crate::tui) fn gate(story: &str, name: &str, log: &str, baseline: bool) -> Event {
    Event::GateStarted(GateStarted {
        story: id(story),
        gate: name.to_owned(),
        baseline,
        whole: false,
        log: format!("/state/gates/{log}.log"),
        try_number: 1,
    })
}

/// A gate ends.
pub(in crate::tui) fn gate_ended(
    story: &str,
    name: &str,
    baseline: bool,
    result: GateResult,
) -> Event {
    Event::GateFinished(GateFinished {
        story: id(story),
        gate: name.to_owned(),
        baseline,
        whole: false,
        result,
        duration_ms: 12_400,
        tries: 1,
        flaky: false,
        tests: None,
        new_failures: Vec::new(),
    })
}

/// A gate was red and runs again.
pub(in crate::tui) fn retried(story: &str, name: &str, log: &str) -> Event {
    Event::GateRetried(GateRetried {
        story: id(story),
        gate: name.to_owned(),
        baseline: false,
        whole: false,
        try_number: 1,
        result: red(),
        log: format!("/state/gates/{log}.log"),
        duration_ms: 12_400,
    })
}

/// A start of a gate as that of its second try.
pub(in crate::tui) fn second_try(event: Event) -> Event {
    match event {
        Event::GateStarted(started) => Event::GateStarted(GateStarted {
            try_number: 2,
            ..started
        }),
        other => other,
    }
}

/// A gate that is red.
pub(in crate::tui) fn red() -> GateResult {
    GateResult::Failed {
        how: "exit code 101".to_owned(),
        tail: "test upload::waits ... FAILED\nassertion failed: left == right".to_owned(),
        cannot_run: false,
    }
}

/// The second story is complete.
pub(in crate::tui) fn completed() -> Event {
    Event::StoryCompleted(StoryCompleted {
        story: id("2"),
        title: TITLES[1].to_owned(),
        attempts: 3,
        commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        changed_files: 4,
        duration_ms: 700_000,
        usage: usage(145_000, 1.3),
        repairs: 0,
    })
}

/// The run ends.
pub(in crate::tui) fn ended(outcome: Outcome, stories_done: usize) -> Event {
    Event::RunEnded(RunEnded {
        outcome,
        stories_done,
        stories_total: 5,
        attempts: 4,
        duration_ms: 1_500_000,
        usage: usage(190_000, 1.72),
    })
}

/// The branch is cleaned up or kept.
pub(in crate::tui) fn finished(choice: FinishChoice) -> Event {
    let head = match choice {
        choice if choice.keeps_branch() => "ralph/add-retry",
        _ => "main",
    };
    Event::Finished(Finished {
        choice,
        head: head.to_owned(),
        branch: "ralph/add-retry".to_owned(),
        changed_files: 9,
    })
}

/// A run whose first story is complete, at its third attempt.
pub(in crate::tui) fn first_story(stage: &mut Stage) {
    third_attempt(stage);
    stage
        .hear(200, gate("2", "tests", "2.3-1", false))
        .hear(12, gate_ended("2", "tests", false, GateResult::Passed))
        .hear(0, gate("2", "lint 🧹", "2.3-2", false))
        .hear(3, gate_ended("2", "lint 🧹", false, GateResult::Passed))
        .hear(
            0,
            Event::Warning {
                code: "ticked".to_owned(),
                message: "the agent left 1 box of story 2 open; it is ticked: 2.3 Document the \
                          delay"
                    .to_owned(),
            },
        )
        .hear(1, completed());
}

/// A run at the third attempt of its first story: the agent gave up once, and a gate was red once.
pub(in crate::tui) fn third_attempt(stage: &mut Stage) {
    let said_no = "The upload client has no place for a delay: `Client::send` is called from four \
                   places that each build their own request.\n\nTried: a wrapper around it.";
    let was_red = "gate `tests` failed: exit code 101\n\
                   test upload::waits ... FAILED\nassertion failed: left == right";
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, gate("2", "tests", "2.0-1", true))
        .hear(12, gate_ended("2", "tests", true, GateResult::Passed))
        .hear(1, attempt("2", 1))
        .hear(2, speaks("2", 1, "I will read the client first."))
        .hear(190, failed("2", 1, FailureKind::Failed, said_no))
        .hear(1, attempt("2", 2))
        .hear(170, gate("2", "tests", "2.2-1", false))
        .hear(12, gate_ended("2", "tests", false, red()))
        .hear(1, failed("2", 2, FailureKind::Gate, was_red))
        .hear(1, attempt("2", 3));
}

/// A run that was started from the command line, with its second agent at work.
pub(in crate::tui) fn working(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    at_work(stage);
}

/// Records up to where the second agent is at work.
pub(in crate::tui) fn at_work(stage: &mut Stage) {
    first_story(stage);
    let call = AgentEvent::ToolCall {
        tool: "Bash".to_owned(),
        summary: "cargo test upload 2>&1 | tail -20".to_owned(),
    };
    let usage = Usage {
        input_tokens: 45_000,
        cost_usd: Some(0.42),
        ..Usage::default()
    };
    stage
        .hear(2, story(3))
        .hear(1, attempt("3", 1))
        .hear(3, says("3", 1, AgentEvent::usage(usage)))
        .hear(1, says("3", 1, call))
        .wait(64);
}

/// The run is over, with this outcome, and the user has seen that.
pub(in crate::tui) fn over(stage: &mut Stage, outcome: Outcome, stories_done: usize) {
    working(stage);
    stage.hear(10, ended(outcome, stories_done));
    stage.draw();
    stage.wait(1);
}

/// The second story has used up its retries, and the third one depends on it.
pub(in crate::tui) fn second_failed(stage: &mut Stage) {
    let reason = "gate `tests` failed: exit code 101\nboom";
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1))
        .hear(60, gate("2", "tests", "2.1-1", false))
        .hear(12, gate_ended("2", "tests", false, red()))
        .hear(1, failed("2", 1, FailureKind::Gate, reason))
        .hear(
            0,
            Event::StoryExhausted(StoryExhausted {
                title: TITLES[1].to_owned(),
                failed: FailedStory {
                    story: id("2"),
                    kind: FailureKind::Gate,
                    reason: reason.to_owned(),
                    attempts: 1,
                    gate: Some("tests".to_owned()),
                },
                continues: true,
            }),
        )
        .hear(
            0,
            Event::StorySkipped {
                story: id("3"),
                title: TITLES[2].to_owned(),
                reason: "it depends on story 2, which failed".to_owned(),
                waits_for: Some(id("2")),
            },
        );
}
