//! Draws the run screen.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Min};
use ratatui::layout::{Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::super::title_of;
use super::{Run, RunMode, Tab};
use crate::tui::palette::{self, ACTIVE, BAD, DIM, GOOD, NAME, PLAIN, STRONG, WARN, select};
use crate::tui::{gauge, tabbed, wrap};
use crate::ui::text::{clean, columns, pad, truncate};
use crate::ui::words::{self, count};
use ralph_agents::agent_event::AgentEvent;
use ralph_run::records::event::{Request, RunStarted};
use ralph_run::records::progress::{AttemptStanding, Doing, StoryProgress, StoryStanding};

/// Below this width the stories are above the pane.
const SIDE_BY_SIDE: u16 = 60;

/// How many stories are shown above the pane.
const STACKED_STORIES: u16 = 3;

/// How wide the gauge is, on a narrow screen and on a wide one.
const GAUGES: (usize, usize) = (10, 20);

/// From this width on a screen is wide.
const WIDE: usize = 100;

/// The width of all tabs, and the least width that the corner leaves them.
const ALL_TABS: usize = 35;
const LEAST_TABS: usize = 16;

/// From this width of the list on, a story's cost is shown, too.
const ROOM_FOR_COST: usize = 38;

pub(super) struct Areas {
    pub(super) header: Rect,
    pub(super) status: Rect,
    pub(super) stories: Rect,
    pub(super) border: Option<Rect>,
    pub(super) tabs: Rect,
    pub(super) text: Rect,
}

impl Areas {
    pub(super) fn of(area: Rect, run: &Run) -> Self {
        let high = if area.height >= 14 { 2 } else { 1 };
        let [header, status, body] =
            Layout::vertical([Length(high), Length(1), Min(1)]).areas(area);
        let (stories, border, main) = if area.width >= SIDE_BY_SIDE {
            let wide = (area.width * 3 / 10).clamp(26, 52);
            let [stories, border, main] =
                Layout::horizontal([Length(wide), Length(1), Min(20)]).areas(body);
            (stories, Some(border), main)
        } else {
            let count = u16::try_from(run.progress.stories.len()).unwrap_or(u16::MAX);
            let high = STACKED_STORIES.min(count.max(1));
            let [stories, main] = Layout::vertical([Length(high), Min(1)]).areas(body);
            (stories, None, main)
        };
        let [tabs, text] = Layout::vertical([Length(1), Min(1)]).areas(main);
        Self {
            header,
            status,
            stories,
            border,
            tabs,
            text,
        }
    }
}

impl Run {
    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, now: Timestamp) {
        let now = self.clock(now);
        let areas = Areas::of(area, self);
        let header = self.header(areas.header, now);
        frame.render_widget(Paragraph::new(header), areas.header);
        let status = wrap::cut(&self.status(now), areas.status.width.into());
        frame.render_widget(Paragraph::new(status), areas.status);
        self.draw_stories(frame, areas.stories, now);
        if let Some(border) = areas.border {
            let line = Block::new().borders(Borders::LEFT);
            frame.render_widget(line.border_style(palette::border(self.on_pane)), border);
        }
        self.draw_tabs(frame, areas.tabs);
        self.pane().draw(frame, areas.text, self.on_pane);
    }

    fn header(&self, area: Rect, now: Timestamp) -> Vec<Line<'static>> {
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
        if let Some(left) = self.progress.estimate(now) {
            let text = format!("  about {} left", words::clock(words::millis(left)));
            line.spans.push(Span::styled(text, DIM));
        }
        line
    }

    /// What was used of the budget; what matters least is left out if there is no room.
    fn spending(&self, header: &RunStarted, room: usize) -> Line<'static> {
        let usage = self.progress.usage();
        let (cost, tokens, budget) = (usage.cost_usd, usage.total_tokens(), &header.budget);
        let of = |used: String, most: Option<String>| match most {
            Some(most) => format!("{used} of {most}"),
            None => used,
        };
        let mut parts = Vec::new();
        if cost.is_some() || budget.usd.is_some() {
            let used = words::cost(cost.unwrap_or(0.0));
            parts.push(of(used, budget.usd.map(words::cost_limit)));
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
    fn status(&self, now: Timestamp) -> Line<'static> {
        let mut spans = Vec::new();
        let is_open = self.progress.ended.is_none();
        if self.stands_still() && is_open {
            let text = match self.mode {
                RunMode::Attached { .. } => "interrupted, `ralphtool resume` goes on with it · ",
                RunMode::Live | RunMode::Replay => "the record ends here · ",
            };
            spans.push(Span::styled(text, WARN));
        }
        let intent = self.intent().filter(|_| is_open);
        spans.extend(intent.map(|intent| Span::styled(format!("{intent} · "), WARN)));
        let notes = self.progress.notes.waiting().count();
        if notes > 0 && is_open {
            let text = format!("{} for the next attempt · ", count(notes, "note"));
            spans.push(Span::styled(text, NAME));
        }
        let (mark, text) = self.doing(now);
        spans.extend([mark, Span::raw(text)]);
        let activity = self.progress.activity.as_ref().and_then(activity);
        if let (Doing::Working { .. }, Some(activity)) = (&self.progress.doing, activity) {
            spans.push(Span::styled(format!("  {activity}"), DIM));
        }
        Line::from(spans)
    }

    /// What happens now: a coloured mark and a text.
    fn doing(&self, now: Timestamp) -> (Span<'static>, String) {
        let since = |at: Timestamp| words::clock_between(at, now);
        let active = Span::styled("● ", ACTIVE);
        match &self.progress.doing {
            Doing::Starting => (Span::styled("starting …", DIM), String::new()),
            Doing::Between => (Span::styled("checking and saving …", DIM), String::new()),
            Doing::Working {
                story,
                attempt,
                since: at,
            } => {
                let text = format!("story {story}, attempt {attempt}: {}", since(*at));
                (active, text)
            }
            Doing::Gate {
                gate,
                baseline,
                since: at,
                ..
            } => {
                let place = if *baseline { " on the checkpoint" } else { "" };
                let text = format!("gate `{}` runs{place}: {}", clean(gate), since(*at));
                (active, text)
            }
            Doing::Waiting { reason, until, .. } => {
                let left = words::clock_between(now, *until);
                let mark = Span::styled(format!("⏳ {left} to wait"), WARN);
                let key = self.steered(", r tries now", "");
                (mark, format!("{key}: {}", clean(reason)))
            }
            Doing::Paused { story } => {
                let goes_on = self.steered("p goes on", "p in its terminal goes on");
                let text = format!(" before story {story} goes on; {goes_on}");
                (Span::styled("‖ paused", WARN), text)
            }
            Doing::Ended => {
                let choice = match self.mode {
                    RunMode::Live if self.over.is_none() => "; Esc goes to what becomes of it",
                    RunMode::Attached { .. } if self.progress.finish.is_none() => {
                        "; what becomes of it is chosen in its terminal"
                    }
                    _ => "",
                };
                (Span::styled("the run is over", STRONG), choice.to_owned())
            }
        }
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
            _ => self.progress.pausing.then_some("pauses after this attempt"),
        }
    }

    fn draw_stories(&self, frame: &mut Frame<'_>, area: Rect, now: Timestamp) {
        let stories = self.progress.stories.iter().enumerate().skip(self.top);
        let lines: Vec<Line<'_>> = stories
            .take(area.height.into())
            .map(|(place, story)| {
                let is_selected = place == self.selected;
                story_line(story, is_selected, area.width.into(), now)
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn draw_tabs(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let mut parts = self.corner();
        let width_of = |parts: &[String]| match parts {
            [] => 0,
            parts => wrap::columns(&parts.join(" · ")) + 1,
        };
        // The place in the pane is shown only if all tabs still fit.
        if let Some(place) = self.pane_place() {
            parts.insert(0, place);
            if parts.len() > 1 && width_of(&parts) + ALL_TABS > width {
                parts.remove(0);
            }
        }
        while !parts.is_empty() && width_of(&parts) + LEAST_TABS > width {
            parts.remove(0);
        }
        let room = width.saturating_sub(width_of(&parts));
        let mut line = tabbed::titles(&Tab::TITLES, self.tab.place(), room);
        if !parts.is_empty() {
            let right = Span::styled(parts.join(" · "), DIM);
            line = beside(&line, Line::from(right), width);
        }
        frame.render_widget(Paragraph::new(line), area);
    }

    /// The place of the cursor in the pane.
    fn pane_place(&self) -> Option<String> {
        match self.tab {
            Tab::Agent => self.agent.place(),
            _ => self.pane().place(),
        }
    }

    /// The attempt, and the key that follows; what matters most comes last.
    fn corner(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if matches!(self.tab, Tab::Agent | Tab::Diff)
            && let Some(story) = self.story()
            && let Some(attempt) = self.shown_attempt()
            && story.attempts.len() > 1
        {
            parts.push(format!("attempt {}", attempt.number));
        }
        if !self.following && !self.stands_still() && self.progress.ended.is_none() {
            parts.push("f follows".to_owned());
        }
        parts
    }
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

/// The last thing an agent did, in one line.
fn activity(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Text { text } => text.lines().rfind(|it| !it.trim().is_empty()).map(clean),
        AgentEvent::ToolCall { tool, summary } => {
            Some(format!("{} {}", clean(tool), clean(summary)))
        }
        AgentEvent::Thinking { .. } => Some("thinking".to_owned()),
        AgentEvent::Retrying { message } => Some(clean(message)),
        _ => None,
    }
}

/// Two lines in one, at the left and right end; the left one is cut if there is no room for both.
fn beside(left: &Line<'static>, right: Line<'static>, width: usize) -> Line<'static> {
    let right_width = wrap::width(&right);
    if right_width + 1 >= width {
        return wrap::cut(left, width);
    }
    let mut line = wrap::fit(left, width - right_width - 1);
    line.spans.push(Span::raw(" "));
    line.spans.extend(right.spans);
    line
}

/// The line of a story, of this width.
fn story_line(
    story: &StoryProgress,
    selected: bool,
    width: usize,
    now: Timestamp,
) -> Line<'static> {
    let (glyph, style) = glyph(&story.state);
    let facts = facts(story, width, now);
    let room = width.saturating_sub(2 + columns(&facts) + usize::from(!facts.is_empty()));
    let title = format!("{} {}", clean(&story.id.0), clean(&story.title));
    let title = pad(&truncate(title.trim(), room), room);
    let text = match story.state {
        StoryStanding::Running => STRONG,
        StoryStanding::Waiting | StoryStanding::Unfinished => PLAIN,
        _ => DIM,
    };
    let mut spans = vec![
        Span::styled(format!("{glyph} "), style),
        Span::styled(title, text),
    ];
    if !facts.is_empty() {
        spans.push(Span::styled(format!(" {facts}"), DIM));
    }
    let line = Line::from(spans);
    if selected { select(line) } else { line }
}

fn facts(story: &StoryProgress, width: usize, now: Timestamp) -> String {
    let mut facts = Vec::new();
    if let Some(last) = story.attempts.last() {
        let mut attempts = story.attempts.iter();
        let retried = attempts.any(|it| matches!(it.state, AttemptStanding::Failed { .. }));
        if story.state == StoryStanding::Running || retried {
            facts.push(format!("{}/{}", last.number, last.max_attempts));
        }
        facts.push(words::clock(words::millis(story.elapsed(now))));
    }
    if width >= ROOM_FOR_COST {
        facts.extend(story.usage().cost_usd.map(words::cost));
    }
    facts.join(" ")
}

/// The sign for the state of a story.
pub(crate) fn glyph(state: &StoryStanding) -> (&'static str, Style) {
    match state {
        StoryStanding::Waiting => ("○", DIM),
        StoryStanding::Done => ("✓", DIM),
        StoryStanding::Deferred => ("⊘", DIM),
        StoryStanding::Running => ("●", ACTIVE),
        StoryStanding::Skipped { .. } => ("»", WARN),
        StoryStanding::Completed { .. } => ("✓", GOOD),
        StoryStanding::Unfinished => ("✗", BAD),
    }
}
