//! The output of an agent that prints a lot: text, or events as Claude Code prints them.

use std::io::{self, Write};

/// How many bytes of text are made at a time: making every line separately would be slow.
const BLOCK: usize = 1024 * 1024;

/// Writes `count` events of Claude Code, no two alike.
pub(crate) fn events(out: &mut impl Write, count: u64) -> io::Result<()> {
    writeln!(
        out,
        r#"{{"type":"system","subtype":"init","session_id":"flood","model":"none"}}"#
    )?;
    let result = "test parser ... ok. ".repeat(8);
    for number in 0..count {
        let usage = r#"{"input_tokens":3,"output_tokens":80,"cache_read_input_tokens":9000}"#;
        match number % 3 {
            0 => writeln!(
                out,
                r#"{{"type":"assistant","message":{{"id":"m{number}","content":[{{"type":"text","text":"Event {number}: the **parser** is right, so `src/lib.rs` has to be looked at again."}}],"usage":{usage}}},"parent_tool_use_id":null}}"#
            )?,
            1 => writeln!(
                out,
                r#"{{"type":"assistant","message":{{"id":"m{number}","content":[{{"type":"tool_use","name":"Bash","input":{{"command":"cargo test parser_{number} --quiet"}}}}],"usage":{usage}}},"parent_tool_use_id":null}}"#
            )?,
            _ => writeln!(
                out,
                r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","content":"{result}","is_error":false}}]}},"parent_tool_use_id":null}}"#
            )?,
        }
    }
    Ok(())
}

/// Writes `bytes` bytes, rounded to whole lines.
pub(crate) fn text(out: &mut impl Write, bytes: u64) -> io::Result<()> {
    let mut block = String::new();
    let mut number = 0_u64;
    while block.len() < BLOCK {
        block.push_str("line ");
        block.push_str(&number.to_string());
        block.push_str(": compiling the parser, which takes its time, as it has done before now\n");
        number += 1;
    }
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    while left >= block.len() {
        out.write_all(block.as_bytes())?;
        left -= block.len();
    }
    let rest = block[..left].rfind('\n').map_or(0, |end| end + 1);
    out.write_all(&block.as_bytes()[..rest])
}

/// Counts what is written.
pub(crate) struct Counted<W> {
    inner: W,
    /// So far.
    pub(crate) bytes: u64,
}

impl<W: Write> Counted<W> {
    /// Nothing so far.
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, bytes: 0 }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Reads a number of bytes, such as `200MB`.
pub(crate) fn bytes(word: &str) -> Result<u64, String> {
    let (digits, factor) = match word.strip_suffix("MB") {
        Some(digits) => (digits, 1_000_000),
        None => (word, 1),
    };
    Ok(count(digits)? * factor)
}

/// Reads a number of events, such as `1000000`.
pub(crate) fn count(word: &str) -> Result<u64, String> {
    let number = word.replace('_', "").parse();
    number.map_err(|_| format!("`{word}` is not a number; try `--help`"))
}
