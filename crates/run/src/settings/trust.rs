//! What a repository's own settings file asks for, and settings in which all of that is allowed.

/// One thing that a settings file asks for: to run a command, to set a variable, to name a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The line of the key, from 1.
    pub line: usize,
    /// What the key does, such as "a gate runs".
    pub does: String,
    /// The command, the variable or the folder, as the file says it; not cleaned for a terminal.
    pub what: String,
}

/// What the user is asked before a file's claims count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustQuestion {
    /// The file, as the user knows it.
    pub file: String,
    /// What it asks for.
    pub claims: Vec<Claim>,
    /// Names this file with this very content.
    pub token: String,
}
