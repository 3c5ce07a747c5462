//! How it is shown, from records only.
//!
//! A reporter is a fold over the records of a run. Whatever is on the screen came through
//! [`Reporter::show`]; nothing here looks at files, processes or the clock.

pub(crate) mod afterwards;
pub(crate) mod attempts;
pub(crate) mod bell;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod failure;
pub(crate) mod gc;
pub(crate) mod init;
pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod plain;
pub(crate) mod plan;
pub(crate) mod receipt;
pub(crate) mod receipt_markdown;
pub(crate) mod run_status;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod text;
pub(crate) mod trust;
pub(crate) mod tui;
pub(crate) mod words;

use std::io;

use jiff::Timestamp;

use ralph_agents::hearing::DetailLevel;
use ralph_run::records::event::Record;

/// Something that shows a run while it happens.
pub(crate) trait Reporter {
    /// How much it shows of what agents say.
    fn detail_level(&self) -> DetailLevel;

    /// Shows one record; what it writes may wait until it is flushed.
    fn show(&mut self, record: &Record, now: Timestamp) -> io::Result<()>;

    /// Lets everything be seen that was shown.
    fn flush(&mut self) -> io::Result<()>;

    /// Time has passed; reporters that show it may draw again.
    fn tick(&mut self, now: Timestamp) -> io::Result<()>;

    /// No record will follow; says what there is to say at the end.
    fn close(&mut self) -> io::Result<()>;
}
