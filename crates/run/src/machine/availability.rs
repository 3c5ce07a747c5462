//! Who makes the next attempt: which agents can work right now, and why another one takes over. One
//! that is limited comes back, one that was refused does not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::stories::Current;
use super::{Machine, later};
use crate::policy::in_words;
use crate::policy::roster::{Choice, Preference};
use crate::records::event::{Event, Outcome};
use ralph_agents::agent_event::Refusal;

/// What is known of the agents of a run.
#[derive(Debug, Default)]
pub(super) struct Availability {
    agents: BTreeMap<String, State>,
    /// When the first limit was hit since an agent was at work.
    since: Option<Timestamp>,
    /// Agents whose missing reports were warned of.
    pub(super) costless: BTreeSet<String>,
    /// Who made the last attempt.
    pub(super) last: Option<Choice>,
    /// It did so because another agent could not.
    pub(super) stood_in: bool,
}

/// What is known of one agent.
#[derive(Debug, Default)]
struct State {
    /// Limits in a row.
    limits: u32,
    /// When the last of them ends.
    free_at: Option<Timestamp>,
    /// Why it cannot work, in its own words.
    reason: String,
    /// Why it may not work in this run at all; none where it may.
    refusal: Option<Refusal>,
}

/// Who makes the next attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// This one.
    Agent(Choice),
    /// No agent before this moment, for this reason.
    Later(Timestamp, String),
    /// No agent at all, which ends the run like this.
    NoAgent(Outcome),
}

impl Availability {
    /// Takes note of a limit that will end, as far as one can know, at this moment.
    pub(super) fn limited(&mut self, agent: &str, now: Timestamp, until: Timestamp, reason: &str) {
        self.since.get_or_insert(now);
        let state = self.state(agent);
        state.free_at = Some(until);
        reason.clone_into(&mut state.reason);
    }

    /// Counts one more limit in a row.
    pub(super) fn count_limit(&mut self, agent: &str) -> u32 {
        let state = self.state(agent);
        state.limits = state.limits.saturating_add(1);
        state.limits
    }

    /// Takes note of an agent that may not work at all.
    pub(super) fn refused(&mut self, agent: &str, refusal: Refusal, reason: &str) {
        let state = self.state(agent);
        state.refusal = Some(refusal);
        reason.clone_into(&mut state.reason);
    }

    /// Takes note of an agent that was at work.
    pub(super) fn worked(&mut self, agent: &str) {
        self.agents.remove(agent);
        self.since = None;
    }

    /// Lets every agent that is limited try again now.
    pub(super) fn forget_waits(&mut self) {
        for state in self.agents.values_mut() {
            state.free_at = None;
        }
    }

    /// Forgets every limit and refusal: the user resumes, and may have fixed the cause.
    pub(super) fn forget_all(&mut self) {
        self.agents.clear();
        self.since = None;
    }

    fn state(&mut self, agent: &str) -> &mut State {
        self.agents.entry(agent.to_owned()).or_default()
    }

    /// The first of those asked that can work, or when one of them can.
    pub(super) fn pick(
        &self,
        asked: &[Choice],
        now: Timestamp,
        max_wait: Option<Duration>,
    ) -> Pick {
        if let Some(choice) = asked.iter().find(|it| self.is_free(&it.agent, now)) {
            return Pick::Agent(choice.clone());
        }
        let waiting = |choice: &Choice| {
            let state = self
                .agents
                .get(&choice.agent)
                .filter(|it| it.refusal.is_none())?;
            // Where there are several, people ask whose limit it is.
            let reason = match asked.len() {
                1 => state.reason.clone(),
                _ => format!("`{}`: {}", choice.agent, state.reason),
            };
            Some((state.free_at?, reason))
        };
        let limited = asked.iter().filter_map(waiting);
        let Some((until, reason)) = limited.min_by_key(|(until, _)| *until) else {
            return Pick::NoAgent(self.refusal(asked));
        };
        match (max_wait, self.since) {
            (Some(most), Some(since)) if until > later(since, most) => {
                Pick::NoAgent(limited_too_long(&reason, until, most))
            }
            _ => Pick::Later(until, reason),
        }
    }

    fn is_free(&self, agent: &str, now: Timestamp) -> bool {
        self.agents
            .get(agent)
            .is_none_or(|state| state.refusal.is_none() && state.free_at.is_none_or(|at| at <= now))
    }

    fn refusal(&self, asked: &[Choice]) -> Outcome {
        let states = asked.iter().filter_map(|it| self.agents.get(&it.agent));
        let reasons: Vec<&str> = states.clone().map(|state| state.reason.as_str()).collect();
        let agent = asked.first().map(|choice| choice.agent.clone());
        Outcome::NotLoggedIn {
            agent: agent.unwrap_or_default(),
            cause: states.into_iter().find_map(|state| state.refusal),
            reason: reasons.join("\n"),
        }
    }

    /// Why an agent is not the one that works, in one line; nothing where it could.
    pub(super) fn why_not(&self, agent: &str, now: Timestamp) -> Option<String> {
        let state = self.agents.get(agent)?;
        let said = state.reason.lines().next().unwrap_or_default();
        match state.free_at {
            _ if state.refusal.is_some() => Some(format!("`{agent}` was refused: {said}")),
            Some(at) if at > now => Some(format!("`{agent}` is limited until {at:.0}: {said}")),
            _ => None,
        }
    }
}

impl Machine {
    /// Who makes the next attempt at a story.
    pub(super) fn pick(&self, story: &Current) -> Pick {
        let (asked, _) = self.line_up(story);
        let pick = self
            .availability
            .pick(&asked, self.now, self.policy().max_wait);
        match (pick, self.time_ends(&story.view.id)) {
            (Pick::Later(until, reason), Some((end, time))) if until > end => {
                Pick::NoAgent(limited_too_long(&reason, until, time))
            }
            (pick, _) => pick,
        }
    }

    fn line_up(&self, story: &Current) -> (Vec<Choice>, Preference) {
        self.setup
            .roster
            .line_up(&story.view.id, story.carry.retries_used)
    }

    /// Says that another agent or model takes over, and why.
    pub(super) fn announce_choice(&mut self, story: &Current, to: &Choice) {
        let before = self.availability.last.replace(to.clone());
        let from = before.unwrap_or_else(|| self.setup.roster.first());
        let (asked, preference) = self.line_up(story);
        let preferred = asked.first().filter(|it| it.agent != to.agent);
        let missing = preferred.and_then(|it| self.availability.why_not(&it.agent, self.now));
        let stood_in = std::mem::replace(&mut self.availability.stood_in, missing.is_some());
        if from == *to {
            return;
        }
        let reason = match (missing, preference) {
            (Some(why), _) => why,
            (None, Preference::Story) => format!("it is set for story `{}`", story.view.id),
            (None, Preference::Escalated(1)) => "an attempt failed".to_owned(),
            (None, Preference::Escalated(failures)) => format!("{failures} attempts failed"),
            (None, Preference::Usual) if stood_in => format!("`{}` is free again", to.agent),
            (None, Preference::Usual) => "it is the configured one".to_owned(),
        };
        self.announce(Event::AgentChanged {
            story: story.view.id.clone(),
            from,
            to: to.clone(),
            reason,
        });
    }
}

/// The run does not wait until a moment.
pub(super) fn limited_too_long(reason: &str, until: Timestamp, most: Duration) -> Outcome {
    Outcome::UsageLimit {
        until,
        reason: format!(
            "{}; waiting until {until:.0} is longer than the {} allowed",
            reason.trim_end_matches('.'),
            in_words(most)
        ),
    }
}
