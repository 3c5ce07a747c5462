//! The five screens, one file each: what each knows, what keys do to it, how it is drawn.
//!
//! `changes` leads to `preview`, that to `run`, that to `completion`, and that to `result`.

pub(crate) mod changes;
pub(crate) mod completion;
pub(crate) mod preview;
pub(crate) mod result;
pub(crate) mod run;

use ratatui::text::Span;

use crate::tui::palette::STRONG;
use crate::ui::text::clean;
use crate::ui::words::{self, count};
use ralph_run::records::progress::{Progress, StoryStanding};

/// The first line of a screen: the program, and the change it shows.
fn title_of(change: &str) -> Vec<Span<'static>> {
    vec![
        Span::styled(" ralphtool ", STRONG),
        Span::raw("  "),
        Span::styled(clean(change), STRONG),
    ]
}

/// The name of the change of a run; empty while it is not known.
fn change_of(progress: &Progress) -> &str {
    let header = progress.header.as_ref();
    header.map_or("", |header| header.change.as_str())
}

/// What a run took altogether, after how many stories it did.
fn totals(progress: &Progress, stories: String) -> String {
    let end = progress.ended_at.or(progress.last_at).unwrap_or_default();
    let mut facts = vec![
        stories,
        count(progress.attempts, "attempt"),
        words::elapsed(words::millis(progress.elapsed(end))),
    ];
    facts.extend(words::usage(&progress.usage()));
    facts.join(" · ")
}

/// The commits a run began at and came to, once it has completed a story.
fn range_of(progress: &Progress) -> Option<(String, String)> {
    let attempts = progress.stories.iter().flat_map(|story| &story.attempts);
    let first = attempts.min_by_key(|attempt| attempt.started_at)?;
    let completed = progress.stories.iter().filter_map(|story| {
        let last = story.attempts.last()?;
        match &story.state {
            StoryStanding::Completed(it) => Some((last.started_at, &it.commit)),
            _ => None,
        }
    });
    let (_, last) = completed.max_by_key(|(started, _)| *started)?;
    Some((first.base.clone()?, last.clone()))
}
