//! Sessions that several processes worked in, one after the other: what each of them used by itself,
//! and how an agent says that it does not know a session.

use pretty_assertions::assert_eq;

use super::{Recording, continued, figures, recording, trouble};
use crate::agent_event::{AgentEvent, Usage};
use crate::dialect::{StreamEnd, TurnEnd};

/// A process of a session: the recording, its exit code unless it was killed, and what it used.
type Process = (&'static str, Option<i32>, &'static str);

/// The processes of each session in their order.
const SESSIONS: &[&[Process]] = &[
    &[
        ("claude-cont1", Some(0), "3300+36+600+60 $0.014340"),
        ("claude-cont2", Some(0), "15000+24+11000+90 $0.063130"),
        ("claude-cont3", Some(0), "9000+17+7000+5 $0.037765"),
    ],
    &[
        ("claude-kill1", None, "2100+2+300+50"),
        ("claude-kill2", Some(0), "15000+24+11000+90 $0.063130"),
    ],
    // The figures of the session include an earlier process that was not recorded.
    &[("claude-api2", Some(0), "15000+24+11000+90 $0.063130")],
    &[
        ("codex-cont1", Some(0), "2700+36+600+0"),
        ("codex-cont2", Some(0), "0+24+11000+0"),
        ("codex-cont3", Some(0), "0+17+7000+0"),
    ],
    // What a killed process used is in the figures of the next one.
    &[
        ("codex-kill1", None, "0+0+0+0"),
        ("codex-kill2", Some(0), "4900+34+11100+0"),
    ],
    &[
        ("opencode-cont1", Some(0), "2700+36+600+0 $0.008820"),
        ("opencode-cont2", Some(0), "0+24+11000+0 $0.003660"),
        ("opencode-cont3", Some(0), "0+17+7000+0 $0.002355"),
    ],
    &[
        ("qwen-cont1", Some(0), "2700+36+600+0"),
        ("qwen-cont2", Some(0), "4000+24+11000+0"),
        ("qwen-cont3", Some(0), "4000+34+14000+0"),
    ],
    &[
        ("qwen-kill1", None, "1800+22+300+0"),
        ("qwen-kill2", Some(0), "4000+24+11000+0"),
    ],
    &[("copilot-cont2", Some(0), "0+0+0+0")],
    &[("copilot-kill2", Some(0), "0+0+0+0")],
    &[("pi-cont2", Some(0), "0+24+11000+0 $0.003660")],
    &[("pi-kill2", Some(0), "4000+24+11000+0 $0.015660")],
    &[
        ("goose-kill1", None, "0+0+0+0"),
        ("goose-kill2", Some(0), "16000+34+0+0"),
    ],
];

/// Reads the processes of a session, each with what was used before it.
fn ends(
    session: &[Process],
    change: fn(Recording) -> Recording,
) -> Vec<(String, Vec<AgentEvent>, StreamEnd)> {
    let mut earlier = Usage::default();
    let read = |(name, code, _): &Process| {
        let (events, end) = continued(&change(recording(name)), *code, earlier);
        earlier.add(&end.usage);
        ((*name).to_owned(), events, end)
    };
    session.iter().map(read).collect()
}

#[test]
fn a_process_of_a_session_reports_what_it_used_by_itself() {
    for session in SESSIONS {
        for ((name, events, end), (_, _, used)) in ends(session, |it| it).iter().zip(*session) {
            assert_eq!(figures(&end.usage), *used, "{name}");
            let last = events.iter().rev().find_map(|event| match event {
                AgentEvent::Usage { usage, .. } => Some(*usage),
                _ => None,
            });
            assert_eq!(last.unwrap_or_default(), end.usage, "{name}");
        }
    }
}

#[test]
fn the_figures_of_an_older_claude_are_those_of_the_session() {
    let older = |mut recording: Recording| {
        let text = String::from_utf8(recording.stdout).expect("text");
        let field = "model_usage_since_last_result";
        assert!(text.contains(field));
        recording.stdout = text.replace(field, "unknown_field").into_bytes();
        recording
    };
    for ((name, _, end), (_, _, used)) in ends(SESSIONS[0], older).iter().zip(SESSIONS[0]) {
        assert_eq!(figures(&end.usage), *used, "{name}");
    }
}

#[test]
fn every_process_of_a_session_has_its_id() {
    for session in SESSIONS {
        let ends = ends(session, |it| it);
        let ids: Vec<_> = ends.iter().map(|(_, _, end)| &end.session).collect();
        let agent = ends[0].0.split('-').next();
        // goose does not say which session it is in.
        assert_eq!(ids[0].is_none(), agent == Some("goose"), "{session:?}");
        assert!(ids.iter().all(|id| *id == ids[0]), "{session:?}: {ids:?}");
        assert!(ends.iter().all(|(_, _, end)| end.began), "{session:?}");
    }
}

#[test]
fn an_id_that_could_be_taken_for_a_flag_is_no_session() {
    for id in ["", "--allow-all"] {
        let line = serde_json::json!({"type": "thread.started", "thread_id": id});
        let mut reader = crate::dialect::Output::CodexJson.reader(&super::when());
        reader.line(line.to_string().as_bytes(), false);
        assert_eq!(reader.verdict().session, None, "{id}");
    }
}

#[test]
fn an_agent_that_does_not_know_a_session_never_begins() {
    let agents = [
        "claude", "codex", "opencode", "qwen", "copilot", "pi", "goose",
    ];
    let seen = agents.map(|agent| {
        let recording = recording(&format!("{agent}-unknown"));
        let (_, end) = continued(&recording, Some(1), Usage::default());
        assert!(!end.began && end.turn != TurnEnd::Ended, "{agent}: {end:?}");
        trouble(&end)
    });
    let claude = " error: No conversation found with session ID: 11111111-";
    assert_eq!(seen, [claude, "", "", "", "", "", ""]);
}
