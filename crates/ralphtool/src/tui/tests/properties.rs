//! Whatever comes, the app goes on and draws within its terminal.

use proptest::prelude::*;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::found;
use super::stage::Stage;
use super::story::{
    attempt, completed, ended, failed, finished, gate, gate_ended, red, speaks, started,
    started_again, story, tasks,
};
use crate::tui::app::Screen;
use crate::tui::message::{self, ErrorText, Msg, RunOver, Wheel};
use crate::tui::screen::run::RunMode;
use crate::tui::text_pane::GUTTER;
use crate::tui::wrap;
use crate::ui::plain::script::id;
use ralph_run::records::event::{
    Event, FailureKind, FinishChoice, FinishFailed, GateResult, Outcome, Request,
};

/// Something that happens.
#[derive(Debug, Clone)]
enum Step {
    Key(KeyEvent),
    Paste(String),
    Wheel(Wheel),
    Resize(u16, u16),
    Record(usize),
    Wait(i64),
    /// Looks are answered from now on, or are not.
    Silence(bool),
    /// Answers that come late.
    Late,
    Over(usize),
}

fn key() -> impl Strategy<Value = KeyEvent> {
    let letters: Vec<char> = "qrsFkckpx:f[]jhlz12345gG/nNeyRm? ,.".chars().collect();
    let named = vec![
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Backspace,
        KeyCode::Delete,
    ];
    prop_oneof![
        5 => prop::sample::select(letters).prop_map(KeyCode::Char),
        5 => prop::sample::select(named),
        1 => any::<char>().prop_map(KeyCode::Char),
    ]
    .prop_flat_map(|code| {
        prop_oneof![9 => Just(KeyModifiers::NONE), 1 => Just(KeyModifiers::CONTROL)]
            .prop_map(move |modifiers| KeyEvent::new(code, modifiers))
    })
}

/// Any size, and those at which a screen is arranged in another way.
fn size() -> impl Strategy<Value = (u16, u16)> {
    let edges = vec![(40, 12), (59, 14), (60, 13), (71, 24), (72, 15), (100, 40)];
    prop_oneof![(1..=250_u16, 1..=80_u16), prop::sample::select(edges)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => key().prop_map(Step::Key),
        1 => "\\PC{0,20}".prop_map(Step::Paste),
        1 => (any::<bool>(), 0..250_u16, 0..80_u16)
            .prop_map(|(up, column, row)| Step::Wheel(Wheel { up, column, row })),
        2 => size().prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        10 => (0..records().len()).prop_map(Step::Record),
        1 => (0..10_000_i64).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Silence),
        1 => Just(Step::Late),
        1 => (0..3_usize).prop_map(Step::Over),
    ]
}

/// Records that come in any order, whether that makes sense or not.
fn records() -> Vec<Event> {
    let requests = [
        Request::Pause,
        Request::GoOn,
        Request::Skip,
        Request::Stop,
        Request::TryNow,
    ];
    let mut records = vec![
        started(),
        started(),
        started_again(),
        story(2),
        story(3),
        attempt("2", 1),
        attempt("2", 2),
        attempt("3", 1),
        attempt("nowhere", 1),
        speaks("2", 1, "# Words\n\n漢字 and 🧐"),
        failed("2", 1, FailureKind::Failed, "a\u{1b}[31m\n\nreason"),
        gate("2", "tests", "2.1", false),
        gate_ended("2", "tests", false, red()),
        gate_ended("2", "tests", true, GateResult::Passed),
        completed(),
        ended(Outcome::AllDone, 5),
        ended(Outcome::Stopped, 2),
        finished(FinishChoice::Keep),
        Event::Paused {
            story: id("2"),
            continues: None,
        },
        Event::NoteAdded {
            text: "\u{7}".to_owned(),
            story: Some(id("2")),
        },
        Event::NoteUnused {
            text: "\u{7}".to_owned(),
            story: id("2"),
            reason: "the story is done".to_owned(),
        },
        Event::TasksChanged {
            story: id("2"),
            tasks: tasks(3),
        },
        Event::Waiting {
            story: id("2"),
            reason: "limit".to_owned(),
            until: "1970-01-01T00:00:00Z".parse().unwrap(),
            continues: None,
        },
        Event::StorySkipped {
            story: id("9"),
            title: String::new(),
            reason: String::new(),
            waits_for: None,
        },
        Event::FinishFailed(FinishFailed {
            choice: FinishChoice::Cleanup,
            reason: "no".to_owned(),
            hint: "try".to_owned(),
            begun: false,
        }),
    ];
    records.extend(requests.map(|request| Event::Requested { request }));
    records
}

fn take(stage: &mut Stage, step: Step) {
    match step {
        Step::Key(key) => stage.tell(Msg::Key(key)),
        Step::Paste(text) => stage.tell(Msg::Paste(text)),
        Step::Wheel(wheel) => stage.tell(Msg::Wheel(wheel)),
        Step::Resize(columns, rows) => stage.tell(Msg::Resize { columns, rows }),
        Step::Record(place) => {
            stage.hear(1, records().swap_remove(place));
        }
        Step::Wait(seconds) => {
            stage.wait(seconds);
        }
        Step::Silence(silent) => stage.silent = silent,
        Step::Late => answer_late(stage),
        Step::Over(0) => stage.tell(Msg::RunOver(RunOver::Ended(0))),
        Step::Over(1) => stage.tell(Msg::RunOver(RunOver::NothingLeft)),
        Step::Over(_) => stage.tell(Msg::RunOver(RunOver::Failed(ErrorText {
            message: "it broke".to_owned(),
            hints: vec!["fix it".to_owned()],
        }))),
    }
}

fn answer_late(stage: &mut Stage) {
    for request in stage.take_asked() {
        let message::Request::Query(query) = request else {
            continue;
        };
        if !matches!(query, message::Query::Export(..)) {
            let answer = found::answer(&stage.world, &query);
            stage.answer(answer);
        }
    }
}

/// The lines of the pane that is shown are no wider than it is, where there is room for a screen.
fn fits(stage: &Stage) -> bool {
    let app = &stage.app;
    let (columns, rows) = app.terminal.size;
    if columns < 40 || rows < 12 {
        return true;
    }
    let beside = |least: u16, wide: u16| if columns < least { 0 } else { wide };
    let (pane, taken) = match (app.screen, &app.preview, &app.run) {
        (Screen::Preview, Some(preview), _) => {
            let settings = beside(72, (columns * 2 / 5).clamp(28, 60));
            (preview.tabs.pane(), settings)
        }
        (Screen::Run, _, Some(run)) if run.is_zoomed() => (run.pane(), 0),
        (Screen::Run, _, Some(run)) => {
            let stories = beside(60, (columns * 3 / 10).clamp(26, 52) + 1);
            (run.pane(), stories + beside(160, columns / 4))
        }
        (Screen::Result, ..) => (app.result.pane(), 0),
        _ => return true,
    };
    let room = usize::from(columns - taken - GUTTER);
    let mut lines = pane.lines().iter();
    lines.all(|line| wrap::width(&line.line) <= room)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_messages_are_survived(
        home in 0..4_usize,
        size in size(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut stage = Stage::new(size);
        match home {
            0 => stage.read_changes(),
            1 => stage.with_run(RunMode::Live),
            2 => stage.with_run(RunMode::Attached { interrupted: false }),
            _ => stage.with_run(RunMode::Replay),
        }
        for step in steps {
            take(&mut stage, step);
            stage.draw();
            prop_assert!(fits(&stage), "{}", stage.text());
        }
    }
}
