//! Short questions to the program of an agent: a bounded time, a bounded answer, no terminal, and
//! nothing of it is alive afterwards.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_process::{
    EnvChange, Exit, ProcessError, ProcessEvent, ProcessSpec, RunningProcess, Stderr, Supervisors,
};

/// More than this is no answer to a short question.
const LONGEST_ANSWER: u64 = 256 * 1024;
/// Where questions are asked: no folder of a user, and so no configuration of a project that
/// the program would read.
const NOWHERE: &str = "/";

/// A question.
#[derive(Debug)]
pub(crate) struct Question {
    /// The program.
    pub program: PathBuf,
    /// What it is asked.
    pub arguments: &'static [&'static str],
    /// What is changed in its environment.
    pub environment: Vec<EnvChange>,
    /// How long it may take.
    pub limit: Duration,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// How the program ended.
    pub exit: Exit,
    /// Its standard output.
    pub said: String,
    /// Its standard error.
    pub complained: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// The time was over.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// It did not stop talking.
    #[error("an answer without an end")]
    Endless,
    /// It could not be asked.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// There was no place for its answer.
    #[error("could not use a temporary folder")]
    Folder(#[from] io::Error),
}

impl Question {
    /// Asks. Several may be asked at the same time.
    pub(crate) async fn ask(self) -> Result<Answer, NoAnswer> {
        let folder = tempfile::Builder::new().prefix("ralphtool-").tempdir()?;
        let (said, complained) = (folder.path().join("stdout"), folder.path().join("stderr"));
        let spec = ProcessSpec {
            program: self.program.into(),
            args: self.arguments.iter().map(OsString::from).collect(),
            cwd: NOWHERE.into(),
            env: self.environment,
            stdin: Vec::new(),
            stdout: said.clone(),
            stderr: Stderr::File(complained.clone()),
            line_cap: 0,
            marker: folder.path().display().to_string(),
        };
        let supervisors = Supervisors::default();
        let mut process = supervisors.start(spec).await?;
        let ended = tokio::time::timeout(self.limit, until_end(&mut process, folder.path())).await;
        if !matches!(ended, Ok(true)) {
            process.kill_now();
        }
        let ending = process.finish(Duration::ZERO).await;
        supervisors.shutdown().await;
        match ended {
            Err(_elapsed) => Err(NoAnswer::TimedOut(self.limit)),
            Ok(false) => Err(NoAnswer::Endless),
            Ok(true) => Ok(Answer {
                exit: ending.exit,
                said: beginning(&said)?,
                complained: beginning(&complained)?,
            }),
        }
    }
}

/// Waits for the end of a process; false where it writes too much.
async fn until_end(process: &mut RunningProcess, folder: &Path) -> bool {
    loop {
        if let ProcessEvent::Exited(_) = process.next(|_| ()).await {
            return true;
        }
        let size = |name: &str| fs::metadata(folder.join(name)).map_or(0, |it| it.len());
        if size("stdout") + size("stderr") > LONGEST_ANSWER {
            return false;
        }
    }
}

fn beginning(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?
        .take(LONGEST_ANSWER)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
