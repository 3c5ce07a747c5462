//! Prices: what an attempt cost where its agent tells only tokens.

use pretty_assertions::assert_eq;

use super::attempts::heard;
use super::budgets::{of_dollars, uses};
use crate::machine::script::*;
use crate::machine::*;
use crate::policy::prices::Prices;
use ralph_agents::agent_event::AgentEvent;
use ralph_base::allowance::Price;

fn at(rate: &str) -> Price {
    let rate = rate.parse().unwrap();
    Price {
        input: rate,
        output: rate,
        cached_input: rate,
        cache_write: rate,
    }
}

#[test]
fn where_the_agent_tells_only_tokens_the_prices_tell_the_cost() {
    let table = [("demo".to_owned(), at("1")), ("big".to_owned(), at("10"))];
    let mut script = Script::working(Policy {
        prices: Prices(table.into_iter().collect()),
        budget: of_dollars(10.0),
        ..keep()
    });
    let told = Usage {
        input_tokens: 500_000,
        ..Usage::default()
    };
    let priced = |usd, prices: Option<&str>| {
        heard(AgentEvent::Usage {
            usage: Usage {
                cost_usd: Some(usd),
                ..told
            },
            prices: prices.map(str::to_owned),
        })
    };
    assert_eq!(script.give(uses(told)), [priced(0.5, Some("demo"))]);
    script.give(|ticket| {
        Input::Answer(
            ticket,
            Answer::AgentSaid(AgentEvent::Session {
                id: "s".to_owned(),
                model: Some("big".to_owned()),
            }),
        )
    });
    assert_eq!(script.give(uses(told)), [priced(5.0, Some("big"))]);
    let own = Usage {
        cost_usd: Some(0.25),
        ..told
    };
    assert_eq!(
        script.give(uses(own)),
        [priced(0.25, None)],
        "the agent knows better"
    );
    let most = Usage {
        input_tokens: 1_000_000,
        ..Usage::default()
    };
    let stopped = script.give(uses(most));
    assert_eq!(stopped[1..], [stop_process(5)], "the budget sees the price");
}
