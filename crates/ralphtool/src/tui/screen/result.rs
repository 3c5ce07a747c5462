//! The result of a run: the tasks, the files it changed, and what it cost.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::Constraint::{Fill, Length, Min};
use ratatui::layout::{Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::preview::stories;
use super::run::{Run, RunMode};
use super::story_table::StoryTable;
use super::{alerts, change_of, draw_lines, flagged, range_of, title_of, totals, wrapped};
use crate::tui::failure;
use crate::tui::keys::Action;
use crate::tui::message::{DiffId, Query, Request, Undone, Wheel};
use crate::tui::palette::{ACTIVE, BAD, DIM, GOOD, KEY, NAME, STRONG, WARN};
use crate::tui::pane::diff::DiffPane;
use crate::tui::step::Step;
use crate::tui::tabbed::{Beside, Tabbed};
use crate::tui::text_pane::{GUTTER, Item, TextPane};
use crate::tui::wrap;
use crate::ui::reason;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_plan::change::Change;
use ralph_run::records::event::{FinishChoice, Finished, Outcome};
use ralph_run::records::progress::{GateStanding, Importance, Progress, StoryProgress};
use ralph_vault::diff::Diff;

/// The tabs, in order.
const TABS: [&str; 3] = ["Tasks", "Changed files", "Receipt"];

/// Their places.
const TASKS: usize = 0;
const FILES: usize = 1;
const RECEIPT: usize = 2;

/// From this width on all of them are shown.
const TWO_COLUMNS: u16 = 160;

/// How many lines of a reason are shown.
const REASON_LINES: usize = 4;

/// How far an undo of what was done with the branch has come.
#[derive(Debug, Default, PartialEq, Eq)]
enum Undo {
    #[default]
    No,
    /// It is being done.
    Asked,
    Done(Undone),
}

/// The change as it is after the run.
#[derive(Debug, Default)]
enum Plan {
    #[default]
    NotRead,
    Gone,
    Read(Box<Change>),
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct ResultScreen {
    change: Plan,
    asked: bool,
    tabs: Tabbed<3>,
    /// The changed files, which their tab shows.
    files: DiffPane,
    undo: Undo,
}

impl Default for ResultScreen {
    fn default() -> Self {
        Self {
            change: Plan::NotRead,
            asked: false,
            tabs: Tabbed::new(TABS),
            files: DiffPane::overview(),
            undo: Undo::No,
        }
    }
}

impl ResultScreen {
    pub(crate) fn query(&mut self, run: &Run, now: Timestamp) -> Option<Query> {
        let header = run.progress.header.as_ref()?;
        if !std::mem::replace(&mut self.asked, true) {
            return Some(Query::Result(header.change.clone()));
        }
        let range = range_of(&run.progress);
        let id = range.map(|(from, to)| DiffId::Between { from, to });
        self.files.show(id);
        self.files.flag(flagged(&run.progress));
        self.files.query(now)
    }

    pub(crate) fn receive(&mut self, change: Option<Box<Change>>) {
        self.change = change.map_or(Plan::Gone, Plan::Read);
    }

    /// Receives a diff; those for other panes are ignored.
    pub(crate) fn receive_diff(&mut self, id: &DiffId, found: &Result<Box<Diff>, String>) {
        self.files.receive(id, found.clone());
    }

    /// The undo is done, or failed.
    pub(crate) fn undone(&mut self, undone: Option<Undone>) {
        self.undo = undone.map_or(Undo::No, Undo::Done);
    }

    pub(crate) fn is_on_files(&self) -> bool {
        self.tabs.shown() == FILES
    }

    /// The pane that the user chose.
    pub(crate) fn pane(&self) -> &TextPane {
        self.pane_of(self.tabs.shown())
    }

    /// The file name of an export of the current pane, without extension.
    pub(crate) fn file_name(&self, change: &str) -> String {
        self.tabs.file_name(change)
    }

    /// Searches in all panes, and goes to the next place in this one.
    pub(crate) fn search(&mut self, needle: &str) -> Step {
        self.files.text.set_needle(needle);
        let step = self.tabs.search(needle);
        if self.is_on_files() {
            return self.find(true);
        }
        step
    }

    fn find(&mut self, forward: bool) -> Step {
        if self.files.text.find(forward) {
            return Step::Stay;
        }
        Step::Say("there is no match in the changed files".to_owned())
    }

    pub(crate) fn fit(&mut self, area: Rect, run: &Run) {
        let areas = self.areas(area, run);
        self.fit_tab(self.tabs.shown(), areas.text, run);
        for it in areas.beside {
            self.fit_tab(it.tab, it.text, run);
        }
    }

    fn fit_tab(&mut self, tab: usize, area: Rect, run: &Run) {
        if tab == FILES {
            return self.files.fit(area);
        }
        self.tabs.panes[tab].fit(area);
        let items = self.items(tab, self.tabs.panes[tab].columns(), run);
        self.tabs.panes[tab].set(items);
    }

    /// What a tab other than that of the files shows.
    fn items(&self, tab: usize, columns: usize, run: &Run) -> Vec<Item> {
        match tab {
            TASKS => self.tasks(columns),
            _ => receipt(&run.progress, columns),
        }
    }

    fn pane_of(&self, tab: usize) -> &TextPane {
        match tab {
            FILES => &self.files.text,
            tab => &self.tabs.panes[tab],
        }
    }

    /// Scrolls what is below the pointer.
    pub(crate) fn wheel(&mut self, wheel: Wheel, area: Rect, run: &Run) {
        let areas = self.areas(area, run);
        let place = (wheel.column, wheel.row).into();
        let beside = areas.beside.iter().find(|it| it.text.contains(place));
        let tab = beside.map_or(self.tabs.shown(), |it| it.tab);
        match tab {
            FILES => self.files.text.wheel(wheel.up),
            tab => self.tabs.panes[tab].wheel(wheel.up),
        }
    }

    fn tasks(&self, columns: usize) -> Vec<Item> {
        match &self.change {
            Plan::Read(change) => stories(change, columns),
            Plan::Gone => note("the change no longer exists"),
            Plan::NotRead => note("looking …"),
        }
    }

    /// Whether what was done with the branch can be undone here: by whom it was done, and once.
    pub(crate) fn offers_undo(&self, run: &Run) -> bool {
        run.mode == RunMode::Live && run.progress.finish.is_some() && self.undo == Undo::No
    }

    pub(crate) fn act(&mut self, action: Action, run: &Run) -> Step {
        match action {
            Action::Back => Step::Back,
            Action::Undo => self.undo(run),
            Action::Enter if self.is_on_files() => {
                self.files.toggle();
                Step::Stay
            }
            Action::NextHit | Action::PreviousHit if self.is_on_files() => {
                self.find(action == Action::NextHit)
            }
            action => self.tabs.act(action).unwrap_or_else(|| {
                if self.is_on_files() && action.is_movement() {
                    self.files.text.act(action);
                } else {
                    self.tabs.act_on_pane(action);
                }
                Step::Stay
            }),
        }
    }

    fn undo(&mut self, run: &Run) -> Step {
        let Some(id) = run.progress.run.clone().filter(|_| self.offers_undo(run)) else {
            return Step::Stay;
        };
        if run.over.is_none() {
            return Step::Say("the run is still ending: press u again in a moment".to_owned());
        }
        self.undo = Undo::Asked;
        Step::Ask(Request::Query(Query::Undo(id)))
    }

    fn areas(&self, area: Rect, run: &Run) -> Areas {
        let head = wrapped(&self.head(&run.progress), area.width.saturating_sub(1)).len();
        let head = u16::try_from(head).unwrap_or(u16::MAX).min(area.height / 3);
        let [title, head, body] = Layout::vertical([Length(1), Length(head), Min(1)]).areas(area);
        let (main, beside) = if area.width < TWO_COLUMNS {
            (body, Vec::new())
        } else {
            let [main, side] = Layout::horizontal([Fill(1), Fill(1)])
                .spacing(1)
                .areas(body);
            (main, self.beside(side, run))
        };
        let [tabs, text] = Layout::vertical([Length(1), Min(1)]).areas(main);
        Areas {
            title,
            head,
            tabs,
            text,
            beside,
        }
    }

    /// The other two tabs, one below the other; the second gets what it needs, up to half.
    fn beside(&self, area: Rect, run: &Run) -> Vec<Beside> {
        let [first, second] = match self.tabs.shown() {
            TASKS => [FILES, RECEIPT],
            FILES => [TASKS, RECEIPT],
            _ => [FILES, TASKS],
        };
        let columns = usize::from(area.width.saturating_sub(GUTTER));
        let items = self.items(second, columns, run);
        let needed = items.iter().map(Vec::len).sum::<usize>() + 1;
        let needed = u16::try_from(needed).unwrap_or(u16::MAX);
        let [above, below] =
            Layout::vertical([Min(0), Length(needed.min(area.height / 2))]).areas(area);
        vec![Beside::new(first, above), Beside::new(second, below)]
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, run: &Run) {
        let areas = self.areas(area, run);
        let mut title = title_of(change_of(&run.progress));
        title.push(Span::raw("  the result"));
        let title = wrap::cut(&Line::from(title), area.width.into());
        frame.render_widget(Paragraph::new(title), areas.title);
        draw_lines(frame, areas.head, &self.head(&run.progress), 1);
        let titles = self.tabs.titles(areas.tabs.width);
        frame.render_widget(Paragraph::new(titles), areas.tabs);
        self.pane().draw(frame, areas.text, true);
        for it in areas.beside {
            it.draw(frame, TABS[it.tab], self.pane_of(it.tab));
        }
    }

    /// What was done with the branch, and what to do next.
    fn head(&self, progress: &Progress) -> Vec<Line<'static>> {
        match (&self.undo, &progress.finish) {
            (Undo::Done(undone), _) => undone_lines(undone),
            (Undo::Asked, _) => vec![wrap::styled("Undoing…", ACTIVE)],
            (Undo::No, None) => vec![wrap::styled("the run is not finished", WARN)],
            (Undo::No, Some(finish)) => {
                let mut lines = broken_gate(progress);
                lines.push(wrap::styled(done_with_branch(finish), GOOD));
                if finish.choice != FinishChoice::Abandon {
                    lines.extend(alerts(progress));
                }
                lines.push(next_line(progress, finish));
                lines
            }
        }
    }
}

struct Areas {
    title: Rect,
    head: Rect,
    tabs: Rect,
    text: Rect,
    /// The tabs that are shown beside the one the user chose, on a wide screen.
    beside: Vec<Beside>,
}

fn note(text: &'static str) -> Vec<Item> {
    vec![vec![wrap::styled(text, DIM)]]
}

fn done_with_branch(finish: &Finished) -> String {
    let head = clean(&finish.head);
    match finish.choice {
        FinishChoice::Cleanup => format!("✓ Changes ready on {head} (uncommitted)"),
        FinishChoice::Keep => format!("✓ On {head} with checkpoint commits"),
        FinishChoice::Squash => format!("✓ On {head}, all work in one commit"),
        FinishChoice::Reword => format!("✓ On {head}, one commit per story"),
        FinishChoice::Abandon => format!("✓ Everything is as before, on {head}"),
    }
}

/// Why a run ended before it started an agent. The user was not asked what to do with its branch.
fn broken_gate(progress: &Progress) -> Vec<Line<'static>> {
    let Some(outcome @ Outcome::GateBroken { gate, .. }) = progress.outcome() else {
        return Vec::new();
    };
    let headline = format!("✗ gate `{}` cannot run", clean(gate));
    let mut lines = vec![wrap::styled(headline, BAD)];
    let reason = reason::of_run(outcome, REASON_LINES).into_iter();
    lines.extend(reason.map(|line| Line::from(format!("  {line}"))));
    let hint = outcome.hint();
    lines.extend(hint.map(|hint| wrap::styled(format!("→ {hint}"), DIM)));
    lines
}

/// What to type next, and that it can be undone.
fn next_line(progress: &Progress, finish: &Finished) -> Line<'static> {
    let original = progress.header.as_ref().map(|header| &header.original);
    let original = original.map(|it| clean(it)).unwrap_or_default();
    let commands = match finish.choice {
        // `git diff` and `git commit -a` leave new files out.
        FinishChoice::Cleanup => ["git status", "git add -A", "git commit"]
            .map(str::to_owned)
            .to_vec(),
        FinishChoice::Keep | FinishChoice::Squash | FinishChoice::Reword => {
            let range = format!("{original}...{}", clean(&finish.branch));
            vec![
                format!("git diff {}", words::shell(&range)),
                push(&clean(&finish.branch)),
            ]
        }
        FinishChoice::Abandon => Vec::new(),
    };
    let mut spans = vec![Span::styled("next: ", DIM)];
    for command in commands {
        spans.push(Span::styled(format!("`{command}`"), NAME));
        spans.push(Span::styled(" · ", DIM));
    }
    if progress.attempts == 0 && finish.choice == FinishChoice::Abandon {
        // The run was not finished, and there is no work to restore.
        return Line::default();
    }
    spans.push(Span::styled("u", KEY));
    let undo = match finish.choice {
        FinishChoice::Cleanup => " restores the branch and its commits",
        FinishChoice::Abandon => " restores the work",
        _ => " undoes this",
    };
    spans.push(Span::styled(undo, DIM));
    Line::from(spans)
}

/// The command that publishes a branch under the name of its change.
fn push(branch: &str) -> String {
    let name = branch.strip_prefix("ralph/").unwrap_or(branch);
    let pair = format!("{branch}:{name}");
    format!("git push -u origin {}", words::shell(&pair))
}

/// What an undo restored, and how to go on.
fn undone_lines(undone: &Undone) -> Vec<Line<'static>> {
    let head = undone.head.as_ref();
    let head = head.map(|head| format!(": HEAD is on `{}`", clean(head)));
    let text = format!("✓ Undone{}", head.unwrap_or_default());
    let mut lines = vec![wrap::styled(text, GOOD)];
    let restored = undone.restored.iter();
    lines.extend(restored.map(|text| wrap::styled(format!("· {}", clean(text)), DIM)));
    let mut spans = vec![Span::styled("next: ", DIM)];
    for (command, does) in [
        ("ralphtool finish", " to choose again · "),
        (undone.way_back.as_str(), " does the same again"),
    ] {
        spans.push(Span::styled(format!("`{}`", clean(command)), NAME));
        spans.push(Span::styled(does, DIM));
    }
    lines.push(Line::from(spans));
    lines
}

/// The titles of the columns, one item for each story, and one for the whole run.
fn receipt(progress: &Progress, columns: usize) -> Vec<Item> {
    let table = StoryTable::of(progress, columns);
    let mut items = vec![vec![table.head()]];
    let stories = progress.stories.iter();
    items.extend(stories.map(|story| story_receipt(story, &table, columns)));
    let total = format!("Total: {}", totals(progress));
    let total = wrap::styled(total, STRONG);
    let mut whole = wrap::wrap(&total, columns, 2);
    for warning in &progress.warnings {
        let (mark, style) = match warning.importance {
            Importance::Warning => ("!", WARN),
            Importance::Note => ("·", DIM),
        };
        let text = format!("{mark} {}", clean(&warning.text()));
        whole.extend(wrap::wrap(&wrap::styled(text, style), columns, 2));
    }
    items.push(whole);
    items
}

fn story_receipt(story: &StoryProgress, table: &StoryTable<'_>, columns: usize) -> Item {
    let mut lines = vec![table.row(story)];
    let in_short = |kind, _: &str| words::failure(kind).to_owned();
    let attempts = story.attempts.iter();
    for failure in attempts.flat_map(|it| failure::all_of(it, in_short)) {
        lines.push(wrap::styled(format!("  {failure}"), DIM));
    }
    let mut gates = Vec::new();
    for gate in story.last_gates() {
        let (mark, style) = match gate.standing() {
            GateStanding::Passed => ("✓", GOOD),
            GateStanding::Flaky => ("✓", WARN),
            GateStanding::RedBefore(_) | GateStanding::CannotRun(_) | GateStanding::Failed(_) => {
                ("✗", BAD)
            }
            GateStanding::Running | GateStanding::Stopped | GateStanding::NotRun => ("·", DIM),
        };
        gates.push(Span::styled(format!("  {mark} "), style));
        gates.push(Span::raw(clean(&gate.name)));
    }
    if !gates.is_empty() {
        lines.extend(wrap::wrap(&Line::from(gates), columns, 2));
    }
    lines
}
