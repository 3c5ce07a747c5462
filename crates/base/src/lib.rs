//! What every crate of ralphtool needs and none of them owns: files that are written whole or not
//! at all, identifiers, sizes, and small questions to the operating system.

pub mod allowance;
pub mod amount;
pub mod disk;
pub mod durability;
pub mod duration;
pub mod files;
pub mod ids;
pub mod kill_point;
pub mod os;
pub mod random_name;
pub mod shell;
pub mod size;
pub mod sparse;
pub mod temporary_files;
