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
mod retries;
mod steering;
mod stops;
mod stories;
mod tamper;
mod test_names;
mod whole;
