//! What the main agent says, kept for those who want more of it than its promise: a reviewer's
//! verdicts are in its words.

/// Of a longer text only the end is kept.
const MOST: usize = 512 * 1024;

/// The end of what an agent said; nothing unless it is kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Words(Option<String>);

impl Words {
    pub(super) fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(super) const fn are_kept(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn add(&mut self, text: &str) {
        let Some(words) = &mut self.0 else {
            return;
        };
        words.push_str(text);
        // Rarely, so that not every piece moves all of it.
        if words.len() > 2 * MOST {
            let mut start = words.len() - MOST;
            while !words.is_char_boundary(start) {
                start += 1;
            }
            words.drain(..start);
        }
    }

    pub(super) fn kept(&self) -> String {
        self.0.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::dialect::{Output, ProcessEnd};

    #[test]
    fn only_the_end_of_a_long_text_is_kept() {
        let mut words = Words::default();
        words.add("lost");
        assert_eq!(words.kept(), "");
        words.keep();
        for _ in 0..300 {
            words.add(&"ä".repeat(2048));
        }
        words.add("end");
        let kept = words.kept();
        assert!(
            kept.len() <= 2 * MOST && kept.len() >= MOST,
            "{}",
            kept.len()
        );
        assert!(kept.ends_with("äend"));
    }

    #[test]
    fn the_words_of_every_kind_of_stream_are_kept_whole() {
        let long = "x".repeat(100_000);
        let said = |output: Output, lines: &[String]| {
            let mut reader = output.reader(&jiff::Zoned::now());
            reader.keep_words();
            for line in lines {
                reader.line(line.as_bytes(), false);
            }
            reader.end(&ProcessEnd::default());
            reader.verdict().words
        };
        let text = said(Output::Text, &["one".to_owned(), long.clone()]);
        assert_eq!(text, format!("one\n{long}\n"));
        let claude = format!(
            r#"{{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{{"id":"a","content":[{{"type":"text","text":"{long}"}}]}}}}"#
        );
        assert_eq!(said(Output::ClaudeJson, &[claude]), format!("{long}\n"));
    }
}
