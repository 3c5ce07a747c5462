//! The list of changes: how far each is, and what can be done with it.

mod detail;

use std::collections::BTreeMap;

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Min};
use ratatui::layout::{Layout, Rect, Size};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{draw_lines, error_lines};
use crate::tui::fuzzy;
use crate::tui::gauge;
use crate::tui::keys::Action;
use crate::tui::message::{ChangeDetail, ChangesFound, ErrorText, Query, Request};
use crate::tui::palette::{BAD, DIM, GOOD, KEY, MATCHED, NAME, STRONG, WARN, select};
use crate::tui::step::{Step, Typing};
use crate::tui::text_pane::scrolled;
use crate::tui::wrap;
use crate::ui::text::{clean, columns, pad};
use crate::ui::words;
use ralph_plan::summary::{ChangeState, ChangeSummary, shows_kind};
use ralph_run::history::listed::{ChangeStanding, LastRun, Tone};

/// How wide a bar is.
const BAR: usize = 8;

/// The widths of the other columns, with the gaps before them.
const STORIES: usize = 9;
const TASKS: usize = 8;
const MODIFIED: usize = 11;

/// From this width on the detail is beside the list.
const WIDE: u16 = 110;

/// How wide the list and the detail are at least, side by side.
const LEAST_LIST: u16 = 50;
const LEAST_DETAIL: u16 = 40;

/// From this height on the list leaves half of it to the detail.
const ROOMY: u16 = 16;

struct Areas {
    head: Rect,
    list: Rect,
    detail: Rect,
}

#[derive(Debug, Default)]
pub(crate) struct Changes {
    found: Option<Result<ChangesFound, ErrorText>>,
    /// The rows that match the filter: the index of each, and which letters matched.
    shown: Vec<(usize, Vec<u32>)>,
    filter: String,
    selected: usize,
    top: usize,
    height: usize,
    /// More about changes, by target.
    details: BTreeMap<String, Result<Box<ChangeDetail>, ErrorText>>,
    /// The change that is being looked at; one at a time, however fast the user scrolls.
    looking: Option<String>,
    /// The change to select once the list is read again.
    wanted: Option<String>,
}

impl Changes {
    /// Receives what was found; the selected change stays selected.
    pub(crate) fn receive(&mut self, found: Result<ChangesFound, ErrorText>) {
        let selected = self.selected_row().map(|row| row.target.clone());
        let chosen = self.wanted.take().or(selected);
        self.details.clear();
        self.looking = None;
        self.found = Some(found);
        self.filter_again();
        let first = |is_it: &dyn Fn(&ChangeSummary) -> bool| {
            let mut rows = self.shown.iter().map(|(index, _)| self.rows().get(*index));
            rows.position(|row| row.is_some_and(is_it))
        };
        let place = first(&|row| Some(&row.target) == chosen.as_ref());
        // Otherwise the first change with open stories.
        let place = place.or_else(|| first(&|row| row.state == ChangeState::Open));
        self.selected = place.unwrap_or(0);
        self.settle();
    }

    /// Selects this change once the list is read again.
    pub(crate) fn select_next(&mut self, target: String) {
        self.wanted = Some(target);
    }

    /// A query for more about the selected change, unless one is not answered yet.
    pub(crate) fn query(&mut self) -> Option<Query> {
        let row = self.selected_row().filter(|_| self.looking.is_none())?;
        if matches!(row.state, ChangeState::Unreadable { .. }) {
            return None;
        }
        let target = row.target.clone();
        if self.details.contains_key(&target) {
            return None;
        }
        self.looking = Some(target.clone());
        Some(Query::Look(target))
    }

    /// Receives more about a change.
    pub(crate) fn receive_detail(
        &mut self,
        target: String,
        found: Result<Box<ChangeDetail>, ErrorText>,
    ) {
        if self.looking.as_ref() == Some(&target) {
            self.looking = None;
            self.details.insert(target, found);
        }
    }

    /// Shows only the changes that match.
    pub(crate) fn set_filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.filter);
        self.filter_again();
        self.selected = 0;
        self.settle();
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Sets the size of the screen.
    pub(crate) fn set_size(&mut self, area: Rect) {
        let rows = self.areas(area).list.height;
        self.height = usize::from(rows).max(1);
        self.settle();
    }

    fn rows(&self) -> &[ChangeSummary] {
        match &self.found {
            Some(Ok(found)) => &found.rows,
            _ => &[],
        }
    }

    fn selected_row(&self) -> Option<&ChangeSummary> {
        let (index, _) = self.shown.get(self.selected)?;
        self.rows().get(*index)
    }

    fn filter_again(&mut self) {
        let names: Vec<&str> = self.rows().iter().map(|row| row.name.as_str()).collect();
        self.shown = fuzzy::matches(&self.filter, &names);
    }

    fn settle(&mut self) {
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
        // No row is left empty while there are changes above.
        self.top = self.top.min(self.shown.len().saturating_sub(self.height));
        self.top = scrolled(self.top, self.selected, self.height);
    }

    /// Whether an action would do something now.
    pub(crate) fn offers(&self, action: Action) -> bool {
        match action {
            Action::Enter => self.selected_row().is_some(),
            Action::Search => !self.rows().is_empty(),
            _ => true,
        }
    }

    /// What a key does now, in short, where that changes.
    pub(crate) fn brief(&self, action: Action) -> Option<&'static str> {
        let row = self.selected_row()?;
        (action == Action::Enter && self.is_at_work(row)).then_some("attach")
    }

    pub(crate) fn act(&mut self, action: Action) -> Step {
        let last = self.shown.len().saturating_sub(1);
        if let Some(to) = action.moved(self.selected, last, self.height) {
            self.selected = to;
        }
        match action {
            Action::Search => return Step::Type(Typing::Filter),
            Action::NewChange => return Step::Type(Typing::NewChange),
            Action::Reload => return Step::Ask(Request::Query(Query::Changes)),
            Action::Enter => return self.open(),
            Action::Back if !self.filter.is_empty() => self.set_filter(""),
            _ => {}
        }
        self.settle();
        Step::Stay
    }

    fn open(&self) -> Step {
        let Some(row) = self.selected_row() else {
            return Step::Stay;
        };
        match &row.state {
            ChangeState::Unreadable { reason } => {
                Step::Say(format!("`{}` cannot be read: {reason}", row.name))
            }
            _ if self.is_at_work(row) => Step::Attach,
            _ => Step::Open(row.target.clone()),
        }
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, now: Timestamp) {
        let [title, below] = Layout::vertical([Length(1), Min(1)]).areas(area);
        let Areas { head, list, detail } = self.areas(area);
        frame.render_widget(Paragraph::new(self.title()), title);
        match &self.found {
            None => {
                let text = wrap::styled("  reading the changes …", DIM);
                draw_lines(frame, list, &[text], 0);
            }
            Some(Err(error)) => draw_lines(frame, below, &error_lines(error), 2),
            Some(Ok(found)) if found.rows.is_empty() => {
                draw_lines(frame, below, &empty(found), 2);
            }
            Some(Ok(_)) => {
                self.draw_table(frame, head, list, now);
                self.draw_detail(frame, detail, now);
            }
        }
    }

    /// The detail is beside a list on a wide screen, and below it elsewhere.
    fn areas(&self, area: Rect) -> Areas {
        let [_, below] = Layout::vertical([Length(1), Min(1)]).areas(area);
        let (table, detail) = if area.width >= WIDE {
            let most = area.width.saturating_sub(LEAST_DETAIL + 2);
            let needed = u16::try_from(self.needed_columns()).unwrap_or(u16::MAX);
            let list = needed.clamp(LEAST_LIST.min(most), most);
            let [table, detail] = Layout::horizontal([Length(list), Min(0)])
                .spacing(2)
                .areas(below);
            (table, detail)
        } else {
            let rows = u16::try_from(self.rows().len().max(1) + 1).unwrap_or(u16::MAX);
            let most = below.height.saturating_sub(2).max(below.height / 2);
            let most = if below.height >= ROOMY {
                below.height / 2
            } else {
                most
            };
            let [table, _, detail] =
                Layout::vertical([Length(rows.min(most)), Length(1), Min(0)]).areas(below);
            (table, detail)
        };
        let [head, list] = Layout::vertical([Length(1), Min(1)]).areas(table);
        Areas { head, list, detail }
    }

    /// How wide the list is with all columns and whole names.
    fn needed_columns(&self) -> usize {
        Widths::of(self.rows(), usize::MAX, self.state_columns()).needed()
    }

    /// How wide the widest state is.
    fn state_columns(&self) -> usize {
        let states = self.rows().iter().map(|row| columns(&self.state(row).0));
        states.max().unwrap_or(0)
    }

    fn draw_detail(&self, frame: &mut Frame<'_>, area: Rect, now: Timestamp) {
        let mut lines = self.detail();
        let row = self.selected_row();
        let found = row.and_then(|row| self.details.get(&row.target));
        if let (Some(row), Some(found)) = (row, found) {
            let room = Size {
                width: area.width.saturating_sub(1).max(8),
                height: area
                    .height
                    .saturating_sub(u16::try_from(lines.len()).unwrap_or(0)),
            };
            lines.extend(detail::lines(found, self.last_run(row), room, now));
        }
        draw_lines(frame, area, &lines, 1);
    }

    fn title(&self) -> Line<'static> {
        let mut spans = vec![Span::styled(" ralphtool ", STRONG), Span::raw("  changes")];
        if !self.filter.is_empty() {
            spans.push(Span::styled("  matching ", DIM));
            spans.push(Span::styled(clean(&self.filter), NAME));
        }
        Line::from(spans)
    }

    fn draw_table(&self, frame: &mut Frame<'_>, head: Rect, list: Rect, now: Timestamp) {
        if self.shown.is_empty() {
            let text = format!("  no change matches `{}`", clean(&self.filter));
            return frame.render_widget(Paragraph::new(text), list);
        }
        let widths = Widths::of(self.rows(), usize::from(list.width), self.state_columns());
        frame.render_widget(Paragraph::new(widths.head()), head);
        let shown = self.shown.iter().enumerate().skip(self.top);
        let lines: Vec<Line<'_>> = shown
            .take(usize::from(list.height))
            .filter_map(|(place, (index, letters))| {
                let row = self.rows().get(*index)?;
                let line = self.row(row, letters, &widths, now);
                Some(if place == self.selected {
                    select(line)
                } else {
                    line
                })
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), list);
    }

    fn row(
        &self,
        row: &ChangeSummary,
        letters: &[u32],
        widths: &Widths,
        now: Timestamp,
    ) -> Line<'static> {
        let age = row.modified.map(|at| words::ago(at, now));
        let (state, style) = self.state(row);
        widths.line(
            &fuzzy::highlighted(&clean(&row.name), letters, MATCHED),
            row.kind.word(),
            gauge::gauge(row.tasks_done as u64, row.tasks_total as u64, BAR),
            [
                &format!("{}/{}", row.stories_done, row.stories_total),
                &format!("{}/{}", row.tasks_done, row.tasks_total),
                &age.unwrap_or_default(),
            ],
            Span::styled(state, style),
        )
    }

    /// Whether a run of it is at work, in another terminal.
    fn is_at_work(&self, row: &ChangeSummary) -> bool {
        let last = self.last_run(row);
        last.is_some_and(|last| last.run.state.is_live())
    }

    /// The last run of a change.
    fn last_run(&self, row: &ChangeSummary) -> Option<&LastRun> {
        match &self.found {
            Some(Ok(found)) => found.runs.of(row),
            _ => None,
        }
    }

    /// Where a change stands, and the command that continues it.
    fn state(&self, row: &ChangeSummary) -> (String, ratatui::style::Style) {
        let last = self.last_run(row);
        let standing = ChangeStanding::of(row, last);
        let style = match standing.tone {
            Tone::Ready => NAME,
            Tone::Live => STRONG,
            Tone::Good => GOOD,
            Tone::Warning => WARN,
            Tone::Bad => BAD,
            Tone::Quiet => DIM,
        };
        let text = standing.short;
        match standing.next.filter(|_| last.is_some()) {
            Some("run") | None => (text, style),
            Some(next) => (format!("{text} → {next}"), style),
        }
    }

    /// More about the selected change, below the list.
    fn detail(&self) -> Vec<Line<'static>> {
        let Some(row) = self.selected_row() else {
            return Vec::new();
        };
        let (text, style) = match &row.state {
            ChangeState::Unreadable { reason } => (format!("unreadable: {}", clean(reason)), BAD),
            ChangeState::Template => (
                format!(
                    "not written yet: replace each TODO in {}/tasks.md",
                    clean(&row.path)
                ),
                WARN,
            ),
            ChangeState::NoTasks => (row.kind.example().to_owned(), DIM),
            // The path tells it from another change of the same name.
            _ if row.target != row.name => (clean(&row.target), DIM),
            _ => return Vec::new(),
        };
        vec![wrap::styled(text, style)]
    }
}

/// Which columns fit, and how wide they are.
struct Widths {
    /// The width of the list.
    room: usize,
    /// The width of the column of states, with the gap before it.
    state: usize,
    name: usize,
    /// The width of the kind of plan, if there are several kinds.
    kind: Option<usize>,
    tasks: bool,
    bar: bool,
    modified: bool,
}

impl Widths {
    fn of(rows: &[ChangeSummary], room: usize, state: usize) -> Self {
        const LEAST_NAME: usize = 12;
        /// A name of this width is not cut to make room for a bar or a time.
        const USUAL_NAME: usize = 28;
        // With the gap before it.
        let state = state + 2;
        let longest = rows.iter().map(|row| columns(&clean(&row.name))).max();
        let longest = longest.unwrap_or(0).max(6);
        let kinds = rows.iter().map(|row| columns(row.kind.word())).max();
        let kind = kinds.filter(|_| shows_kind(rows));
        let kind = kind.filter(|kind| room >= 2 + STORIES + state + LEAST_NAME + kind + 2);
        let least = 2 + STORIES + state + kind.map_or(0, |kind| kind + 2);
        let tasks = room >= least + LEAST_NAME + TASKS;
        let fixed = least + if tasks { TASKS } else { 0 };
        let name = longest.clamp(LEAST_NAME, USUAL_NAME);
        let modified = room >= fixed + name + MODIFIED;
        // It says less than the numbers beside it.
        let bar = room >= fixed + name + MODIFIED + BAR + 2;
        let others = fixed + if bar { BAR + 2 } else { 0 } + if modified { MODIFIED } else { 0 };
        Self {
            room,
            state,
            name: longest.min(room.saturating_sub(others).max(LEAST_NAME)),
            kind,
            tasks,
            bar,
            modified,
        }
    }

    /// How wide all its columns are.
    fn needed(&self) -> usize {
        let kind = self.kind.map_or(0, |kind| kind + 2);
        let bar = if self.bar { BAR + 2 } else { 0 };
        let tasks = if self.tasks { TASKS } else { 0 };
        let modified = if self.modified { MODIFIED } else { 0 };
        2 + self.name + kind + bar + STORIES + tasks + modified + self.state
    }

    fn head(&self) -> Line<'static> {
        let blank = Line::from(" ".repeat(BAR));
        let titles = ["stories", "tasks", "modified"];
        let mut head = self.line(&"change".into(), "kind", blank, titles, "state".into());
        for span in &mut head.spans {
            span.style = DIM;
        }
        head
    }

    /// A line of the table, with the columns that fit.
    fn line(
        &self,
        name: &Line<'_>,
        kind: &str,
        bar: Line<'static>,
        [stories, tasks, modified]: [&str; 3],
        state: Span<'static>,
    ) -> Line<'static> {
        let mut spans = vec![Span::raw("  ")];
        spans.extend(wrap::fit(name, self.name).spans);
        if let Some(width) = self.kind {
            spans.push(Span::styled(format!("  {}", pad(kind, width)), DIM));
        }
        if self.bar {
            spans.push(Span::raw("  "));
            spans.extend(bar.spans);
        }
        spans.push(Span::raw(format!("{stories:>STORIES$}")));
        if self.tasks {
            spans.push(Span::raw(format!("{tasks:>TASKS$}")));
        }
        if self.modified {
            spans.push(Span::styled(format!("{modified:>MODIFIED$}"), DIM));
        }
        spans.extend([Span::raw("  "), state]);
        wrap::fit(&Line::from(spans), self.room)
    }
}

fn empty(found: &ChangesFound) -> Vec<Line<'static>> {
    vec![
        Line::from(format!("no changes in `{}`", clean(&found.folder))),
        Line::default(),
        Line::from(vec![
            Span::raw("press "),
            Span::styled("n", KEY),
            Span::raw(" to write one from a template"),
        ]),
        Line::from(vec![
            Span::raw("or make one with "),
            Span::styled("openspec new change NAME", NAME),
            Span::raw(", or write it yourself:"),
        ]),
        wrap::styled("  openspec/changes/NAME/tasks.md", NAME),
        wrap::styled("    ## 1. First story", DIM),
        wrap::styled("    - [ ] 1.1 Do something", DIM),
        Line::default(),
        Line::from(vec![
            Span::raw("to run a checklist or a prd.json: "),
            Span::styled("ralphtool run ./PLAN.md", NAME),
        ]),
        Line::from(vec![
            Span::raw("to see how it works, without any agent: "),
            Span::styled("ralphtool demo", NAME),
        ]),
    ]
}
