//! All tables of the configuration with their keys.

use super::agents::{AgentKeys, EscalateKeys, StoryKeys};
use super::all::{BUDGET, TAMPER, TIMEOUTS, TOP};
use super::gate::GateKeys;
pub use super::key_table::{KeyInfo, KeyTable, Without};
use super::notify::NotifyKeys;
use super::prices::PriceKeys;
use super::review::ReviewKeys;
pub use super::value::quoted;

/// The tables of the configuration, the top of the file first.
pub const TABLES: [KeyTable; 11] = [
    TOP,
    GateKeys::TABLE,
    ReviewKeys::TABLE,
    TIMEOUTS,
    BUDGET,
    TAMPER,
    NotifyKeys::TABLE,
    PriceKeys::TABLE,
    EscalateKeys::TABLE,
    StoryKeys::TABLE,
    AgentKeys::TABLE,
];

/// The names that may stand at the top of a file: keys and tables.
pub(super) fn top_names() -> Vec<&'static str> {
    let tables = TABLES.iter().filter_map(KeyTable::top_name);
    TOP.names().into_iter().chain(tables).collect()
}

#[cfg(test)]
mod tests;
