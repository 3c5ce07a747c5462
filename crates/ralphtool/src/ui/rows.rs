//! Rows of two columns: a command and what it does, a label and what it says.

use std::io::{self, Write};

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
