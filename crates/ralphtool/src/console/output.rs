//! Standard output that may be closed at any time: `ralphtool list | head` is no error.

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::process::ExitCode;

use serde::Serialize;

use super::context::Context;
use crate::ui::page::Page;
use crate::ui::style::WARN;
use crate::ui::text::clean;
use ralph_run::failure::Failure;

/// A writer that drops everything once its reader has closed the pipe.
pub(crate) struct PipeSafe<W> {
    inner: W,
    gone: bool,
}

impl<W: Write> PipeSafe<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, gone: false }
    }

    fn forgive<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(instead)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for PipeSafe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gone {
            return Ok(bytes.len());
        }
        let result = self.inner.write(bytes);
        self.forgive(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let result = self.inner.flush();
        self.forgive(result, ())
    }
}

/// Standard output, buffered until it is flushed.
pub(crate) fn stdout() -> Box<dyn Write + Send> {
    Box::new(PipeSafe::new(io::BufWriter::new(io::stdout())))
}

/// Prints bytes and is done.
pub(crate) fn print(bytes: &[u8]) -> Result<ExitCode, Failure> {
    present(|out| out.write_all(bytes))
}

/// Prints a page and is done.
pub(crate) fn page(context: &Context, write: impl FnOnce(&mut Page)) -> Result<ExitCode, Failure> {
    let mut page = Page::new(context.paint_for(&io::stdout()));
    write(&mut page);
    print(page.text.as_bytes())
}

/// Presents something on standard output and is done.
pub(crate) fn present(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<ExitCode, Failure> {
    let mut out = stdout();
    write(&mut *out)
        .and_then(|()| out.flush())
        .map_err(|error| Failure::system("could not write the output").because(error))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks a question on the terminal; the answer in small letters, or none at the end of the input.
pub(crate) fn ask(question: &str) -> Result<Option<String>, Failure> {
    let failed = |error| Failure::system("could not ask").because(error);
    let mut out = stdout();
    out.write_all(question.as_bytes())
        .and_then(|()| out.flush())
        .map_err(failed)?;
    let mut answer = String::new();
    let length = io::stdin().read_line(&mut answer).map_err(failed)?;
    Ok((length > 0).then(|| answer.trim().to_lowercase()))
}

/// Asks a question on the terminal that only `y` or `yes` confirms.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    Ok(matches!(ask(question)?.as_deref(), Some("y" | "yes")))
}

/// Whether there is a terminal to ask on.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Prints a value as JSON, or as a page, and is done.
pub(crate) fn json_or_page<T: Serialize>(
    is_json: bool,
    value: &T,
    context: &Context,
    write: impl FnOnce(&mut Page, &T),
) -> Result<ExitCode, Failure> {
    if is_json {
        return json(value);
    }
    page(context, |page| write(page, value))
}

/// Prints a value as JSON and is done.
pub(crate) fn json(value: &impl Serialize) -> Result<ExitCode, Failure> {
    present(|out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        writeln!(out)
    })
}

/// Prints a value as one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<ExitCode, Failure> {
    present(|out| {
        serde_json::to_writer(&mut *out, value)?;
        writeln!(out)
    })
}

/// Writes warnings to stderr, a line each.
pub(crate) fn warn<T: AsRef<str>>(context: &Context, messages: impl IntoIterator<Item = T>) {
    let stderr = io::stderr();
    let label = context.paint_for(&stderr).apply(WARN, "warning:");
    for message in messages {
        // There is nowhere else to report a failure.
        let _ = writeln!(stderr.lock(), "{label} {}", clean(message.as_ref()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_but_a_full_disk_is() {
        let mut out = PipeSafe::new(Closed);
        assert!(out.flush().is_err());
        assert!(out.write_all(b"text").is_ok());
        assert!(
            out.flush().is_ok(),
            "nothing is tried once the reader has gone"
        );
    }
}
