//! What to do with the branch at the end.

use super::value::choices;

choices! {
    /// What to do with the branch at the end.
    OnFinish {
        /// Ask if the user can answer, else keep.
        Ask = "ask",
        /// Back to the original branch, the work as uncommitted changes.
        Cleanup = "cleanup",
        /// Stay on the checkpoint branch.
        Keep = "keep",
    }
}

choices! {
    /// What to do when an agent asks a question that only the user can answer.
    OnBlocked {
        /// Wait for the answer, with the agent's work and its session kept.
        Wait = "wait",
        /// Go on without the story; an answer opens it again.
        Skip = "skip",
        /// End the run.
        Stop = "stop",
    }
}
