//! The work tree: what is in it, and copies of it.

pub mod guard;
pub(crate) mod manifest;
pub(crate) mod scanned;
pub(crate) mod walk;

use std::sync::{Mutex, PoisonError};

/// A lock whose holder cannot leave it half-changed in a way that matters.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
