//! Several agents: who takes over, who comes back, what is waited for, when no agent is left.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::{Budget, OnFinish};
use crate::records::event::{Event, Outcome, RunEnded};
use ralph_agents::agent_event::Refusal;
use ralph_agents::dialect::Trouble;

/// A run at its first attempt, with the agents of a configuration file.
fn working(text: &str, policy: Policy) -> (Script, Vec<String>) {
    let mut script = Script::start_with(Setup {
        roster: Roster::parsed(text),
        ..setup(policy)
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    let said = told(&script.give(begin_done));
    script.give(agent_started);
    (script, said)
}

/// What matters of some effects: who starts, who takes over, what is waited for, the end.
fn told(effects: &[Effect]) -> Vec<String> {
    let event = |event: &Event| match event {
        Event::AgentChanged {
            from, to, reason, ..
        } => Some(format!("{from} -> {to}: {reason}")),
        Event::Waiting { until, reason, .. } => Some(format!("wait until {until}: {reason}")),
        Event::RunEnded(RunEnded {
            outcome: Outcome::UsageLimit { reason, .. },
            ..
        }) => Some(format!("limited: {reason}")),
        Event::RunEnded(RunEnded {
            outcome: Outcome::NotLoggedIn { agent, reason, .. },
            ..
        }) => Some(format!("`{agent}` refused: {reason}")),
        Event::RunEnded(RunEnded {
            outcome: Outcome::Exhausted { reason, .. },
            ..
        }) => Some(format!("exhausted: {reason}")),
        _ => None,
    };
    let one = |effect: &Effect| match effect {
        Effect::Step(
            _,
            Step::StartAgent(AgentRequest {
                attempt, choice, ..
            }),
        ) => Some(format!("{choice} at {attempt}")),
        Effect::Announce(it) => event(it),
        _ => None,
    };
    effects.iter().filter_map(one).collect()
}

/// The attempt ends like this; what follows the restore.
#[track_caller]
fn after(script: &mut Script, end: AgentEnd) -> Vec<String> {
    script.give(|ticket| ended(ticket, end));
    let said = told(&script.give_all(&[was_parked, restored]));
    if said.iter().any(|it| it.contains(" at ")) {
        script.give(agent_started);
    }
    said
}

/// The wait is over.
fn waited(script: &mut Script, seconds: u64) -> Vec<String> {
    let said = told(&script.pass(seconds).fire(TimerKind::Wait));
    script.give(agent_started);
    said
}

fn refused(reason: &str) -> AgentEnd {
    AgentEnd {
        is_error: true,
        trouble: Some(Trouble::Refused {
            cause: Refusal::Login,
            message: reason.to_owned(),
        }),
        ..silent()
    }
}

fn outage() -> AgentEnd {
    AgentEnd {
        trouble: Some(Trouble::outage("server error (500)")),
        ..limited(None)
    }
}

#[test]
fn the_next_agent_takes_over_and_the_first_comes_back() {
    let (mut script, said) = working("agent = ['claude', 'demo']", keep());
    assert_eq!(said, ["`claude` at 1.1"]);
    assert_eq!(
        after(&mut script, limited(Some(clock(3600)))),
        [
            "`claude` -> `demo`: `claude` is limited until 2027-01-15T13:00:00Z: usage limit reached",
            "`demo` at 1.2",
        ]
    );
    assert_eq!(after(&mut script, failed("no")), ["`demo` at 1.3"]);
    script.pass(3600);
    assert_eq!(
        after(&mut script, failed("no")),
        [
            "`demo` -> `claude`: `claude` is free again",
            "`claude` at 1.4"
        ]
    );
}

#[test]
fn where_all_are_limited_the_first_that_is_free_is_waited_for() {
    let (mut script, _) = working("agent = ['claude', 'demo']", keep());
    after(&mut script, limited(Some(clock(3600))));
    assert_eq!(
        after(&mut script, limited(Some(clock(600)))),
        ["wait until 2027-01-15T12:10:00Z: `demo`: usage limit reached"]
    );
    assert_eq!(waited(&mut script, 600), ["`demo` at 1.3"]);
    assert_eq!(
        after(&mut script, limited(Some(clock(7200)))),
        ["wait until 2027-01-15T13:00:00Z: `claude`: usage limit reached"]
    );
    assert_eq!(
        waited(&mut script, 3000),
        [
            "`demo` -> `claude`: `claude` is free again",
            "`claude` at 1.4"
        ]
    );
}

#[test]
fn an_agent_that_was_refused_stays_away_and_uses_no_retry() {
    let policy = Policy {
        max_retries: 0,
        ..keep()
    };
    let (mut script, _) = working("agent = ['claude', 'demo']", policy);
    assert_eq!(
        after(&mut script, refused("no key\nlog in")),
        [
            "`claude` -> `demo`: `claude` was refused: no key",
            "`demo` at 1.2"
        ]
    );
    assert_eq!(
        after(&mut script, limited(Some(clock(60)))),
        ["wait until 2027-01-15T12:01:00Z: `demo`: usage limit reached"]
    );
    assert_eq!(waited(&mut script, 60), ["`demo` at 1.3"]);
    assert_eq!(
        after(&mut script, refused("no credit")),
        ["`claude` refused: no key\nlog in\nno credit"]
    );
}

#[test]
fn a_story_that_keeps_failing_gets_another_model() {
    let text = "agent = 'claude'\nmodel = 'sonnet'\n[escalate]\nafter = 2\nmodel = 'opus'";
    let (mut script, said) = working(text, keep());
    assert_eq!(said, ["`claude` with `sonnet` at 1.1"]);
    assert_eq!(
        after(&mut script, failed("no")),
        ["`claude` with `sonnet` at 1.2"]
    );
    assert_eq!(
        after(&mut script, failed("no")),
        [
            "`claude` with `sonnet` -> `claude` with `opus`: 2 attempts failed",
            "`claude` with `opus` at 1.3",
        ]
    );
}

#[test]
fn a_story_may_have_an_agent_of_its_own() {
    let text = "agent = 'claude'\n[[story]]\nid = '1'\nagent = 'demo'";
    let (_, said) = working(text, keep());
    assert_eq!(
        said,
        [
            "`claude` -> `demo`: it is set for story `1`",
            "`demo` at 1.1"
        ]
    );
}

#[test]
fn an_api_that_is_down_is_waited_for_about_an_hour() {
    let policy = Policy {
        max_retries: 0,
        ..keep()
    };
    let (mut script, _) = working("agent = 'demo'", policy);
    for minutes in [1, 2, 4, 8, 16, 32] {
        assert_eq!(after(&mut script, outage()).len(), 1);
        assert_eq!(waited(&mut script, minutes * 60).len(), 1);
    }
    assert_eq!(
        after(&mut script, outage()),
        ["exhausted: server error (500)"]
    );
}

#[test]
fn an_outage_that_is_no_longer_waited_for_is_saved_as_a_used_retry() {
    let (mut script, _) = working("agent = 'demo'", keep());
    let uses_retry = |script: &mut Script| match script.give(|ticket| ended(ticket, outage())).pop()
    {
        Some(Effect::Step(_, Step::Park(setback))) => setback.uses_retry,
        other => panic!("{other:#?}"),
    };
    for minutes in [1, 2, 4, 8, 16, 32] {
        assert!(!uses_retry(&mut script));
        script.give_all(&[was_parked, restored]);
        waited(&mut script, minutes * 60);
    }
    assert!(uses_retry(&mut script));
}

#[test]
fn trying_now_asks_the_preferred_agent_again() {
    let (mut script, _) = working("agent = ['claude', 'demo']", keep());
    after(&mut script, limited(Some(clock(3600))));
    after(&mut script, limited(Some(clock(600))));
    let effects = script.give(|_| Input::User(UserCommand::TryNow));
    assert_eq!(
        told(&effects),
        [
            "`demo` -> `claude`: `claude` is free again",
            "`claude` at 1.3"
        ]
    );
}

#[test]
fn an_api_that_stays_away_uses_no_retry_while_another_agent_can_work() {
    let policy = Policy {
        max_retries: 0,
        ..keep()
    };
    let (mut script, _) = working("agent = ['claude', 'demo']", policy);
    for minutes in [1, 2, 4, 8, 16, 32] {
        assert_eq!(
            after(&mut script, outage()).len(),
            2,
            "the other takes over"
        );
        assert_eq!(after(&mut script, outage()).len(), 1, "both are waited for");
        assert_eq!(waited(&mut script, minutes * 60).len(), 2);
    }
    assert_eq!(
        after(&mut script, outage()),
        [
            "`claude` -> `demo`: `claude` is limited until 2027-01-15T14:03:00Z: server error (500)",
            "`demo` at 1.14",
        ]
    );
    assert_eq!(
        after(&mut script, outage()),
        ["exhausted: server error (500)"]
    );
}

#[test]
fn a_user_who_goes_on_is_not_told_of_the_wait_before() {
    let policy = Policy {
        on_finish: OnFinish::Ask,
        max_wait: Some(Duration::from_secs(3600)),
        ..Policy::default()
    };
    let (mut script, _) = working("agent = 'demo'", policy);
    let said = after(&mut script, limited(Some(clock(7200))));
    assert!(said[0].starts_with("limited: usage limit reached; waiting until"));
    script.pass(36_000).ask_for(UserCommand::Again);
    assert_eq!(
        told(&script.give(|ticket| backlog(ticket, &two_open()))),
        ["`demo` at 1.2"]
    );
    script.give(agent_started);
    assert_eq!(
        after(&mut script, limited(Some(clock(37_800)))),
        ["wait until 2027-01-15T22:30:00Z: usage limit reached"]
    );
}

#[test]
fn a_wait_begins_when_no_agent_works_any_more() {
    let policy = Policy {
        max_wait: Some(Duration::from_secs(2 * 3600)),
        ..keep()
    };
    let (mut script, _) = working("agent = ['claude', 'demo']", policy);
    after(&mut script, limited(Some(clock(5 * 3600))));
    script.pass(4 * 3600);
    assert_eq!(after(&mut script, failed("no")), ["`demo` at 1.3"]);
    assert_eq!(
        after(&mut script, limited(Some(clock(7 * 3600)))),
        ["wait until 2027-01-15T17:00:00Z: `claude`: usage limit reached"]
    );
}

/// The warnings about budgets after each of these ends of an attempt.
fn warned_of_cost(budget: Budget, ends: &[AgentEnd]) -> Vec<Option<String>> {
    let policy = Policy { budget, ..keep() };
    let (mut script, _) = working("agent = 'demo'", policy);
    let mut found = Vec::new();
    for end in ends {
        let effects = script.give(|ticket| ended(ticket, end.clone()));
        script.give_all(&[was_parked, restored, agent_started]);
        found.push(effects.into_iter().find_map(|effect| match effect {
            Effect::Announce(event) => match *event {
                Event::Warning { code, message } if code == "no_cost" => Some(message),
                _ => None,
            },
            _ => None,
        }));
    }
    found
}

fn ended_after(input_tokens: u64, cost_usd: Option<f64>) -> AgentEnd {
    AgentEnd {
        usage: Some(Usage {
            input_tokens,
            cost_usd,
            ..Usage::default()
        }),
        ..failed("no")
    }
}

#[test]
fn a_budget_that_does_not_limit_an_agent_is_said_once() {
    let budget = Budget {
        usd: Some(5.0),
        ..Budget::default()
    };
    let ends = [
        limited(None),
        ended_after(7, Some(0.1)),
        ended_after(7, None),
        ended_after(7, None),
    ];
    let warning = "`demo` does not report its cost, so the budget of $5.00 does not limit it; \
                   set prices in `[prices.demo]`, or use `--max-tokens`";
    let want = [None, None, Some(warning.to_owned()), None];
    assert_eq!(warned_of_cost(budget, &ends[1..]), want[1..]);
    assert_eq!(warned_of_cost(budget, &ends[..1]), want[..1]);
}

#[test]
fn a_budget_does_not_limit_an_agent_that_reports_nothing() {
    let budget = |usd, tokens| Budget {
        usd,
        tokens,
        ..Budget::default()
    };
    let warned = |budget, end| warned_of_cost(budget, &[end, failed("no")]);
    let reports_nothing = |limit: &str| {
        let message = format!(
            "`demo` reports neither its cost nor its tokens, so the budget of {limit} does not \
             limit it; use `--max-time`"
        );
        [Some(message), None]
    };
    for (budget, limit) in [
        (budget(Some(5.0), None), "$5.00"),
        (budget(None, Some(2_000_000)), "2.0M tokens"),
        (budget(Some(5.0), Some(1_000)), "$5.00 and 1.0k tokens"),
    ] {
        assert_eq!(warned(budget, failed("no")), reports_nothing(limit));
    }
    let only_cost = "`demo` does not report its tokens, so the budget of 1.0k tokens does not \
                     limit it; use `--max-cost`";
    assert_eq!(
        warned(budget(None, Some(1_000)), ended_after(0, Some(0.1))),
        [Some(only_cost.to_owned()), None]
    );
    assert_eq!(warned(Budget::default(), failed("no")), [None, None]);
    let refused = AgentEnd {
        is_error: true,
        ..failed("no")
    };
    assert_eq!(warned_of_cost(budget(Some(5.0), None), &[refused]), [None]);
}
