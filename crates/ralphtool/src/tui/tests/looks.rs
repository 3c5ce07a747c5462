//! A drawn buffer as text, its styles as text, and what holds for the styles of every scene.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::stage::Stage;
use super::{STYLED, all};
use crate::tui::wrap;

/// The rows of a buffer.
pub(super) fn rows(buffer: &Buffer) -> Vec<String> {
    let rows = (0..buffer.area.height).map(|y| {
        let cells = cells(buffer, y);
        let row: String = cells.iter().map(|cell| cell.symbol()).collect();
        row.trim_end().to_owned()
    });
    rows.collect()
}

/// The cells of a row, without those a wide character hides.
fn cells(buffer: &Buffer, y: u16) -> Vec<&Cell> {
    let mut cells = Vec::new();
    let mut x = 0;
    while x < buffer.area.width {
        let cell = &buffer[(x, y)];
        cells.push(cell);
        x += u16::try_from(wrap::columns(cell.symbol()).max(1)).unwrap();
    }
    cells
}

/// Where which style is: a line a row, each stretch with its text.
pub(super) fn styles(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut stretches: Vec<(String, String)> = Vec::new();
        for cell in cells(buffer, y) {
            let look = look(cell);
            match stretches.last_mut() {
                Some((last, text)) if *last == look => text.push_str(cell.symbol()),
                _ => stretches.push((look, cell.symbol().to_owned())),
            }
        }
        stretches.retain(|(look, _)| !look.is_empty());
        if stretches.is_empty() {
            continue;
        }
        let told = stretches
            .iter()
            .map(|(look, text)| format!("{look} «{text}»"));
        let told = told.collect::<Vec<_>>().join(", ");
        writeln!(text, "{y:>2}: {told}").unwrap();
    }
    text
}

fn look(cell: &Cell) -> String {
    let mut words = Vec::new();
    if cell.fg != Color::Reset {
        words.push(cell.fg.to_string().to_lowercase());
    }
    if cell.bg != Color::Reset {
        words.push(format!("on {}", cell.bg));
    }
    let names = cell.modifier.iter_names();
    words.extend(names.map(|(name, _)| name.to_lowercase()));
    words.join(" ")
}

fn is_named(color: Color) -> bool {
    !matches!(color, Color::Rgb(..) | Color::Indexed(_))
}

#[test]
fn without_colours_no_scene_has_any() {
    for (name, scene) in all() {
        let mut stage = Stage::plain(STYLED);
        scene(&mut stage);
        for cell in stage.draw().content() {
            let colors = (cell.fg, cell.bg, cell.underline_color);
            let none = (Color::Reset, Color::Reset, Color::Reset);
            assert_eq!(colors, none, "{name}: {}", cell.symbol());
        }
    }
}

#[test]
fn colours_are_the_named_ones_and_never_behind_the_text() {
    for (name, scene) in all() {
        let mut stage = Stage::new(STYLED);
        scene(&mut stage);
        for cell in stage.draw().content() {
            assert!(is_named(cell.fg), "{name}: {:?}", cell.fg);
            assert_eq!(cell.bg, Color::Reset, "{name}: {}", cell.symbol());
        }
    }
}

/// What is chosen, and where the cursor is, does not hang on a colour.
#[test]
fn what_is_chosen_is_seen_without_colours() {
    let chosen = |buffer: &Buffer| -> String {
        let is_chosen =
            |cell: &Cell| cell.symbol() == "▌" || cell.modifier.contains(Modifier::REVERSED);
        let cells = buffer.content().iter().filter(|cell| is_chosen(cell));
        cells.map(Cell::symbol).collect()
    };
    for (name, scene) in all() {
        let mut with = Stage::new(STYLED);
        let mut without = Stage::plain(STYLED);
        scene(&mut with);
        scene(&mut without);
        assert_eq!(chosen(&with.draw()), chosen(&without.draw()), "{name}");
    }
}

#[test]
fn below_the_least_size_it_says_which_it_needs() {
    let mut text = String::new();
    for size in [(39, 12), (40, 11), (20, 3), (5, 2), (1, 1)] {
        text.push_str(&Stage::new(size).framed());
    }
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("too_small", text);
    });
}
