//! A stop, wherever the loop is.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::OnFinish;
use crate::records::event::{Event, FailureKind, FinishChoice, Finished, Outcome, Request};

const WHY: &str = "the run was stopped";

/// The run ends as stopped after these stories and attempts, and is finished.
fn over(done: usize, attempts: u32, ticket: u64) -> [Effect; 2] {
    [
        run_ended(Outcome::Stopped, done, attempts),
        finish(ticket, FinishChoice::Keep),
    ]
}

#[test]
fn while_an_agent_works_it_is_ended_parked_and_restored() {
    let mut script = Script::working(keep());
    assert_eq!(script.stop(), [requested(Request::Stop), stop_process(5)]);
    assert_eq!(
        script.give(ended_by_us),
        [park(4, 1, FailureKind::Stopped, WHY)]
    );
    let [run_over, finishing] = over(0, 1, 6);
    assert_eq!(
        script.give_all(&[was_parked, restored]),
        [
            attempt_failed(1, FailureKind::Stopped, WHY, false),
            run_over,
            finishing
        ]
    );
    assert_eq!(
        script.give(finished).last(),
        Some(&end(Outcome::Stopped, 130))
    );
}

#[test]
fn a_second_stop_leaves_no_grace_and_a_third_says_nothing_new() {
    let mut script = Script::working(keep());
    script.stop();
    assert_eq!(
        script.stop(),
        [requested(Request::StopNow), stop_process(0)]
    );
    assert_eq!(script.stop(), []);
}

#[test]
fn the_exit_code_is_that_of_the_first_signal() {
    let mut script = Script::start(keep());
    let request = Request::StopNow;
    let by = StoppedBy::Terminate;
    script.send(Input::Stop { request, by });
    script.stop();
    assert_eq!(
        script.give(first_done),
        [
            run_ended(Outcome::Terminated, 1, 0),
            end(Outcome::Terminated, 143)
        ]
    );
}

#[test]
fn while_the_branch_is_begun_that_ends_first() {
    let mut script = Script::start(keep());
    script.give(|ticket| backlog(ticket, &two_open()));
    assert_eq!(script.stop(), [requested(Request::Stop)]);
    assert_eq!(script.give(begin_done)[1..], over(0, 0, 3));
}

#[test]
fn while_a_gate_runs_the_gate_is_ended_and_the_attempt_parked() {
    let policy = Policy {
        gates: vec![gate("tests", false)],
        ..keep()
    };
    let mut script = Script::promised(policy);
    script.give(checked);
    let stop_gate = |grace| Effect::StopProcess {
        grace: Duration::from_secs(grace),
    };
    assert_eq!(script.stop(), [requested(Request::Stop), stop_gate(5)]);
    assert_eq!(script.stop(), [requested(Request::StopNow), stop_gate(0)]);
    let effects = script.give(gate_red);
    assert_eq!(effects[1..], [park(6, 1, FailureKind::Stopped, WHY)]);
}

#[test]
fn while_a_gate_runs_on_the_checkpoint_nothing_is_parked() {
    let mut script = Script::start(Policy {
        gates: vec![gate("tests", true)],
        ..keep()
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked]);
    script.stop();
    assert_eq!(script.give(gate_green), over(0, 0, 5));
}

#[test]
fn while_the_task_file_is_checked_the_attempt_is_parked() {
    let mut script = Script::promised(keep());
    assert_eq!(script.stop(), [requested(Request::Stop)]);
    assert_eq!(
        script.give(checked),
        [park(5, 1, FailureKind::Stopped, WHY)]
    );
}

#[test]
fn while_a_story_is_ticked_or_saved_it_is_completed_first() {
    let mut script = Script::promised(keep());
    script.give(checked);
    script.stop();
    let effects = script.give_all(&[ticked, saved]);
    assert_eq!(effects[1..], over(1, 1, 7));
}

#[test]
fn while_an_attempt_is_parked_and_restored_that_ends_first() {
    let mut script = Script::working(keep());
    script.give(ended_silent);
    assert_eq!(script.stop(), [requested(Request::Stop)]);
    assert_eq!(
        script.give(was_parked),
        [Effect::Step(Ticket(5), Step::Restore)]
    );
    let reason = "the agent ended without a promise";
    let [run_over, finishing] = over(0, 1, 6);
    assert_eq!(
        script.give(restored),
        [
            attempt_failed(1, FailureKind::NoSignal, reason, false),
            run_over,
            finishing,
        ]
    );
}

#[test]
fn while_it_waits_the_run_ends_at_once() {
    let mut script = Script::working(keep());
    script.give(|ticket| ended(ticket, limited(None)));
    script.give_all(&[was_parked, restored]);
    let cancel = Effect::CancelTimer {
        timer: timer(TimerKind::Wait, 6),
    };
    let [run_over, finishing] = over(0, 1, 7);
    assert_eq!(
        script.stop(),
        [requested(Request::Stop), cancel, run_over, finishing]
    );
}

#[test]
fn while_an_agent_is_ended_for_another_reason_only_the_grace_changes() {
    let mut script = Script::working(Policy {
        total_timeout: Some(Duration::from_secs(60)),
        ..keep()
    });
    script.fire(TimerKind::Total);
    assert_eq!(script.stop(), [requested(Request::Stop)]);
    assert_eq!(
        script.stop(),
        [requested(Request::StopNow), stop_process(0)]
    );
    let reason = "took longer than 1m; it said nothing";
    assert_eq!(
        script.give(ended_by_us),
        [park(4, 1, FailureKind::Timeout, reason)]
    );
}

#[test]
fn while_the_user_is_asked_a_stop_keeps_the_branch() {
    let mut script = Script::working(Policy {
        on_finish: OnFinish::Ask,
        ..keep()
    });
    script.stop();
    let asked = script.give_all(&[ended_by_us, was_parked, restored]);
    assert_eq!(asked[3], Effect::Step(Ticket(6), Step::AskFinish));
    assert_eq!(
        script.stop(),
        [requested(Request::Stop), finish(7, FinishChoice::Keep)]
    );
    assert_eq!(script.stop(), [], "a finish that runs is not disturbed");
    let kept = say(Event::Finished(Finished {
        choice: FinishChoice::Keep,
        head: "main".to_owned(),
        branch: "ralph/my-feature".to_owned(),
        changed_files: 7,
    }));
    assert_eq!(script.give(finished), [kept, end(Outcome::Stopped, 130)]);
}
