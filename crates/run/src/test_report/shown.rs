//! Reports as lines, for tests.

use super::RunnerReport;

/// Each failed test with its group, then each group that is broken and why.
pub(super) fn shown(report: &RunnerReport) -> Vec<String> {
    let failed = report.failed.iter().flat_map(|(group, tests)| {
        let line = move |test| format!("{group} {test}").trim_start().to_owned();
        tests.iter().map(line)
    });
    let broken = report.broken.iter();
    let broken = broken.map(|(group, why)| format!("{group}: {why:?}"));
    failed.chain(broken).collect()
}
