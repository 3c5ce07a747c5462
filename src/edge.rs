//! Where it touches the world: the only place with files, processes, environment and clock.

pub(crate) mod agent;
pub(crate) mod gate;
pub(crate) mod os;
pub(crate) mod process;
