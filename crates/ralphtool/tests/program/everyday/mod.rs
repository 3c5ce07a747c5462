//! The commands around the loop: `init`, `status`, `learnings`.

mod init;
mod learnings;
mod status;
