//! `--json`: standard output is one JSON object per line and nothing else, as the schema says.

use std::path::Path;

use crate::sandbox::{GOOD, Sandbox, records};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The schema of the stream.
struct Schema(Value);

impl Schema {
    fn read() -> Self {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .join("docs/events.schema.json");
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    /// Checks a value against the parts of JSON Schema that ours uses.
    #[track_caller]
    fn check(&self, value: &Value) {
        if let Err(problem) = self.fits(value, &self.0, true) {
            panic!("{problem} in {value}");
        }
    }

    fn fits(&self, value: &Value, schema: &Value, closed: bool) -> Result<(), String> {
        if let Some(name) = schema["$ref"].as_str() {
            let target = self.0.pointer(name.trim_start_matches('#')).unwrap();
            return self.fits(value, target, closed);
        }
        fits_type(value, schema)?;
        if schema.get("const").is_some_and(|wanted| wanted != value) {
            return Err(format!("not {}", schema["const"]));
        }
        if schema["enum"]
            .as_array()
            .is_some_and(|all| !all.contains(value))
        {
            return Err(format!("not one of {}", schema["enum"]));
        }
        self.fits_properties(value, schema)?;
        let variants = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
        let variant = match variants {
            None => None,
            Some(variants) => Some(self.variant(value, variants)?),
        };
        if closed {
            known(value, &[Some(schema), variant])?;
        }
        if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
            for value in values {
                self.fits(value, items, true)?;
            }
        }
        Ok(())
    }

    fn fits_properties(&self, value: &Value, schema: &Value) -> Result<(), String> {
        for name in schema["required"].as_array().into_iter().flatten() {
            if value.get(name.as_str().unwrap()).is_none() {
                return Err(format!("{name} is missing"));
            }
        }
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = value.get(name) {
                self.fits(value, schema, true)
                    .map_err(|problem| format!("{name}: {problem}"))?;
            }
        }
        Ok(())
    }

    fn variant<'a>(&'a self, value: &Value, variants: &'a [Value]) -> Result<&'a Value, String> {
        let mut problems = Vec::new();
        for variant in variants {
            match self.fits(value, variant, false) {
                Ok(()) => return Ok(variant),
                Err(problem) => problems.push(problem),
            }
        }
        Err(format!("fits nothing: {}", problems.join("; ")))
    }
}

fn fits_type(value: &Value, schema: &Value) -> Result<(), String> {
    let wanted: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let is = |name: &&str| match *name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema uses the type {other}"),
    };
    if wanted.iter().any(is) {
        return Ok(());
    }
    Err(format!("{value} is no {wanted:?}"))
}

/// Every key of an object is described by one of the schemas, where they describe any.
fn known(value: &Value, schemas: &[Option<&Value>]) -> Result<(), String> {
    let described: Vec<&String> = schemas
        .iter()
        .flatten()
        .filter_map(|schema| schema["properties"].as_object())
        .flat_map(|properties| properties.keys())
        .collect();
    if described.is_empty() {
        return Ok(());
    }
    let unknown = value
        .as_object()
        .into_iter()
        .flat_map(|object| object.keys())
        .find(|key| !described.contains(key));
    unknown.map_or(Ok(()), |key| Err(format!("{key} is not described")))
}

/// Runs the loop with `--json` and checks every line.
#[track_caller]
fn stream(sandbox: &Sandbox, flags: &[&str], code: i32) -> Vec<Value> {
    let args = [&["loop", "c", "--json"], flags].concat();
    let output = sandbox.run(&args).ends_with(code);
    assert_eq!(output.stderr, "");
    let schema = Schema::read();
    let events = records(&output.stdout);
    for event in &events {
        schema.check(event);
        assert_eq!(event["v"], 1);
        assert_eq!(event["run"], events[0]["run"]);
    }
    events
}

fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

#[test]
fn the_events_of_a_run_are_in_order() {
    let sandbox = Sandbox::new();
    sandbox.config_and(
        "",
        "[[gate]]\nname = \"here\"\nrun = \"test -e story-1.txt\"\n",
    );
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY.$attempt != 2.1 ] || {{ failed no; exit; }}\n{GOOD}"
    ));
    let events = stream(&sandbox, &[], 0);
    assert_eq!(
        names(&events),
        [
            "run_started",
            "story_started",
            "gate_started",
            "gate_finished",
            "attempt_started",
            "agent",
            "agent",
            "gate_started",
            "gate_finished",
            "story_completed",
            "story_started",
            "attempt_started",
            "agent",
            "agent",
            "attempt_failed",
            "attempt_started",
            "agent",
            "agent",
            "gate_started",
            "gate_finished",
            "story_completed",
            "run_ended",
            "finished",
        ]
    );
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    // The record is the stream, without what the agent said.
    let mut told = events;
    told.retain(|event| event["event"] != "agent");
    assert_eq!(sandbox.events(), told);
}

#[test]
fn the_outcome_and_the_exit_code_agree() {
    let sandbox = Sandbox::new();
    let outcome = |events: &[Value]| {
        let ended = events.iter().find(|event| event["event"] == "run_ended");
        ended.unwrap()["outcome"]["why"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    sandbox.agent("failed 'no idea'");
    let events = stream(&sandbox, &["--max-retries", "0"], 1);
    assert_eq!(outcome(&events), "exhausted");
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY != 2 ] || {{ cd $root/state/ralphtool/*; mv snapshots $root/; touch snapshots; cd $root/repo; }}\n{GOOD}"
    ));
    let events = stream(&sandbox, &[], 4);
    assert_eq!(outcome(&events), "broken");
    let snapshots = sandbox.vault().join("snapshots");
    std::fs::remove_file(&snapshots).unwrap();
    std::fs::rename(sandbox.root.join("snapshots"), &snapshots).unwrap();
    sandbox.agent(GOOD);
    let events = stream(&sandbox, &["--on-finish", "cleanup"], 0);
    assert_eq!(outcome(&events), "all_done");
    assert_eq!(events[0]["event"], "recovered");
    let finished = events.last().unwrap();
    assert_eq!(
        (&finished["event"], &finished["choice"], &finished["head"]),
        (&"finished".into(), &"cleanup".into(), &"main".into())
    );
}

#[test]
fn a_refusal_writes_nothing_to_standard_output() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["loop", "none", "--json"]).ends_with(2);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
}

#[test]
fn the_stored_prompt_is_the_one_the_agent_got() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "printf '%s\\n' \"$prompt\" > $root/prompt.$RALPHTOOL_STORY\n{GOOD}"
    ));
    stream(&sandbox, &[], 0);
    for story in ["1", "2"] {
        let seen = std::fs::read_to_string(sandbox.root.join(format!("prompt.{story}"))).unwrap();
        let kept = sandbox.transcript(&format!("{story}.1"), "prompt.md");
        assert_eq!(seen.trim_end(), kept.trim_end());
    }
}

#[test]
fn a_dry_run_for_a_program_is_one_object() {
    let sandbox = Sandbox::new();
    sandbox.config_and(
        "max_retries = 1",
        "[budget]\nusd = 5\n[[gate]]\nname = \"tests\"\nrun = \"true\"\n",
    );
    let plan = |args: &[&str]| -> Value {
        let all = [args, &["--json", "--dry-run"]].concat();
        serde_json::from_str(&sandbox.run(&all).ends_with(0).stdout).unwrap()
    };
    let mut first = plan(&["loop", "c"]);
    let settings = first.as_object_mut().unwrap().remove("settings").unwrap();
    assert_eq!(
        first,
        json!({
            "change": "c",
            "start": "begin",
            "branch": "ralph/c",
            "agents": ["mine"],
            "attempts_per_story": 2,
            "gates": [{"name": "tests", "run": "true", "retries": 0}],
            "budget": {"usd": 5.0},
            "stories": [
                {"id": "1", "title": "First", "open_tasks": 2},
                {"id": "2", "title": "Second", "open_tasks": 2},
            ],
        })
    );
    let retries = json!({"name": "max_retries", "value": "1", "origin": "ralphtool.toml:2"});
    assert!(
        settings.as_array().unwrap().contains(&retries),
        "{settings}"
    );
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let resumed = plan(&["resume"]);
    assert_eq!(resumed["start"], "resume");
    assert_eq!(resumed["stories"].as_array().unwrap().len(), 1);
    sandbox.run(&["resume"]).ends_with(0);
    sandbox.git("switch -q main");
    let done = plan(&["loop", "c"]);
    assert_eq!(
        (&done["start"], &done["stories"]),
        (&json!("nothing"), &json!([]))
    );
}
