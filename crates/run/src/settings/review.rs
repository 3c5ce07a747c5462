//! Agents that judge the work of an attempt.

use std::fmt;

use super::gate::When;
use super::key_table::table;
use super::value::{Filled, FilledModel, FromTable, Item, Key, Mistake, tables};
use ralph_base::allowance::{CostLimit, TokenLimit};
use ralph_base::duration::TimeLimit;

/// An agent that judges the work of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewSettings {
    /// What it is called in messages.
    pub name: String,
    /// The agent.
    pub agent: String,
    /// Its model; the agent's usual one where none is named.
    pub model: Option<String>,
    /// When it runs.
    pub when: When,
    /// What it finds is only reported.
    pub advisory: bool,
    /// How long one review may take.
    pub timeout: TimeLimit,
    /// What one review may cost.
    pub usd: CostLimit,
    /// How many tokens one review may use.
    pub tokens: TokenLimit,
}

table! {
    ReviewKeys, "[[review]]",
    "An agent that reads the work of an attempt and judges each task and scenario; one table for each.",
    example "agent = \"codex\"\ntimeout = \"20m\"";
    name: Filled, without "the name of the agent", example r#""second opinion""#, "Its name in messages.";
    agent: Filled, without "needed", example r#""codex""#,
        "The agent that reviews; best one of another vendor than the agent that works.";
    model: FilledModel, without "the agent's own model", example r#""opus""#, "The model to use.";
    when: When = When::Story, "After every story, or once at the end, over the whole change.";
    advisory: bool = false,
        "Whether what it finds is only reported. Otherwise a task or scenario that is not met fails\n\
         the attempt.";
    timeout: TimeLimit = TimeLimit::seconds(20 * 60), "How long one review may take.";
    usd: CostLimit = CostLimit::OFF, "How many US dollars one review may cost.";
    tokens: TokenLimit = TokenLimit::OFF, "How many tokens one review may use.";
}

impl ReviewSettings {
    fn read(item: &Item<'_>) -> Result<Self, Mistake> {
        let keys = ReviewKeys::read(ReviewKeys::TABLE.header, item)?;
        let Some(agent) = keys.agent else {
            let mistake = Mistake::at(item, "this review has no `agent`");
            return Err(mistake.hint("say which agent reviews, such as `agent = \"codex\"`"));
        };
        Ok(Self {
            name: keys.name.unwrap_or_else(|| agent.clone()),
            agent,
            model: keys.model,
            when: keys.when,
            advisory: keys.advisory,
            timeout: keys.timeout,
            usd: keys.usd,
            tokens: keys.tokens,
        })
    }
}

impl FromTable for Vec<ReviewSettings> {
    fn from_table(key: &Key<'_>, item: &Item<'_>) -> Result<Self, Mistake> {
        let mut reviews: Self = Vec::new();
        for item in tables(key, item)? {
            let review = ReviewSettings::read(item)?;
            if reviews.iter().any(|other| other.name == review.name) {
                let message = format!("there are two reviews named `{}`", review.name);
                return Err(Mistake::at(item, message).hint("give one of them another `name`"));
            }
            reviews.push(review);
        }
        Ok(reviews)
    }
}

impl fmt::Display for ReviewSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name != self.agent {
            write!(f, "{}: ", self.name)?;
        }
        f.write_str(&self.agent)?;
        if let Some(model) = &self.model {
            write!(f, " {model}")?;
        }
        write!(f, " (timeout {}", self.timeout)?;
        if self.when == When::End {
            f.write_str(", at the end")?;
        }
        if self.advisory {
            f.write_str(", only reports")?;
        }
        if self.usd != CostLimit::OFF {
            write!(f, ", ${}", self.usd)?;
        }
        if self.tokens != TokenLimit::OFF {
            write!(f, ", {} tokens", self.tokens)?;
        }
        f.write_str(")")
    }
}
