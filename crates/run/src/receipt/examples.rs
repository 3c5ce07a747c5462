//! Example receipts for tests, here and of the program.

#![allow(
    clippy::unwrap_used,
    reason = "examples that do not parse end the test"
)]

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{Receipt, RunId};
use crate::records::event::Record;
use crate::records::progress::Progress;
use crate::records::state::RunState;
use crate::records::summary::RunSummary;

/// A run with everything: a story done at the second attempt, one done before, one that ran into
/// the budget, and one that did not come up; two gates, one of them flaky and one red before.
pub(super) const EVERYTHING: &str = r#"
0 {"event":"warning","code":"settings","message":"`max_retry` is no setting"}
0 {"event":"run_started","change":"add-retry","branch":"ralph/add-retry","original":"main","original_commit":"c0","agent":"codex","model":"gpt-5","stories_total":4,"stories_done":1,"max_retries":3,"gates":["tests","lint"],"resumed":false,"stories":[{"id":"0","title":"Before","state":"done","tasks_done":1,"tasks_total":1},{"id":"1","title":"Retry | the `upload` @octocat #12","state":"open","tasks_done":0,"tasks_total":2},{"id":"2","title":"Count retries","state":"open","tasks_done":0,"tasks_total":2},{"id":"3","title":"Last","state":"open","tasks_done":0,"tasks_total":1}],"budget":{"usd":5.0}}
1 {"event":"story_started","story":"1","title":"Retry | the `upload` @octocat #12","position":2,"total":4,"open_tasks":2}
0 {"event":"gate_started","story":"1","gate":"lint","baseline":true}
4 {"event":"gate_finished","story":"1","gate":"lint","baseline":true,"result":{"verdict":"failed","how":"exit code 2","tail":"x"},"duration_ms":4000}
0 {"event":"attempt_started","story":"1","attempt":1,"max_attempts":4,"transcript":"t","agent":{"agent":"codex","model":"gpt-5"}}
60 {"event":"agent","story":"1","attempt":1,"agent":{"type":"usage","usage":{"input_tokens":40000,"output_tokens":2000,"cache_read_tokens":30000,"cache_write_tokens":0,"cost_usd":0.1},"prices":"gpt-5"}}
0 {"event":"gate_started","story":"1","gate":"tests","baseline":false}
9 {"event":"gate_finished","story":"1","gate":"tests","baseline":false,"result":{"verdict":"failed","how":"exit code 1","tail":"boom"},"duration_ms":9000}
0 {"event":"attempt_failed","story":"1","attempt":1,"kind":"gate","reason":"gate `tests` failed: exit code 1\nassertion ``` failed </details> @octocat","parked":"1.1","changed_files":3,"retrying":true,"duration_ms":69000,"usage":{"input_tokens":40000,"output_tokens":2000,"cache_read_tokens":30000,"cache_write_tokens":0,"cost_usd":0.1}}
0 {"event":"attempt_started","story":"1","attempt":2,"max_attempts":4,"transcript":"t","agent":{"agent":"claude","model":null}}
30 {"event":"agent","story":"1","attempt":2,"agent":{"type":"usage","usage":{"input_tokens":10000,"output_tokens":500,"cache_read_tokens":5000,"cache_write_tokens":700,"cost_usd":0.05}}}
0 {"event":"gate_started","story":"1","gate":"tests","baseline":false,"log":"1.2-1.log"}
0 {"event":"gate_retried","story":"1","gate":"tests","baseline":false,"try_number":1,"result":{"verdict":"failed","how":"exit code 1","tail":"timed out"},"log":"1.2-1.log","duration_ms":7000}
0 {"event":"gate_started","story":"1","gate":"tests","baseline":false,"log":"1.2-1-try2.log","try_number":2}
8 {"event":"gate_finished","story":"1","gate":"tests","baseline":false,"result":{"verdict":"passed"},"duration_ms":8000,"tries":2,"flaky":true}
0 {"event":"warning","code":"flaky","message":"gate `tests` is flaky: it was red (exit code 1) and passed at the second try on the same tree"}
0 {"event":"gate_started","story":"1","gate":"lint","baseline":false}
4 {"event":"gate_finished","story":"1","gate":"lint","baseline":false,"result":{"verdict":"failed","how":"exit code 2","tail":"x"},"duration_ms":4000}
0 {"event":"warning","code":"red_before","message":"gate `lint` is red (exit code 2), as it was before the attempt"}
1 {"event":"story_completed","story":"1","title":"Retry","attempts":2,"commit":"c0ffee0123456789","changed_files":4,"duration_ms":112000,"usage":{"input_tokens":50000,"output_tokens":2500,"cache_read_tokens":35000,"cache_write_tokens":700,"cost_usd":0.15}}
0 {"event":"story_started","story":"2","title":"Count retries","position":3,"total":4,"open_tasks":2}
0 {"event":"attempt_started","story":"2","attempt":1,"max_attempts":4,"transcript":"t","agent":{"agent":"claude","model":null}}
100 {"event":"agent","story":"2","attempt":1,"agent":{"type":"usage","usage":{"input_tokens":90000,"output_tokens":9000,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":4.2}}}
0 {"event":"warning","code":"budget","message":"87% of the budget of $5.00 used; the run stops at 100%"}
50 {"event":"agent","story":"2","attempt":1,"agent":{"type":"usage","usage":{"input_tokens":100000,"output_tokens":10000,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":4.9}}}
1 {"event":"attempt_failed","story":"2","attempt":1,"kind":"budget","reason":"the budget of $5.00 is used up","parked":"2.1","changed_files":2,"retrying":false,"duration_ms":151000,"usage":{"input_tokens":100000,"output_tokens":10000,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":4.9}}
0 {"event":"run_ended","outcome":{"why":"budget_used_up","used":"$5.05","limit":"$5.00","flags":"--max-cost 10.10"},"stories_done":2,"stories_total":4,"attempts":3,"duration_ms":268000,"usage":{"input_tokens":150000,"output_tokens":12500,"cache_read_tokens":35000,"cache_write_tokens":700,"cost_usd":5.05}}
1 {"event":"finished","choice":"keep","head":"ralph/add-retry","branch":"ralph/add-retry","changed_files":4}
"#;

fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_794_657_600 + seconds).unwrap()
}

/// Records from lines of seconds and events.
pub fn script(lines: &str) -> Vec<Record> {
    let mut clock = 0;
    let lines = lines.lines().filter(|line| !line.is_empty()).enumerate();
    lines
        .map(|(seq, line)| {
            let (seconds, event) = line.split_once(' ').unwrap();
            clock += seconds.parse::<i64>().unwrap();
            let mut record: Value = serde_json::from_str(event).unwrap();
            record["v"] = json!(1);
            record["seq"] = json!(seq);
            record["at"] = json!(moment(clock));
            record["run"] = json!("20261114-120000-x7k2");
            serde_json::from_value(record).unwrap()
        })
        .collect()
}

/// A receipt of a run that stands so.
pub fn receipt(lines: &str, state: RunState) -> Receipt {
    let records = script(lines);
    let progress = Progress::of(&records);
    let summary = RunSummary {
        run: RunId("20261114-120000-x7k2".to_owned()),
        change: "add-retry".to_owned(),
        began: moment(0),
        ended: moment(3600),
        state,
        headline: progress.headline(state, &TimeZone::UTC),
        alerts: progress.alerts(),
        branch: None,
        finish: progress.finish.as_ref().map(|it| it.choice),
        stories: progress.story_counts(),
        attempts: 0,
        elapsed_ms: 0,
        tokens: 0,
        cost_usd: None,
        cost_is_partial: false,
    };
    Receipt::of(&summary, &records, moment(100))
}

/// The receipt of a run with everything in it.
pub fn everything() -> Receipt {
    receipt(EVERYTHING, RunState::BudgetUsedUp)
}
