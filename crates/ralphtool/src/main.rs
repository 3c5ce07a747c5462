//! The binary: hands its arguments to the library and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralphtool::run(std::env::args_os())
}
