//! Links the program at a fixed address on Linux. Each agent and each gate is started by one more
//! start of this program, and half of the time that takes goes into the 18,000 addresses which the
//! loader fills in where the program may be anywhere. Heap, stack and libraries are placed at random
//! as before.

#![allow(clippy::print_stdout, reason = "this is how a build script answers")]

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|it| it == value);
    let is_static = var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|it| it.contains("crt-static"));
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo::rustc-link-arg-bin=ralphtool=-no-pie");
    }
}
