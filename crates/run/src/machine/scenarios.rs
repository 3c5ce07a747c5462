//! The machine's behaviour as pages of facts: whole lists of effects are compared.

mod agents;
mod attempts;
mod budgets;
mod checkpoints;
mod failures;
mod gates;
mod limits;
mod notes;
mod paths;
mod prices;
mod questions;
mod repairs;
mod retries;
mod reviews;
mod steering;
mod stops;
mod stories;
mod stuck;
mod tamper;
mod test_names;
mod whole;
