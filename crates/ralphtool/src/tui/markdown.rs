//! Renders Markdown as lines of a terminal.
//!
//! It uses the events of `pulldown-cmark` rather than `tui-markdown`, whose lines do not say where a
//! quote or a list item begins, so that they cannot be wrapped with their bar or indentation, and
//! which fits no table to a width. Code is wrapped, not cut, so that nothing is hidden.

mod plain;
mod prefix;
mod table;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

pub(crate) use self::plain::last_words;
use self::prefix::{Container, Prefixes};
use self::table::Table;
use super::wrap;
use crate::tui::palette::{CODE, DIM, GOOD, ITALIC, LINK, NAME, PLAIN, QUOTE, STRONG, heading};
use crate::ui::text::clean;

/// Longer texts are cut.
const LONGEST: usize = 64 * 1024;
/// The line below a text that was cut.
const CUT: &str = "… cut here: the text is longer than 64 kB";

/// Renders a document in the given number of columns.
pub(crate) fn render(text: &str, columns: usize, colored: bool) -> Vec<Line<'static>> {
    let renderer = Renderer {
        colored,
        ..Renderer::new(columns)
    };
    renderer.render(text)
}

/// Renders a text of an agent, which may be incomplete: line breaks are kept, because it may be the
/// output of any program.
pub(crate) fn render_agent_text(text: &str, columns: usize, colored: bool) -> Vec<Line<'static>> {
    let renderer = Renderer {
        colored,
        keeps_lines: true,
        ..Renderer::new(columns)
    };
    renderer.render(text)
}

/// The part of a text that is shown.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[derive(Default)]
struct Renderer {
    /// Whether to use colours; without them, inline code is shown in backticks.
    colored: bool,
    /// Whether a line break in the text is one on the screen.
    keeps_lines: bool,
    columns: usize,
    lines: Vec<Line<'static>>,
    prefixes: Prefixes,
    /// The number of the next item of each list that is open; none for bullets.
    lists: Vec<Option<u64>>,
    /// The text of the current line or block, until it is written.
    inline: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// Targets of the links that are open.
    targets: Vec<Target>,
    /// Whether a blank line comes before the next block.
    gap: bool,
    code: Option<String>,
    table: Option<Table>,
}

/// The target of an open link.
struct Target {
    to: String,
    /// The index of the first span of its text.
    start: usize,
}

impl Renderer {
    fn new(columns: usize) -> Self {
        let columns = columns.max(2);
        Self {
            columns,
            prefixes: Prefixes::new(columns),
            ..Self::default()
        }
    }

    fn render(mut self, text: &str) -> Vec<Line<'static>> {
        let shown = beginning(text);
        // Parsing would split escape sequences, so they are removed first.
        let cleaned: Vec<String> = shown.lines().map(clean).collect();
        let cleaned = cleaned.join("\n");
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
        for event in Parser::new_ext(&cleaned, options) {
            self.event(event);
        }
        self.finish();
        if shown.len() < text.len() {
            self.note(CUT);
        }
        self.lines
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.inline_code(&text),
            Event::Html(html) => self.html(&html),
            Event::InlineHtml(html) if is_line_break(&html) => self.line_break(),
            Event::InlineHtml(html) => self.push(&html, DIM),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
            Event::SoftBreak if !self.keeps_lines => self.text(" "),
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => self.rule(),
            Event::TaskListMarker(done) => self.task(done),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.open_block();
                self.style(heading(level as u8));
            }
            Tag::BlockQuote(_) => {
                self.open_block();
                let bar = Span::styled("▎ ", QUOTE);
                self.prefixes.open(Container::every_line(bar));
                self.style(QUOTE);
            }
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.open_block();
                }
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.open_block();
                self.table = Some(Table {
                    alignments,
                    ..Table::default()
                });
            }
            Tag::Emphasis => self.style(ITALIC),
            Tag::Strong | Tag::TableHead => self.style(STRONG),
            Tag::Strikethrough => self.style(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.style(LINK);
                let (to, start) = (clean(&dest_url), self.inline.len());
                self.targets.push(Target { to, start });
            }
            Tag::TableRow | Tag::TableCell | Tag::Superscript | Tag::Subscript => {}
            _ => self.open_block(),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.close_block();
            }
            TagEnd::BlockQuote(_) => {
                self.close_block();
                self.styles.pop();
                self.prefixes.close();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::Item => self.end_item(),
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = Line::from(std::mem::take(&mut self.inline));
                if let Some(table) = &mut self.table {
                    table.row.push(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if tag == TagEnd::TableHead {
                    self.styles.pop();
                }
                if let Some(table) = &mut self.table {
                    table.rows.push(std::mem::take(&mut table.row));
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Superscript | TagEnd::Subscript => {}
            _ => self.close_block(),
        }
    }

    /// Starts a block: writes the text before it, and a blank line between them.
    fn open_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let blank = self.prefixes.blank();
            self.lines.push(blank);
        }
    }

    fn close_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    /// Writes the collected text.
    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let line = Line::from(std::mem::take(&mut self.inline));
        self.put(&[line], wrap_words);
    }

    /// Writes lines with the prefixes of the containers around them.
    fn put(&mut self, lines: &[Line<'_>], wrap: fn(&Line<'_>, usize) -> Vec<Line<'static>>) {
        let (mut first, rest) = self.prefixes.take();
        let room = self.columns - prefix::width(&rest);
        for line in lines {
            for wrapped in wrap(line, room) {
                let mut spans = std::mem::replace(&mut first, rest.clone());
                spans.extend(wrapped.spans);
                self.lines.push(Line::from(spans));
            }
        }
    }

    fn style(&mut self, style: Style) {
        let inherited = self.current();
        self.styles.push(inherited.patch(style));
    }

    fn current(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push(&mut self, text: &str, style: Style) {
        let text = clean(text);
        if !text.is_empty() {
            self.inline.push(Span::styled(text, style));
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.push_str(text),
            None => self.push(text, self.current()),
        }
    }

    fn inline_code(&mut self, text: &str) {
        let style = self.current().patch(CODE);
        if self.colored {
            self.push(text, style);
        } else {
            self.push(&format!("`{text}`"), style);
        }
    }

    fn html(&mut self, html: &str) {
        for line in html.lines() {
            self.push(line, DIM);
            self.flush();
        }
    }

    fn line_break(&mut self) {
        if self.table.is_some() {
            self.text(" ");
        } else {
            self.flush();
        }
    }

    fn rule(&mut self) {
        self.open_block();
        let rule = Span::styled("─".repeat(self.columns), DIM);
        self.put(&[Line::from(rule)], |line, room| {
            vec![wrap::chop(line, room).swap_remove(0)]
        });
        self.gap = true;
    }

    fn start_item(&mut self) {
        self.open_block();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(None) | None => "• ".to_owned(),
        };
        let marker = Span::styled(marker, NAME);
        self.prefixes.open(Container::first_line(marker));
    }

    fn end_item(&mut self) {
        self.flush();
        if self.prefixes.is_waiting() {
            // An item without any text.
            self.put(&[Line::default()], wrap_words);
        }
        self.prefixes.close();
    }

    fn task(&mut self, done: bool) {
        let (sign, style) = if done {
            ("☑ ", GOOD)
        } else {
            ("☐ ", PLAIN)
        };
        if matches!(self.lists.last(), Some(None)) {
            self.prefixes.replace(Span::styled(sign, style));
        } else {
            self.push(sign, style);
        }
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.open_block();
        let bar = Span::styled("│ ", DIM);
        self.prefixes.open(Container::every_line(bar));
        self.code = Some(String::new());
        if let CodeBlockKind::Fenced(language) = kind
            && !language.is_empty()
        {
            self.push(language, DIM);
            self.flush();
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let lines = code.lines().map(clean);
        let lines: Vec<Line<'_>> = lines.map(|line| wrap::styled(line, CODE)).collect();
        self.put(&lines, wrap::chop);
        self.prefixes.close();
        self.gap = true;
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(target) = self.targets.pop() else {
            return;
        };
        let spans = self.inline.iter().skip(target.start);
        let text: String = spans.map(|span| span.content.as_ref()).collect();
        if text.is_empty() {
            self.push(&target.to, LINK);
        } else if text != target.to && !target.to.is_empty() {
            self.push(&format!(" ({})", target.to), DIM);
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        let room = self.columns - self.prefixes.columns();
        let lines = table.fitted(room);
        self.put(&lines, wrap_words);
        self.gap = true;
    }

    /// Writes the rest, without blank lines at the end.
    fn finish(&mut self) {
        self.flush();
        while self.lines.last().is_some_and(|it| it.spans.is_empty()) {
            self.lines.pop();
        }
    }

    fn note(&mut self, text: &str) {
        self.gap = true;
        self.open_block();
        self.push(text, DIM);
        self.flush();
    }
}

fn wrap_words(line: &Line<'_>, columns: usize) -> Vec<Line<'static>> {
    wrap::wrap(line, columns, 0)
}

fn is_line_break(html: &str) -> bool {
    let tag = html.trim_start_matches('<').trim_end_matches('>');
    tag.trim_end_matches('/').trim().eq_ignore_ascii_case("br")
}

#[cfg(test)]
mod markdown_tests;
