//! A run at work, in its states.

use jiff::Timestamp;
use ratatui::crossterm::event::KeyCode;

use super::stage::Stage;
use super::story::repair as repaired;
use super::story::{at_work, gate_ended, story};
use super::story::{attempt, completed, ended, failed, finished, gate, red, speaks, working};
use crate::tui::screen::run::RunMode;
use crate::ui::plain::script::{id, review_finished, review_started};
use ralph_agents::agent_event::AgentEvent;
use ralph_base::ids::AttemptNumber;
use ralph_run::records::event::{
    Event, FailureKind, FinishChoice, GateResult, Outcome, Request, RunStarted, StoryCompleted,
    StoryStarted,
};
use ralph_run::records::review::{Judged, JudgedItem, ReviewResult, Verdict};

super::scenes!(
    "run",
    &[(200, 60)],
    [
        starting,
        begun,
        agent,
        agent_focused,
        retry,
        retry_after_a_crash,
        repair,
        repair_in_the_attempts,
        repair_in_the_gates,
        repair_done,
        zoomed,
        ungated,
        tool_expanded,
        agent_silent,
        agent_searched,
        agent_unreadable,
        diff,
        diff_folded,
        diff_looking,
        diff_empty,
        diff_failed,
        attempts,
        attempts_focused,
        gates,
        gates_focused,
        gate_running,
        gate_red,
        reviewing,
        reviewed,
        no_gates,
        log,
        waiting,
        waiting_in_the_attempt,
        paused,
        paused_in_the_attempt,
        pausing,
        stopping,
        skipping,
        note_waiting,
        typing_a_note,
        baseline_running,
        checking,
        waiting_story_selected,
        first_attempt_selected,
        stop_question,
        skip_question,
        quit_asked,
        notice,
        help,
        help_end,
        exporting,
        many_stories,
        continued,
        over,
        attached,
        attached_help,
        replay,
        replay_waiting_story,
    ]
);

/// The second story has failed, the third depends on it, and the fourth is at work.
fn continued(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    super::story::second_failed(stage);
    stage.hear(1, story(4)).hear(1, attempt("4", 1)).wait(9);
    stage.press(KeyCode::Left).keys("k");
}

fn starting(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
}

fn begun(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    stage.hear(0, super::story::started());
}

fn agent(stage: &mut Stage) {
    working(stage);
}

fn agent_focused(stage: &mut Stage) {
    working(stage);
    stage.press(KeyCode::Right).keys("kkk");
}

/// The third attempt, after a red gate.
fn retry(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    super::story::third_attempt(stage);
    stage
        .hear(
            40,
            Event::TasksChanged {
                story: id("2"),
                tasks: super::story::tasks(2),
            },
        )
        .wait(200);
}

fn retry_after_a_crash(stage: &mut Stage) {
    working(stage);
    stage
        .hear(
            1,
            failed(
                "3",
                1,
                FailureKind::Crashed,
                "the agent ended with exit code 3\nboom",
            ),
        )
        .hear(1, attempt("3", 2))
        .wait(5);
}

/// The second repair of an attempt, after a gate was red twice.
fn repair(stage: &mut Stage) {
    working(stage);
    let red = |tail: &str| GateResult::Failed {
        how: "exit code 101".to_owned(),
        tail: tail.to_owned(),
        cannot_run: false,
    };
    let (first, second) = ("2 of 9 tests failed", "1 of 9 tests failed");
    stage
        .hear(1, gate("3", "tests", "3.1-1", false))
        .hear(9, gate_ended("3", "tests", false, red(first)))
        .hear(1, repaired("3", 1, 1, first))
        .hear(30, gate("3", "tests", "3.1-1-repair-1", false))
        .hear(9, gate_ended("3", "tests", false, red(second)))
        .hear(1, repaired("3", 1, 2, second))
        .wait(7);
}

fn repair_in_the_attempts(stage: &mut Stage) {
    repair(stage);
    stage.keys("3");
}

fn repair_in_the_gates(stage: &mut Stage) {
    repair(stage);
    stage.keys("4");
}

/// What was repaired stays in view when the attempt is over.
fn repair_done(stage: &mut Stage) {
    repair(stage);
    stage.hear(20, completed_third()).keys("3");
}

fn zoomed(stage: &mut Stage) {
    working(stage);
    stage.keys("z");
}

/// A run without gates.
fn ungated(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    let Event::RunStarted(started) = super::story::started() else {
        return;
    };
    let gates = Vec::new();
    stage
        .hear(0, Event::RunStarted(RunStarted { gates, ..started }))
        .hear(1, story(2))
        .hear(1, attempt("2", 1))
        .wait(9);
}

fn tool_expanded(stage: &mut Stage) {
    working(stage);
    stage.keys("/試験").press(KeyCode::Enter);
    stage.press(KeyCode::Enter);
}

fn agent_silent(stage: &mut Stage) {
    stage.world.said = Vec::new();
    working(stage);
}

fn agent_searched(stage: &mut Stage) {
    working(stage);
    stage.press(KeyCode::Right).keys("g/client");
    stage.press(KeyCode::Enter);
}

fn agent_unreadable(stage: &mut Stage) {
    use crate::tui::message::{Answer, Msg, Query, Request};
    stage.silent = true;
    working(stage);
    let mut asked = stage.take_asked().into_iter().rev();
    let window = asked.find_map(|request| match request {
        Request::Query(Query::Window(transcript, _)) => Some(transcript),
        _ => None,
    });
    let problem = "permission denied".to_owned();
    let answer = Answer::Window(window.unwrap(), Err(problem));
    stage.tell(Msg::Answer(Box::new(answer)));
}

fn diff(stage: &mut Stage) {
    working(stage);
    stage.keys("2");
}

fn diff_folded(stage: &mut Stage) {
    diff(stage);
    stage.press(KeyCode::Right).keys("j").press(KeyCode::Enter);
}

fn diff_looking(stage: &mut Stage) {
    working(stage);
    stage.silent = true;
    stage.keys("2");
}

fn diff_empty(stage: &mut Stage) {
    stage.world.diff = Ok(ralph_vault::diff::Diff::default());
    diff(stage);
}

fn diff_failed(stage: &mut Stage) {
    stage.world.diff = Err("`git diff` failed with exit code 128: bad object".to_owned());
    diff(stage);
}

fn attempts(stage: &mut Stage) {
    working(stage);
    stage.keys("k3");
}

fn attempts_focused(stage: &mut Stage) {
    attempts(stage);
    stage.press(KeyCode::Right).keys("jj");
}

fn gates(stage: &mut Stage) {
    working(stage);
    stage.keys("k4");
}

fn gates_focused(stage: &mut Stage) {
    gates(stage);
    stage.press(KeyCode::Right).keys("gj").press(KeyCode::Enter);
}

fn gate_running(stage: &mut Stage) {
    working(stage);
    stage
        .hear(1, gate("3", "tests", "3.1-1", false))
        .keys("4")
        .wait(7);
}

fn gate_red(stage: &mut Stage) {
    working(stage);
    stage
        .hear(1, gate("3", "lint 🧹", "3.1-1", false))
        .hear(9, gate_ended("3", "lint 🧹", false, GateResult::Passed))
        .hear(1, gate("3", "tests", "3.1-2", false))
        .hear(12, gate_ended("3", "tests", false, red()))
        .keys("4");
}

/// A reviewer is at work for the second time.
fn reviewing(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    let Event::RunStarted(started) = super::story::started() else {
        return;
    };
    let no_verdict = ReviewResult::NoVerdict {
        reason: "it gave no answer".to_owned(),
    };
    stage
        .hear(
            0,
            Event::RunStarted(RunStarted {
                reviews: vec!["second opinion".to_owned(), "third".to_owned()],
                ..started
            }),
        )
        .hear(1, story(2))
        .hear(1, attempt("2", 3))
        .hear(1, gate("2", "tests", "2.1-1", false))
        .hear(1, gate_ended("2", "tests", false, GateResult::Passed))
        .hear(0, review_started(None))
        .hear(9, review_finished(no_verdict, true))
        .hear(0, review_started(Some("it gave no answer")))
        .hear(
            3,
            Event::Reviewer {
                story: id("2"),
                review: "second opinion".to_owned(),
                agent: AgentEvent::Text {
                    text: "I look at the tests.".to_owned(),
                },
            },
        )
        .keys("4");
}

/// It found something not met, and something that it cannot tell.
fn reviewed(stage: &mut Stage) {
    reviewing(stage);
    let item = |item: &str, verdict, evidence: &str| JudgedItem {
        item: item.to_owned(),
        what: Judged::Scenario,
        text: "Retry: Down once".to_owned(),
        verdict,
        evidence: evidence.to_owned(),
    };
    let items = vec![
        item("T1", Verdict::Met, "src/upload.rs:12"),
        item(
            "T2",
            Verdict::NotMet,
            "no test waits: `cargo test upload` runs two tests, and neither of them counts how often it was asked",
        ),
        item("S1", Verdict::CannotTell, "no network"),
        item("S2", Verdict::OtherStory, "story 3"),
    ];
    stage.hear(20, review_finished(ReviewResult::Judged { items }, false));
}

fn no_gates(stage: &mut Stage) {
    working(stage);
    stage.keys("4");
}

fn log(stage: &mut Stage) {
    working(stage);
    stage.keys("5");
}

fn waiting(stage: &mut Stage) {
    working(stage);
    let until: Timestamp = "2026-11-15T23:30:00Z".parse().unwrap();
    stage
        .hear(1, failed("3", 1, FailureKind::Limit, "usage limit reached"))
        .hear(
            0,
            Event::Waiting {
                story: id("3"),
                reason: "usage limit reached, resets at 23:30".to_owned(),
                until,
                continues: None,
            },
        )
        .wait(61);
}

/// A limit interrupts an attempt, whose session goes on after it.
fn waiting_in_the_attempt(stage: &mut Stage) {
    working(stage);
    stage
        .hear(
            1,
            Event::Waiting {
                story: id("3"),
                reason: "usage limit reached, resets at 23:30".to_owned(),
                until: "2026-11-15T23:30:00Z".parse().unwrap(),
                continues: Some(AttemptNumber(1)),
            },
        )
        .keys("5")
        .wait(61);
}

fn paused_in_the_attempt(stage: &mut Stage) {
    pausing(stage);
    let story = id("3");
    let continues = Some(AttemptNumber(1));
    stage
        .hear(30, Event::Paused { story, continues })
        .keys("5")
        .wait(5);
}

fn asked(stage: &mut Stage, request: Request) {
    working(stage);
    stage.hear(1, Event::Requested { request });
}

fn paused(stage: &mut Stage) {
    pausing(stage);
    stage
        .hear(30, failed("3", 1, FailureKind::Failed, "no database"))
        .hear(
            0,
            Event::Paused {
                story: id("3"),
                continues: None,
            },
        )
        .wait(5);
}

fn pausing(stage: &mut Stage) {
    asked(stage, Request::Pause);
}

fn stopping(stage: &mut Stage) {
    asked(stage, Request::Stop);
}

fn skipping(stage: &mut Stage) {
    asked(stage, Request::Skip);
}

fn note_waiting(stage: &mut Stage) {
    working(stage);
    for text in ["The delay is in seconds.", "See the RFC."] {
        let text = text.to_owned();
        let story = Some(id("3"));
        stage.hear(1, Event::NoteAdded { text, story });
    }
}

fn typing_a_note(stage: &mut Stage) {
    working(stage);
    stage.keys(":the delay is in seconds, 秒で, as the RFC says in its third section");
}

fn baseline_running(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    stage
        .hear(0, super::story::started())
        .hear(1, story(2))
        .hear(1, gate("2", "tests", "2.0-1", true))
        .wait(3);
}

fn checking(stage: &mut Stage) {
    working(stage);
    stage.hear(1, completed_third());
}

/// The third story is complete, which the first attempt did.
pub(super) fn completed_third() -> Event {
    match completed() {
        Event::StoryCompleted(StoryCompleted {
            attempts,
            commit,
            changed_files,
            duration_ms,
            usage,
            ..
        }) => Event::StoryCompleted(StoryCompleted {
            story: id("3"),
            title: "Tell the user".to_owned(),
            attempts,
            commit,
            changed_files,
            duration_ms,
            usage,
            repairs: 0,
        }),
        other => other,
    }
}

fn waiting_story_selected(stage: &mut Stage) {
    working(stage);
    stage.keys("j");
}

fn first_attempt_selected(stage: &mut Stage) {
    working(stage);
    stage.keys("k[[");
}

fn stop_question(stage: &mut Stage) {
    working(stage);
    stage.keys("s");
}

fn skip_question(stage: &mut Stage) {
    working(stage);
    stage.keys("x");
}

fn quit_asked(stage: &mut Stage) {
    working(stage);
    stage.keys("q");
}

fn notice(stage: &mut Stage) {
    working(stage);
    stage.press(KeyCode::Right).keys("y");
}

fn help(stage: &mut Stage) {
    working(stage);
    stage.keys("?");
}

fn help_end(stage: &mut Stage) {
    help(stage);
    for _ in 0..9 {
        stage.press(KeyCode::PageDown);
    }
}

fn exporting(stage: &mut Stage) {
    working(stage);
    stage.keys("2e");
}

fn many_stories(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    let Event::RunStarted(RunStarted {
        change,
        branch,
        original,
        original_commit,
        abandon_to,
        agent,
        model,
        max_retries,
        gates,
        resumed,
        stories,
        ..
    }) = super::story::started()
    else {
        return;
    };
    let many = (1..=70).map(|number| {
        let mut outline = stories[3].clone();
        outline.id = id(&number.to_string());
        outline.title = format!("Story with the number {number}");
        outline
    });
    stage
        .hear(
            0,
            Event::RunStarted(RunStarted {
                change,
                branch,
                original,
                original_commit,
                abandon_to,
                agent,
                model,
                stories_total: 70,
                stories_done: 61,
                max_retries,
                gates,
                resumed,
                stories: many.collect(),
                budget: ralph_run::records::event::BudgetLimits::default(),
                story_budget: ralph_run::records::event::BudgetLimits::default(),
                gates_at_end: Vec::new(),
                reviews: Vec::new(),
                reviews_at_end: Vec::new(),
                fallback: Vec::new(),
            }),
        )
        .hear(
            1,
            Event::StoryStarted(StoryStarted {
                story: id("62"),
                title: "Story with the number 62".to_owned(),
                position: 62,
                total: 70,
                open_tasks: 3,
                tasks: Vec::new(),
            }),
        )
        .hear(1, attempt("62", 1))
        .hear(1, speaks("62", 1, "Reading."))
        .wait(4000);
}

fn over(stage: &mut Stage) {
    super::story::over(stage, Outcome::Stopped, 2);
    stage.press(KeyCode::Esc);
}

fn attached(stage: &mut Stage) {
    stage.with_run(RunMode::Attached { interrupted: false });
    at_work(stage);
}

fn attached_help(stage: &mut Stage) {
    attached(stage);
    stage.keys("?");
}

fn replay(stage: &mut Stage) {
    stage.with_run(RunMode::Replay);
    at_work(stage);
    stage
        .hear(10, ended(Outcome::Stopped, 2))
        .hear(3, finished(FinishChoice::Keep))
        .wait(86_400);
}

fn replay_waiting_story(stage: &mut Stage) {
    replay(stage);
    stage.keys("G2");
}
