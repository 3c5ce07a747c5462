//! One change before its run: its texts, the settings of the run, and its problems.

pub(crate) mod fields;

use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Min};
use ratatui::layout::{Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use self::fields::{Acted, Fields, Shown};
use super::{draw_lines, error_lines, title_of};
use crate::tui::keys::Action;
use crate::tui::markdown;
use crate::tui::message::{ErrorText, Previewed, Query, Request, Start};
use crate::tui::palette::{ACTIVE, BAD, DIM, GOOD, NAME, PLAIN, STRONG, WARN, border};
use crate::tui::step::{Confirmation, Step, Typing};
use crate::tui::tabbed::Tabbed;
use crate::tui::text_pane::Item;
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words::count;
use ralph_plan::change::{Change, Story, StoryState};
use ralph_plan::tasks::TaskState;
use ralph_run::preview::{Remark, Weight};

/// The tabs, in order.
const TABS: [&str; 5] = ["Stories", "Specs", "Proposal", "Design", "Prompt"];

/// From this width on the settings stand beside the text.
const WIDE: u16 = 72;

/// How high the settings are below the text.
const STACKED: u16 = 9;

/// One change before its run.
#[derive(Debug)]
pub(crate) struct Preview {
    pub(crate) name: String,
    data: Option<Result<Box<Previewed>, ErrorText>>,
    fields: Fields,
    on_settings: bool,
    pub(crate) tabs: Tabbed<5>,
    /// The panes have to be laid out again.
    stale: bool,
}

impl Preview {
    /// The preview of a change that is not read yet.
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            data: None,
            fields: Fields::default(),
            on_settings: false,
            tabs: Tabbed::new(TABS),
            stale: true,
        }
    }

    /// The query for everything it shows.
    pub(crate) fn query(&self) -> Query {
        Query::Preview(self.name.clone(), Box::new(self.fields.chosen.clone()))
    }

    /// Receives the answer to its query.
    pub(crate) fn receive(&mut self, found: Result<Box<Previewed>, ErrorText>) {
        if let Ok(data) = &found {
            self.fields.learn(&data.settings);
        }
        self.data = Some(found);
        self.stale = true;
    }

    /// The answer, if the change could be read.
    fn data(&self) -> Option<&Previewed> {
        match &self.data {
            Some(Ok(data)) => Some(data),
            _ => None,
        }
    }

    /// Lays the panes out for a screen of this size.
    pub(crate) fn fit(&mut self, area: Rect, colored: bool) {
        let mut text = Areas::of(area).text;
        // Letters do not touch the frame beside them.
        text.width = text.width.saturating_sub(u16::from(area.width >= WIDE));
        for pane in &mut self.tabs.panes {
            self.stale |= pane.fit(text);
        }
        let Some(Ok(data)) = self.data.as_ref().filter(|_| self.stale) else {
            return;
        };
        let columns = self.tabs.pane().columns();
        let items = [
            stories(&data.change, columns),
            documents(data, "specs", columns, colored),
            documents(data, "proposal", columns, colored),
            documents(data, "design", columns, colored),
            prompt(&data.prompt, columns),
        ];
        for (pane, items) in self.tabs.panes.iter_mut().zip(items) {
            pane.set(items);
        }
        self.stale = false;
    }

    pub(crate) fn act(&mut self, action: Action) -> Step {
        if let Some(step) = self.tabs.act(action) {
            return step;
        }
        match action {
            Action::Start => return self.start(false),
            Action::Fresh => return self.fresh(),
            Action::Settings => self.on_settings = !self.on_settings,
            Action::Reload => return Step::Ask(Request::Query(self.query())),
            Action::Back if self.on_settings => self.on_settings = false,
            Action::Back => return Step::Back,
            action if self.on_settings => return self.act_on_settings(action),
            action => self.tabs.act_on_pane(action),
        }
        Step::Stay
    }

    fn act_on_settings(&mut self, action: Action) -> Step {
        let Some(Ok(data)) = &self.data else {
            return Step::Stay;
        };
        match self.fields.act(action, &data.settings) {
            Acted::Moved => Step::Stay,
            Acted::Types => Step::Type(Typing::Setting),
            // A setting may change the remarks and the prompt.
            Acted::Changed => Step::Ask(Request::Query(self.query())),
        }
    }

    /// The title and the first text of the input for the current setting.
    pub(crate) fn to_type(&self) -> (&'static str, String) {
        let data = self.data();
        data.map_or_else(Default::default, |data| self.fields.to_type(&data.settings))
    }

    /// Applies a setting that was typed.
    pub(crate) fn typed(&mut self, text: &str) -> Step {
        match self.fields.typed(text) {
            Ok(()) => Step::Ask(Request::Query(self.query())),
            Err(problem) => Step::Say(problem),
        }
    }

    fn fresh(&self) -> Step {
        match self.data() {
            Some(data) if data.open => Step::Confirm(Confirmation::Fresh),
            _ => self.start(false),
        }
    }

    /// Starts the run, or says why it cannot.
    pub(crate) fn start(&self, fresh: bool) -> Step {
        let Some(data) = self.data() else {
            return Step::Stay;
        };
        let mut remarks = data.remarks.iter();
        let stopper = remarks.find(|it| it.weight == Weight::Stops);
        // What stops a resume need not stop a fresh start, which is checked again.
        if let Some(remark) = stopper.filter(|_| !fresh) {
            return Step::Say(format!("it cannot start: {}", remark.text));
        }
        Step::Ask(Request::Start(Box::new(Start {
            change: self.name.clone(),
            chosen: self.fields.chosen.clone(),
            fresh,
            allowed: None,
        })))
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let areas = Areas::of(area);
        frame.render_widget(Paragraph::new(self.title(areas.title)), areas.title);
        match &self.data {
            None => {
                let text = wrap::styled("  reading the change …", DIM);
                draw_lines(frame, areas.text, &[text], 0);
            }
            Some(Err(error)) => {
                let whole = areas.text.union(areas.side);
                draw_lines(frame, whole, &error_lines(error), 2);
            }
            Some(Ok(data)) => {
                let titles = self.tabs.titles(areas.tabs.width);
                frame.render_widget(Paragraph::new(titles), areas.tabs);
                self.tabs.pane().draw(frame, areas.text, !self.on_settings);
                self.draw_side(frame, areas.side, data);
            }
        }
    }

    fn title(&self, area: Rect) -> Line<'static> {
        let mut spans = title_of(&self.name);
        if let Some(data) = self.data() {
            let (stories, tasks) = (data.change.story_tally(), data.change.task_tally());
            let stories = format!("{}/{}", stories.done, count(stories.total, "story"));
            let tasks = format!("{}/{}", tasks.done, count(tasks.total, "task"));
            spans.push(Span::styled(format!("  {stories}, {tasks} done"), DIM));
        }
        wrap::cut(&Line::from(spans), area.width.into())
    }

    fn draw_side(&self, frame: &mut Frame<'_>, area: Rect, data: &Previewed) {
        let block = Block::bordered()
            .border_style(border(self.on_settings))
            .title(verdict(&data.remarks));
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let selected = self.fields.current();
        let mut cursor = 0;
        let mut lines = Vec::new();
        for field in self.fields.all() {
            let shown = self.fields.shown(field, &data.settings);
            let is_selected = self.on_settings && field == selected;
            if is_selected {
                cursor = lines.len();
            }
            lines.push(field_line(&shown, is_selected, inner.width));
        }
        lines.push(Line::default());
        let columns = usize::from(inner.width).max(8);
        let remarks = data.remarks.iter();
        lines.extend(remarks.flat_map(|remark| remark_lines(remark, columns)));
        // The selected setting stays visible.
        let height = usize::from(inner.height);
        let skip = (cursor + 1).saturating_sub(height);
        let mut lines: Vec<Line<'_>> = lines.into_iter().skip(skip).collect();
        if lines.len() > height {
            let more = format!("… {} lines more", lines.len() + 1 - height);
            lines.truncate(height.saturating_sub(1));
            lines.push(wrap::styled(more, DIM));
        }
        frame.render_widget(Paragraph::new(lines), inner);
    }
}

/// Whether a run could start, for the border.
fn verdict(remarks: &[Remark]) -> Line<'static> {
    let has = |weight| remarks.iter().any(|remark| remark.weight == weight);
    if has(Weight::Stops) {
        wrap::styled(" Run: it cannot start ", BAD)
    } else if has(Weight::Warns) {
        wrap::styled(" Run: ready, with warnings ", WARN)
    } else {
        wrap::styled(" Run: ready ", GOOD)
    }
}

struct Areas {
    title: Rect,
    tabs: Rect,
    text: Rect,
    side: Rect,
}

impl Areas {
    fn of(area: Rect) -> Self {
        let [title, body] = Layout::vertical([Length(1), Min(1)]).areas(area);
        let (main, side) = if area.width >= WIDE {
            let side = (area.width * 2 / 5).clamp(28, 60);
            let [main, side] = Layout::horizontal([Min(20), Length(side)]).areas(body);
            (main, side)
        } else {
            let high = STACKED.min(body.height / 2);
            let [main, side] = Layout::vertical([Min(1), Length(high)]).areas(body);
            (main, side)
        };
        let [tabs, text] = Layout::vertical([Length(1), Min(1)]).areas(main);
        Self {
            title,
            tabs,
            text,
            side,
        }
    }
}

fn field_line(shown: &Shown, selected: bool, width: u16) -> Line<'static> {
    const LABEL: usize = 11;
    let mark = if selected { "▌" } else { " " };
    let value = if shown.changed {
        Span::styled(format!("{} *", clean(&shown.value)), WARN)
    } else {
        Span::raw(clean(&shown.value))
    };
    let line = Line::from(vec![
        Span::styled(mark, ACTIVE),
        Span::styled(format!("{:LABEL$}", shown.label), DIM),
        value,
    ]);
    let line = wrap::cut(&line, width.into());
    if selected { line.style(STRONG) } else { line }
}

fn remark_lines(remark: &Remark, columns: usize) -> Vec<Line<'static>> {
    let (mark, style) = match remark.weight {
        Weight::Stops => ("✗ ", BAD),
        Weight::Warns => ("! ", WARN),
        Weight::Tells => ("· ", DIM),
    };
    let text = wrap::styled(format!("{mark}{}", clean(&remark.text)), style);
    let mut lines = wrap::wrap(&text, columns, 2);
    if let Some(hint) = &remark.hint {
        let hint = Line::from(format!("  → {}", clean(hint)));
        lines.extend(wrap::wrap(&hint, columns, 4));
    }
    lines
}

/// One item for each story, with its tasks.
pub(crate) fn stories(change: &Change, columns: usize) -> Vec<Item> {
    if change.stories.is_empty() {
        return vec![vec![Line::from("no tasks yet")]];
    }
    let stories = change.stories.iter();
    stories.map(|story| story_lines(story, columns)).collect()
}

/// The title of a story, its tasks and an empty line.
pub(crate) fn story_lines(story: &Story, columns: usize) -> Item {
    let mut lines = wrap::wrap(&story_title(story), columns, 2);
    for task in &story.tasks {
        let (mark, style) = match task.state {
            TaskState::Open => ("☐", PLAIN),
            TaskState::Done => ("☑", DIM),
            TaskState::Deferred => ("⊟", DIM),
        };
        let indent = "  ".repeat(1 + task.indent / 2);
        let id = task.id.as_deref().map(|id| format!("{} ", clean(id)));
        let id = id.unwrap_or_default();
        let text = format!("{indent}{mark} {id}{}", clean(&task.text));
        let line = wrap::styled(text, style);
        lines.extend(wrap::wrap(&line, columns, indent.len() + 2));
    }
    lines.push(Line::default());
    lines
}

pub(crate) fn story_title(story: &Story) -> Line<'static> {
    let (mark, style) = match story.state {
        StoryState::Done => ("✓", GOOD),
        StoryState::Deferred if story.is_done() => ("✓", GOOD),
        StoryState::Deferred => ("⊘", DIM),
        StoryState::Open => ("○", NAME),
    };
    let title = format!("{} {}", clean(&story.id.0), clean(&story.title));
    let done = story.tasks.iter().filter(|it| it.state == TaskState::Done);
    let mut tasks = format!("  {}/{}", done.count(), story.tasks.len());
    if story.is_done() && story.deferred_tasks() > 0 {
        tasks.push_str(", the rest deferred");
    }
    Line::from(vec![
        Span::styled(format!("{mark} "), style),
        Span::styled(title, STRONG),
        Span::styled(tasks, DIM),
    ])
}

/// One item for each text of an artifact, rendered.
fn documents(data: &Previewed, artifact: &str, columns: usize, colored: bool) -> Vec<Item> {
    let documents = data.documents.iter().filter(|it| it.artifact == artifact);
    let several = documents.clone().count() > 1;
    let rendered = documents.map(|document| {
        let path = wrap::styled(clean(&document.path), STRONG);
        let mut lines: Item = several.then_some(path).into_iter().collect();
        lines.extend(markdown::render(&document.text, columns, colored));
        lines.push(Line::default());
        lines
    });
    let mut items: Vec<Item> = rendered.collect();
    if items.is_empty() {
        let text = format!("this change has no {artifact}");
        items.push(vec![wrap::styled(text, DIM)]);
    }
    items
}

/// One item for each line of the prompt, which is shown as it is because an agent reads it so.
fn prompt(text: &str, columns: usize) -> Vec<Item> {
    if text.is_empty() {
        return vec![vec![wrap::styled(
            "no story is left: there is no prompt",
            DIM,
        )]];
    }
    let lines = text.lines();
    lines
        .map(|line| wrap::wrap(&Line::from(clean(line)), columns, 0))
        .collect()
}
