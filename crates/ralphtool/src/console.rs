//! What every command needs: where it works, what it prints on, flags that several share.

pub(crate) mod context;
pub(crate) mod flags;
pub(crate) mod output;
pub(crate) mod repository;
pub(crate) mod runtime;
