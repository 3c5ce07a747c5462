//! What a user at a screen does: pause, skip, try now, and going on after the end.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::OnFinish;
use crate::records::event::{
    Event, FailedStory, FailureKind, FinishChoice, FinishFailed, Outcome, Request, RunEnded,
    RunStarted,
};
use ralph_plan::change::StoryState;

const SILENT: &str = "the agent ended without a promise";
const SKIPPED: &str = "the story was skipped";

fn ask() -> Policy {
    Policy {
        on_finish: OnFinish::Ask,
        ..keep()
    }
}

fn paused() -> Effect {
    say(Event::Paused {
        story: id("1"),
        continues: None,
    })
}

fn story_skipped(story: &str) -> Effect {
    say(Event::StorySkipped {
        story: id(story),
        title: format!("Title {story}"),
        reason: "skipped on request".to_owned(),
        waits_for: None,
    })
}

fn read_backlog(ticket: u64) -> Effect {
    Effect::Step(Ticket(ticket), Step::ReadBacklog)
}

fn cancel_wait() -> Effect {
    Effect::CancelTimer {
        timer: timer(TimerKind::Wait, 6),
    }
}

/// What the prompt says after this attempt of story 1, which left no reason.
fn after(attempt: u32) -> Previous {
    Previous {
        reason: None,
        parked: Some(parked("1", attempt)),
    }
}

/// A machine that waits for a limit to end.
fn waiting(policy: Policy) -> Script {
    let mut script = Script::working(policy);
    script.give(|ticket| ended(ticket, limited(None)));
    script.give_all(&[was_parked, restored]);
    script
}

/// A machine whose first attempt failed, and that holds the second back.
fn held() -> Script {
    let mut script = Script::working(keep());
    script.ask_for(UserCommand::Pause);
    script.give_all(&[ended_silent, was_parked, restored]);
    script
}

/// A machine that asks what to do after story 1 used up its only attempt.
fn used_up() -> Script {
    let mut script = Script::working(Policy {
        max_retries: 0,
        ..ask()
    });
    script.give_all(&[ended_silent, was_parked, restored]);
    script
}

#[test]
fn a_pause_holds_the_next_attempt_back_until_the_user_goes_on() {
    let mut script = Script::working(keep());
    let pause = script.ask_for(UserCommand::Pause);
    assert_eq!(pause, [requested(Request::Pause)]);
    assert_eq!(script.ask_for(UserCommand::Pause), [], "it is no news");
    assert_eq!(
        script.give_all(&[ended_silent, was_parked, restored]),
        [
            attempt_failed(1, FailureKind::NoSignal, SILENT, true),
            paused()
        ]
    );
    assert_eq!(
        script.ask_for(UserCommand::GoOn),
        [
            requested(Request::GoOn),
            start_agent(6, "1", 2, Some(after(1)))
        ]
    );
    assert_eq!(script.ask_for(UserCommand::GoOn), []);
}

#[test]
fn a_pause_that_has_not_taken_effect_can_be_taken_back() {
    let mut script = Script::working(keep());
    script.ask_for(UserCommand::Pause);
    let go_on = script.ask_for(UserCommand::GoOn);
    assert_eq!(go_on, [requested(Request::GoOn)]);
    let effects = script.give_all(&[ended_silent, was_parked, restored]);
    assert_eq!(effects[1], start_agent(6, "1", 2, Some(after(1))));
}

#[test]
fn a_pause_holds_before_the_gates_of_a_story_and_does_not_run_a_known_one_twice() {
    let mut script = Script::start(Policy {
        gates: vec![gate("tests", true), gate("lint", true)],
        ..keep()
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked]);
    script.ask_for(UserCommand::Pause);
    assert_eq!(script.give(gate_green)[1..], [paused()]);
    let effects = script.ask_for(UserCommand::GoOn);
    let next = Effect::Step(
        Ticket(5),
        Step::RunGate(GateRequest {
            story: id("1"),
            gate: 1,
            name: "1.1-2-baseline".to_owned(),
            ground: Ground::Checkpoint,
            try_number: 1,
        }),
    );
    assert_eq!(effects[2], next);
}

#[test]
fn a_pause_during_a_wait_takes_effect_when_the_wait_is_over() {
    let mut script = waiting(keep());
    script.ask_for(UserCommand::Pause);
    script.pass(61);
    assert_eq!(script.fire(TimerKind::Wait), [paused()]);
}

#[test]
fn a_pause_that_is_taken_back_during_a_wait_changes_nothing() {
    let mut script = waiting(keep());
    script.ask_for(UserCommand::Pause);
    let go_on = script.ask_for(UserCommand::GoOn);
    assert_eq!(go_on, [requested(Request::GoOn)]);
    script.pass(61);
    let effects = script.fire(TimerKind::Wait);
    assert_eq!(effects, [start_agent(7, "1", 2, Some(after(1)))]);
}

#[test]
fn while_paused_a_stop_ends_the_run_at_once() {
    assert_eq!(
        held().stop(),
        [
            requested(Request::Stop),
            run_ended(Outcome::Stopped, 0, 1),
            finish(6, FinishChoice::Keep)
        ]
    );
}

#[test]
fn a_wait_can_be_ended_at_once() {
    let mut script = waiting(keep());
    assert_eq!(
        script.ask_for(UserCommand::TryNow),
        [
            requested(Request::TryNow),
            cancel_wait(),
            start_agent(7, "1", 2, Some(after(1)))
        ]
    );
    assert_eq!(script.ask_for(UserCommand::TryNow), [], "nothing waits");
}

#[test]
fn a_skip_ends_the_agent_parks_restores_and_goes_on_with_the_next_story() {
    let mut script = Script::working(keep());
    assert_eq!(
        script.ask_for(UserCommand::Skip),
        [requested(Request::Skip), stop_process(5)]
    );
    assert_eq!(script.ask_for(UserCommand::Skip), [], "it is no news");
    assert_eq!(
        script.give(ended_by_us),
        [park(4, 1, FailureKind::Skipped, SKIPPED)]
    );
    assert_eq!(
        script.give_all(&[was_parked, restored]),
        [
            attempt_failed(1, FailureKind::Skipped, SKIPPED, false),
            story_skipped("1"),
            read_backlog(6)
        ]
    );
    let effects = script.give(|ticket| backlog(ticket, &two_open()));
    assert_eq!(effects[1], start_agent(7, "2", 1, None));
}

#[test]
fn a_run_with_skipped_stories_is_not_all_done() {
    let mut script = held();
    script.ask_for(UserCommand::Skip);
    let left = [story("1", StoryState::Open), story("2", StoryState::Done)];
    let outcome = Outcome::Skipped {
        stories: vec![id("1")],
        not_run: Vec::new(),
    };
    assert_eq!(
        script.give(|ticket| backlog(ticket, &left)),
        [
            run_ended(outcome.clone(), 1, 1),
            finish(7, FinishChoice::Keep)
        ]
    );
    assert_eq!(script.give(finished).last(), Some(&end(outcome, 1)));
}

#[test]
fn while_a_gate_runs_a_skip_ends_the_gate_and_the_attempt_is_parked() {
    let mut script = Script::promised(Policy {
        gates: vec![gate("tests", false)],
        ..keep()
    });
    script.give(checked);
    let stop_gate = Effect::StopProcess {
        grace: Duration::from_secs(5),
    };
    assert_eq!(
        script.ask_for(UserCommand::Skip),
        [requested(Request::Skip), stop_gate]
    );
    let effects = script.give(gate_red);
    assert_eq!(effects[1..], [park(6, 1, FailureKind::Skipped, SKIPPED)]);
}

#[test]
fn while_a_gate_runs_on_the_checkpoint_a_skip_parks_nothing() {
    let mut script = Script::start(Policy {
        gates: vec![gate("tests", true)],
        ..keep()
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked]);
    script.ask_for(UserCommand::Skip);
    assert_eq!(script.give(gate_red), [story_skipped("1"), read_backlog(5)]);
}

#[test]
fn while_the_task_file_is_checked_a_skip_parks_the_attempt() {
    let mut script = Script::promised(keep());
    script.ask_for(UserCommand::Skip);
    assert_eq!(
        script.give(checked),
        [park(5, 1, FailureKind::Skipped, SKIPPED)]
    );
}

#[test]
fn while_an_attempt_is_parked_a_skip_waits_for_the_restore() {
    let mut script = Script::working(keep());
    script.give(ended_silent);
    script.ask_for(UserCommand::Skip);
    assert_eq!(
        script.give_all(&[was_parked, restored]),
        [
            attempt_failed(1, FailureKind::NoSignal, SILENT, false),
            story_skipped("1"),
            read_backlog(6)
        ]
    );
}

#[test]
fn a_skip_of_a_story_that_is_being_saved_comes_too_late() {
    let mut script = Script::promised(keep());
    script.give(checked);
    assert_eq!(script.ask_for(UserCommand::Skip), []);
    script.give(ticked);
    assert_eq!(script.ask_for(UserCommand::Skip), []);
    script.give(saved);
    let effects = script.give(first_done);
    assert_eq!(effects[1], start_agent(8, "2", 1, None));
}

#[test]
fn while_it_waits_or_is_paused_a_skip_takes_effect_at_once() {
    let mut script = waiting(keep());
    assert_eq!(
        script.ask_for(UserCommand::Skip),
        [
            requested(Request::Skip),
            cancel_wait(),
            story_skipped("1"),
            read_backlog(7)
        ]
    );
    assert_eq!(
        held().ask_for(UserCommand::Skip),
        [
            requested(Request::Skip),
            story_skipped("1"),
            read_backlog(6)
        ]
    );
}

#[test]
fn a_stop_after_a_skip_stops_the_run_and_once_more_leaves_no_grace() {
    let mut script = Script::working(keep());
    script.ask_for(UserCommand::Skip);
    assert_eq!(
        script.ask_for(UserCommand::Stop),
        [requested(Request::Stop)]
    );
    assert_eq!(
        script.ask_for(UserCommand::Stop),
        [requested(Request::StopNow), stop_process(0)]
    );
    assert_eq!(script.ask_for(UserCommand::Skip), [], "it is about to stop");
    script.give_all(&[ended_by_us, was_parked]);
    assert_eq!(script.give(restored)[1], run_ended(Outcome::Stopped, 0, 1));
}

#[test]
fn a_finish_that_is_half_done_can_only_be_carried_through() {
    let mut script = used_up();
    let choice = FinishChoice::Cleanup;
    script.ask_for(UserCommand::Finish(choice));
    let broken_off = |ticket| {
        Input::Answer(
            ticket,
            Answer::Failed(StepFailure {
                reason: "index.lock is held".to_owned(),
                hint: "end that process".to_owned(),
                begun: true,
            }),
        )
    };
    assert_eq!(
        script.give(broken_off),
        [
            say(Event::FinishFailed(FinishFailed {
                choice,
                reason: "index.lock is held".to_owned(),
                hint: "end that process".to_owned(),
                begun: true,
            })),
            say(Event::ChoiceNeeded),
            Effect::Step(Ticket(8), Step::AskFinish)
        ]
    );
    assert_eq!(script.ask_for(UserCommand::Again), []);
    assert_eq!(
        script.ask_for(UserCommand::Finish(FinishChoice::Keep)),
        [finish(9, choice)]
    );
}

#[test]
fn a_finish_that_fails_leaves_the_choice_open() {
    let mut script = used_up();
    let choice = FinishChoice::Cleanup;
    assert_eq!(
        script.ask_for(UserCommand::Finish(choice)),
        [finish(7, choice)]
    );
    assert_eq!(
        script.give(step_failed),
        [
            say(Event::FinishFailed(FinishFailed {
                choice,
                reason: "could not write: disk full".to_owned(),
                hint: "free some space".to_owned(),
                begun: false,
            })),
            say(Event::ChoiceNeeded),
            Effect::Step(Ticket(8), Step::AskFinish)
        ]
    );
    let choice = FinishChoice::Keep;
    assert_eq!(
        script.ask_for(UserCommand::Finish(choice)),
        [finish(9, choice)]
    );
    let outcome = Outcome::stopped_at(FailedStory {
        story: id("1"),
        kind: FailureKind::NoSignal,
        reason: SILENT.to_owned(),
        attempts: 1,
        gate: None,
    });
    assert_eq!(script.give(finished).last(), Some(&end(outcome, 1)));
}

#[test]
fn a_run_that_used_up_its_retries_can_go_on_with_what_it_learned() {
    let mut script = used_up();
    assert_eq!(script.ask_for(UserCommand::Again), [read_backlog(7)]);
    let effects = script.give(|ticket| backlog(ticket, &two_open()));
    let Effect::Announce(first) = &effects[0] else {
        panic!("the run is announced first: {effects:?}");
    };
    assert!(matches!(
        **first,
        Event::RunStarted(RunStarted { resumed: true, .. })
    ));
    assert_eq!(effects[2], start_agent(8, "1", 2, Some(after(1))));
    // Its only attempt is there again.
    script.give(agent_started);
    let effects = script.give_all(&[ended_silent, was_parked, restored]);
    assert!(matches!(effects[4], Effect::Step(_, Step::AskFinish)));
}

#[test]
fn after_a_stop_or_a_skip_the_run_can_go_on_with_all_open_stories() {
    let mut script = Script::working(ask());
    script.ask_for(UserCommand::Skip);
    script.give_all(&[ended_by_us, was_parked, restored]);
    script.ask_for(UserCommand::Stop);
    script.give(|ticket| backlog(ticket, &two_open()));
    script.ask_for(UserCommand::Again);
    let effects = script.give(|ticket| backlog(ticket, &two_open()));
    assert_eq!(effects[2], start_agent(9, "1", 2, Some(after(1))));
}

#[test]
fn a_run_with_nothing_left_to_do_does_not_go_on() {
    let mut script = Script::promised(ask());
    script.give_all(&[checked, ticked, saved, all_done]);
    assert_eq!(script.ask_for(UserCommand::Again), []);
}

#[test]
fn the_time_between_the_end_and_going_on_is_not_the_runs() {
    let mut script = used_up();
    script.pass(1000).ask_for(UserCommand::Again);
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give(agent_started);
    let effects = script
        .pass(5)
        .give_all(&[ended_silent, was_parked, restored]);
    let Effect::Announce(event) = &effects[2] else {
        panic!("the run is over: {effects:?}");
    };
    assert!(matches!(
        **event,
        Event::RunEnded(RunEnded {
            duration_ms: 5000,
            ..
        })
    ));
}

#[test]
fn a_program_that_is_terminated_asks_no_question() {
    let by = StoppedBy::Terminate;
    let request = Request::Stop;
    let mut script = Script::working(ask());
    script.send(Input::Stop { request, by });
    let effects = script.give_all(&[ended_by_us, was_parked, restored]);
    assert_eq!(effects[2], finish(6, FinishChoice::Keep));
    // The same where a key came first: the terminal may be gone since.
    let mut script = Script::working(ask());
    script.ask_for(UserCommand::StopNow);
    script.send(Input::Stop { request, by });
    let effects = script.give_all(&[ended_by_us, was_parked, restored]);
    assert_eq!(effects[2], finish(6, FinishChoice::Keep));
    assert_eq!(
        script.give(finished).last(),
        Some(&end(Outcome::Stopped, 130))
    );
}
