//! What the user sees, made from values only: nothing here reads files, processes or the clock.
//!
//! | files | what |
//! | --- | --- |
//! | `plain`, `json` | the reporters, which show a run while it happens |
//! | `line`, `status`, `summary` | a line of the log, the live line below it, the closing words |
//! | `page`, `receipt`, `failure`, `findings`, `transcript` | text that is printed once |
//! | `reason` | why an attempt failed, in a line or a few |
//! | `words`, `clock`, `text`, `style` | counts and times in words; cleaning, cutting and wrapping text; colours |

pub(crate) mod bell;
pub(crate) mod clock;
pub(crate) mod failure;
pub(crate) mod findings;
pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod page;
pub(crate) mod plain;
pub(crate) mod reason;
pub(crate) mod receipt;
pub(crate) mod status;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod text;
pub(crate) mod transcript;
pub(crate) mod words;

use std::io;

use jiff::Timestamp;

use ralph_agents::event_batch::DetailLevel;
use ralph_run::records::event::Record;

/// Shows a run while it happens, from its records alone.
pub(crate) trait Reporter {
    /// How much it shows of what agents say.
    fn detail_level(&self) -> DetailLevel;

    /// Takes in what the parts of the run before this one recorded, without showing it.
    fn recall(&mut self, _earlier: &[Record]) {}

    /// Shows one record; what it writes may wait until it is flushed.
    fn show(&mut self, record: &Record, now: Timestamp) -> io::Result<()>;

    /// Writes out everything that was shown.
    fn flush(&mut self) -> io::Result<()>;

    /// Time has passed; a reporter that shows it may draw again.
    fn tick(&mut self, _now: Timestamp) -> io::Result<()> {
        Ok(())
    }

    /// No record will follow; says what there is to say at the end.
    fn close(&mut self) -> io::Result<()> {
        self.flush()
    }
}
