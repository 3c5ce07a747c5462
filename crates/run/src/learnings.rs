//! The notes agents keep for a change: how much of them goes into a prompt.

pub mod file;

/// Said where older notes do not fit.
const LEFT_OUT: &str = "(Older notes are left out here; all of them are in the file.)";

/// The newest notes that fit, from a line's start; `tail` is all of them, or more than fits.
pub(crate) fn newest(tail: &[u8], most: usize) -> Option<String> {
    let start = tail.len().saturating_sub(most);
    let is_cut = start > 0;
    let kept = if is_cut {
        &tail[line_after(tail, start)..]
    } else {
        tail
    };
    let text = String::from_utf8_lossy(kept);
    let text = text.trim();
    match (text.is_empty(), is_cut) {
        (true, _) => None,
        (false, false) => Some(text.to_owned()),
        (false, true) => Some(format!("{LEFT_OUT}\n\n{text}")),
    }
}

/// The first place from `start` on where a line begins; in a single long one, a character.
fn line_after(tail: &[u8], start: usize) -> usize {
    let says_something = |from: &usize| !tail[*from..].trim_ascii().is_empty();
    let ends = tail.iter().enumerate().skip(start - 1);
    let mut begins = ends
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1);
    begins.next().filter(says_something).unwrap_or_else(|| {
        let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        start + tail[start..].iter().take_while(is_inside).count()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_newest_notes_that_fit_are_whole_lines() {
        let notes = b"one\ntwo\nthree\n";
        let cut = |text: &str| Some(format!("{LEFT_OUT}\n\n{text}"));
        assert_eq!(newest(notes, 14).as_deref(), Some("one\ntwo\nthree"));
        assert_eq!(newest(notes, 13), cut("two\nthree"));
        assert_eq!(newest(notes, 8), cut("three"));
        assert_eq!(newest(notes, 10), cut("two\nthree"));
        assert_eq!(newest(b" \n\n", 14), None);
        assert_eq!(newest(b"", 14), None);
        assert_eq!(newest(notes, 0), None);
    }

    #[test]
    fn a_single_long_line_is_cut_between_characters() {
        let notes = "ä".repeat(10);
        let text = newest(notes.as_bytes(), 7).unwrap();
        assert_eq!(text, format!("{LEFT_OUT}\n\näää"));
        let text = newest(b"xxxx yyyy\n", 6).unwrap();
        assert_eq!(text, format!("{LEFT_OUT}\n\nyyyy"));
    }
}
