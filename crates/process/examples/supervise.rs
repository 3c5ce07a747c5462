//! Runs a command under supervision, prints the lines it writes, and ends what it leaves running:
//!
//! ```sh
//! cargo run -p ralph-process --example supervise -- sh -c 'sleep 1000 & echo started'
//! ```
//!
//! The same program serves as the supervisor, also for the tests of this crate.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use ralph_process::{Exit, OutputLine, ProcessEvent, ProcessSpec, Stderr, Supervisors, dispatch};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = dispatch(&args) {
        return Ok(code);
    }
    let [_, program, args @ ..] = args.as_slice() else {
        return Err("usage: supervise COMMAND ARGUMENT...".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(supervise(program, args))
}

async fn supervise(program: &OsString, args: &[OsString]) -> Result<ExitCode, Box<dyn Error>> {
    let logs = tempfile::tempdir()?;
    let supervisors = Supervisors::default();
    let spec = ProcessSpec {
        program: program.clone(),
        args: args.to_vec(),
        cwd: std::env::current_dir()?,
        env: Vec::new(),
        stdin: Vec::new(),
        stdout: logs.path().join("stdout"),
        stderr: Stderr::File(logs.path().join("stderr")),
        line_cap: 64 * 1024,
        marker: logs.path().display().to_string(),
    };
    let mut process = supervisors.start(spec).await?;
    let print = |line: OutputLine<'_>| {
        let (stream, line) = match line {
            OutputLine::Stdout(line) => ("out", line),
            OutputLine::Stderr(line) => ("err", line),
        };
        let text = String::from_utf8_lossy(line.bytes);
        // A closed pipe is no reason to stop the command.
        let _ = writeln!(std::io::stdout(), "{stream}: {text}");
    };
    while process.next(print).await == ProcessEvent::Wrote {}
    let ending = process.finish(Duration::from_millis(300)).await;
    for command in ending.swept.ended {
        writeln!(std::io::stdout(), "killed: {command}")?;
    }
    supervisors.shutdown().await;
    Ok(match ending.exit {
        Exit::Code(code) => ExitCode::from(u8::try_from(code)?),
        Exit::Signal(_) | Exit::Unknown => ExitCode::FAILURE,
    })
}
