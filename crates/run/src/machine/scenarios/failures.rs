//! Every row of the failure table: what is parked, what the next prompt says, and what follows.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::records::event::{AttemptFailed, Event, FailureKind, FinishChoice, Outcome};
use ralph_agents::agent_event::{AgentEvent, Refusal};
use ralph_agents::dialect::Trouble;

/// An agent's end that uses a retry: the failure it is, its reason, what the next prompt says.
#[track_caller]
fn uses_a_retry(end: AgentEnd, kind: FailureKind, reason: &str, in_prompt: Option<&str>) {
    let mut script = Script::working(keep());
    assert_eq!(
        script.give(|ticket| ended(ticket, end)),
        [park_for_prompt(4, 1, kind, reason, in_prompt)],
        "a resumed run tells the next attempt the same"
    );
    follows(&mut script, kind, reason, in_prompt);
}

#[track_caller]
fn follows(script: &mut Script, kind: FailureKind, reason: &str, in_prompt: Option<&str>) {
    let start = script.ticket.0 + 2;
    let previous = Previous {
        reason: in_prompt.map(str::to_owned),
        parked: Some(parked("1", 1)),
    };
    assert_eq!(
        script.give_all(&[was_parked, restored]),
        [
            attempt_failed(1, kind, reason, true),
            start_agent(start, "1", 2, Some(previous)),
        ]
    );
}

#[track_caller]
pub(super) fn stops(script: &mut Script, kind: FailureKind, reason: &str) {
    let next = script.ticket.0 + 2;
    let said = script.give_all(&[was_parked, restored]);
    let [failure, _ended, last] = said.as_slice() else {
        panic!("{said:#?}");
    };
    let Effect::Announce(failure) = failure else {
        panic!("{failure:#?}");
    };
    assert!(
        matches!(&**failure, Event::AttemptFailed(AttemptFailed { kind: said, retrying: false, .. }) if *said == kind)
    );
    assert_eq!(*last, finish(next, FinishChoice::Keep));
    let last = script.give(finished).pop();
    let Some(Effect::End { outcome, exit_code }) = last else {
        panic!("{last:#?}");
    };
    let is_right = match kind {
        FailureKind::Auth => matches!(outcome, Outcome::NotLoggedIn { .. }),
        _ => matches!(outcome, Outcome::UsageLimit { .. }),
    };
    assert!(is_right, "{outcome:?}");
    assert_eq!((outcome.reason(), exit_code), (Some(reason), 3));
}

#[test]
fn failed_tells_its_reason() {
    let no_db = Some("no database");
    uses_a_retry(
        failed("no database"),
        FailureKind::Failed,
        "no database",
        no_db,
    );
    let none = "the agent said FAILED and gave no reason";
    uses_a_retry(failed(" "), FailureKind::Failed, none, None);
    let odd = AgentEnd {
        exit: AgentExit::Code(1),
        ..failed("no database")
    };
    uses_a_retry(odd, FailureKind::Failed, "no database", no_db);
}

#[test]
fn gate_tells_its_name_its_exit_and_its_last_lines() {
    let policy = Policy {
        gates: vec![gate("tests", false)],
        ..keep()
    };
    let mut script = Script::promised(policy);
    script.give(checked);
    let reason = "gate `tests` failed: exit code 1\nboom";
    let effects = script.give(gate_red);
    assert_eq!(effects[1..], [park(6, 1, FailureKind::Gate, reason)]);
    follows(&mut script, FailureKind::Gate, reason, Some(reason));
}

#[test]
fn tasks_tells_which() {
    #[track_caller]
    fn case(policy: Policy, check: StoryCheck, reason: &str) {
        let mut script = Script::promised(policy);
        assert_eq!(
            script.give(|ticket| Input::Answer(ticket, Answer::StoryChecked(check))),
            [park(5, 1, FailureKind::Tasks, reason)]
        );
        follows(&mut script, FailureKind::Tasks, reason, Some(reason));
    }
    let tasks = || vec!["1.1 a".to_owned(), "1.2 b".to_owned()];
    let strict = Policy {
        strict_tasks: true,
        ..keep()
    };
    let still_open = StoryCheck {
        still_open: tasks(),
        changed_files: 1,
        ..StoryCheck::default()
    };
    case(strict, still_open, "tasks are not ticked: `1.1 a`, `1.2 b`");
    let require_changes = Policy {
        require_changes: true,
        ..keep()
    };
    let reason = "the attempt changed no file but the task file";
    case(require_changes, StoryCheck::default(), reason);
    let missing = StoryCheck {
        lost: LostTasks {
            gone: tasks(),
            ..LostTasks::default()
        },
        ..StoryCheck::default()
    };
    let reason = "tasks of the story are gone from the task file: `1.1 a`, `1.2 b`";
    case(keep(), missing, reason);
}

#[test]
fn overflow_tells_to_take_smaller_steps() {
    let end = AgentEnd {
        is_error: true,
        trouble: Some(Trouble::Overflow("prompt is too long".to_owned())),
        ..silent()
    };
    let told = "the conversation outgrew the model's context window; read only what you need, \
                keep the output of commands short, and work in small steps";
    uses_a_retry(end, FailureKind::Overflow, "prompt is too long", Some(told));
}

#[test]
fn no_signal_tells_nothing() {
    let reason = "the agent ended without a promise";
    uses_a_retry(silent(), FailureKind::NoSignal, reason, None);
    let hung = AgentEnd {
        exit: AgentExit::StoppedByUs,
        ..silent()
    };
    uses_a_retry(hung, FailureKind::NoSignal, reason, None);
    let not_final = AgentEnd {
        final_seen: false,
        ..complete()
    };
    uses_a_retry(not_final, FailureKind::NoSignal, reason, None);
}

#[test]
fn no_signal_shows_how_the_agent_ended() {
    #[track_caller]
    fn case(line: &str, reason: &str) {
        let end = AgentEnd {
            last_line: Some(line.to_owned()),
            ..silent()
        };
        uses_a_retry(end, FailureKind::NoSignal, reason, None);
    }
    case("All done.", "the agent's last line was: All done.");
    case(
        "Done. <promise>COMPLETE</promise>",
        "the agent's last line was: Done. <promise>COMPLETE</promise>\na promise counts only alone on its line",
    );
    case(
        "<promise>COMPLETE</promise>",
        "the agent's last line was: <promise>COMPLETE</promise>\na promise counts only in the agent's final message",
    );
}

#[test]
fn crashed_tells_nothing_but_shows_the_last_words() {
    #[track_caller]
    fn case(end: AgentEnd, reason: &str) {
        uses_a_retry(end, FailureKind::Crashed, reason, None);
    }
    let code = AgentEnd {
        exit: AgentExit::Code(2),
        last_words: "panic\n".to_owned(),
        ..silent()
    };
    case(code, "the agent ended with exit code 2\npanic");
    let signal = AgentEnd {
        exit: AgentExit::Signal(9),
        ..silent()
    };
    case(signal, "the agent ended with signal 9");
    let error = AgentEnd {
        is_error: true,
        ..silent()
    };
    case(error, "the agent's turn ended with an error");
    let voided = AgentEnd {
        is_error: true,
        ..complete()
    };
    case(voided, "the agent's turn ended with an error");
    let not_final = AgentEnd {
        exit: AgentExit::Code(1),
        final_seen: false,
        ..complete()
    };
    case(not_final, "the agent ended with exit code 1");
}

#[test]
fn timeout_tells_how_long_and_where_it_was() {
    let policy = Policy {
        total_timeout: Some(Duration::from_secs(5400)),
        ..keep()
    };
    let mut script = Script::working(policy);
    script.give(|ticket| {
        Input::Answer(
            ticket,
            Answer::AgentSaid(AgentEvent::ToolCall {
                tool: "Bash".to_owned(),
                summary: "cargo test".to_owned(),
            }),
        )
    });
    let grace = Duration::from_secs(5);
    assert_eq!(
        script.fire(TimerKind::Total),
        [Effect::StopProcess { grace }]
    );
    let reason = "took longer than 1h 30m; the last thing it did: Bash: cargo test";
    assert_eq!(
        script.give(ended_by_us),
        [park(4, 1, FailureKind::Timeout, reason)]
    );
    follows(&mut script, FailureKind::Timeout, reason, Some(reason));
}

#[test]
fn auth_stops_at_once() {
    let mut script = Script::working(keep());
    let message = "not logged in: run `agent login`";
    let end = AgentEnd {
        is_error: true,
        trouble: Some(Trouble::Refused {
            cause: Refusal::Login,
            message: message.to_owned(),
        }),
        ..silent()
    };
    assert_eq!(
        script.give(|ticket| ended(ticket, end)),
        [park(4, 1, FailureKind::Auth, message)]
    );
    stops(&mut script, FailureKind::Auth, message);
}

#[test]
fn auth_ends_an_agent_that_goes_on_trying() {
    let mut script = Script::working(keep());
    let message = "authentication failed (401)";
    let said = script.give(|ticket| {
        Input::Answer(
            ticket,
            Answer::AgentSaid(AgentEvent::Auth {
                cause: Refusal::Login,
                message: message.to_owned(),
            }),
        )
    });
    let grace = Duration::from_secs(5);
    assert_eq!(said[1..], [Effect::StopProcess { grace }]);
    assert_eq!(
        script.give(ended_by_us),
        [park(4, 1, FailureKind::Auth, message)]
    );
    stops(&mut script, FailureKind::Auth, message);
}

#[test]
fn missing_agent_is_found_before_anything_is_touched_so_a_start_that_fails_is_a_system_error() {
    let mut script = Script::start(keep());
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give(begin_done);
    assert_eq!(
        script.give(step_failed),
        [run_ended(disk_full(), 0, 0), end(disk_full(), 4)]
    );
}

#[test]
fn git_stops_at_once_wherever_it_fails() {
    let gated = || Policy {
        gates: vec![gate("tests", true)],
        ..keep()
    };
    let path: [fn(Ticket) -> Input; 11] = [
        |ticket| backlog(ticket, &two_open()),
        begin_done,
        looked,
        gate_green,
        agent_started,
        ended_complete,
        checked,
        gate_green,
        ticked,
        saved,
        first_done,
    ];
    for steps in 0..path.len() {
        let mut script = Script::start(gated());
        script.give_all(&path[..steps]);
        let effects = script.give(step_failed);
        assert_eq!(effects.len(), 2, "after {steps} steps: {effects:#?}");
        assert_eq!(effects[1], end(disk_full(), 4));
    }
}

#[test]
fn an_answer_that_does_not_fit_its_step_ends_the_run_instead_of_hanging_it() {
    let mut script = Script::working(keep());
    script.give(ended_silent);
    let effects = script.give(restored);
    let Some(Effect::End { outcome, exit_code }) = effects.last() else {
        panic!("{effects:?}");
    };
    assert_eq!(*exit_code, 4);
    let reason = "a step got an answer that does not fit it".to_owned();
    let hint = NO_ANSWER_HINT.to_owned();
    assert_eq!(*outcome, Outcome::Broken { reason, hint });
}

#[test]
fn retries_are_counted_as_the_flag_says() {
    for max_retries in 0..4 {
        let mut script = Script::working(Policy {
            max_retries,
            ..keep()
        });
        let mut attempts = 1;
        loop {
            script.give(ended_silent);
            let effects = script.give_all(&[was_parked, restored]);
            if !matches!(effects.last(), Some(Effect::Step(_, Step::StartAgent(_)))) {
                break;
            }
            attempts += 1;
        }
        assert_eq!(attempts, max_retries + 1);
    }
}
