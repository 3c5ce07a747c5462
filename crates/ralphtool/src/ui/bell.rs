//! The terminal calls its user: the bell, and a message of the terminal's own (OSC 9).

use std::io::{self, Write};

use jiff::Timestamp;

use super::Reporter;
use super::text::clean;
use ralph_agents::event_batch::DetailLevel;
use ralph_run::records::event::Record;
use ralph_run::records::notify::Listener;

/// The longest message; terminals cut longer ones, or drop them.
const LONGEST: usize = 200;

/// What a terminal has to be sent to call its user.
pub(crate) fn call(message: &str) -> String {
    let message: String = clean(message).chars().take(LONGEST).collect();
    // A number first would mean something else to some terminals, so the name comes first.
    format!("\x1b]9;ralphtool: {message}\x1b\\\x07")
}

/// A reporter that also notifies the user.
pub(crate) struct Bell<W> {
    reporter: Box<dyn Reporter + Send>,
    listener: Listener,
    out: W,
}

impl<W: Write> Bell<W> {
    pub(crate) fn new(reporter: Box<dyn Reporter + Send>, listener: Listener, out: W) -> Self {
        Self {
            reporter,
            listener,
            out,
        }
    }
}

impl<W: Write> Reporter for Bell<W> {
    fn detail_level(&self) -> DetailLevel {
        self.reporter.detail_level()
    }

    fn show(&mut self, record: &Record, now: Timestamp) -> io::Result<()> {
        self.reporter.show(record, now)?;
        if let Some(notification) = self.listener.hear(record) {
            self.reporter.flush()?;
            self.out.write_all(call(&notification.message).as_bytes())?;
            self.out.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.reporter.flush()
    }

    fn tick(&mut self, now: Timestamp) -> io::Result<()> {
        self.reporter.tick(now)
    }

    fn close(&mut self) -> io::Result<()> {
        self.reporter.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_call_cannot_be_broken_out_of() {
        assert_eq!(
            call("c: \u{1b}]0;x\u{7}done\nnow"),
            format!(
                "\x1b]9;ralphtool: {}\x1b\\\x07",
                clean("c: \u{1b}]0;x\u{7}done\nnow")
            )
        );
        let body = call("\u{1b}\u{7}\u{9c}\n");
        let inner = &body["\x1b]9;".len()..body.len() - 3];
        assert!(
            !inner.contains(['\u{1b}', '\u{7}', '\u{9c}', '\n']),
            "{inner:?}"
        );
        assert!(call(&"x".repeat(999)).len() < 250);
    }
}
