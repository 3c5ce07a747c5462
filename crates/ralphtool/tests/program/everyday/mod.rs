//! The commands around the loop: `init`, `new`, `status`, `learnings`.

mod init;
mod learnings;
mod new;
mod status;
