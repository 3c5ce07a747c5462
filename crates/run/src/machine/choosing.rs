//! Choosing the agent of an attempt, and saying so where it is another one than before.

use super::Machine;
use super::availability::Pick;
use super::stories::Current;
use crate::policy::roster::{Choice, Preference};
use crate::records::event::Event;

impl Machine {
    /// Who makes the next attempt at a story.
    pub(super) fn pick(&self, story: &Current) -> Pick {
        let (asked, _) = self.line_up(story);
        let pick = self
            .availability
            .pick(&asked, self.now, self.policy().max_wait);
        match (pick, self.time_ends(&story.view.id)) {
            (Pick::Later(until, reason), Some((end, time))) if until > end => {
                Pick::NoAgent(super::availability::too_long(&reason, until, time))
            }
            (pick, _) => pick,
        }
    }

    fn line_up(&self, story: &Current) -> (Vec<Choice>, Preference) {
        self.setup
            .roster
            .line_up(&story.view.id, story.retries_used)
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
            (None, Preference::Usual) => "it is the usual one".to_owned(),
        };
        self.announce(Event::AgentChanged {
            story: story.view.id.clone(),
            from,
            to: to.clone(),
            reason,
        });
    }
}
