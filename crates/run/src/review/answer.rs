//! Reads the answer of a reviewer: one JSON object with a verdict for each item.
//!
//! The object has a key that was made for this one review and is in no file of the repository: what
//! the work under review has written to look like an answer is none. The object may stand in a code
//! fence or not, and anything may stand around it; of several the last counts. An item that is
//! not known is ignored, one without a verdict is one that the reviewer cannot tell.

use serde::Deserialize;
use serde_json::Value;

use super::items::ReviewItem;
use crate::records::review::{JudgedItem, Verdict};
use ralph_agents::agent_event::first_chars;

/// How much of the evidence for an item is recorded.
const EVIDENCE_CHARS: usize = 1000;

/// How many objects around each mention of the key are tried, from the inside out.
const MOST_OBJECTS: usize = 4000;

/// How many mentions of the key are looked at, from the end.
const MOST_MENTIONS: usize = 20;

/// Why an answer cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("it gave no answer")]
    Silent,
    #[error("its answer has no JSON object with the key of the review")]
    NoObject,
    #[error("its answer has no verdict for any task or scenario")]
    NoVerdicts,
}

/// The object that a reviewer answers with.
#[derive(Deserialize)]
struct Answer {
    review: String,
    verdicts: Vec<Value>,
}

/// What it says of one item.
struct Given {
    item: String,
    verdict: Option<Verdict>,
    evidence: String,
}

/// Reads the verdicts from everything that the reviewer said, one for each item, in their order.
pub(crate) fn read(
    words: &str,
    key: &str,
    items: &[ReviewItem],
) -> Result<Vec<JudgedItem>, Unusable> {
    if words.trim().is_empty() {
        return Err(Unusable::Silent);
    }
    let answer = last_object(words, key).ok_or(Unusable::NoObject)?;
    let given: Vec<Given> = answer.verdicts.iter().filter_map(given).collect();
    let is_known = |it: &Given| it.verdict.is_some() && items.iter().any(|item| is_it(it, item));
    if !given.iter().any(is_known) {
        return Err(Unusable::NoVerdicts);
    }
    Ok(items.iter().map(|item| judged(item, &given)).collect())
}

/// The last object of a text that has the key.
fn last_object(words: &str, key: &str) -> Option<Answer> {
    let mut mentions = words.rmatch_indices(key).take(MOST_MENTIONS);
    mentions.find_map(|(at, _)| object_around(words, at, key))
}

/// The innermost object of that form that begins before a place.
fn object_around(words: &str, at: usize, key: &str) -> Option<Answer> {
    let mut starts = words[..at].rmatch_indices('{').take(MOST_OBJECTS);
    starts.find_map(|(start, _)| {
        let mut values = serde_json::Deserializer::from_str(&words[start..]).into_iter();
        let answer: Answer = values.next()?.ok()?;
        (start + values.byte_offset() > at && answer.review.trim() == key).then_some(answer)
    })
}

fn given(value: &Value) -> Option<Given> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let item = text("item").trim_matches(|c: char| !c.is_alphanumeric());
    let evidence = match value.get("evidence") {
        // Some give a list of them.
        Some(Value::Array(all)) => {
            let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            all.join("; ")
        }
        _ => text("evidence").to_owned(),
    };
    (!item.is_empty()).then(|| Given {
        item: item.to_owned(),
        verdict: verdict(text("verdict")),
        evidence: first_chars(evidence.trim(), EVIDENCE_CHARS).to_owned(),
    })
}

/// A verdict, however its words are separated.
fn verdict(text: &str) -> Option<Verdict> {
    let text = text.trim().to_lowercase().replace([' ', '-'], "_");
    let known = Verdict::NAMES.iter().find(|(name, _)| *name == text);
    known.map(|(_, verdict)| *verdict)
}

fn is_it(given: &Given, item: &ReviewItem) -> bool {
    given.item.eq_ignore_ascii_case(&item.item)
}

/// What was said of an item; where several things were, the worst.
fn judged(item: &ReviewItem, given: &[Given]) -> JudgedItem {
    let about = given.iter().filter(|it| is_it(it, item));
    let said = about.filter_map(|it| Some((it.verdict?, it.evidence.as_str())));
    let worst = said.min_by_key(|(verdict, _)| match verdict {
        Verdict::NotMet => 0,
        Verdict::CannotTell => 1,
        Verdict::Met => 2,
        Verdict::OtherStory => 3,
    });
    let (verdict, evidence) = match worst {
        None => (Verdict::CannotTell, "the reviewer gave no verdict on it"),
        Some((Verdict::Met, "")) => (
            Verdict::CannotTell,
            "the reviewer said that it is met, and gave no evidence",
        ),
        Some((Verdict::OtherStory, _)) if !item.may_be_elsewhere => (
            Verdict::CannotTell,
            "the reviewer said that it is for another story, which it is not",
        ),
        Some(said) => said,
    };
    JudgedItem {
        item: item.item.clone(),
        what: item.what,
        text: item.text.clone(),
        verdict,
        evidence: evidence.to_owned(),
    }
}

#[cfg(test)]
mod tests;
