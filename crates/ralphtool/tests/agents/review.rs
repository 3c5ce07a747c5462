//! Reviews by the real agents: started such that they only read, they give their verdicts, and
//! nothing that they try to write is there afterwards.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::cli::Cli;
use crate::bench::script::{Step, call, run, say, write};
use crate::bench::{KEY, Script};
use crate::trial::{FIRST, ONE_STORY, Trial, good};

/// What only the prompt of a review says.
const REVIEW: &str = "You are reviewing the work of another agent";

fn verdicts(verdict: &str, evidence: &str) -> Step {
    let item = json!({"item": "T1", "verdict": verdict, "evidence": evidence});
    let answer = json!({"review": KEY, "verdicts": [item]});
    say(&format!("I have looked.\n\n```json\n{answer:#}\n```"))
}

/// A reviewer tries to write with each of its tools, and finds something not met, which the agent is to
/// repair, or is the reason of the next attempt; at last it finds everything met.
pub(crate) fn reviews(cli: Cli) {
    let evidence = "story-1.txt:1 has no blue door";
    // One that has no such tool ends its turn, and is asked once more.
    let writes = [
        call(write("junk.txt", "junk\n")),
        call(run(
            "echo junk > junk.txt; echo junk >> a.txt; git config alias.junk x",
        )),
        verdicts("not_met", evidence),
    ];
    let scripts = vec![
        Script::on(REVIEW)
            .attempt(writes)
            .attempt([verdicts("not_met", evidence)])
            .attempt([verdicts("met", "story-1.txt:1")]),
        Script::on(FIRST).attempt(good()),
    ];
    let trial = Trial::new(cli, ONE_STORY, scripts);
    let sandbox = &trial.sandbox;
    let config = sandbox.read("ralphtool.toml");
    let review = format!("{config}[[review]]\nagent = \"{}\"\n", cli.name());
    sandbox.write("ralphtool.toml", &review);
    sandbox.git("commit -qam review");
    trial.run(&["loop", "c"], 0);

    let results = sandbox.events_named("review_finished");
    let verdict = |it: &Value| it["result"]["items"][0]["verdict"].clone();
    let verdicts: Vec<Value> = results.iter().map(verdict).collect();
    let not_met = verdicts.iter().filter(|it| **it == "not_met").count();
    assert!(not_met > 0, "{results:?}");
    assert_eq!(verdicts.last().unwrap(), "met");
    let events = sandbox.events();
    let is_rejected = |it: &&Value| {
        matches!(
            it["event"].as_str(),
            Some("repair_started" | "attempt_failed")
        )
    };
    let rejected: Vec<&Value> = events.iter().filter(is_rejected).collect();
    let reason = format!("T1 1.1 Do a: not met: {evidence}");
    let says_why =
        |it: &&Value| it["kind"] == "review" && it["reason"].as_str().unwrap().ends_with(&reason);
    assert_eq!(rejected.len(), not_met, "{rejected:?}");
    assert!(rejected.iter().all(says_why), "{rejected:?}");
    let first = ["attempt_failed", "repair_started"][usize::from(Cli::CONTINUED.contains(&cli))];
    assert_eq!(rejected[0]["event"], first);
    let used: Vec<&Value> = results
        .iter()
        .map(|it| &it["usage"]["input_tokens"])
        .collect();
    assert!(used.iter().all(|it| **it != json!(0)), "{results:?}");
    for path in ["junk.txt", ".git/junk"] {
        assert!(!sandbox.exists(path), "{path} is there");
    }
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!sandbox.read(".git/config").contains("junk"));
    trial.one_story_is_done();
    assert_eq!(trial.processes(), Vec::<String>::new());
}
