//! One change before its run: its texts, the settings of the run, and its problems.

mod checked;
mod editor;
pub(crate) mod fields;
mod side;

use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Constraint::{Fill, Length, Min};
use ratatui::layout::{Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use self::editor::{Editor, Pressed};
use self::fields::{Acted, Fields};
use self::side::Side;
use super::{draw_lines, error_lines, title_of};
use crate::tui::keys::Action;
use crate::tui::markdown;
use crate::tui::message::{ErrorText, Previewed, Query, Request, Start, Wheel};
use crate::tui::palette::{BAD, DIM, GOOD, NAME, PLAIN, STRONG, WARN, border};
use crate::tui::step::{Confirmation, Step};
use crate::tui::tabbed::{Beside, Tabbed};
use crate::tui::text_pane::{Item, TextPane};
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words::count;
use ralph_plan::change::{Change, Story, StoryState};
use ralph_plan::tasks::TaskState;
use ralph_run::preview::{Remark, Weight};

/// The tabs, in order.
const TABS: [&str; 6] = ["Stories", "Specs", "Proposal", "Design", "Prompt", "Check"];

/// The places of two tabs among them.
const STORIES: usize = 0;
const PROMPT: usize = 4;

/// From this width on the settings stand beside the text.
const WIDE: u16 = 72;

/// From this width on two other tabs are shown beside the one the user chose.
const THREE_COLUMNS: u16 = 160;

/// How high the settings are below the text.
const STACKED: u16 = 9;

/// One change before its run.
#[derive(Debug)]
pub(crate) struct Preview {
    pub(crate) name: String,
    data: Option<Result<Box<Previewed>, ErrorText>>,
    fields: Fields,
    on_settings: bool,
    /// The setting that is being typed.
    editor: Option<Editor>,
    /// How many lines below the settings the user has scrolled to.
    scroll: usize,
    pub(crate) tabs: Tabbed<6>,
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
            editor: None,
            scroll: 0,
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
        let areas = self.areas(area);
        let mut text = areas.text;
        // Letters do not touch the frame beside them.
        text.width = text.width.saturating_sub(u16::from(area.width >= WIDE));
        for (place, pane) in self.tabs.panes.iter_mut().enumerate() {
            let beside = areas.beside.iter().find(|it| it.tab == place);
            self.stale |= pane.fit(beside.map_or(text, |it| it.text));
        }
        self.fit_side(areas.side);
        let Some(Ok(data)) = self.data.as_ref().filter(|_| self.stale) else {
            return;
        };
        let columns = self.tabs.panes.each_ref().map(TextPane::columns);
        let items = [
            stories(&data.change, columns[0]),
            documents(data, "specs", columns[1], colored),
            documents(data, "proposal", columns[2], colored),
            documents(data, "design", columns[3], colored),
            prompt(&data.prompt, columns[4]),
            checked::items(data, columns[5]),
        ];
        for (pane, items) in self.tabs.panes.iter_mut().zip(items) {
            pane.set(items);
        }
        self.stale = false;
    }

    /// Keeps the settings from being scrolled past their end.
    fn fit_side(&mut self, area: Rect) {
        let inner = Block::bordered().inner(area);
        if let Some(data) = self.data() {
            let side = self.side(data, inner.width);
            let most = side.most_scroll(inner.height.into());
            self.scroll = self.scroll.min(most);
        }
    }

    fn areas(&self, area: Rect) -> Areas {
        let third = area.width * 3 / 10;
        let wanted = self.data().map_or(0, |data| {
            let lines = self.side(data, third.saturating_sub(2)).len();
            u16::try_from(lines + 2).unwrap_or(u16::MAX)
        });
        Areas::of(area, wanted, self.beside())
    }

    /// The tabs that tell most beside the one the user chose: first one with a text, then the prompt.
    fn beside(&self) -> [usize; 2] {
        let has_text = |tab: usize| {
            let documents = self.data().map_or(&[][..], |data| &data.documents);
            let name = TABS[tab].to_lowercase();
            documents.iter().any(|it| it.artifact == name)
        };
        let shown = self.tabs.shown();
        let order = [STORIES, 2, 1, 3, PROMPT];
        let is_free = |tab: &usize| *tab != shown;
        let is_full = |tab: &usize| matches!(*tab, STORIES | PROMPT) || has_text(*tab);
        let mut full = order.into_iter().filter(is_free).filter(is_full);
        let first = full.next().unwrap_or(STORIES);
        let second = if shown == PROMPT {
            full.next()
        } else {
            full.next_back()
        };
        [first, second.unwrap_or(PROMPT)]
    }

    /// Scrolls what is below the pointer.
    pub(crate) fn wheel(&mut self, wheel: Wheel, area: Rect) {
        let areas = self.areas(area);
        let place = (wheel.column, wheel.row).into();
        let beside = areas.beside.iter().find(|it| it.text.contains(place));
        let pane = match beside {
            Some(beside) => &mut self.tabs.panes[beside.tab],
            None => self.tabs.pane_mut(),
        };
        pane.wheel(wheel.up);
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

    /// Whether an action would do something now.
    pub(crate) fn offers(&self, action: Action) -> bool {
        match action {
            Action::Start => self.data().is_some_and(|data| stopper(data).is_none()),
            Action::Fresh => self.data().is_some_and(|data| data.open),
            Action::Enter => self.on_settings,
            _ => true,
        }
    }

    /// Whether a setting is being typed.
    pub(crate) const fn is_editing(&self) -> bool {
        self.editor.is_some()
    }

    fn act_on_settings(&mut self, action: Action) -> Step {
        let Some(Ok(data)) = &self.data else {
            return Step::Stay;
        };
        if action == Action::Up && self.scroll > 0 {
            self.scroll -= 1;
            return Step::Stay;
        }
        match self.fields.act(action, &data.settings) {
            Acted::Moved => {}
            Acted::Passed => self.scroll += 1,
            Acted::Types => self.editor = Some(self.fields.editor(&data.settings)),
            // A setting may change the remarks and the prompt.
            Acted::Changed => return Step::Ask(Request::Query(self.query())),
        }
        Step::Stay
    }

    /// A key for the setting that is being typed. A text that is wrong stays, with what is wrong.
    pub(crate) fn type_key(&mut self, key: KeyEvent) -> Step {
        let Some(editor) = &mut self.editor else {
            return Step::Stay;
        };
        match editor.press(key) {
            Pressed::Edited => Step::Stay,
            Pressed::GivenUp => {
                self.editor = None;
                Step::Stay
            }
            Pressed::Entered(text) => match self.fields.typed(&text) {
                Ok(()) => {
                    self.editor = None;
                    Step::Ask(Request::Query(self.query()))
                }
                Err(problem) => {
                    editor.refuse(problem);
                    Step::Stay
                }
            },
        }
    }

    /// Inserts a text into the setting that is being typed.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(editor) = &mut self.editor {
            editor.paste(text);
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
        // What stops a resume need not stop a fresh start, which is checked again.
        if let Some(remark) = stopper(data).filter(|_| !fresh) {
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
        let areas = self.areas(area);
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
                for it in &areas.beside {
                    it.draw(frame, TABS[it.tab], &self.tabs.panes[it.tab]);
                }
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
        let side = self.side(data, inner.width);
        let (lines, cursor) = side.window(inner.height.into(), self.scroll);
        frame.render_widget(Paragraph::new(lines), inner);
        if let Some((column, row)) = cursor {
            frame.set_cursor_position((inner.x + column, inner.y + row));
        }
    }

    fn side(&self, data: &Previewed, columns: u16) -> Side {
        Side::new(
            &self.fields,
            data,
            self.on_settings,
            self.editor.as_ref(),
            columns.into(),
        )
    }
}

/// What keeps a run from starting.
fn stopper(data: &Previewed) -> Option<&Remark> {
    let mut remarks = data.remarks.iter();
    remarks.find(|it| it.weight == Weight::Stops)
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
    /// The tabs that are shown beside the one the user chose, on a wide screen.
    beside: Vec<Beside>,
}

impl Areas {
    /// The parts of a screen; the settings have the given number of rows.
    fn of(area: Rect, wanted: u16, beside: [usize; 2]) -> Self {
        let [title, body] = Layout::vertical([Length(1), Min(1)]).areas(area);
        let mut others = Vec::new();
        let (main, side) = if area.width >= THREE_COLUMNS {
            let [main, second, third] =
                Layout::horizontal([Fill(4), Fill(4), Length(area.width * 3 / 10)])
                    .spacing(1)
                    .areas(body);
            let most = body.height * 2 / 3;
            let [side, below] = Layout::vertical([Length(wanted.min(most)), Min(0)]).areas(third);
            others.push(Beside::new(beside[0], second));
            others.push(Beside::new(beside[1], below));
            (main, side)
        } else if area.width >= WIDE {
            // Beside it the titles of all tabs fit at 80 columns.
            let side = (area.width * 39 / 100).clamp(28, 60);
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
            beside: others,
        }
    }
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
