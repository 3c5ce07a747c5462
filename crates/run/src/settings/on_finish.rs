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
