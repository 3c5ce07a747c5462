//! Who reviews the work of attempts, and what one review may use.

use std::time::Duration;

use crate::policy::budget::Budget;
use crate::policy::roster::{Choice, usual_model};
use crate::settings::{ReviewSettings, Settings, When};

/// An agent that judges work, as a run asks it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reviewer {
    /// What it is called in messages.
    pub name: String,
    /// Who it is.
    pub choice: Choice,
    /// When it is asked.
    pub when: When,
    /// What it finds is only reported.
    pub advisory: bool,
    /// How long one review may take.
    pub timeout: Option<Duration>,
    /// What one review may use; without a bound of its time, which is the timeout.
    pub budget: Budget,
}

impl Reviewer {
    fn of(settings: &Settings, review: &ReviewSettings) -> Self {
        let model = review.model.clone();
        Self {
            name: review.name.clone(),
            choice: Choice {
                agent: review.agent.clone(),
                model: model.or_else(|| usual_model(settings, &review.agent)),
            },
            when: review.when,
            advisory: review.advisory,
            timeout: review.timeout.0,
            budget: Budget {
                usd: review.usd.usd(),
                tokens: review.tokens.0,
                time: None,
            },
        }
    }
}

/// Everyone who reviews, in the order of the settings.
pub(crate) fn reviewers(settings: &Settings) -> Vec<Reviewer> {
    let reviews = settings.reviews.value.iter();
    reviews.map(|it| Reviewer::of(settings, it)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use indoc::indoc;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_reviewer_is_asked_for_its_own_model_or_the_usual_one_of_its_agent() {
        let text = indoc! {r#"
            agent = "claude"
            model = "opus"
            [agents.codex]
            model = "gpt"
            [[review]]
            agent = "codex"
            usd = 0.5
            [[review]]
            name = "second"
            agent = "codex"
            model = "mini"
            when = "end"
            advisory = true
            timeout = "1m"
            tokens = "2k"
            [[review]]
            agent = "claude"
        "#};
        let layer = crate::settings::file::parse("ralphtool.toml", text).unwrap();
        let settings = Settings::resolve([layer]).unwrap();
        let choice = |agent: &str, model: &str| Choice {
            agent: agent.to_owned(),
            model: Some(model.to_owned()),
        };
        let first = Reviewer {
            name: "codex".to_owned(),
            choice: choice("codex", "gpt"),
            when: When::Story,
            advisory: false,
            timeout: Some(Duration::from_secs(20 * 60)),
            budget: Budget {
                usd: Some(0.5),
                ..Budget::default()
            },
        };
        let second = Reviewer {
            name: "second".to_owned(),
            choice: choice("codex", "mini"),
            when: When::End,
            advisory: true,
            timeout: Some(Duration::from_secs(60)),
            budget: Budget {
                tokens: Some(2000),
                ..Budget::default()
            },
        };
        let third = Reviewer {
            name: "claude".to_owned(),
            choice: choice("claude", "opus"),
            budget: Budget::default(),
            ..first.clone()
        };
        assert_eq!(reviewers(&settings), [first, second, third]);
    }
}
