//! Budgets of the run and of a story: what is warned of, what is stopped, what a resume counts.

use jiff::tz::TimeZone;
use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::{Budget, Gate, When};
use crate::records::counts::StoryCounts;
use crate::records::event::{AttemptFailed, Event, FailureKind, FinishChoice};
use ralph_agents::agent_event::AgentEvent;

fn tokens(count: u64) -> Usage {
    Usage {
        output_tokens: count,
        ..Usage::default()
    }
}

fn dollars(usd: f64) -> Usage {
    Usage {
        cost_usd: Some(usd),
        ..Usage::default()
    }
}

fn of_tokens(count: u64) -> Budget {
    Budget {
        tokens: Some(count),
        ..Budget::default()
    }
}

pub(super) fn of_dollars(usd: f64) -> Budget {
    Budget {
        usd: Some(usd),
        ..Budget::default()
    }
}

fn of_seconds(seconds: u64) -> Budget {
    Budget {
        time: Some(Duration::from_secs(seconds)),
        ..Budget::default()
    }
}

pub(super) fn uses(usage: Usage) -> impl FnOnce(Ticket) -> Input {
    move |ticket| Input::Answer(ticket, Answer::AgentSaid(AgentEvent::usage(usage)))
}

fn completes_with(usage: Usage) -> impl FnOnce(Ticket) -> Input {
    let usage = Some(usage);
    move |ticket| {
        ended(
            ticket,
            AgentEnd {
                usage,
                ..complete()
            },
        )
    }
}

fn fails_with(usage: Usage) -> impl FnOnce(Ticket) -> Input {
    let usage = Some(usage);
    move |ticket| {
        ended(
            ticket,
            AgentEnd {
                usage,
                ..failed("no")
            },
        )
    }
}

/// The warnings among effects.
fn warnings(effects: &[Effect]) -> Vec<String> {
    let said = effects.iter().filter_map(|effect| match effect {
        Effect::Announce(event) => match &**event {
            Event::Warning { code, message } => Some(format!("{code}: {message}")),
            _ => None,
        },
        _ => None,
    });
    said.collect()
}

/// Parks and restores; the run ends for this reason.
#[track_caller]
fn ends(script: &mut Script, reason: &str) {
    let said = script.give_all(&[was_parked, restored]);
    let Some(Effect::Announce(failure)) = said.first() else {
        panic!("{said:#?}");
    };
    assert!(matches!(
        **failure,
        Event::AttemptFailed(AttemptFailed {
            kind: FailureKind::Budget,
            retrying: false,
            ..
        })
    ));
    ended_for(script, reason);
}

#[track_caller]
fn ended_for(script: &mut Script, reason: &str) {
    let last = script.give(finished).pop();
    let Some(Effect::End { outcome, exit_code }) = last else {
        panic!("{last:#?}");
    };
    let ended = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let mut said = outcome.headline(&StoryCounts::default(), &ended);
    for line in outcome
        .reason()
        .map(str::to_owned)
        .into_iter()
        .chain(outcome.hint())
    {
        said.push('\n');
        said.push_str(&line);
    }
    assert_eq!((said.as_str(), exit_code), (reason, 3));
}

#[test]
fn tokens_are_warned_of_once_and_stop_the_attempt_at_once() {
    let mut script = Script::working(Policy {
        budget: of_tokens(100),
        ..keep()
    });
    assert_eq!(warnings(&script.give(uses(tokens(79)))), [""; 0]);
    assert_eq!(
        warnings(&script.give(uses(tokens(85)))),
        ["budget: 85% of the budget of 100 tokens used; the run stops at 100%"]
    );
    assert_eq!(warnings(&script.give(uses(tokens(99)))), [""; 0]);
    assert_eq!(script.give(uses(tokens(100)))[1..], [stop_process(5)]);
    let reason = "the budget of 100 tokens is used up";
    assert_eq!(
        script.give(ended_by_us),
        [park(4, 1, FailureKind::Budget, reason)]
    );
    ends(
        &mut script,
        "budget used up: 100 of 100 tokens\n\
         resume with a higher budget: `ralphtool resume --max-tokens 200`",
    );
}

#[test]
fn time_is_warned_of_and_stops_the_attempt() {
    let mut script = Script::start(Policy {
        budget: of_seconds(600),
        ..keep()
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give(begin_done);
    let set = |seconds| Effect::SetTimer {
        timer: timer(TimerKind::Budget, 3),
        after: Duration::from_secs(seconds),
    };
    let armed = script.pass(60).give(agent_started);
    assert_eq!(armed[1..], [set(420)]);
    let looked = script.pass(420).fire(TimerKind::Budget);
    assert_eq!(
        warnings(&looked),
        ["budget: 80% of the time of 10m used; the run stops at 100%"]
    );
    assert_eq!(looked[1..], [set(120)]);
    assert_eq!(script.pass(120).fire(TimerKind::Budget), [stop_process(5)]);
    let reason = "the time of 10m is used up";
    assert_eq!(
        script.give(ended_by_us),
        [park(4, 1, FailureKind::Budget, reason)]
    );
    ends(
        &mut script,
        "budget used up: 10m00s of 10m00s\n\
         resume with a higher budget: `ralphtool resume --max-time 20m`",
    );
}

#[test]
fn a_story_has_a_budget_of_its_own_over_all_of_its_attempts() {
    let mut script = Script::working(Policy {
        story_budget: of_dollars(1.0),
        ..keep()
    });
    script.give(fails_with(dollars(0.5)));
    script.give_all(&[was_parked, restored, agent_started]);
    assert_eq!(
        warnings(&script.give(uses(dollars(0.4)))),
        ["budget: 90% of the budget of $1.00 for story `1` used; the run stops at 100%"]
    );
    assert_eq!(script.give(uses(dollars(0.5)))[1..].len(), 1);
    script.give(ended_by_us);
    ends(
        &mut script,
        "budget of story 1 used up: $1.00 of $1.00\n\
         resume with a higher budget: `ralphtool resume --max-story-cost 2`",
    );
}

#[test]
fn each_story_begins_with_its_whole_budget() {
    let mut script = Script::working(Policy {
        story_budget: Budget {
            time: Some(Duration::from_secs(100)),
            ..of_dollars(1.0)
        },
        ..keep()
    });
    script.pass(99).give(completes_with(dollars(0.99)));
    let next = script.give_all(&[checked, ticked, saved, first_done]);
    assert_eq!(next.last(), Some(&start_agent(8, "2", 1, None)));
    let armed = script.give(agent_started);
    let timer = timer(TimerKind::Budget, 8);
    let after = Duration::from_secs(80);
    assert_eq!(armed[1..], [Effect::SetTimer { timer, after }]);
    assert_eq!(script.give(uses(dollars(0.5))).len(), 1);
}

#[test]
fn the_time_of_a_story_begins_with_its_first_attempt_and_stops_what_runs() {
    let mut script = Script::start(Policy {
        story_budget: of_seconds(100),
        ..keep()
    });
    script
        .pass(5000)
        .give(|ticket| backlog(ticket, &two_open()));
    script.give(begin_done);
    script.give(agent_started);
    script.pass(60).give(ended_silent);
    script.give_all(&[was_parked, restored, agent_started]);
    script.pass(40).fire(TimerKind::Budget);
    script.give(ended_by_us);
    ends(
        &mut script,
        "budget of story 1 used up: 1m40s of 1m40s\n\
         resume with a higher budget: `ralphtool resume --max-story-time 3m20s`",
    );
}

#[test]
fn a_gate_that_runs_when_the_time_is_used_up_is_ended_and_the_attempt_parked() {
    let mut script = Script::promised(Policy {
        budget: of_seconds(100),
        gates: vec![gate("tests", false)],
        ..keep()
    });
    let started = script.pass(50).give(checked);
    let ticket = script.ticket;
    let gate_timer = timer(TimerKind::Budget, ticket.0);
    let after = Duration::from_secs(30);
    assert_eq!(
        started.last(),
        Some(&Effect::SetTimer {
            timer: gate_timer,
            after
        })
    );
    assert_eq!(warnings(&script.pass(30).fire(TimerKind::Budget)).len(), 1);
    let grace = Duration::from_secs(5);
    assert_eq!(
        script.pass(20).fire(TimerKind::Budget),
        [Effect::StopProcess { grace }]
    );
    let over = script.give(gate_green);
    let reason = "the time of 1m 40s is used up";
    assert_eq!(
        over.last(),
        Some(&park(ticket.0 + 1, 1, FailureKind::Budget, reason))
    );
    assert!(over.contains(&Effect::CancelTimer { timer: gate_timer }));
    ends(
        &mut script,
        "budget used up: 1m40s of 1m40s\n\
         resume with a higher budget: `ralphtool resume --max-time 3m20s`",
    );
}

#[test]
fn a_gate_on_the_checkpoint_is_bounded_by_the_time_too() {
    let mut script = Script::start(Policy {
        budget: of_seconds(100),
        gates: vec![gate("tests", true)],
        ..keep()
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked]);
    script.pass(100).fire(TimerKind::Budget);
    script.give(gate_green);
    ended_for(
        &mut script,
        "budget used up: 1m40s of 1m40s\n\
         resume with a higher budget: `ralphtool resume --max-time 3m20s`",
    );
}

#[test]
fn a_gate_at_the_end_is_bounded_by_the_time_of_the_run() {
    let mut script = Script::promised(Policy {
        budget: of_seconds(100),
        story_budget: of_dollars(1.0),
        gates: vec![Gate {
            when: When::End,
            ..gate("all", false)
        }],
        ..keep()
    });
    script.give_all(&[checked, ticked, saved, all_done]);
    let grace = Duration::from_secs(5);
    assert_eq!(
        script.pass(100).fire(TimerKind::Budget),
        [Effect::StopProcess { grace }]
    );
    script.give(gate_green);
    ended_for(
        &mut script,
        "budget used up: 1m40s of 1m40s\n\
         resume with a higher budget: `ralphtool resume --max-time 3m20s`",
    );
}

#[test]
fn a_budget_used_up_by_a_story_that_is_done_keeps_the_story_and_starts_no_other() {
    let limited = || Policy {
        budget: of_dollars(1.0),
        ..keep()
    };
    let mut script = Script::working(limited());
    script.give(completes_with(dollars(1.0)));
    let effects = script.give_all(&[checked, ticked, saved, first_done]);
    assert_eq!(effects.last(), Some(&finish(8, FinishChoice::Keep)));
    let is_story = |it: &Effect| matches!(it, Effect::Announce(event) if matches!(**event, Event::StoryStarted { .. }));
    assert!(!effects.iter().any(is_story), "no other story begins");
    ended_for(
        &mut script,
        "budget used up: $1.00 of $1.00\n\
         resume with a higher budget: `ralphtool resume --max-cost 2`",
    );

    let mut script = Script::working(limited());
    script.give(completes_with(dollars(1.0)));
    script.give_all(&[checked, ticked, saved, all_done]);
    assert_eq!(
        script.give(finished).last(),
        Some(&end(Outcome::AllDone, 0)),
        "nothing is left that would need a budget"
    );
}

#[test]
fn figures_after_the_final_message_do_not_end_an_agent_that_is_done() {
    let mut script = Script::working(Policy {
        budget: of_dollars(1.0),
        ..keep()
    });
    script.give(|ticket| Input::Answer(ticket, Answer::AgentFinal));
    assert_eq!(script.give(uses(dollars(1.5))).len(), 1);
    script.give(completes_with(dollars(1.5)));
    let saved = script.give_all(&[checked, ticked, saved]);
    let Some(Effect::Announce(done)) = saved.first() else {
        panic!("{saved:#?}");
    };
    assert!(matches!(**done, Event::StoryCompleted { .. }));
}

fn resumed(policy: Policy) -> Script {
    let used = |cost, seconds| Used {
        usage: dollars(cost),
        time: Duration::from_secs(seconds),
    };
    let mut script = Script::start_with(Setup {
        resumed: Some(Resumption {
            used: used(1.5, 300),
            stories: BTreeMap::from([(id("1"), used(0.9, 200))]),
            ..Resumption::default()
        }),
        ..setup(policy)
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    script
}

#[test]
fn a_resume_counts_what_the_run_and_the_story_used_before() {
    #[track_caller]
    fn case(budget: Budget, story_budget: Budget, reason: &str) {
        let mut script = resumed(Policy {
            budget,
            story_budget,
            ..keep()
        });
        let begun = script.give(begin_done);
        assert_eq!(begun.last(), Some(&finish(3, FinishChoice::Keep)));
        ended_for(&mut script, reason);
    }
    let none = Budget::default();
    case(
        of_dollars(1.5),
        none,
        "budget used up: $1.50 of $1.50\n\
         resume with a higher budget: `ralphtool resume --max-cost 3`",
    );
    case(
        of_seconds(300),
        none,
        "budget used up: 5m00s of 5m00s\n\
         resume with a higher budget: `ralphtool resume --max-time 10m`",
    );
    case(
        none,
        of_dollars(0.9),
        "budget of story 1 used up: $0.90 of $0.90\n\
         resume with a higher budget: `ralphtool resume --max-story-cost 1.80`",
    );
    case(
        none,
        of_seconds(200),
        "budget of story 1 used up: 3m20s of 3m20s\n\
         resume with a higher budget: `ralphtool resume --max-story-time 6m40s`",
    );
}

#[test]
fn a_resume_with_a_higher_budget_goes_on() {
    let mut script = resumed(Policy {
        budget: Budget {
            time: Some(Duration::from_secs(301)),
            ..of_dollars(1.51)
        },
        story_budget: of_dollars(0.91),
        ..keep()
    });
    let begun = script.give(begin_done);
    assert_eq!(begun.last(), Some(&start_agent(3, "1", 1, None)));
}

#[test]
fn a_wait_that_is_longer_than_the_time_of_a_story_is_not_begun() {
    let mut script = Script::working(Policy {
        story_budget: of_seconds(100),
        ..keep()
    });
    script.pass(10);
    script.give(|ticket| ended(ticket, limited(Some(clock(101)))));
    script.give_all(&[was_parked, restored]);
    ended_for(
        &mut script,
        "usage limit until Jan 15 12:01\nusage limit reached; waiting until 2027-01-15T12:01:41Z is longer than the 1m 40s allowed",
    );
}
