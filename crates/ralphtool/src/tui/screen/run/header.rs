//! The first lines of the run screen: what runs, how far it is, and what happens now.

use jiff::{SignedDuration, Timestamp};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::title_of;
use super::{Run, RunMode};
use crate::tui::palette::{ACTIVE, DIM, NAME, STRONG, WARN};
use crate::tui::{gauge, markdown, wrap};
use crate::ui::clock;
use crate::ui::text::clean;
use crate::ui::words::{self, count};
use ralph_agents::agent_event::AgentEvent;
use ralph_base::ids::StoryId;
use ralph_run::records::event::{Request, RunStarted, Tries};
use ralph_run::records::progress::{AttemptProgress, Doing, KnownCost, StoryProgress};

/// How wide the gauge is, on a narrow screen and on a wide one.
const GAUGES: (usize, usize) = (10, 20);

/// From this width on a screen is wide.
const WIDE: usize = 100;

/// From this time on it is said that an agent is silent.
const SILENT_MS: u64 = 60_000;

/// What happens now: a coloured mark, a text, and the title of the story that it is about.
struct Now {
    mark: Span<'static>,
    text: String,
    title: Option<String>,
}

impl Now {
    fn new(mark: Span<'static>, text: impl Into<String>) -> Self {
        Self {
            mark,
            text: text.into(),
            title: None,
        }
    }

    fn about(self, story: Option<&StoryProgress>) -> Self {
        let title = story.map(|story| clean(&story.title));
        Self { title, ..self }
    }
}

impl Run {
    pub(super) fn header(&self, area: Rect, now: Timestamp) -> Vec<Line<'static>> {
        let width = usize::from(area.width);
        let Some(header) = &self.progress.header else {
            return vec![Line::from(vec![
                Span::styled(" ralphtool ", STRONG),
                Span::raw("  starting …"),
            ])];
        };
        let elapsed = words::clock(words::millis(self.progress.elapsed(now)));
        let first = beside(&title(header), Line::from(elapsed), width);
        if area.height < 2 {
            return vec![first];
        }
        let gauge = self.gauge(width, now);
        let room = width.saturating_sub(wrap::width(&gauge) + 1);
        vec![first, beside(&gauge, self.spending(header, room), width)]
    }

    fn gauge(&self, width: usize, now: Timestamp) -> Line<'static> {
        let (done, total) = (self.progress.stories_done, self.progress.stories_total);
        let columns = if width < WIDE { GAUGES.0 } else { GAUGES.1 };
        let mut line = gauge::gauge(done as u64, total as u64, columns);
        let text = format!("  {done} of {}", count(total, "story"));
        line.spans.push(Span::raw(text));
        if let Some(end) = self.expected_end(now) {
            let end = clock::time_of_day(end, now, &self.zone);
            let text = format!("  ends about {end}");
            line.spans.push(Span::styled(text, DIM));
        }
        let warnings = self.progress.important_warnings().count();
        if warnings > 0 {
            let text = format!("  ! {}", count(warnings, "warning"));
            line.spans.push(Span::styled(text, WARN));
        }
        line
    }

    /// When the run ends if the stories that are left take as long as the others; unknown during a
    /// pause, and once the last story has taken longer.
    fn expected_end(&self, now: Timestamp) -> Option<Timestamp> {
        let from = match &self.progress.doing {
            Doing::Paused { .. } | Doing::AwaitingAnswer { .. } => return None,
            Doing::Waiting { until, .. } => now.max(*until),
            _ => now,
        };
        if self.stands_still() {
            return None;
        }
        // A story that takes longer than the others says nothing about its end.
        let left = self.progress.estimate(now).filter(|left| !left.is_zero())?;
        let left = SignedDuration::try_from(left).ok()?;
        from.checked_add(left).ok()
    }

    /// What was used of the budget; what matters least is left out if there is no room.
    fn spending(&self, header: &RunStarted, room: usize) -> Line<'static> {
        let usage = self.progress.usage();
        let (tokens, budget) = (usage.total_tokens(), &header.budget);
        let of = |used: String, most: Option<String>| match most {
            Some(most) => format!("{used} of {most}"),
            None => used,
        };
        let mut parts = Vec::new();
        if usage.cost_usd.is_some() || budget.usd.is_some() {
            let most = budget.usd.map(words::cost_limit);
            parts.push(match self.progress.cost() {
                KnownCost::Unknown => match most {
                    Some(most) => format!("cost unknown (budget {most})"),
                    None => "cost unknown".to_owned(),
                },
                KnownCost::AtLeast(usd) => of(format!("at least {}", words::cost(usd)), most),
                KnownCost::SoFar(usd) => of(format!("{} + running", words::cost(usd)), most),
                KnownCost::Exact(usd) => of(words::cost(usd), most),
            });
        }
        if tokens > 0 || budget.tokens.is_some() {
            let used = of(words::tokens(tokens), budget.tokens.map(words::tokens));
            parts.push(format!("{used} tokens"));
        }
        let time = budget.time_ms.map(words::clock);
        parts.extend(time.map(|most| format!("at most {most}")));
        while wrap::columns(&parts.join(" · ")) > room {
            parts.pop();
        }
        Line::from(parts.join(" · "))
    }

    /// What the user asked for, and what happens now.
    pub(super) fn status(&self, now: Timestamp) -> Line<'static> {
        let mut spans = Vec::new();
        let is_open = self.progress.ended.is_none();
        if self.stands_still() && is_open {
            let text = match self.mode {
                RunMode::Attached { .. } => "interrupted: `ralphtool resume` continues it · ",
                RunMode::Live | RunMode::Replay => "the record ends here · ",
            };
            spans.push(Span::styled(text, WARN));
        }
        let intent = self.intent().filter(|_| is_open);
        spans.extend(intent.map(|intent| Span::styled(format!("{intent} · "), WARN)));
        let doing = self.doing(now);
        spans.extend([doing.mark, Span::raw(doing.text)]);
        spans.extend(self.silence(now));
        let notes = self.waiting_notes().filter(|_| is_open);
        spans.extend(notes.map(|notes| Span::styled(format!(" · {notes}"), NAME)));
        if let Some(title) = doing.title {
            spans.push(Span::styled(format!("  {title}"), STRONG));
        }
        let activity = self.progress.activity.as_ref().and_then(activity);
        let has_agent = matches!(
            self.progress.doing,
            Doing::Working { .. } | Doing::Review { .. }
        );
        if let Some(activity) = activity.filter(|_| has_agent) {
            spans.push(Span::styled(format!("  {activity}"), DIM));
        }
        Line::from(spans)
    }

    /// The notes that no agent has got yet, and the story they are for.
    fn waiting_notes(&self) -> Option<String> {
        let waiting = self.progress.notes.waiting();
        let stories: Vec<Option<&StoryId>> = waiting.map(|note| note.story).collect();
        let last = stories.last()?;
        let notes = count(stories.len(), "note");
        Some(match last {
            Some(story) => format!("{notes} for the next prompt of story {story}"),
            None => format!("{notes} for the next prompt"),
        })
    }

    fn doing(&self, now: Timestamp) -> Now {
        let since = |at: Timestamp| words::clock_between(at, now);
        let active = Span::styled("● ", ACTIVE);
        match &self.progress.doing {
            Doing::Starting => Now::new(Span::styled("starting …", DIM), ""),
            Doing::Between => Now::new(Span::styled("checking and saving …", DIM), "")
                .about(self.progress.current_story()),
            Doing::Working {
                story, since: at, ..
            } => {
                let it = self.progress.stories.iter().find(|it| it.id == *story);
                let tried = tried(it);
                Now::new(active, format!("story {story}{tried}: {}", since(*at))).about(it)
            }
            Doing::Gate {
                gate,
                baseline,
                since: at,
                ..
            } => {
                let place = if *baseline { " on the checkpoint" } else { "" };
                let text = format!("gate `{}` runs{place}: {}", clean(gate), since(*at));
                Now::new(active, text).about(self.progress.current_story())
            }
            Doing::Review {
                review, since: at, ..
            } => {
                let text = format!("review `{}`: {}", clean(review), since(*at));
                Now::new(active, text).about(self.progress.current_story())
            }
            Doing::Waiting {
                reason,
                until,
                continues,
                ..
            } => {
                let at = clock::time_of_day(*until, now, &self.zone);
                let left = words::clock_between(now, *until);
                let mark = Span::styled(format!("⏳ until {at} ({left})"), WARN);
                let key = self.steered(", r tries now", "");
                let after = continues.map(|attempt| format!(", then attempt {attempt} continues"));
                let after = after.unwrap_or_default();
                Now::new(mark, format!("{key}{after}: {}", clean(reason)))
            }
            Doing::AwaitingAnswer {
                story,
                question,
                since: at,
                ..
            } => {
                let key = self.steered("press : to answer", "`ralphtool answer` answers");
                let mark = Span::styled(format!("? story {story} asks"), WARN);
                let text = format!(" · {key} · {}: {}", since(*at), clean(question));
                Now::new(mark, text)
            }
            Doing::Paused { story, continues } => {
                let key = self.steered(
                    "press p to resume",
                    "the terminal that runs it can resume it",
                );
                let mark = Span::styled("‖ paused", WARN);
                let place = match continues {
                    Some(attempt) => format!("during attempt {attempt} of story {story}"),
                    None => format!("before story {story}"),
                };
                Now::new(mark, format!(" {place} · {key}"))
            }
            Doing::Ended => {
                let choice = match self.mode {
                    RunMode::Live if self.over.is_none() => {
                        " · Esc: choose what to do with the branch"
                    }
                    RunMode::Attached { .. } if self.progress.finish.is_none() => {
                        " · waiting for a choice in its terminal"
                    }
                    _ => "",
                };
                let why = self.progress.outcome().map(|_| {
                    let headline = self.progress.closing_headline(self.zone());
                    format!(": {}", clean(&headline))
                });
                let why = why.unwrap_or_default();
                Now::new(
                    Span::styled("the run is over", STRONG),
                    format!("{why}{choice}"),
                )
            }
        }
    }

    /// For how long the agent at work has said nothing, if that is long.
    fn silence(&self, now: Timestamp) -> Option<Span<'static>> {
        let is_at_work = matches!(self.progress.doing, Doing::Working { .. });
        let heard = self.heard_at.filter(|_| is_at_work)?;
        let silent = words::millis_between(heard, now);
        if silent < SILENT_MS {
            return None;
        }
        let minutes = silent / 60_000;
        let time = match minutes {
            ..60 => format!("{minutes}m"),
            _ => words::clock(silent),
        };
        Some(Span::styled(format!(" · silent for {time}"), WARN))
    }

    /// `here` if this terminal controls the run, or else `elsewhere`.
    fn steered(&self, here: &'static str, elsewhere: &'static str) -> &'static str {
        match self.mode {
            RunMode::Live => here,
            RunMode::Attached { .. } | RunMode::Replay => elsewhere,
        }
    }

    /// What the user asked for and is not done yet.
    fn intent(&self) -> Option<&'static str> {
        match self.progress.requested {
            Some(Request::Stop) => Some("stopping"),
            Some(Request::StopNow) => Some("stopping at once"),
            _ if self.progress.skipping => Some("skipping the story"),
            _ => (self.progress.pausing).then_some("pauses before the agent starts again"),
        }
    }
}

/// Which attempt it is, where it is not the first, and which repair.
fn tried(story: Option<&StoryProgress>) -> String {
    let last = story.and_then(|story| story.attempts.last());
    let tried = match last.map(|last| last.tries).filter(|it| it.number > 1) {
        Some(Tries { number, most, .. }) => format!(", try {number}/{most}"),
        None => String::new(),
    };
    let repair = last.and_then(AttemptProgress::repair);
    let repair = repair.map(|it| format!(", {}", words::repair(it)));
    tried + &repair.unwrap_or_default()
}

fn title(header: &RunStarted) -> Line<'static> {
    let branches = format!("  {} ← {}", clean(&header.branch), clean(&header.original));
    let model = header.model.as_deref();
    let model = model.map(|model| format!(" ({})", clean(model)));
    let agent = format!("  {}{}", clean(&header.agent), model.unwrap_or_default());
    let mut spans = title_of(&header.change);
    spans.push(Span::styled(branches, DIM));
    spans.push(Span::raw(agent));
    Line::from(spans)
}

/// The last thing an agent did, in one line of plain text.
fn activity(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Text { text } => markdown::last_words(&without_promise(text)),
        AgentEvent::ToolCall { tool, summary } => {
            Some(format!("{} {}", clean(tool), clean(summary)))
        }
        AgentEvent::Thinking { .. } => Some("thinking".to_owned()),
        AgentEvent::Retrying { message } => Some(clean(message)),
        _ => None,
    }
}

/// What an agent says, without the tags of its promise.
fn without_promise(text: &str) -> String {
    let mut text = text.to_owned();
    for tag in ["<promise>COMPLETE</promise>", "<promise>", "</promise>"] {
        text = text.replace(tag, "");
    }
    text
}

/// Two lines in one, at the left and right end; the left one is cut if there is no room for both.
pub(super) fn beside(left: &Line<'static>, right: Line<'static>, width: usize) -> Line<'static> {
    let right_width = wrap::width(&right);
    if right_width + 1 >= width {
        return wrap::cut(left, width);
    }
    let mut line = wrap::fit(left, width - right_width - 1);
    line.spans.push(Span::raw(" "));
    line.spans.extend(right.spans);
    line
}
