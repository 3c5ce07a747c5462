//! The runtime that waits for agents, gates and signals on the thread the program began on.

use ralph_run::failure::Failure;

/// Waits for something on this thread.
pub(crate) fn on_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::system("could not start").because(error))?;
    let result = runtime.block_on(work);
    // Whatever is still on a blocking thread must not hold up the exit.
    runtime.shutdown_background();
    result
}
