//! The runtime that waits for agents, gates and signals on the thread the program began on.

use std::process::ExitCode;

use ralph_run::failure::Failure;

/// Waits for something on this thread.
pub(super) fn on_runtime(
    work: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::system("could not start").because(error))?;
    let code = runtime.block_on(work);
    // Whatever is still on a blocking thread must not hold up the exit.
    runtime.shutdown_background();
    code
}
