//! What tokens cost where the agent does not say so: a table the user keeps, by model or agent.
//!
//! There is no built-in list: prices change, and a wrong one would be worse than none.

use std::collections::BTreeMap;

use super::agent_event::Usage;

/// Tokens a price is for.
const PER: f64 = 1_000_000.0;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Price {
    /// Input that was not served from a cache.
    pub(crate) input: f64,
    /// Output.
    pub(crate) output: f64,
    /// Input read from a cache; the price of other input where it is not set.
    pub(crate) cached_input: Option<f64>,
    /// Input written to a cache; the price of other input where it is not set.
    pub(crate) cache_write: Option<f64>,
}

/// The prices by name of a model or an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Prices(pub(crate) BTreeMap<String, Price>);

impl Price {
    /// What so many tokens cost, in US dollars.
    #[expect(
        clippy::cast_precision_loss,
        reason = "no attempt uses more tokens than a float can count"
    )]
    pub(crate) fn of(&self, usage: &Usage) -> f64 {
        let cost = |tokens: u64, price: f64| tokens as f64 * price / PER;
        cost(usage.input_tokens, self.input)
            + cost(usage.output_tokens, self.output)
            + cost(
                usage.cache_read_tokens,
                self.cached_input.unwrap_or(self.input),
            )
            + cost(
                usage.cache_write_tokens,
                self.cache_write.unwrap_or(self.input),
            )
    }
}

impl Prices {
    /// The first of these names that has a price, and that price.
    pub(crate) fn find<'a>(&'a self, names: &[&str]) -> Option<(&'a str, &'a Price)> {
        let known = names.iter().find_map(|name| self.0.get_key_value(*name));
        known.map(|(name, price)| (name.as_str(), price))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const USAGE: Usage = Usage {
        input_tokens: 1_000_000,
        output_tokens: 2_000_000,
        cache_read_tokens: 4_000_000,
        cache_write_tokens: 8_000_000,
        cost_usd: None,
    };

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn every_sort_of_token_has_its_price() {
        let price = Price {
            input: 1.0,
            output: 10.0,
            cached_input: Some(0.1),
            cache_write: Some(1.25),
        };
        assert!(close(price.of(&USAGE), 1.0 + 20.0 + 0.4 + 10.0));
        let plain = Price {
            cached_input: None,
            cache_write: None,
            ..price
        };
        assert!(close(plain.of(&USAGE), 1.0 + 20.0 + 4.0 + 8.0));
        assert!(close(price.of(&Usage::default()), 0.0));
    }

    #[test]
    fn the_model_wins_over_the_agent() {
        let price = |input: f64| Price {
            input,
            output: 0.0,
            cached_input: None,
            cache_write: None,
        };
        let table = [
            ("gpt-5".to_owned(), price(1.0)),
            ("codex".to_owned(), price(2.0)),
        ];
        let prices = Prices(table.into_iter().collect());
        let name = |names: &[&str]| prices.find(names).map(|(name, _)| name.to_owned());
        assert_eq!(name(&["gpt-5", "codex"]).as_deref(), Some("gpt-5"));
        assert_eq!(name(&["gpt-6", "codex"]).as_deref(), Some("codex"));
        assert_eq!(name(&["gpt-6", "gemini"]), None);
    }
}
