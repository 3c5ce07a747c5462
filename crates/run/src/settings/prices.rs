//! What tokens cost, where the agent does not say.

use super::key_table::table;
use super::value::{FromTable, Item, Key, Mistake};
use ralph_base::allowance::{Price, Rate};

table! {
    PriceKeys, "[prices.my-model]",
    "What a million tokens cost in US dollars, for a model or an agent that does not report its \
     cost.",
    example "input = 1.25\noutput = 10.00\ncached_input = 0.125\ncache_write = 1.50";
    input: Rate, without "needed", example "1.25", "Tokens the model reads.";
    output: Rate, without "needed", example "10.00", "Tokens the model writes.";
    cached_input: Rate, without "as `input`", example "0.125", "Tokens it reads from its cache.";
    cache_write: Rate, without "as `input`", example "1.50", "Tokens it writes into its cache.";
}

impl FromTable for Price {
    fn from_table(key: &Key<'_>, item: &Item<'_>) -> Result<Self, Mistake> {
        let name = key.get_ref();
        let keys = PriceKeys::read(&format!("[prices.{name}]"), item)?;
        let (Some(input), Some(output)) = (keys.input, keys.output) else {
            let mistake = Mistake::at(key, format!("the price of `{name}` is not complete"));
            return Err(mistake.hint(
                "say what a million tokens cost in US dollars: `input = 1.25` and `output = 10`",
            ));
        };
        Ok(Self {
            input,
            output,
            cached_input: keys.cached_input.unwrap_or(input),
            cache_write: keys.cache_write.unwrap_or(input),
        })
    }
}
