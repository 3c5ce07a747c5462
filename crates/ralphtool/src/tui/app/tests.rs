//! The app as a value: messages in, requests and screens out.

use pretty_assertions::assert_eq;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{App, Screen};
use crate::tui::message::{
    Answer, DiffId, ErrorText, Export, Msg, Part, Query, Request, RunOver, Start,
};
use crate::tui::screen::run::RunMode;
use crate::tui::tests::found::last_runs;
use crate::tui::tests::stage::Stage;
use crate::tui::tests::story::{
    attempt, completed, ended, failed, finished, gate, over, says, speaks, started, started_again,
    story, working,
};
use crate::ui::plain::script::id;
use ralph_agents::agent_event::AgentEvent;
use ralph_run::machine::UserCommand;
use ralph_run::preview::Remark;
use ralph_run::records::event::Request as TrustPrompt;
use ralph_run::records::event::{Event, FailureKind, FinishChoice, FinishFailed, Outcome};
use ralph_run::records::state::RunState;
use ralph_run::settings::{AgentList, PartialSettings, Sourced};

/// An app with the list of changes in front.
fn changes() -> Stage {
    let mut stage = Stage::new((80, 24));
    stage.read_changes();
    stage
}

/// An app with a change opened.
fn preview() -> Stage {
    let mut stage = changes();
    stage.press(KeyCode::Enter);
    stage
}

/// An app with a run whose second agent is at work.
fn at_work() -> Stage {
    let mut stage = Stage::new((80, 24));
    working(&mut stage);
    stage
}

/// An app with a run that ended.
fn ended_with(outcome: Outcome) -> Stage {
    let mut stage = Stage::new((80, 24));
    over(&mut stage, outcome, 2);
    stage.take_asked();
    stage
}

fn command(command: UserCommand) -> Vec<Request> {
    vec![Request::Command(command)]
}

/// What these keys lead to.
fn asked(stage: &mut Stage, keys: &str) -> Vec<Request> {
    stage.take_asked();
    stage.keys(keys);
    stage.take_asked()
}

fn start(chosen: PartialSettings, fresh: bool) -> Vec<Request> {
    vec![Request::Start(Box::new(Start {
        allowed: None,
        change: "add-retry".to_owned(),
        chosen,
        fresh,
    }))]
}

fn trouble() -> ErrorText {
    ErrorText {
        message: "could not find `claude`".to_owned(),
        hints: Vec::new(),
    }
}

fn story_shown(app: &App) -> String {
    let run = app.run.as_ref().unwrap();
    run.story().map(|story| story.id.to_string()).unwrap()
}

#[test]
fn the_list_is_queried_at_the_start_but_a_run_is_not() {
    let stage = Stage::new((80, 24));
    let query = Request::Query(Query::Changes);
    assert_eq!(stage.app.first_query(), Some(query));
    assert_eq!(at_work().app.first_query(), None);
}

#[test]
fn a_change_is_opened_and_closed() {
    let mut stage = changes();
    stage.silent = true;
    stage.press(KeyCode::Enter);
    let query = Query::Preview("add-retry".to_owned(), Box::default());
    assert_eq!(stage.app.screen, Screen::Preview);
    assert_eq!(stage.take_asked(), [Request::Query(query)]);
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.screen, Screen::Changes);
    assert_eq!(stage.take_asked(), [Request::Query(Query::Changes)]);
}

#[test]
fn a_new_change_is_written_and_selected() {
    let mut stage = changes();
    stage.keys("nadd-export");
    assert_eq!(stage.take_asked(), []);
    stage.press(KeyCode::Enter);
    let notice = "wrote openspec/changes/add-export: replace each TODO in tasks.md, proposal.md";
    assert_eq!(stage.app.notice(), Some(notice));
    // It stays until it is read.
    stage.wait(3600);
    assert_eq!(stage.app.notice(), Some(notice));
    stage.silent = true;
    stage.press(KeyCode::Enter);
    let query = Query::Preview("add-export".to_owned(), Box::default());
    assert_eq!(stage.take_asked(), [Request::Query(query)]);
}

#[test]
fn a_name_that_no_change_can_have_is_corrected_in_the_input() {
    #[track_caller]
    fn case(typed: &str, title: &str, text: &str) {
        let mut stage = changes();
        stage.silent = true;
        stage.keys("n").keys(typed).press(KeyCode::Enter);
        assert_eq!(stage.take_asked(), []);
        let typing = stage.app.typing.as_ref().unwrap();
        assert_eq!((typing.title.as_str(), typing.edit.text()), (title, text));
        assert_eq!(stage.app.error, None);
    }
    let takes = "only lowercase words joined by hyphens; Enter takes";
    case("Add Retry", takes, "add-retry");
    case("a_b!", takes, "a-b");
    let another = "this cannot be its name; lowercase words joined by hyphens";
    case("archive", another, "archive");
    case("漢字", another, "漢字");
}

#[test]
fn enter_takes_the_corrected_name() {
    let mut stage = changes();
    stage.silent = true;
    stage
        .keys("nAdd Retry")
        .press(KeyCode::Enter)
        .press(KeyCode::Enter);
    let query = Query::Create("add-retry".to_owned());
    assert_eq!(stage.take_asked(), [Request::Query(query)]);
}

#[test]
fn one_change_is_looked_at_at_a_time() {
    let mut stage = Stage::new((80, 24));
    stage.silent = true;
    stage.read_changes();
    stage.draw();
    let look = |name: &str| vec![Request::Query(Query::Look(name.to_owned()))];
    assert_eq!(stage.take_asked(), look("add-retry"));
    assert_eq!(asked(&mut stage, "jj"), []);
    let found = Err(trouble());
    stage.answer(Answer::Look("add-retry".to_owned(), found));
    stage.draw();
    let name = "drop-the-old-and-long-winded-importer-of-spreadsheets";
    assert_eq!(stage.take_asked(), look(name));
}

#[test]
fn the_run_of_another_terminal_is_shown_from_the_list_read_only() {
    let mut stage = Stage::new((80, 24));
    if let Ok(found) = &mut stage.world.changes {
        found.runs = last_runs("add-retry", RunState::Running, (2, 5));
    }
    stage.read_changes();
    assert!(stage.text().contains("Enter attach"), "{}", stage.text());
    stage.press(KeyCode::Enter);
    assert_eq!(stage.take_asked(), [Request::Attach]);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1));
    assert!(stage.text().contains("read-only"), "{}", stage.text());
    for key in ["p", "s", "x", ":"] {
        assert_eq!(asked(&mut stage, key), []);
        let notice = "read-only: the run is controlled in its own terminal";
        assert_eq!(stage.app.notice(), Some(notice), "{key}");
        stage.wait(6);
    }
    stage.press(KeyCode::Esc);
    assert_eq!(stage.take_asked(), [Request::Detach]);
    assert_eq!(stage.app.screen, Screen::Changes);

    // One whose records cannot be read any more.
    stage.press(KeyCode::Enter);
    stage.take_asked();
    stage.tell(Msg::Lost(trouble()));
    assert_eq!(stage.app.screen, Screen::Changes);
    assert_eq!(stage.app.error, Some(trouble()));
    assert_eq!(stage.take_asked(), [Request::Detach]);
}

#[test]
fn a_change_that_cannot_be_read_is_not_opened() {
    let mut stage = changes();
    stage.keys("jjj").press(KeyCode::Enter);
    assert_eq!(stage.app.screen, Screen::Changes);
    assert!(stage.app.notice().unwrap().contains("cannot be read"));
}

#[test]
fn a_run_starts_with_the_chosen_settings() {
    let mut stage = preview();
    let nothing = PartialSettings::default();
    assert_eq!(asked(&mut stage, "r"), start(nothing, false));
    assert_eq!(stage.app.screen, Screen::Run);

    let mut stage = preview();
    stage.keys("S").press(KeyCode::Right).keys("jj");
    stage.press(KeyCode::Right);
    let chosen = PartialSettings {
        agent: Some(Sourced::screen(AgentList::one("codex"))),
        max_retries: Some(Sourced::screen(4)),
        ..PartialSettings::default()
    };
    assert_eq!(asked(&mut stage, "r"), start(chosen, false));
}

/// A preview whose cursor is on the cost, which is typed.
fn typing_the_cost() -> Stage {
    let mut stage = preview();
    stage.keys("Sjjjjjj").press(KeyCode::Enter);
    stage
}

#[test]
fn a_setting_is_typed_in_its_row_in_place_of_the_old_value() {
    let mut stage = typing_the_cost();
    assert!(stage.text().contains("▌max cost   $5.00"));
    assert!(stage.text().contains(" Enter set  Esc cancel"));
    stage.keys("2.5");
    assert!(stage.text().contains("▌max cost   2.5"), "{}", stage.text());
    stage.press(KeyCode::Enter);
    assert!(
        stage.text().contains("▌max cost   $2.50 *"),
        "{}",
        stage.text()
    );
    assert!(stage.text().contains("Enter change"));
    // Given up, it stays as it was.
    stage.press(KeyCode::Enter).keys("9").press(KeyCode::Esc);
    assert!(stage.text().contains("▌max cost   $2.50 *"));
}

#[test]
fn a_bad_value_stays_in_the_input_with_what_is_wrong_below() {
    let mut stage = typing_the_cost();
    stage.keys("5x").press(KeyCode::Enter);
    assert_eq!(stage.take_asked(), []);
    let text = stage.text();
    assert!(text.contains("▌max cost   5x"), "{text}");
    let problem = [
        "✗ `5x` is not an amount in",
        "dollars; write it like",
        "`5`, `2.50` or `off`",
    ];
    assert!(problem.iter().all(|part| text.contains(part)), "{text}");
    stage.press(KeyCode::Backspace);
    assert!(!stage.text().contains("is not an amount"));
    stage.press(KeyCode::Enter);
    assert!(
        stage.text().contains("▌max cost   $5.00 *"),
        "{}",
        stage.text()
    );
}

#[test]
fn what_is_below_the_settings_can_be_scrolled_to() {
    let mut stage = changes();
    let long = "a reason that takes many lines ".repeat(30);
    stage.world.remarks = Ok(vec![Remark::warns(long), Remark::tells("the very end")]);
    stage.press(KeyCode::Enter);
    assert!(stage.text().contains("more: S, then ↓"), "{}", stage.text());
    stage.keys("S").keys(&"j".repeat(80));
    assert!(stage.text().contains("the very end"), "{}", stage.text());
    stage.keys(&"k".repeat(80));
    assert!(stage.text().contains("▌agent"), "{}", stage.text());
}

#[test]
fn a_preview_offers_only_what_it_would_do() {
    let mut stage = preview();
    assert!(!stage.text().contains("F start over"));
    assert!(!stage.text().contains("Enter change"));
    let mut stage = changes();
    stage.world.open = true;
    stage.world.remarks = Ok(vec![Remark::stops("a merge is under way")]);
    stage.press(KeyCode::Enter);
    let text = stage.text();
    assert!(
        text.contains("F start over") && !text.contains("r run"),
        "{text}"
    );
}

#[test]
fn a_changed_setting_queries_the_preview_again() {
    let mut stage = preview();
    stage.silent = true;
    stage.keys("S").press(KeyCode::Right);
    let chosen = PartialSettings {
        agent: Some(Sourced::screen(AgentList::one("codex"))),
        ..PartialSettings::default()
    };
    let query = Query::Preview("add-retry".to_owned(), Box::new(chosen));
    assert_eq!(stage.take_asked(), [Request::Query(query)]);
}

#[test]
fn a_run_with_a_blocking_remark_does_not_start() {
    let mut stage = changes();
    stage.world.remarks = Ok(vec![Remark::stops("a merge is under way")]);
    stage.press(KeyCode::Enter);
    assert_eq!(asked(&mut stage, "r"), []);
    assert_eq!(stage.app.screen, Screen::Preview);
    let notice = "it cannot start: a merge is under way";
    assert_eq!(stage.app.notice(), Some(notice));
}

#[test]
fn a_fresh_start_asks_only_if_a_run_is_open() {
    let nothing = PartialSettings::default;
    assert_eq!(asked(&mut preview(), "F"), start(nothing(), false));
    let mut stage = changes();
    stage.world.open = true;
    stage.press(KeyCode::Enter);
    assert_eq!(asked(&mut stage, "F"), []);
    assert_eq!(asked(&mut stage, "n"), []);
    assert_eq!(stage.app.screen, Screen::Preview);
    assert_eq!(asked(&mut stage, "Fy"), start(nothing(), true));
}

#[test]
fn the_previous_screen_shows_why_a_run_did_not_start() {
    let mut stage = preview();
    stage.keys("r");
    stage.take_asked();
    stage.silent = true;
    stage.tell(Msg::RunOver(RunOver::Failed(trouble())));
    assert_eq!(stage.app.screen, Screen::Preview);
    assert_eq!(stage.app.error, Some(trouble()));
    let query = Query::Preview("add-retry".to_owned(), Box::default());
    assert_eq!(stage.take_asked(), [Request::Query(query)]);
    assert_eq!(asked(&mut stage, "q"), []);
    assert_eq!(stage.app.error, None);

    let mut stage = preview();
    stage.keys("r");
    stage.tell(Msg::RunOver(RunOver::NothingLeft));
    assert_eq!(stage.app.screen, Screen::Preview);
    assert!(stage.app.notice().is_some());

    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Live);
    stage.tell(Msg::RunOver(RunOver::Failed(trouble())));
    assert_eq!(stage.take_asked(), [Request::Quit]);
}

#[test]
fn every_control_key_sends_its_command() {
    let mut stage = at_work();
    assert_eq!(asked(&mut stage, "p"), command(UserCommand::Pause));
    assert_eq!(asked(&mut stage, "s"), []);
    assert_eq!(asked(&mut stage, "y"), command(UserCommand::Stop));
    assert_eq!(asked(&mut stage, "sn"), []);
    assert_eq!(asked(&mut stage, "x"), []);
    assert_eq!(asked(&mut stage, "y"), command(UserCommand::Skip));
    assert_eq!(asked(&mut stage, "r"), []);
    assert_eq!(asked(&mut stage, ":in seconds, q s x"), []);
    stage.press(KeyCode::Enter);
    let note = UserCommand::Note {
        story: Some(id("3")),
        text: "in seconds, q s x".to_owned(),
    };
    assert_eq!(stage.take_asked(), command(note));
    assert_eq!(asked(&mut stage, ":not sent"), []);
    stage.press(KeyCode::Esc);
    assert_eq!(stage.take_asked(), []);
}

#[test]
fn a_pause_can_be_cancelled_before_and_after_it_takes_effect() {
    let mut stage = at_work();
    let request = TrustPrompt::Pause;
    stage.hear(1, Event::Requested { request });
    assert_eq!(asked(&mut stage, "p"), command(UserCommand::GoOn));
    stage.hear(
        1,
        Event::Paused {
            story: id("3"),
            continues: None,
        },
    );
    assert_eq!(asked(&mut stage, "p"), command(UserCommand::GoOn));
    let request = TrustPrompt::GoOn;
    stage.hear(1, Event::Requested { request });
    assert_eq!(asked(&mut stage, "p"), command(UserCommand::Pause));
}

#[test]
fn a_wait_can_be_ended() {
    let mut stage = at_work();
    stage
        .hear(1, failed("3", 1, FailureKind::Limit, "limit"))
        .hear(
            0,
            Event::Waiting {
                story: id("3"),
                reason: "limit".to_owned(),
                until: "2026-11-15T23:30:00Z".parse().unwrap(),
                continues: None,
            },
        );
    assert_eq!(asked(&mut stage, "r"), command(UserCommand::TryNow));
}

#[test]
fn only_a_running_run_can_be_controlled() {
    let keys = ["p", "s", "x", ":", "r"];
    let mut stage = ended_with(Outcome::Stopped);
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.screen, Screen::Run);
    for key in keys {
        assert_eq!(asked(&mut stage, key), [], "{key} after the end");
        assert!(stage.app.confirmation.is_none() && stage.app.typing.is_none());
    }
    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Replay);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1));
    for key in keys {
        assert_eq!(asked(&mut stage, key), [], "{key} in a replay");
        assert!(stage.app.confirmation.is_none() && stage.app.typing.is_none());
    }
}

#[test]
fn a_question_about_one_story_is_not_answered_for_the_next() {
    let mut stage = at_work();
    stage.keys("x");
    stage.hear(1, story(4));
    let skip = Request::Command(UserCommand::Skip);
    assert!(!asked(&mut stage, "y").contains(&skip));
    stage.hear(1, attempt("4", 1)).keys("x");
    assert_eq!(asked(&mut stage, "y"), command(UserCommand::Skip));
}

#[test]
fn incomplete_records_are_not_shown_as_a_running_run() {
    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Replay);
    stage.hear(0, started()).hear(1, story(2));
    stage.hear(1, attempt("2", 1));
    assert!(stage.text().contains("the record ends here · ● story 2"));
    stage.hear(1, ended(Outcome::Stopped, 1));
    assert!(!stage.text().contains("the record ends here"));
}

#[test]
fn leaving_a_run_asks_then_stops_then_forces() {
    let mut stage = at_work();
    assert_eq!(asked(&mut stage, "q"), []);
    stage.wait(3);
    assert_eq!(asked(&mut stage, "q"), command(UserCommand::Stop));
    stage.wait(60);
    assert_eq!(asked(&mut stage, "q"), command(UserCommand::StopNow));
    stage.hear(1, ended(Outcome::Stopped, 2));
    let keep = UserCommand::Finish(FinishChoice::Keep);
    assert_eq!(stage.take_asked(), command(keep));
    stage.hear(1, finished(FinishChoice::Keep));
    stage.take_asked();
    stage.tell(Msg::RunOver(RunOver::Ended(130)));
    assert_eq!(stage.take_asked(), [Request::Quit]);
}

#[test]
fn a_quit_question_that_expired_is_asked_again() {
    let mut stage = at_work();
    assert_eq!(asked(&mut stage, "q"), []);
    stage.wait(4);
    assert_eq!(asked(&mut stage, "q"), []);
    assert_eq!(asked(&mut stage, "q"), command(UserCommand::Stop));
}

#[test]
fn control_c_leaves_as_q_does() {
    let mut stage = at_work();
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    stage.tell(Msg::Key(control_c));
    assert_eq!(stage.take_asked(), []);
    stage.tell(Msg::Key(control_c));
    assert_eq!(stage.take_asked(), command(UserCommand::Stop));
}

#[test]
fn leaving_at_the_end_keeps_the_branch_and_waits_for_the_run() {
    let mut stage = ended_with(Outcome::AllDone);
    let keep = UserCommand::Finish(FinishChoice::Keep);
    assert_eq!(asked(&mut stage, "q"), command(keep));
    stage.hear(1, finished(FinishChoice::Keep));
    assert_eq!(stage.take_asked(), []);
    stage.tell(Msg::RunOver(RunOver::Ended(0)));
    assert_eq!(stage.take_asked(), [Request::Quit]);
}

#[test]
fn leaving_does_not_choose_twice() {
    let mut stage = ended_with(Outcome::Stopped);
    stage.keys("cy");
    assert_eq!(asked(&mut stage, "q"), []);
    stage.hear(1, finished(FinishChoice::Cleanup));
    stage.take_asked();
    stage.tell(Msg::RunOver(RunOver::Ended(0)));
    assert_eq!(stage.take_asked(), [Request::Quit]);

    // A user who lets the run go on stays with it.
    let mut stage = ended_with(Outcome::Stopped);
    stage.keys("ry");
    assert_eq!(asked(&mut stage, "q"), []);
    stage.hear(1, started_again()).hear(1, story(3));
    stage.hear(1, ended(Outcome::Stopped, 2));
    assert_eq!(stage.take_asked(), []);
    assert_eq!(stage.app.screen, Screen::Completion);
}

#[test]
fn only_y_says_yes() {
    for key in [KeyCode::Enter, KeyCode::Char('n'), KeyCode::Esc] {
        let mut stage = at_work();
        stage.keys("s").press(key);
        assert_eq!(stage.take_asked(), [], "{key:?}");
        assert_eq!(stage.app.confirmation, None);
    }
}

#[test]
fn leaving_is_cancelled_if_the_branch_could_not_be_kept() {
    let mut stage = ended_with(Outcome::AllDone);
    stage.keys("q");
    stage.hear(
        1,
        Event::FinishFailed(FinishFailed {
            choice: FinishChoice::Keep,
            reason: "disk full".to_owned(),
            hint: "free some space".to_owned(),
            begun: false,
        }),
    );
    stage.take_asked();
    assert_eq!(stage.app.screen, Screen::Completion);
    let cleanup = UserCommand::Finish(FinishChoice::Cleanup);
    assert_eq!(asked(&mut stage, "cy"), command(cleanup));
}

#[test]
fn leaving_without_a_run_or_by_a_signal_ends_the_program_at_once() {
    assert_eq!(asked(&mut changes(), "q"), [Request::Quit]);
    assert_eq!(asked(&mut preview(), "q"), [Request::Quit]);
    let mut stage = at_work();
    stage.tell(Msg::Leave);
    assert_eq!(stage.take_asked(), [Request::Quit]);
}

#[test]
fn the_end_of_a_run_leads_to_the_choice_and_the_choice_to_the_result() {
    let mut stage = ended_with(Outcome::Stopped);
    assert_eq!(stage.app.screen, Screen::Completion);
    let cleanup = UserCommand::Finish(FinishChoice::Cleanup);
    assert_eq!(asked(&mut stage, "cy"), command(cleanup));
    assert_eq!(asked(&mut stage, "cybyry"), []);
    stage.hear(1, finished(FinishChoice::Cleanup));
    assert_eq!(stage.app.screen, Screen::Result);
    stage.tell(Msg::RunOver(RunOver::Ended(0)));
    assert_eq!(stage.app.screen, Screen::Result);
    assert_eq!(asked(&mut stage, "q"), [Request::Quit]);
}

#[test]
fn the_choice_is_made_by_arrows_too() {
    let mut stage = ended_with(Outcome::Stopped);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.take_asked(), []);
    stage.press(KeyCode::Up).press(KeyCode::Enter);
    assert_eq!(stage.take_asked(), command(UserCommand::Again));

    // What moves work asks even then.
    for (downs, choice) in [
        (1, FinishChoice::Cleanup),
        (3, FinishChoice::Squash),
        (4, FinishChoice::Reword),
        (5, FinishChoice::Abandon),
    ] {
        let mut stage = ended_with(Outcome::Stopped);
        for _ in 0..downs {
            stage.press(KeyCode::Down);
        }
        stage.press(KeyCode::Enter);
        assert_eq!(stage.take_asked(), []);
        let finish = UserCommand::Finish(choice);
        assert_eq!(asked(&mut stage, "y"), command(finish));
    }
    let mut stage = ended_with(Outcome::Stopped);
    stage.press(KeyCode::Down).press(KeyCode::Down);
    stage.press(KeyCode::Enter);
    let keep = UserCommand::Finish(FinishChoice::Keep);
    assert_eq!(stage.take_asked(), command(keep));
}

#[test]
fn a_run_cannot_continue_when_all_stories_are_done() {
    let mut stage = ended_with(Outcome::AllDone);
    assert_eq!(asked(&mut stage, "r"), []);
}

#[test]
fn the_user_can_choose_again_after_a_choice_failed() {
    let mut stage = ended_with(Outcome::Stopped);
    stage.keys("cy");
    let hint = "free some space".to_owned();
    let reason = "disk full".to_owned();
    let choice = FinishChoice::Cleanup;
    stage.hear(
        1,
        Event::FinishFailed(FinishFailed {
            choice,
            reason,
            hint,
            begun: false,
        }),
    );
    let text = stage.text();
    assert!(text.contains("✗ disk full") && text.contains("→ free some space"));
    let keep = UserCommand::Finish(FinishChoice::Keep);
    assert_eq!(asked(&mut stage, "by"), command(keep));
}

#[test]
fn a_run_that_continues_is_shown_again() {
    let mut stage = ended_with(Outcome::Stopped);
    assert_eq!(asked(&mut stage, "ry"), command(UserCommand::Again));
    stage.hear(1, started_again());
    assert_eq!(stage.app.screen, Screen::Run);
    stage.hear(1, story(3)).hear(1, attempt("3", 1));
    assert_eq!(asked(&mut stage, "p"), command(UserCommand::Pause));
    stage.wait(2).hear(1, ended(Outcome::Stopped, 2));
    assert_eq!(stage.app.screen, Screen::Completion);
    stage.draw();
    stage.wait(1);
    let cleanup = UserCommand::Finish(FinishChoice::Cleanup);
    assert_eq!(asked(&mut stage, "cy"), command(cleanup));
}

#[test]
fn continuing_is_offered_only_if_the_run_can_continue() {
    let mut stage = ended_with(Outcome::StoryDone { story: None });
    assert!(!stage.text().contains("Go on"));
    assert_eq!(asked(&mut stage, "r"), []);
    let keep = UserCommand::Finish(FinishChoice::Keep);
    assert_eq!(asked(&mut stage, "q"), command(keep));
}

#[test]
fn a_choice_after_the_end_of_the_loop_does_not_block_the_others() {
    let broken = Outcome::Broken {
        reason: "disk full".to_owned(),
        hint: "free some space".to_owned(),
    };
    let mut stage = ended_with(broken);
    stage.keys("cy");
    stage.tell(Msg::RunOver(RunOver::Ended(4)));
    assert!(stage.text().contains("do nothing now"));
    stage.take_asked();
    stage.press(KeyCode::Up).press(KeyCode::Enter);
    assert_eq!(stage.take_asked(), [Request::Quit]);
}

#[test]
fn keys_of_the_run_screen_choose_nothing_at_its_end() {
    let mut stage = at_work();
    // Long before: the user looked on, and expands something just now.
    stage.keys("j").wait(60);
    stage.hear(1, ended(Outcome::AllDone, 5));
    assert_eq!(stage.app.screen, Screen::Completion);
    // The keys were pressed before the screen was drawn, or right after.
    for _ in 0..2 {
        for key in ["b", "c", "a", "q", "y"] {
            assert_eq!(asked(&mut stage, key), []);
            assert_eq!(stage.app.confirmation, None);
        }
        stage.press(KeyCode::Enter);
        assert_eq!(stage.take_asked(), []);
        stage.draw();
    }
    stage.wait(1);
    assert_eq!(asked(&mut stage, "b"), []);
    let keep = UserCommand::Finish(FinishChoice::Keep);
    assert_eq!(asked(&mut stage, "y"), command(keep));
}

#[test]
fn a_key_held_down_does_not_answer_its_own_question() {
    let mut stage = ended_with(Outcome::Stopped);
    assert_eq!(asked(&mut stage, "ccc"), []);
    let cleanup = UserCommand::Finish(FinishChoice::Cleanup);
    assert_eq!(asked(&mut stage, "y"), command(cleanup));
    let mut stage = ended_with(Outcome::Stopped);
    assert_eq!(asked(&mut stage, "cby"), []);
}

#[test]
fn a_note_being_typed_as_the_run_ends_stays_until_it_is_finished() {
    let mut stage = at_work();
    stage.keys(":the key ");
    stage.hear(1, ended(Outcome::AllDone, 5));
    stage.draw();
    stage.wait(5).keys("may");
    assert!(
        stage
            .text()
            .contains("note (the run has ended): the key may")
    );
    assert_eq!(stage.app.screen, Screen::Completion);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.take_asked(), []);
    let unused = ErrorText {
        message: "the run has ended: the note was not used".to_owned(),
        hints: vec!["the key may".to_owned()],
    };
    // What is typed on neither closes it nor chooses.
    assert_eq!(asked(&mut stage, "am j"), []);
    assert_eq!(stage.app.error, Some(unused));
    assert!(stage.app.mouse);
    stage.draw();
    stage.wait(1).keys("x");
    assert_eq!((&stage.app.error, stage.app.confirmation), (&None, None));
    let keep = UserCommand::Finish(FinishChoice::Keep);
    assert_eq!(asked(&mut stage, "by"), command(keep));
}

#[test]
fn a_text_given_up_after_the_end_of_the_run_leads_nowhere() {
    for what in [":", "/", "2e"] {
        let mut stage = at_work();
        stage.keys(what).keys("x");
        stage.hear(1, ended(Outcome::AllDone, 5));
        stage.draw();
        stage.wait(5).press(KeyCode::Esc);
        assert!(stage.app.typing.is_none());
        assert_eq!(asked(&mut stage, "aya"), [], "{what}");
        assert_eq!(stage.app.confirmation, None);
    }
    let mut stage = at_work();
    stage.keys("/x").hear(1, ended(Outcome::AllDone, 5));
    stage.press(KeyCode::Enter);
    let notice = "the run has ended: Esc goes back to its screen";
    assert_eq!(stage.app.notice(), Some(notice));
}

#[test]
fn keys_that_move_select_no_choice_just_after_the_end() {
    let mut stage = at_work();
    stage.hear(1, ended(Outcome::AllDone, 5));
    stage.draw();
    stage.keys("jjk gG").press(KeyCode::Tab);
    stage.wait(1).press(KeyCode::Enter);
    assert_eq!(stage.take_asked(), []);
    assert_eq!(stage.app.confirmation, None);
    stage.keys("j").press(KeyCode::Enter);
    let cleanup = UserCommand::Finish(FinishChoice::Cleanup);
    assert_eq!(asked(&mut stage, "y"), command(cleanup));
}

#[test]
fn another_key_takes_the_question_whether_to_stop_back() {
    let mut stage = at_work();
    assert_eq!(asked(&mut stage, "qjq"), []);
    assert!(
        stage
            .app
            .notice()
            .is_some_and(|it| it.contains("press q again"))
    );
    stage.keys("j");
    assert_eq!(stage.app.notice(), None);
    assert_eq!(asked(&mut stage, "qq"), command(UserCommand::Stop));
}

#[test]
fn a_question_about_the_run_is_gone_when_it_has_ended() {
    let mut stage = at_work();
    stage.keys("q");
    assert!(stage.text().contains("press q again"));
    stage.hear(1, ended(Outcome::AllDone, 5));
    assert_eq!(stage.app.screen, Screen::Completion);
    assert!(!stage.text().contains("press q again"));
}

#[test]
fn leaving_the_result_returns_to_the_start() {
    let mut stage = ended_with(Outcome::Stopped);
    stage.hear(1, finished(FinishChoice::Keep));
    stage.take_asked();
    stage.press(KeyCode::Esc);
    stage.tell(Msg::RunOver(RunOver::Ended(0)));
    assert_eq!(stage.take_asked(), [Request::Quit]);

    let mut stage = preview();
    stage.keys("r");
    stage.hear(0, started()).hear(1, ended(Outcome::AllDone, 5));
    stage.hear(1, finished(FinishChoice::Cleanup));
    // Not before the run is over: its end would count as that of the next.
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.screen, Screen::Result);
    stage.take_asked();
    stage.silent = true;
    stage.tell(Msg::RunOver(RunOver::Ended(0)));
    assert_eq!(stage.app.screen, Screen::Changes);
    assert_eq!(stage.take_asked(), [Request::Query(Query::Changes)]);
}

#[test]
fn what_was_done_with_the_branch_is_undone_once_the_run_is_over() {
    let mut stage = ended_with(Outcome::Stopped);
    stage.keys("cy").hear(1, finished(FinishChoice::Cleanup));
    stage.draw();
    assert_eq!(asked(&mut stage, "u"), []);
    stage.silent = true;
    stage.tell(Msg::RunOver(RunOver::Ended(0)));
    let run = stage.app.run.as_ref().unwrap().progress.run.clone();
    let undo = Request::Query(Query::Undo(run.unwrap()));
    assert_eq!(asked(&mut stage, "uu"), [undo]);
    let refused = Answer::Undone(Err(trouble()));
    stage.answer(refused);
    assert_eq!(stage.app.error, Some(trouble()));
    stage.press(KeyCode::Esc);
    assert_eq!(asked(&mut stage, "u").len(), 1);
    stage.answer(Answer::Undone(stage.world.undone.clone()));
    assert!(
        stage
            .text()
            .contains("✓ Undone: HEAD is on `ralph/add-retry`")
    );
    assert_eq!(asked(&mut stage, "u"), []);
}

#[test]
fn a_run_of_another_terminal_is_not_undone_here() {
    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Attached { interrupted: false });
    stage.hear(0, started()).hear(1, ended(Outcome::AllDone, 5));
    stage.hear(1, finished(FinishChoice::Cleanup));
    assert_eq!(stage.app.screen, Screen::Result);
    assert_eq!(asked(&mut stage, "u"), []);
}

#[test]
fn the_screen_follows_the_live_story_until_the_user_selects_another() {
    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1));
    assert_eq!(story_shown(&stage.app), "2");
    stage.hear(1, completed()).hear(1, story(3));
    assert_eq!(story_shown(&stage.app), "3");
    stage.keys("k");
    stage.hear(1, attempt("3", 1)).hear(1, speaks("3", 1, "hm"));
    assert_eq!(story_shown(&stage.app), "2");
    assert!(stage.text().contains("f follows"));
    stage.keys("f");
    assert_eq!(story_shown(&stage.app), "3");
    assert!(!stage.text().contains("f follows"));
}

#[test]
fn a_chosen_attempt_stays_selected() {
    let mut stage = at_work();
    stage.keys("k[[");
    assert!(stage.text().contains("attempt 1 ·"));
    stage.hear(1, speaks("3", 1, "hm"));
    assert!(stage.text().contains("attempt 1 ·"));
    stage.keys("]");
    assert!(stage.text().contains("attempt 2 ·"));
}

/// The windows that were asked for.
fn windows(stage: &mut Stage) -> Vec<Part> {
    let asked = stage.take_asked().into_iter();
    let windows = asked.filter_map(|request| match request {
        Request::Query(Query::Window(_, part)) => Some(part),
        _ => None,
    });
    windows.collect()
}

/// A run whose agent said a lot; queries are not answered.
fn talkative() -> Stage {
    let mut stage = Stage::new((80, 24));
    stage.world.said = (0..1000)
        .map(|number| AgentEvent::Text {
            text: format!("thought {number}"),
        })
        .collect();
    working(&mut stage);
    stage.draw();
    stage.take_asked();
    stage.silent = true;
    stage
}

#[test]
fn a_window_is_queried_once_until_it_arrives() {
    let mut stage = talkative();
    stage.hear(1, speaks("3", 1, "one"));
    stage.draw();
    let [part] = windows(&mut stage)[..] else {
        panic!("one window");
    };
    assert!(matches!(part, Part::Last(_)));
    stage.hear(1, speaks("3", 1, "two"));
    stage.draw();
    assert_eq!(windows(&mut stage), []);
}

#[test]
fn a_window_is_queried_again_only_if_the_transcript_grew() {
    let mut stage = talkative();
    stage.wait(5);
    stage.draw();
    assert_eq!(windows(&mut stage), []);
    // What another attempt says is not shown.
    stage.keys("k");
    stage.silent = false;
    stage.draw();
    stage.take_asked();
    stage.silent = true;
    stage.hear(1, speaks("3", 1, "elsewhere"));
    stage.draw();
    assert_eq!(windows(&mut stage), []);
}

#[test]
fn the_start_of_an_empty_transcript_is_queried_once() {
    let mut stage = talkative();
    stage.silent = false;
    stage.world.said = Vec::new();
    stage.hear(1, speaks("3", 1, "")).draw();
    stage.press(KeyCode::Right).keys("g");
    stage.silent = true;
    stage.take_asked();
    stage.wait(1);
    assert_eq!(windows(&mut stage), []);
}

#[test]
fn line_breaks_of_an_agent_are_kept() {
    let mut stage = Stage::new((80, 24));
    let text = "error: no such file\n --> src/lib.rs:1".to_owned();
    stage.world.said = vec![AgentEvent::Text { text }];
    working(&mut stage);
    stage.hear(1, speaks("3", 1, "it")).draw();
    let text = stage.text();
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains("error: no such file"));
    assert!(lines.next().is_some_and(|line| !line.contains("-->")));
    assert!(
        lines
            .next()
            .is_some_and(|line| line.contains("--> src/lib.rs:1"))
    );
}

#[test]
fn no_window_is_queried_while_another_tab_is_shown() {
    let mut stage = talkative();
    stage.keys("5");
    stage.take_asked();
    stage.hear(1, speaks("3", 1, "one"));
    stage.draw();
    assert_eq!(windows(&mut stage), []);
}

#[test]
fn moving_towards_the_border_of_a_window_queries_more() {
    let mut stage = talkative();
    stage.silent = false;
    // Away from the end, with a window around the place.
    stage.press(KeyCode::Right).press(KeyCode::PageUp);
    stage.press(KeyCode::PageUp);
    stage.draw();
    stage.silent = true;
    stage.take_asked();
    let mut asked = Vec::new();
    for _ in 0..40 {
        stage.press(KeyCode::PageUp);
        asked.extend(windows(&mut stage));
    }
    let [Part::From(first, count)] = asked[..] else {
        panic!("{asked:?}");
    };
    assert!((800..950).contains(&first), "{first}");
    assert!((50..=100).contains(&count), "{count}");
}

#[test]
fn moving_to_the_start_or_end_of_a_transcript_queries_it() {
    let mut stage = talkative();
    stage.press(KeyCode::Right).keys("g");
    let asked = windows(&mut stage);
    assert!(matches!(asked[..], [Part::From(0, 50..=100)]), "{asked:?}");
    stage.silent = false;
    stage.app.missing();
    stage.keys("G");
    stage.silent = true;

    let mut stage = talkative();
    stage.silent = false;
    stage.press(KeyCode::Right).keys("g");
    assert!(stage.text().contains("thought 0"));
    stage.keys("G");
    assert!(stage.text().contains("thought 999"));
}

#[test]
fn a_search_goes_to_a_hit_outside_the_window() {
    let mut stage = talkative();
    stage.keys("/thought 321").press(KeyCode::Enter);
    let needle = match &stage.take_asked()[..] {
        [Request::Query(Query::Find(_, needle))] => needle.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((needle.text.as_str(), needle.here), ("thought 321", 999));

    let mut stage = talkative();
    stage.silent = false;
    stage.keys("/thought 321").press(KeyCode::Enter);
    assert!(stage.text().contains("▌thought 321"));
    stage.keys("/never said").press(KeyCode::Enter);
    let notice = "`never said` is not in the transcript";
    assert_eq!(stage.app.notice(), Some(notice));
    assert!(stage.text().contains("▌thought 321"));
}

#[test]
fn a_search_is_queried_once_while_the_agent_continues() {
    let mut stage = talkative();
    stage.silent = false;
    stage.keys("/never said").press(KeyCode::Enter);
    stage.silent = true;
    stage.take_asked();
    stage.keys("N");
    let (transcript, needle) = match &stage.take_asked()[..] {
        [Request::Query(Query::Find(transcript, needle))] => (transcript.clone(), needle.clone()),
        other => panic!("{other:?}"),
    };
    stage.hear(1, speaks("3", 1, "more"));
    stage.take_asked();
    stage.answer(Answer::Found(transcript, needle, None));
    assert_eq!(stage.take_asked(), []);
    let notice = "`never said` is not in the transcript";
    assert_eq!(stage.app.notice(), Some(notice));
}

/// The diffs that were asked for.
fn diffs(stage: &mut Stage) -> Vec<DiffId> {
    let asked = stage.take_asked().into_iter();
    let diffs = asked.filter_map(|request| match request {
        Request::Query(Query::Diff(id)) => Some(id),
        _ => None,
    });
    diffs.collect()
}

#[test]
fn a_live_diff_is_queried_every_two_seconds_while_it_is_visible() {
    let live = DiffId::Live {
        base: "base3".to_owned(),
    };
    let one = std::slice::from_ref(&live);
    let found = || Answer::Diff(live.clone(), Ok(Box::default()));
    let mut stage = at_work();
    stage.silent = true;
    stage.hear(5, speaks("3", 1, "one"));
    stage.draw();
    assert_eq!(diffs(&mut stage), []);
    stage.keys("2");
    assert_eq!(diffs(&mut stage), one);
    stage.hear(5, speaks("3", 1, "not while one is on its way"));
    stage.draw();
    assert_eq!(diffs(&mut stage), []);
    stage.answer(found());
    stage.draw();
    assert_eq!(diffs(&mut stage), one);
    stage.answer(found());
    stage.hear(1, speaks("3", 1, "too early"));
    stage.draw();
    assert_eq!(diffs(&mut stage), []);
    stage.hear(1, speaks("3", 1, "late enough"));
    stage.draw();
    assert_eq!(diffs(&mut stage), one);
    stage.answer(found());
    stage.wait(60);
    stage.draw();
    assert_eq!(diffs(&mut stage), []);
}

#[test]
fn the_diff_of_an_attempt_depends_on_how_it_ended() {
    let mut stage = at_work();
    stage.silent = true;
    stage.keys("k2");
    let done = DiffId::Between {
        from: "base2".to_owned(),
        to: "0123456789abcdef0123456789abcdef01234567".to_owned(),
    };
    assert_eq!(diffs(&mut stage), [done]);
    stage.keys("[");
    let folder = "/state/runs/20261115-215900-x7k2/attempts/2.2".into();
    assert_eq!(diffs(&mut stage), [DiffId::Parked { folder }]);
}

#[test]
fn the_clock_runs_only_while_the_run_is_active() {
    assert!(!changes().app.is_ticking());
    assert!(!preview().app.is_ticking());
    assert!(at_work().app.is_ticking());
    assert!(!ended_with(Outcome::Stopped).app.is_ticking());
    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Replay);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1));
    assert!(!stage.app.is_ticking());
    // A notice goes away by itself.
    let mut stage = changes();
    stage.keys("m");
    assert!(stage.app.is_ticking());
    stage.wait(6);
    assert!(!stage.app.is_ticking());
    assert_eq!(stage.app.notice(), None);
}

#[test]
fn a_clock_changes_nothing_within_a_second() {
    let mut stage = at_work();
    stage.draw();
    stage.app.take_changed();
    let now = stage.app.now;
    for ms in [100, 500, 999] {
        let later = now + jiff::SignedDuration::from_millis(ms);
        stage.app.set_now(later);
        assert!(!stage.app.take_changed(), "{ms}");
    }
    let later = now + jiff::SignedDuration::from_secs(1);
    stage.app.set_now(later);
    assert!(stage.app.take_changed());
    let mut stage = changes();
    stage.app.take_changed();
    stage.wait(3600);
    assert!(!stage.app.take_changed());
}

#[test]
fn the_text_input_receives_all_keys() {
    let mut stage = changes();
    stage.keys("/qrs?");
    assert_eq!(stage.take_asked(), []);
    assert!(stage.text().contains("filter: qrs?"));
    stage.press(KeyCode::Esc);
    assert!(!stage.text().contains("matching"));
}

#[test]
fn help_scrolls_and_any_other_key_closes_it() {
    let mut stage = at_work();
    assert_eq!(asked(&mut stage, "?jjk"), []);
    assert_eq!(stage.app.help_top, Some(1));
    for _ in 0..3 {
        stage.press(KeyCode::PageDown);
    }
    let last = stage.app.help_top;
    stage.press(KeyCode::PageDown);
    assert_eq!(stage.app.help_top, last);
    assert_eq!(asked(&mut stage, "p"), []);
    assert_eq!(stage.app.help_top, None);
    assert_eq!(asked(&mut stage, "p"), command(UserCommand::Pause));
}

#[test]
fn a_pane_is_exported_and_copied() {
    let mut stage = at_work();
    stage.keys("2e").press(KeyCode::Enter);
    let [Request::Query(Query::Export(path, Export::Text(text)))] = &stage.take_asked()[..] else {
        panic!("an export");
    };
    let want = "/home/me/project/ralphtool-add-retry-3.1-diff.txt";
    assert_eq!(path.to_str(), Some(want));
    assert!(text.contains("\n+# Retries 🚀\n"), "{text}");
    stage.keys("1e").press(KeyCode::Enter);
    let exported = stage.take_asked();
    let is_transcript = matches!(&exported[..], [Request::Query(Query::Export(_, Export::Transcript(it)))] if it.attempt.story == id("3"));
    assert!(is_transcript, "{exported:?}");
    stage.press(KeyCode::Right);
    let copy = Request::Copy("▸ Edit src/upload/client.rs".to_owned());
    assert_eq!(asked(&mut stage, "y"), [copy]);
    stage.answer(Answer::Exported(Err("disk full".to_owned())));
    assert_eq!(stage.app.notice(), Some("could not export: disk full"));
}

#[test]
fn the_output_of_a_gate_is_queried_while_it_runs() {
    let mut stage = at_work();
    stage.hear(1, gate("3", "tests", "3.1-1", false));
    stage.silent = true;
    stage.keys("4");
    let log = std::path::PathBuf::from("/state/gates/3.1-1.log");
    let query = Request::Query(Query::File(log, 500));
    assert_eq!(stage.take_asked(), [query]);
    stage.wait(2);
    assert_eq!(stage.take_asked(), []);
}

#[test]
fn the_figures_at_the_end_are_those_of_the_whole_run() {
    let mut stage = at_work();
    stage.silent = true;
    stage.keys("2").hear(1, ended(Outcome::Stopped, 2));
    stage.draw();
    let [.., whole] = &diffs(&mut stage)[..] else {
        panic!("the changes of the run are asked for");
    };
    let live = DiffId::Live {
        base: "base3".to_owned(),
    };
    stage.answer(Answer::Diff(live, stage_diff()));
    assert!(!stage.text().contains("4 files"));
    stage.press(KeyCode::Esc);
    stage.answer(Answer::Diff(whole.clone(), stage_diff()));
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.screen, Screen::Completion);
    assert!(stage.text().contains("4 files +4 -2"));
}

fn stage_diff() -> Result<Box<ralph_vault::diff::Diff>, String> {
    Stage::new((80, 24)).world.diff.map(Box::new)
}

#[test]
fn a_stale_answer_is_ignored() {
    let mut stage = at_work();
    let before = stage.text();
    let other = DiffId::Live {
        base: "another".to_owned(),
    };
    stage.answer(Answer::Diff(other, Err("no such base".to_owned())));
    assert_eq!(stage.text(), before);
    stage.hear(1, says("2", 1, AgentEvent::Final { is_error: true }));
    stage.keys("2");
    assert!(!stage.text().contains("no such base"));
}
