//! What tokens cost where the agent does not say so: a table the user keeps, by model or agent.
//!
//! There is no built-in list: prices change, and a wrong one would be worse than none.

use std::collections::BTreeMap;

use ralph_agents::agent_event::Usage;
use ralph_base::allowance::Price;

/// The prices by name of a model or an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// The first of these names that has a price, and that price.
    pub fn find<'a>(&'a self, names: &[&str]) -> Option<(&'a str, &'a Price)> {
        let known = names.iter().find_map(|name| self.0.get_key_value(*name));
        known.map(|(name, price)| (name.as_str(), price))
    }
}

/// The heading of prices in a configuration file.
pub fn heading(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) {
        return format!("[prices.{name}]");
    }
    format!("[prices.\"{name}\"]")
}

/// What an attempt cost at a price, in US dollars.
pub fn cost(price: &Price, usage: &Usage) -> f64 {
    price.input.usd(usage.input_tokens)
        + price.output.usd(usage.output_tokens)
        + price.cached_input.usd(usage.cache_read_tokens)
        + price.cache_write.usd(usage.cache_write_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn price(input: &str, output: &str, cached: &str, write: &str) -> Price {
        Price {
            input: input.parse().unwrap(),
            output: output.parse().unwrap(),
            cached_input: cached.parse().unwrap(),
            cache_write: write.parse().unwrap(),
        }
    }

    #[test]
    fn every_sort_of_token_has_its_price() {
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 2_000_000,
            cache_read_tokens: 4_000_000,
            cache_write_tokens: 8_000_000,
            cost_usd: None,
        };
        let total = cost(&price("1", "10", "0.1", "1.25"), &usage);
        assert!((total - (1.0 + 20.0 + 0.4 + 10.0)).abs() < 1e-9, "{total}");
        let nothing = cost(&price("1", "10", "0.1", "1.25"), &Usage::default());
        assert!(nothing.abs() < f64::EPSILON);
    }

    #[test]
    fn a_heading_is_quoted_where_it_must_be() {
        assert_eq!(heading("gpt-5"), "[prices.gpt-5]");
        assert_eq!(heading("gpt-5.1"), "[prices.\"gpt-5.1\"]");
    }

    #[test]
    fn the_model_wins_over_the_agent() {
        let table = [
            ("gpt-5".to_owned(), price("1", "1", "1", "1")),
            ("codex".to_owned(), price("2", "2", "2", "2")),
        ];
        let prices = Prices(table.into_iter().collect());
        let name = |names: &[&str]| prices.find(names).map(|(name, _)| name.to_owned());
        assert_eq!(name(&["gpt-5", "codex"]).as_deref(), Some("gpt-5"));
        assert_eq!(name(&["gpt-6", "codex"]).as_deref(), Some("codex"));
        assert_eq!(name(&["gpt-6", "gemini"]), None);
    }
}
