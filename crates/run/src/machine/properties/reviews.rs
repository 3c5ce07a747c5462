//! Reviews in the model: what reviewers answer, and what must have been said before work counts.

use std::collections::HashMap;

use super::super::*;
use super::{World, agent_end};
use crate::policy::When;
use crate::policy::budget::Budget;
use crate::policy::reviewer::Reviewer;
use crate::records::event::ReviewFinished;
use crate::records::review::{Judged, JudgedItem, Verdict};
use ralph_agents::agent_event::{AgentEvent, Refusal};

/// What was said of the work as it is.
#[derive(Debug, Default)]
pub(super) struct Reviewed {
    /// Reviews that let the attempt pass, or said that they gave no verdict.
    attempt: HashMap<String, bool>,
    /// The same for the whole change.
    whole: HashMap<String, bool>,
}

impl Reviewed {
    pub(super) fn attempt_changed(&mut self) {
        self.attempt.clear();
    }

    pub(super) fn whole_changed(&mut self) {
        self.whole.clear();
    }

    pub(super) fn hear(&mut self, finished: &ReviewFinished, policy: &Policy) {
        if finished.retrying {
            return;
        }
        let mut reviewers = policy.reviewers.iter();
        let is_advisory = reviewers.any(|it| it.name == finished.review && it.advisory);
        let passes = is_advisory || !finished.result.has(Verdict::NotMet);
        let reviewed = match finished.attempt {
            Some(_) => &mut self.attempt,
            None => &mut self.whole,
        };
        reviewed.insert(finished.review.clone(), passes);
    }

    /// No attempt is saved without all of its reviews.
    pub(super) fn see_save(&self, policy: &Policy) {
        for reviewer in policy.reviewers.iter().filter(|it| it.when == When::Story) {
            let passed = self.attempt.get(&reviewer.name);
            assert_eq!(passed, Some(&true), "a commit without a review");
        }
    }

    /// No change is done without all of its reviews.
    pub(super) fn see_all_done(&self, policy: &Policy) {
        for reviewer in policy.reviewers_at_end() {
            let passed = self.whole.get(&reviewer.name);
            assert_eq!(passed, Some(&true), "done without a review");
        }
    }
}

impl World {
    pub(super) fn reviewer(&mut self, pick: u8) -> Input {
        let ticket = self.ticket;
        let life = self.agent.unwrap_or_default();
        if !life.started {
            // It may be that it cannot be started.
            if pick == 9 {
                self.agent = None;
                return ended(ticket, pick, agent_end(pick, false, self.now));
            }
            self.agent = Some(super::Life {
                started: true,
                ..life
            });
            return crate::machine::script::agent_started(ticket);
        }
        let usage = Usage {
            output_tokens: u64::from(pick) * 5,
            ..Usage::default()
        };
        let text = "words".to_owned();
        let event = match pick % 16 {
            0 => AgentEvent::Text { text },
            1 => AgentEvent::usage(usage),
            2 => return Input::Answer(ticket, Answer::AgentActive),
            3 => return Input::Answer(ticket, Answer::AgentFinal),
            12 if pick > 200 => AgentEvent::Auth {
                cause: Refusal::Login,
                message: text,
            },
            _ => {
                self.agent = None;
                let end = agent_end(pick, life.stopping, self.now);
                return ended(ticket, pick, end);
            }
        };
        Input::Answer(ticket, Answer::AgentSaid(event))
    }
}

fn ended(ticket: Ticket, pick: u8, agent: AgentEnd) -> Input {
    let verdict = match pick % 16 {
        5 => Verdict::NotMet,
        13 => Verdict::CannotTell,
        _ => Verdict::Met,
    };
    let item = JudgedItem {
        item: "T1".to_owned(),
        what: Judged::Task,
        text: "t".to_owned(),
        verdict,
        evidence: "e".to_owned(),
    };
    let verdicts = match pick % 16 {
        4 | 9 => Err("it gave no answer".to_owned()),
        _ => Ok(vec![item]),
    };
    Input::Answer(
        ticket,
        Answer::ReviewEnded(Box::new(ReviewEnd { agent, verdicts })),
    )
}

pub(super) fn any_reviewer(
    (place, (at_the_end, advisory, tokens)): (usize, (bool, bool, Option<u64>)),
) -> Reviewer {
    Reviewer {
        when: [When::Story, When::End][usize::from(at_the_end)],
        advisory,
        timeout: Some(Duration::from_secs(600)),
        budget: Budget {
            tokens,
            ..Budget::default()
        },
        ..crate::machine::script::reviewer(&format!("r{place}"))
    }
}
