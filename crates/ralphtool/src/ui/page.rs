//! Text in columns: commands and what they do, labelled facts, tables.

use std::io::{self, Write};

use anstyle::Style;

use super::style::{DIM, NAME, Paint};
use super::text::{clean, columns, pad};

/// Longer commands do not push what the others do further to the right.
const COMMAND_WIDTH: usize = 40;

/// Writes commands to type next, each with what it does.
pub(crate) fn write_commands<C: AsRef<str>>(
    out: &mut dyn Write,
    paint: Paint,
    commands: &[(C, &str)],
) -> io::Result<()> {
    let widths = commands
        .iter()
        .map(|(command, _)| columns(command.as_ref()));
    let widest = widths.filter(|width| *width <= COMMAND_WIDTH).max();
    for (command, what) in commands {
        let command = paint.apply(NAME, pad(command.as_ref(), widest.unwrap_or(0)));
        writeln!(out, "  {command}  {}", paint.apply(DIM, what))?;
    }
    Ok(())
}

/// Writes facts, each behind its label.
pub(crate) fn write_facts<T: AsRef<str>>(
    out: &mut dyn Write,
    paint: Paint,
    facts: &[(&str, T)],
    width: usize,
) -> io::Result<()> {
    for (label, text) in facts {
        let label = paint.apply(DIM, pad(label, width));
        writeln!(out, "  {label} {}", clean(text.as_ref()))?;
    }
    Ok(())
}

/// Writes a table below a dimmed header; each cell has its style, and the last is not padded.
pub(crate) fn write_table<const N: usize>(
    out: &mut dyn Write,
    paint: Paint,
    header: [&str; N],
    rows: &[[(Style, String); N]],
) -> io::Result<()> {
    let header = header.map(|title| (DIM, title.to_owned()));
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().chain([&header]).map(|row| &row[column].1);
        let last = column + 1 == N;
        let widest = cells.map(|text| columns(text)).max();
        widest.filter(|_| !last).unwrap_or(0)
    });
    for row in std::iter::once(&header).chain(rows) {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|((style, text), width)| paint.apply(*style, pad(text, width)))
            .collect();
        writeln!(out, "{}", cells.join("  "))?;
    }
    Ok(())
}
