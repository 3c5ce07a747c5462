//! Whether what is written is made durable: always, except in a build for the benchmark, which
//! measures what durability costs by running the same program without it.
//!
//! Two things must come together, so that it cannot happen by accident: the cargo feature
//! `unsynced`, which is off by default, and a variable of the environment when it runs.

/// True unless this is a build for the benchmark, and the variable is set.
#[cfg(not(feature = "unsynced"))]
pub const fn is_on() -> bool {
    true
}

/// True unless this is a build for the benchmark, and the variable is set.
#[cfg(feature = "unsynced")]
pub fn is_on() -> bool {
    std::env::var_os("RALPHTOOL_UNSYNCED_BENCHMARK").is_none()
}
