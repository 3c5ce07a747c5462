//! The reporter for programs: one JSON object per line, as it happens.

use std::io::{self, Write};

use jiff::Timestamp;

use super::Reporter;
use ralph_agents::event_batch::DetailLevel;
use ralph_run::records::event::Record;

/// How much is written at once; only whole lines are, so that a reader never sees half of one
/// from us.
const AT_ONCE: usize = 64 * 1024;

/// Writes records as JSON lines.
pub(crate) struct Json {
    out: Box<dyn Write + Send>,
    /// Lines that are not written yet.
    lines: Vec<u8>,
}

impl Json {
    /// A reporter that writes there and nowhere else.
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        let lines = Vec::new();
        Self { out, lines }
    }

    fn write_lines(&mut self) -> io::Result<()> {
        self.out.write_all(&self.lines)?;
        self.lines.clear();
        Ok(())
    }
}

impl Reporter for Json {
    fn detail_level(&self) -> DetailLevel {
        DetailLevel::All
    }

    fn show(&mut self, record: &Record, _now: Timestamp) -> io::Result<()> {
        serde_json::to_writer(&mut self.lines, record)?;
        self.lines.push(b'\n');
        if self.lines.len() >= AT_ONCE {
            self.write_lines()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_lines()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::plain::script;
    use pretty_assertions::assert_eq;
    use ralph_run::check::CheckReport;
    use ralph_run::receipt::Receipt;

    #[test]
    fn every_event_is_one_line_that_reads_back() {
        let sink = script::Sink::default();
        let mut reporter = Json::new(Box::new(sink.clone()));
        let records = script::run();
        for record in &records {
            reporter.show(record, record.at).unwrap();
        }
        reporter.close().unwrap();
        let text = sink.text();
        let read: Vec<Record> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(read, records);
        insta::assert_snapshot!(text);
    }

    /// `UPDATE_SCHEMA=1 cargo test schema` writes it again.
    #[test]
    fn the_committed_schemas_are_those_of_the_types() {
        check("events.schema.json", &schemars::schema_for!(Record));
        check("check.schema.json", &schemars::schema_for!(CheckReport));
        check("receipt.schema.json", &schemars::schema_for!(Receipt));
    }

    #[track_caller]
    fn check(name: &str, schema: &schemars::Schema) {
        let path = format!(
            "{}/docs/{name}",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../..")
        );
        let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == text,
            "docs/{name} is out of date: run `UPDATE_SCHEMA=1 cargo test schema`"
        );
    }
}
