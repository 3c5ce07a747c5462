//! What every parser of an output does.

use super::RunnerReport;

/// Reads the output of one kind of test runner, line by line.
pub(super) trait Parser {
    fn line(&mut self, line: &str);

    /// Whether the next line is something that a test printed, which may look like anything.
    fn is_in_output(&self) -> bool {
        false
    }

    /// What the runner said; none unless it came to its end.
    fn report(self: Box<Self>) -> Option<RunnerReport>;
}
