//! What to do when a story has used up its retries.

use super::value::choices;

choices! {
    /// What to do when a story has used up its retries.
    OnExhausted {
        /// End the run.
        Stop = "stop",
        /// Continue with every story that is not known to depend on it.
        Continue = "continue",
    }
}
