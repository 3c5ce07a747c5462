//! Runs a proposed gate once, to show whether it works here.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use ralph_process::{Exit, ProcessError, ProcessEvent, ProcessSpec, Stderr, Supervisors};

/// How a gate went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    pub result: TrialResult,
    pub took: Duration,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialResult {
    Passed,
    Failed {
        /// Such as "exit code 1".
        how: String,
        /// The last lines it printed.
        tail: String,
    },
    /// It was stopped when the time was over.
    Unfinished,
}

/// Why it could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("could not use a temporary folder")]
    Folder(#[from] io::Error),
}

/// Runs a shell line in the `top` folder for at most `limit`. Nothing of it is alive afterwards.
pub async fn run(line: &str, top: &Path, limit: Duration) -> Result<Trial, TrialError> {
    let folder = tempfile::Builder::new().prefix("ralphtool-").tempdir()?;
    let spec = ProcessSpec {
        program: "sh".into(),
        args: vec!["-c".into(), line.into()],
        cwd: top.to_owned(),
        env: Vec::new(),
        stdin: Vec::new(),
        stdout: folder.path().join("output"),
        stderr: Stderr::WithStdout,
        line_cap: 0,
        marker: folder.path().display().to_string(),
    };
    let supervisors = Supervisors::default();
    let started = Instant::now();
    let mut process = supervisors.start(spec).await?;
    let end = async { while process.next(|_| ()).await == ProcessEvent::Wrote {} };
    let is_over = tokio::time::timeout(limit, end).await.is_ok();
    let took = started.elapsed();
    if !is_over {
        process.kill_now();
    }
    let ending = process.finish(Duration::ZERO).await;
    supervisors.shutdown().await;
    let failed = |how: String| TrialResult::Failed {
        how,
        tail: ending.stderr_tail.clone(),
    };
    let result = match ending.exit {
        _ if !is_over => TrialResult::Unfinished,
        Exit::Code(0) if ran_no_test(&ending.stderr_tail) => failed("it ran no test".to_owned()),
        Exit::Code(0) => TrialResult::Passed,
        Exit::Code(code) => failed(format!("exit code {code}")),
        Exit::Signal(signal) => failed(format!("signal {signal}")),
        Exit::Unknown => failed("it ended in an unknown way".to_owned()),
    };
    Ok(Trial { result, took })
}

/// Whether the output says that there was nothing to test: before Python 3.12 `unittest` calls that
/// a success.
fn ran_no_test(output: &str) -> bool {
    output
        .lines()
        .any(|line| line.starts_with("Ran 0 tests in "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_run_of_no_test_is_recognized_by_what_it_prints() {
        let said = |count: &str| ran_no_test(&format!("---\nRan {count} in 0.000s\n\nOK\n"));
        assert_eq!(
            ["0 tests", "1 test", "10 tests"].map(said),
            [true, false, false]
        );
    }
}
