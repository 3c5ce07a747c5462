//! Reviews: what reviewers find, and what follows where they find nothing out.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::When;
use crate::policy::budget::Budget;
use crate::policy::reviewer::Reviewer;
use crate::records::event::{Event, FailedStory, FailureKind, ReviewFinished, ReviewStarted};
use crate::records::review::{Judged, JudgedItem, ReviewResult, Unreviewed, Verdict};
use ralph_agents::agent_event::{AgentEvent, Refusal};
use ralph_agents::dialect::Trouble;
use ralph_base::ids::AttemptNumber;
use ralph_plan::change::StoryState;
use ralph_vault::journal::reopening::Reopening;

fn reviewed(reviewers: Vec<Reviewer>) -> Policy {
    Policy {
        reviewers,
        ..keep()
    }
}

fn items(verdict: Verdict) -> Vec<JudgedItem> {
    let item = |name: &str, verdict| JudgedItem {
        item: name.to_owned(),
        what: Judged::Task,
        text: format!("Do {name}"),
        verdict,
        evidence: "a.txt:1".to_owned(),
    };
    vec![item("T1", Verdict::Met), item("T2", verdict)]
}

fn judged(verdict: Verdict) -> ReviewResult {
    ReviewResult::Judged {
        items: items(verdict),
    }
}

fn review_ended(ticket: Ticket, agent: AgentEnd, verdicts: Result<Vec<JudgedItem>, &str>) -> Input {
    let verdicts = verdicts.map_err(str::to_owned);
    Input::Answer(
        ticket,
        Answer::ReviewEnded(Box::new(ReviewEnd { agent, verdicts })),
    )
}

fn found(verdict: Verdict) -> impl FnOnce(Ticket) -> Input {
    move |ticket| review_ended(ticket, silent(), Ok(items(verdict)))
}

fn begins(reviewer: &Reviewer, again: Option<&str>) -> Effect {
    say(Event::ReviewStarted(ReviewStarted {
        story: id("1"),
        attempt: Some(AttemptNumber(1)),
        review: reviewer.name.clone(),
        agent: reviewer.choice.clone(),
        advisory: reviewer.advisory,
        again: again.map(str::to_owned),
        transcript: "attempts/1.1".to_owned(),
        output: ralph_agents::dialect::Output::Text,
    }))
}

fn ends(reviewer: &Reviewer, result: ReviewResult, retrying: bool) -> Effect {
    say(Event::ReviewFinished(ReviewFinished {
        story: id("1"),
        attempt: Some(AttemptNumber(1)),
        review: reviewer.name.clone(),
        result,
        retrying,
        duration_ms: 0,
        usage: Usage::default(),
        prices: None,
    }))
}

fn no_verdict(reason: &str) -> ReviewResult {
    ReviewResult::NoVerdict {
        reason: reason.to_owned(),
    }
}

fn ask(ticket: u64, reviewer: usize, gates: Vec<JudgedGate>, again: Option<&str>) -> Effect {
    Effect::Step(
        Ticket(ticket),
        Step::Review(ReviewRequest {
            attempt: parked("1", 1),
            whole: false,
            reviewer,
            gates,
            again: again.map(str::to_owned),
        }),
    )
}

fn tick(ticket: u64) -> Effect {
    Effect::Step(Ticket(ticket), Step::TickStory(id("1")))
}

/// A machine whose first reviewer works.
fn reviewing(policy: Policy) -> Script {
    let mut script = Script::promised(policy);
    script.give_all(&[checked, agent_started]);
    script
}

fn timer_of_review(ticket: u64) -> Effect {
    Effect::SetTimer {
        timer: timer(TimerKind::Total, ticket),
        after: Duration::from_secs(20 * 60),
    }
}

fn cancelled(ticket: u64) -> Effect {
    Effect::CancelTimer {
        timer: timer(TimerKind::Total, ticket),
    }
}

#[test]
fn reviewers_are_asked_in_order_once_the_gates_have_passed() {
    let (first, second) = (reviewer("a"), reviewer("b"));
    let policy = Policy {
        gates: vec![gate("tests", false)],
        ..reviewed(vec![first.clone(), second.clone()])
    };
    let mut script = Script::promised(policy);
    script.give(checked);
    let gates = vec![JudgedGate {
        name: "tests".to_owned(),
        run: "run-tests".to_owned(),
        result: GateResult::Passed,
        log: "gates/1.1-1.log".to_owned(),
    }];
    let effects = script.give(gate_green);
    assert_eq!(effects[1..], [ask(6, 0, gates.clone(), None)]);
    assert_eq!(
        script.give(agent_started),
        [begins(&first, None), timer_of_review(6)]
    );
    assert_eq!(
        script.give(found(Verdict::Met)),
        [
            cancelled(6),
            ends(&first, judged(Verdict::Met), false),
            ask(7, 1, gates, None),
        ]
    );
    script.give(agent_started);
    assert_eq!(
        script.give(found(Verdict::Met)),
        [
            cancelled(7),
            ends(&second, judged(Verdict::Met), false),
            tick(8),
        ]
    );
}

#[test]
fn what_is_not_met_fails_the_attempt_with_the_findings_as_the_reason() {
    let mut script = reviewing(reviewed(vec![reviewer("a"), reviewer("b")]));
    let reason = "review `a`: 1 of 2 not met\nT2 Do T2: not met: a.txt:1";
    assert_eq!(
        script.give(found(Verdict::NotMet))[2..],
        [park(6, 1, FailureKind::Review, reason)]
    );
    script.give(was_parked);
    let effects = script.give(restored);
    let previous = Previous {
        reason: Some(reason.to_owned()),
        parked: Some(parked("1", 1)),
    };
    assert_eq!(effects[1..], [start_agent(8, "1", 2, Some(previous))]);
}

#[test]
fn what_an_advisory_review_finds_is_only_reported() {
    let advisory = Reviewer {
        advisory: true,
        ..reviewer("a")
    };
    let mut script = reviewing(reviewed(vec![advisory]));
    let message = "review `a` found not met: T2 Do T2: a.txt:1";
    assert_eq!(
        script.give(found(Verdict::NotMet))[2..],
        [warning("review_not_met", message), tick(6)]
    );
}

#[test]
fn what_a_reviewer_cannot_tell_is_a_warning() {
    let mut script = reviewing(reviewed(vec![reviewer("a")]));
    let message = "review `a` cannot tell: T2 Do T2: a.txt:1";
    assert_eq!(
        script.give(found(Verdict::CannotTell))[2..],
        [warning("review_cannot_tell", message), tick(6)]
    );
}

#[test]
fn an_answer_that_cannot_be_used_is_asked_for_once_more_and_then_the_work_is_not_verified() {
    let only = reviewer("a");
    let policy = Policy {
        only_story: Some(id("1")),
        ..reviewed(vec![only.clone()])
    };
    let mut script = reviewing(policy);
    let garbage = |ticket| review_ended(ticket, silent(), Err("it gave no answer"));
    let no_answer = || no_verdict("it gave no answer");
    assert_eq!(
        script.give(garbage),
        [
            cancelled(5),
            ends(&only, no_answer(), true),
            ask(6, 0, Vec::new(), Some("it gave no answer")),
        ]
    );
    assert_eq!(
        script.give(agent_started),
        [begins(&only, Some("it gave no answer")), timer_of_review(6)]
    );
    let crashed = |ticket| {
        let agent = AgentEnd {
            exit: AgentExit::Code(3),
            last_words: "starting\nboom\n".to_owned(),
            ..silent()
        };
        review_ended(ticket, agent, Err("it gave no answer"))
    };
    let reason = "it ended with exit code 3: boom";
    let message = format!("review `a` gave no verdict: {reason}");
    assert_eq!(
        script.give(crashed),
        [
            cancelled(6),
            ends(&only, no_verdict(reason), false),
            warning("not_reviewed", &message),
            tick(7),
        ]
    );
    script.give(ticked);
    let effects = script.give(saved);
    let outcome = Outcome::Unverified {
        gates: Vec::new(),
        reviews: vec![Unreviewed {
            review: "a".to_owned(),
            stories: vec![id("1")],
        }],
    };
    // Whatever stories are open besides it.
    assert_eq!(effects[1], run_ended(outcome.clone(), 1, 1));
    let effects = script.give(finished);
    assert_eq!(effects[1], end(outcome, 1));
}

#[test]
fn a_reviewer_that_cannot_answer_now_is_not_asked_again() {
    let trouble = |trouble: Trouble| AgentEnd {
        is_error: true,
        trouble: Some(trouble),
        ..silent()
    };
    let refused = Trouble::Refused {
        cause: Refusal::Login,
        message: "log in".to_owned(),
    };
    for (agent, reason) in [
        (limited(None), "it hit a limit: usage limit reached"),
        (trouble(refused), "it was refused: log in"),
        (
            trouble(Trouble::Overflow("too long".to_owned())),
            "the conversation outgrew the model's context",
        ),
    ] {
        let only = reviewer("a");
        let mut script = reviewing(reviewed(vec![only.clone()]));
        let message = format!("review `a` gave no verdict: {reason}");
        assert_eq!(
            script.give(|ticket| review_ended(ticket, agent, Ok(items(Verdict::Met)))),
            [
                cancelled(5),
                ends(&only, no_verdict(reason), false),
                warning("not_reviewed", &message),
                tick(6),
            ]
        );
    }
}

#[test]
fn a_review_that_takes_too_long_is_ended_without_a_verdict() {
    let only = reviewer("a");
    let mut script = reviewing(reviewed(vec![only.clone()]));
    assert_eq!(script.pass(1200).fire(TimerKind::Total), [stop_process(5)]);
    let agent = AgentEnd {
        exit: AgentExit::StoppedByUs,
        ..silent()
    };
    let effects = script.give(|ticket| review_ended(ticket, agent, Ok(items(Verdict::Met))));
    let message = "review `a` gave no verdict: it took longer than 20m";
    assert_eq!(effects[1..], [warning("not_reviewed", message), tick(6)]);
}

#[test]
fn a_review_that_is_over_its_own_budget_is_ended_and_its_cost_counts() {
    let only = Reviewer {
        budget: Budget {
            tokens: Some(1000),
            ..Budget::default()
        },
        ..reviewer("a")
    };
    let mut script = reviewing(reviewed(vec![only]));
    let usage = Usage {
        output_tokens: 1000,
        ..Usage::default()
    };
    let said = |ticket| Input::Answer(ticket, Answer::AgentSaid(AgentEvent::usage(usage)));
    assert_eq!(
        script.give(said),
        [
            say(Event::Reviewer {
                story: id("1"),
                review: "a".to_owned(),
                agent: AgentEvent::usage(usage),
            }),
            stop_process(5),
        ]
    );
    let agent = AgentEnd {
        exit: AgentExit::StoppedByUs,
        final_seen: false,
        usage: Some(usage),
        ..silent()
    };
    let effects = script.give(|ticket| review_ended(ticket, agent, Err("it gave no answer")));
    let message = "review `a` gave no verdict: the budget of 1000 tokens is used up for one review";
    assert_eq!(effects[2..], [warning("not_reviewed", message), tick(6)]);
    script.give(ticked);
    let Some(Effect::Announce(event)) = script.give(saved).into_iter().next() else {
        panic!("the story is not completed");
    };
    let Event::StoryCompleted(completed) = *event else {
        panic!("{event:?}");
    };
    assert_eq!(completed.usage, usage);
}

#[test]
fn a_budget_that_the_attempt_has_used_up_leaves_no_room_for_a_review() {
    let policy = Policy {
        budget: Budget {
            tokens: Some(1000),
            ..Budget::default()
        },
        ..reviewed(vec![reviewer("a")])
    };
    let mut script = Script::working(policy);
    let usage = Some(Usage {
        output_tokens: 1000,
        ..Usage::default()
    });
    let end = AgentEnd {
        usage,
        ..complete()
    };
    script.give(|ticket| ended(ticket, end));
    let effects = script.give(checked);
    let message = "review `a` gave no verdict: the budget of 1000 tokens is used up";
    assert_eq!(effects[2..], [warning("not_reviewed", message), tick(5)]);
}

#[test]
fn a_stop_or_a_skip_ends_the_review_and_parks_the_attempt() {
    let policy = || reviewed(vec![reviewer("a")]);
    let by_us = AgentEnd {
        exit: AgentExit::StoppedByUs,
        final_seen: false,
        ..silent()
    };
    for (kind, reason) in [
        (FailureKind::Stopped, "the run was stopped"),
        (FailureKind::Skipped, "the story was skipped"),
    ] {
        let mut script = reviewing(policy());
        let effects = match kind {
            FailureKind::Stopped => script.stop(),
            _ => script.ask_for(UserCommand::Skip),
        };
        assert_eq!(effects[1..], [stop_process(5)]);
        let end = by_us.clone();
        let effects = script.give(|ticket| review_ended(ticket, end, Err("it gave no answer")));
        assert_eq!(effects[2..], [park(6, 1, kind, reason)]);
    }
}

/// A machine with just story 2 left, which is done; the change is being read again.
fn at_the_end(advisory: bool) -> Script {
    let at_end = Reviewer {
        when: When::End,
        advisory,
        ..reviewer("a")
    };
    let mut script = Script::start(Policy {
        max_retries: 1,
        ..reviewed(vec![at_end])
    });
    let one_open = |ticket| {
        let stories = [story("1", StoryState::Done), story("2", StoryState::Open)];
        backlog(ticket, &stories)
    };
    script.give_all(&[one_open, begin_done, agent_started, ended_complete]);
    script.give_all(&[checked, ticked, saved]);
    script
}

#[test]
fn a_review_at_the_end_judges_the_whole_change_and_opens_the_last_story_again() {
    let mut script = at_the_end(false);
    let request = Step::Review(ReviewRequest {
        attempt: parked("2", 1),
        whole: true,
        reviewer: 0,
        gates: Vec::new(),
        again: None,
    });
    assert_eq!(script.give(all_done), [Effect::Step(Ticket(8), request)]);
    script.give(agent_started);
    let effects = script.give(found(Verdict::NotMet));
    let reason = "review `a`: 1 of 2 not met\nT2 Do T2: not met: a.txt:1";
    let reopening = Reopening {
        story: id("2"),
        gate: "a".to_owned(),
        review: true,
        reason: reason.to_owned(),
    };
    assert_eq!(
        effects[2..],
        [Effect::Step(Ticket(9), Step::Reopen(reopening))]
    );
    let reopened = |ticket| Input::Answer(ticket, Answer::Reopened("c1".to_owned()));
    script.give(reopened);
    // The second attempt uses the only retry.
    script.give_all(&[first_done, agent_started, ended_complete, checked, ticked]);
    script.give_all(&[saved, all_done, agent_started]);
    script.give(found(Verdict::NotMet));
    let effects = script.give(reopened);
    let exhausted = Outcome::stopped_at(FailedStory {
        story: id("2"),
        kind: FailureKind::Review,
        reason: reason.to_owned(),
        attempts: 2,
        gate: None,
    });
    assert_eq!(effects[2], run_ended(exhausted, 1, 2));
}

#[test]
fn a_review_at_the_end_that_gives_no_verdict_leaves_the_change_unverified() {
    for (advisory, outcome) in [
        (
            false,
            Outcome::Unverified {
                gates: Vec::new(),
                reviews: vec![Unreviewed {
                    review: "a".to_owned(),
                    stories: Vec::new(),
                }],
            },
        ),
        (true, Outcome::AllDone),
    ] {
        let mut script = at_the_end(advisory);
        script.give_all(&[all_done, agent_started]);
        let effects = script.give(|ticket| review_ended(ticket, limited(None), Err("")));
        assert_eq!(effects[3], run_ended(outcome, 2, 1));
    }
}

#[test]
fn a_run_says_who_reviews_and_when() {
    let at_end = Reviewer {
        when: When::End,
        ..reviewer("b")
    };
    let mut script = Script::start(reviewed(vec![reviewer("a"), at_end]));
    script.give(|ticket| backlog(ticket, &two_open()));
    let effects = script.give(begin_done);
    let Effect::Announce(event) = &effects[0] else {
        panic!("{effects:?}");
    };
    let Event::RunStarted(started) = &**event else {
        panic!("{event:?}");
    };
    assert_eq!(started.reviews, ["a", "b"]);
    assert_eq!(started.reviews_at_end, ["b"]);
}

#[test]
fn what_a_review_uses_counts_in_the_budget_of_its_story() {
    let policy = Policy {
        story_budget: Budget {
            tokens: Some(1000),
            ..Budget::default()
        },
        ..reviewed(vec![reviewer("a")])
    };
    let mut script = Script::working(policy);
    let used = |output_tokens| {
        Some(Usage {
            output_tokens,
            ..Usage::default()
        })
    };
    let end = AgentEnd {
        usage: used(400),
        ..complete()
    };
    script.give(|ticket| ended(ticket, end));
    script.give_all(&[checked, agent_started]);
    let agent = AgentEnd {
        usage: used(600),
        ..silent()
    };
    script.give(|ticket| review_ended(ticket, agent, Ok(items(Verdict::NotMet))));
    script.give(was_parked);
    let effects = script.give(restored);
    let Some(Effect::Announce(event)) = effects.get(1) else {
        panic!("{effects:?}");
    };
    let Event::RunEnded(ended) = &**event else {
        panic!("{event:?}");
    };
    assert_eq!(
        ended.outcome,
        Outcome::BudgetUsedUp {
            story: Some(id("1")),
            used: "1.0k".to_owned(),
            limit: "1.0k tokens".to_owned(),
            flags: "--max-story-tokens 2k".to_owned(),
        }
    );
}
