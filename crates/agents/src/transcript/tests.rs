use super::*;
use pretty_assertions::assert_eq;

fn read(output: Output, stream: &[u8]) -> Vec<Entry> {
    let mut reader = EntryReader::new(output);
    let mut entries = Vec::new();
    let mut start = 0;
    let mut rest = None;
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len() as u64;
        let whole = line.strip_suffix(b"\n");
        let next = StreamLine {
            bytes: whole.unwrap_or(line),
            truncated: false,
            source: Source::between(start, end),
        };
        match whole {
            Some(_) => reader.line(next, &mut entries),
            None => rest = Some(next),
        }
        start = end;
    }
    entries.extend(reader.unfinished(rest));
    entries
}

fn texts(stream: &str) -> Vec<String> {
    let text = |entry: Entry| match entry.event {
        AgentEvent::Text { text } => text,
        other => panic!("{other:?}"),
    };
    let entries = read(Output::Text, stream.as_bytes());
    entries.into_iter().map(text).collect()
}

#[test]
fn lines_of_plain_text_become_blocks() {
    #[track_caller]
    fn case(stream: &str, want: &[&str]) {
        assert_eq!(texts(stream), want);
    }
    case("", &[]);
    case("\n \n\n", &[]);
    case("one\ntwo\n\n\nthree", &["one\ntwo", "three"]);
    case(
        "a\n```sh\nls\n\ncd\n```\n\nb\n",
        &["a\n```sh\nls\n\ncd\n```", "b"],
    );
    case("```\nopen\n\nstill", &["```\nopen\n\nstill\n```"]);
    let many = "x\n".repeat(85);
    let lines: Vec<usize> = texts(&many).iter().map(|it| it.lines().count()).collect();
    assert_eq!(lines, [40, 40, 5]);
    let long = format!("{}\n", "y".repeat(1500)).repeat(3);
    let sizes: Vec<usize> = texts(&long).iter().map(String::len).collect();
    assert_eq!(sizes, [3001, 1500]);
}

#[test]
fn a_block_that_is_cut_inside_a_fence_is_a_fence_on_both_sides() {
    let stream = format!("```rust\n{}```\nafter\n", "code\n".repeat(50));
    let blocks = texts(&stream);
    assert_eq!(blocks.len(), 2);
    assert!(blocks[0].ends_with("code\n```"), "{}", blocks[0]);
    assert!(blocks[1].starts_with("```rust\ncode\n"), "{}", blocks[1]);
    assert!(blocks[1].ends_with("```\nafter"), "{}", blocks[1]);
}

#[test]
fn a_block_knows_where_it_stands() {
    let entries = read(Output::Text, b"one\ntwo\n\nthree\n");
    let sources: Vec<Source> = entries.iter().map(|entry| entry.source).collect();
    assert_eq!(
        sources,
        [Source { offset: 0, len: 8 }, Source { offset: 9, len: 6 }]
    );
    let indexes: Vec<usize> = entries.iter().map(|entry| entry.index).collect();
    assert_eq!(indexes, [0, 1]);
}

#[test]
fn only_what_is_worth_showing_is_an_entry() {
    let stream = br#"{"type":"system","subtype":"init","cwd":"/repo","session_id":"s","model":"m"}
{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"Hello\n\nyou"}],"usage":{"input_tokens":5}}}
{"type":"assistant","message":{"id":"1","content":[{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"a\nb","is_error":false}]}}
{"type":"result","subtype":"success","is_error":false,"result":"done"}
{"type":"assis"#;
    let events: Vec<AgentEvent> = read(Output::ClaudeJson, stream)
        .into_iter()
        .map(|entry| entry.event)
        .collect();
    let text = "Hello\n\nyou".to_owned();
    let want = [
        AgentEvent::Session {
            id: "s".to_owned(),
            model: Some("m".to_owned()),
        },
        AgentEvent::Text { text },
        AgentEvent::ToolCall {
            tool: "Bash".to_owned(),
            summary: "ls".to_owned(),
        },
        AgentEvent::ToolResult {
            bytes: 3,
            is_error: false,
            tail: vec!["a".to_owned(), "b".to_owned()],
        },
    ];
    assert_eq!(events, want);
}

#[test]
fn a_needle_is_found_whatever_its_case() {
    let call = AgentEvent::ToolCall {
        tool: "Bash".to_owned(),
        summary: "cargo Test".to_owned(),
    };
    let found = ["bash", "TEST", "h cargo", "x"].map(|text| Needle::new(text).is_in(&call));
    assert_eq!(found, [true, true, true, false]);
}

#[test]
fn the_whole_of_an_entry_is_shown_as_lines() {
    #[track_caller]
    fn case(source: &str, want: &[&str]) {
        assert_eq!(detail(source.as_bytes()), want);
    }
    case(
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/repo/a","new_string":"x\ny","replace_all":false,"edits":[1]}}]}}"#,
        &[
            "Edit",
            "edits:",
            "[",
            "  1",
            "]",
            "file_path: /repo/a",
            "new_string:",
            "  x",
            "  y",
            "replace_all: false",
        ],
    );
    case(
        r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"one\ntwo","is_error":false}]},"tool_use_result":{"stdout":"no"}}"#,
        &["one", "two"],
    );
    case(
        r#"{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"one"},{"type":"image"}]}]}}"#,
        &["one", "", "{", "  \"type\": \"image\"", "}"],
    );
    case(
        r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm\nyes"}]}}"#,
        &["hm", "yes"],
    );
    case(r#"{"type":"new"}"#, &["{", "  \"type\": \"new\"", "}"]);
    case("plain\r\ntext\n", &["plain", "text"]);
    case("", &[]);
}

#[test]
fn tools_of_every_agent_are_shown_as_lines() {
    #[track_caller]
    fn case(source: &str, want: &[&str]) {
        assert_eq!(detail(source.as_bytes()), want);
    }
    // Codex.
    case(
        r#"{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"ls","aggregated_output":"a\nb\n","exit_code":2,"status":"failed"}}"#,
        &["ls", "", "a", "b", "exit code 2"],
    );
    case(
        r#"{"type":"item.completed","item":{"id":"i","type":"file_change","changes":[{"path":"/repo/a","kind":"add"},{"path":"/repo/b","kind":"update"}],"status":"completed"}}"#,
        &["add /repo/a", "update /repo/b"],
    );
    // opencode.
    case(
        r#"{"type":"tool_use","part":{"type":"tool","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a\n","metadata":{"exit":0}}}}"#,
        &["bash", "command: ls", "", "a"],
    );
    case(
        r#"{"type":"tool_use","part":{"tool":"write","state":{"status":"error","input":{"filePath":"/x"},"error":"no"}}}"#,
        &["write", "filePath: /x", "", "no"],
    );
    // Gemini CLI.
    case(
        r#"{"type":"tool_use","tool_name":"write_file","tool_id":"t","parameters":{"file_path":"a","content":"x\ny"}}"#,
        &["write_file", "content:", "  x", "  y", "file_path: a"],
    );
    case(
        r#"{"type":"tool_result","tool_id":"t","status":"success","output":"one\ntwo"}"#,
        &["one", "two"],
    );
    case(
        r#"{"type":"tool_result","tool_id":"t","status":"error","output":"","error":{"type":"x","message":"no such file"}}"#,
        &["no such file"],
    );
}

#[test]
fn words_that_come_in_pieces_are_one_entry() {
    let stream = br#"{"type":"init","session_id":"s","model":"m"}
{"type":"message","role":"assistant","content":"One li","delta":true}
{"type":"message","role":"assistant","content":"ne\nand another","delta":true}
{"type":"message","role":"assistant","content":".\n\nNew paragraph","delta":true}
{"type":"tool_use","tool_name":"read_file","parameters":{"file_path":"a"}}
{"type":"message","role":"assistant","content":"half","delta":true}
"#;
    let events: Vec<AgentEvent> = read(Output::GeminiJson, stream)
        .into_iter()
        .map(|entry| entry.event)
        .collect();
    let words = |text: &str| AgentEvent::Text {
        text: text.to_owned(),
    };
    let want = [
        AgentEvent::Session {
            id: "s".to_owned(),
            model: Some("m".to_owned()),
        },
        words("One line\nand another."),
        words("New paragraph"),
        AgentEvent::ToolCall {
            tool: "read_file".to_owned(),
            summary: "a".to_owned(),
        },
        words("half"),
    ];
    assert_eq!(events, want);
}

#[test]
fn the_whole_of_a_huge_entry_is_cut() {
    let lines = detail("é".repeat(100_000).as_bytes());
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].len(), 64 * 1024);
    assert_eq!(lines[1], "… 134464 bytes more, in the transcript");
}

#[test]
fn a_search_finds_the_lines_of_an_answer_that_are_shown() {
    let answer = AgentEvent::ToolResult {
        bytes: 900,
        is_error: false,
        tail: vec!["3 passed".to_owned(), "1 FAILED".to_owned()],
    };
    assert!(Needle::new("failed").is_in(&answer));
    assert!(!Needle::new("compiling").is_in(&answer));
}
