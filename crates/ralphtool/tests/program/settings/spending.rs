//! Keys of `[budget]` and `[prices]`: each one ends the run, or prices its own sort of token.

use pretty_assertions::assert_eq;

use crate::settings::{budget_used_up, receipt, speaking};

/// Uses a thousand tokens, which cost a dollar, and then never ends.
const USES: &str = r#"printf '%s\n' '{"type":"assistant","message":{"id":"a","content":[],"usage":{"input_tokens":1000,"output_tokens":0}}}'
sleep 300"#;

/// What ended a run with this as its budget.
#[track_caller]
fn ends(budget: &str) -> String {
    let tables = format!("[budget]\n{budget}\n[prices.m]\ninput = 1000\noutput = 1000\n");
    let sandbox = speaking("", &tables, USES);
    sandbox.run(&["loop", "c"]).ends_with(3);
    budget_used_up(&sandbox)
}

#[test]
fn each_key_of_the_budget_ends_the_run() {
    for (budget, want) in [
        ("usd = 0.50", "$0.50"),
        ("tokens = 600", "600 tokens"),
        ("time = \"300ms\"", "0.3s"),
        ("story_usd = \"0.25\"", "$0.25 for story 1"),
        ("story_tokens = \"0.5k\"", "500 tokens for story 1"),
        ("story_time = \"400ms\"", "0.4s for story 1"),
    ] {
        assert_eq!(ends(budget), want);
    }
}

#[test]
fn a_story_may_cost_no_more_than_its_flag_says() {
    let tables = "[prices.m]\ninput = 1000\noutput = 1000\n";
    let sandbox = speaking("", tables, USES);
    let flag = ["loop", "c", "--max-story-cost", "0.75"];
    sandbox.run(&flag).ends_with(3);
    assert_eq!(budget_used_up(&sandbox), "$0.75 for story 1");
}

#[test]
fn each_sort_of_token_has_its_own_price() {
    let tables =
        "[prices.m]\ninput = 1\noutput = 10\ncached_input = \"100\"\ncache_write = 1000.0\n";
    let usage = r#",\"usage\":{\"input_tokens\":1000000,\"output_tokens\":2000000,\"cache_read_input_tokens\":3000000,\"cache_creation_input_tokens\":4000000}"#;
    let script = format!("work; result '<promise>COMPLETE</promise>' \"{usage}\"");
    let sandbox = speaking("", tables, &script);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let cost = receipt(&sandbox)["totals"]["cost_usd"].as_f64().unwrap();
    assert!((cost - 4321.0).abs() < 1e-6, "{cost}");
}
