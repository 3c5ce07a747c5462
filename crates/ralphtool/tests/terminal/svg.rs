//! A screen as a picture: text that every renderer aligns, in a window, for dark and light.
//!
//! Needs nothing but the screen, so that other programs can take it in by its path.

#[path = "svg_shapes.rs"]
mod svg_shapes;

use std::fmt::Write;

use svg_shapes::Cell;

/// A cell in pixels; the width is what monospaced fonts of this size have.
const CELL: (f64, f64) = (8.4, 18.0);
const FONT_SIZE: f64 = 14.0;
/// From the top of a cell to the line that letters stand on.
const BASELINE: f64 = 13.5;
/// Around the screen.
const MARGIN: f64 = 16.0;
/// The window's title bar.
const BAR: f64 = 34.0;

/// Background, title bar, text and the sixteen colours.
struct Theme {
    background: &'static str,
    bar: &'static str,
    text: &'static str,
    colors: [&'static str; 16],
}

const DARK: Theme = Theme {
    background: "#1a1b26",
    bar: "#24283b",
    text: "#c8d3f5",
    colors: [
        "#414868", "#f7768e", "#9ece6a", "#e0af68", "#7aa2f7", "#bb9af7", "#7dcfff", "#a9b1d6",
        "#565f89", "#ff899d", "#b9f27c", "#ffc777", "#8db0ff", "#c7a9ff", "#a4daff", "#e6ebff",
    ],
};

const LIGHT: Theme = Theme {
    background: "#fbfbfd",
    bar: "#e9ebf1",
    text: "#2b2f3a",
    colors: [
        "#24292f", "#c4303b", "#2f7d32", "#946200", "#2f5fd0", "#7d46c8", "#117a8b", "#6e7781",
        "#57606a", "#a40e26", "#1a7f37", "#7a5200", "#1d4fb8", "#6639ba", "#0a6573", "#8c959f",
    ],
};

/// How text looks; cells of one look are drawn together.
#[derive(Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a terminal switches each on and off by itself"
)]
struct Look {
    text: Paint,
    /// None where the window's background shows.
    background: Option<Paint>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

/// A colour: a class of the picture's styles, or one of its own.
#[derive(Clone, PartialEq)]
enum Paint {
    Class(String),
    Own(String),
}

impl Paint {
    fn attribute(&self) -> String {
        match self {
            Self::Class(class) => format!("class=\"{class}\""),
            Self::Own(color) => format!("fill=\"{color}\" color=\"{color}\""),
        }
    }
}

/// Text of one look on one row.
struct Run {
    col: u16,
    cells: u16,
    text: String,
    kind: Kind,
    look: Look,
}

/// How text is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Narrow characters one after the other.
    Words,
    /// One character on two cells.
    Wide,
    /// One character as a shape, stretched over all cells.
    Shape,
}

/// The picture of a screen in a window with a title.
pub(crate) fn picture(screen: &vt100::Screen, title: &str) -> String {
    let (rows, cols) = screen.size();
    let width = f64::from(cols.get()) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(rows.get()) * CELL.1 + BAR + 2.0 * MARGIN;
    let mut svg = String::new();
    head(&mut svg, width, height, title);
    for row in 0..rows.get() {
        for run in runs(screen, row, cols.get()) {
            draw(&mut svg, row, &run);
        }
    }
    if !screen.hide_cursor() {
        cursor(&mut svg, screen.cursor_position());
    }
    svg.push_str("</svg>\n");
    svg
}

fn head(svg: &mut String, width: f64, height: f64, title: &str) {
    let title = escaped(title);
    let styles = styles();
    let (middle, line) = (width / 2.0, BAR / 2.0 + 4.5);
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.1}\" height=\"{height:.1}\" \
         viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n\
         <style>\n{styles}</style>\n\
         <rect class=\"bg\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"10\"/>\n\
         <path class=\"bar\" d=\"M0 {BAR} V10 A10 10 0 0 1 10 0 H{:.1} A10 10 0 0 1 {width:.1} 10 \
         V{BAR} Z\"/>\n",
        width - 10.0,
    );
    for (index, color) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = 20 + 20 * index;
        let y = BAR / 2.0;
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"6\" fill=\"{color}\"/>"
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"fg\" x=\"{middle:.1}\" y=\"{line:.1}\" text-anchor=\"middle\" \
         opacity=\"0.7\">{title}</text>"
    );
}

fn styles() -> String {
    let mut styles = format!(
        "text {{ font-family: ui-monospace, 'JetBrains Mono', 'SF Mono', Menlo, Consolas, \
         'DejaVu Sans Mono', monospace; font-size: {FONT_SIZE}px; }}\n"
    );
    styles.push_str(&theme(&DARK));
    let _ = write!(
        styles,
        "@media (prefers-color-scheme: light) {{\n{}}}\n",
        theme(&LIGHT)
    );
    styles
}

fn theme(theme: &Theme) -> String {
    let mut rules = String::new();
    let named = [
        ("bg", theme.background),
        ("bar", theme.bar),
        ("fg", theme.text),
    ];
    let numbered = theme.colors.iter().enumerate();
    let numbered = numbered.map(|(index, color)| (format!("c{index}"), *color));
    let named = named.map(|(name, color)| (name.to_owned(), color));
    for (name, color) in named.into_iter().chain(numbered) {
        let _ = writeln!(rules, ".{name} {{ fill: {color}; color: {color}; }}");
    }
    rules
}

/// The runs of a row.
fn runs(screen: &vt100::Screen, row: u16, cols: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for col in 0..cols {
        let Some(cell) = screen.cell(row, col) else {
            continue;
        };
        if cell.is_wide_continuation() {
            continue;
        }
        let next = Run::of(col, cell);
        if !runs.last_mut().is_some_and(|last| last.takes(&next)) {
            runs.push(next);
        }
    }
    runs
}

impl Run {
    fn of(col: u16, cell: &vt100::Cell) -> Self {
        let contents = cell.contents();
        let text = if contents.is_empty() { " " } else { contents };
        let kind = if cell.is_wide() {
            Kind::Wide
        } else if svg_shapes::is_shape(text) {
            Kind::Shape
        } else {
            Kind::Words
        };
        Self {
            col,
            cells: if kind == Kind::Wide { 2 } else { 1 },
            text: text.to_owned(),
            kind,
            look: look(cell),
        }
    }

    /// Takes in the run of the next cell, where both can be drawn together.
    fn takes(&mut self, next: &Self) -> bool {
        if self.look != next.look {
            return false;
        }
        let words = self.kind == Kind::Words && next.kind == Kind::Words;
        let line = self.text == next.text && svg_shapes::can_be_stretched(&self.text);
        if words {
            self.text.push_str(&next.text);
        }
        if words || line {
            self.cells += next.cells;
        }
        words || line
    }
}

fn look(cell: &vt100::Cell) -> Look {
    let (mut text, mut background) = (paint(cell.fgcolor()), paint(cell.bgcolor()));
    if cell.inverse() {
        text = text.or_else(|| Some(Paint::Class("fg".to_owned())));
        background = background.or_else(|| Some(Paint::Class("bg".to_owned())));
        std::mem::swap(&mut text, &mut background);
    }
    Look {
        text: text.unwrap_or_else(|| Paint::Class("fg".to_owned())),
        background,
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
    }
}

fn paint(color: vt100::Color) -> Option<Paint> {
    match color {
        vt100::Color::Default => None,
        vt100::Color::Idx(index @ 0..=15) => Some(Paint::Class(format!("c{index}"))),
        vt100::Color::Idx(index) => Some(Paint::Own(of_256(index))),
        vt100::Color::Rgb(red, green, blue) => {
            Some(Paint::Own(format!("#{red:02x}{green:02x}{blue:02x}")))
        }
    }
}

/// A colour of the cube or of the greys.
fn of_256(index: u8) -> String {
    if index >= 232 {
        let grey = 8 + 10 * (index - 232);
        return format!("#{grey:02x}{grey:02x}{grey:02x}");
    }
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    let index = index - 16;
    let (red, green, blue) = (level(index / 36), level(index / 6 % 6), level(index % 6));
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn left(col: u16) -> f64 {
    MARGIN + f64::from(col) * CELL.0
}

fn top(row: u16) -> f64 {
    BAR + MARGIN + f64::from(row) * CELL.1
}

fn draw(svg: &mut String, row: u16, run: &Run) {
    let (x, y) = (left(run.col), top(row));
    let (width, height) = (f64::from(run.cells) * CELL.0, CELL.1);
    if let Some(background) = &run.look.background {
        let paint = background.attribute();
        let crisp = svg_shapes::CRISP;
        let _ = writeln!(
            svg,
            "<rect {paint} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"{crisp}/>"
        );
    }
    if run.look.underline {
        let paint = run.look.text.attribute();
        let line = y + BASELINE + 1.8;
        let _ = writeln!(
            svg,
            "<rect {paint} x=\"{x:.1}\" y=\"{line:.1}\" width=\"{width:.1}\" height=\"1\"/>"
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    let mut attributes = run.look.text.attribute();
    if run.look.dim {
        attributes.push_str(" opacity=\"0.6\"");
    }
    let place = Cell {
        x,
        y,
        width,
        height,
    };
    if let Some(shape) = svg_shapes::shape(&run.text, place) {
        let _ = writeln!(svg, "<g {attributes}>{shape}</g>");
        return;
    }
    if run.look.bold {
        attributes.push_str(" font-weight=\"bold\"");
    }
    if run.look.italic {
        attributes.push_str(" font-style=\"italic\"");
    }
    let line = y + BASELINE;
    if run.kind == Kind::Wide {
        let (middle, text) = (x + CELL.0, escaped(&run.text));
        let _ = writeln!(
            svg,
            "<text {attributes} x=\"{middle:.1}\" y=\"{line:.1}\" text-anchor=\"middle\">{text}</text>"
        );
        return;
    }
    for (col, cells, words) in pieces(run) {
        let (x, width) = (left(col), f64::from(cells) * CELL.0);
        let words = escaped(&words);
        let _ = writeln!(
            svg,
            "<text {attributes} x=\"{x:.1}\" y=\"{line:.1}\" textLength=\"{width:.1}\" \
             lengthAdjust=\"spacingAndGlyphs\">{words}</text>"
        );
    }
}

/// The words of a run, apart where there is more than one space: renderers drop those.
fn pieces(run: &Run) -> Vec<(u16, u16, String)> {
    let mut pieces: Vec<(u16, u16, String)> = Vec::new();
    let mut col = run.col;
    let mut spaces = 2;
    for c in run.text.chars() {
        if c == ' ' {
            spaces += 1;
            col += 1;
            continue;
        }
        // A mark belongs to the cell before it.
        let cells = u16::from(!is_mark(c));
        match pieces.last_mut() {
            Some((_, width, text)) if spaces < 2 => {
                text.push_str(&" ".repeat(spaces));
                text.push(c);
                *width += cells + u16::try_from(spaces).unwrap_or(0);
            }
            Some(_) | None => pieces.push((col, cells, c.to_string())),
        }
        spaces = 0;
        col += cells;
    }
    pieces
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}')
}

fn cursor(svg: &mut String, (row, col): (u16, u16)) {
    let (x, y) = (left(col), top(row));
    let (width, height) = CELL;
    let _ = writeln!(
        svg,
        "<rect class=\"fg\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         opacity=\"0.6\"/>"
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
