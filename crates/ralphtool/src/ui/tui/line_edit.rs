//! One line of text that the user types.

use super::wrap;

/// A text with a cursor in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LineEdit {
    text: String,
    /// A byte of the text at which a character begins, or its end.
    cursor: usize,
}

/// The part of a text that is in sight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// What is to be drawn.
    pub(crate) text: String,
    /// The column of the cursor in it.
    pub(crate) cursor: usize,
}

impl LineEdit {
    /// A text with the cursor behind it.
    pub(crate) fn new(text: &str) -> Self {
        let mut edit = Self::default();
        edit.paste(text);
        edit
    }

    /// The text so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Inserts a character at the cursor; control characters are nothing.
    pub(crate) fn insert(&mut self, c: char) {
        self.paste(c.encode_utf8(&mut [0; 4]));
    }

    /// Inserts a text at the cursor: line breaks and tabs become spaces, escape sequences and
    /// control characters are dropped.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\t', " ");
        let text = crate::ui::text::clean(&text);
        self.text.insert_str(self.cursor, &text);
        // What was inserted may have joined the characters around it.
        self.cursor = self.boundary_at_or_after(self.cursor + text.len());
    }

    /// Removes the character before the cursor.
    pub(crate) fn backspace(&mut self) {
        self.remove(self.before(), self.cursor);
    }

    /// Removes the character at the cursor.
    pub(crate) fn delete(&mut self) {
        self.remove(self.cursor, self.after());
    }

    /// Removes everything before the cursor.
    pub(crate) fn delete_to_start(&mut self) {
        self.remove(0, self.cursor);
    }

    /// Removes everything from the cursor on.
    pub(crate) fn delete_to_end(&mut self) {
        self.text.truncate(self.cursor);
    }

    /// Removes the word before the cursor.
    pub(crate) fn delete_word(&mut self) {
        self.remove(self.word_before(), self.cursor);
    }

    /// Moves one character to the left.
    pub(crate) fn left(&mut self) {
        self.cursor = self.before();
    }

    /// Moves one character to the right.
    pub(crate) fn right(&mut self) {
        self.cursor = self.after();
    }

    /// Moves to the start of the word before the cursor.
    pub(crate) fn word_left(&mut self) {
        self.cursor = self.word_before();
    }

    /// Moves behind the word after the cursor.
    pub(crate) fn word_right(&mut self) {
        let rest = &self.text[self.cursor..];
        let spaces = rest.len() - rest.trim_start().len();
        let word = rest.trim_start();
        let word = word.find(char::is_whitespace).unwrap_or(word.len());
        self.cursor = self.boundary_at_or_after(self.cursor + spaces + word);
    }

    /// Moves to the start.
    pub(crate) fn home(&mut self) {
        self.cursor = 0;
    }

    /// Moves to the end.
    pub(crate) fn end(&mut self) {
        self.cursor = self.text.len();
    }

    /// What of it is in sight in the given number of columns; the cursor always is, even behind the end.
    pub(crate) fn view(&self, columns: usize) -> View {
        let mut room = columns.saturating_sub(1);
        let mut shown = Vec::new();
        let mut before = 0;
        for part in wrap::graphemes(&self.text[..self.cursor]).rev() {
            let wide = wrap::columns(part);
            if wide > room {
                break;
            }
            room -= wide;
            before += wide;
            shown.push(part);
        }
        let mut text: String = shown.into_iter().rev().collect();
        // The cursor's own column is there too.
        room += columns.min(1);
        for part in wrap::graphemes(&self.text[self.cursor..]) {
            let wide = wrap::columns(part);
            if wide > room {
                break;
            }
            room -= wide;
            text.push_str(part);
        }
        View {
            text,
            cursor: before,
        }
    }

    fn before(&self) -> usize {
        let last = wrap::graphemes(&self.text[..self.cursor]).next_back();
        self.cursor - last.map_or(0, str::len)
    }

    fn after(&self) -> usize {
        let next = wrap::graphemes(&self.text[self.cursor..]).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        let start = before.char_indices().rev();
        let start = start
            .take_while(|(_, c)| !c.is_whitespace())
            .last()
            .map_or(before.len(), |(at, _)| at);
        self.boundary_at_or_after(start).min(self.cursor)
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = self.boundary_at_or_after(from);
    }

    fn boundary_at_or_after(&self, at: usize) -> usize {
        let mut end = 0;
        for part in wrap::graphemes(&self.text) {
            if end >= at {
                break;
            }
            end += part.len();
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    /// A text with `|` for the cursor.
    fn edit(marked: &str) -> LineEdit {
        let cursor = marked.find('|').unwrap();
        LineEdit {
            text: marked.replacen('|', "", 1),
            cursor,
        }
    }

    #[track_caller]
    fn case(before: &str, act: impl FnOnce(&mut LineEdit), after: &str) {
        let mut it = edit(before);
        act(&mut it);
        assert_eq!(it, edit(after));
    }

    #[test]
    fn types_at_the_cursor() {
        case("a|c", |it| it.insert('b'), "ab|c");
        case("|", |it| it.insert('漢'), "漢|");
        case("e|x", |it| it.insert('\u{301}'), "e\u{301}|x");
        case("a|", |it| it.insert('\u{7}'), "a|");
    }

    #[test]
    fn pastes_one_clean_line() {
        case(
            "<|>",
            |it| it.paste("one\r\ntwo\nthree\tfour"),
            "<one two three four|>",
        );
        case("|", |it| it.paste("\u{1b}[31mred\u{1b}[0m\0"), "red|");
    }

    #[test]
    fn removes_whole_characters() {
        case("ab|c", LineEdit::backspace, "a|c");
        case("|c", LineEdit::backspace, "|c");
        case("a|bc", LineEdit::delete, "a|c");
        case("a|", LineEdit::delete, "a|");
        case("👨‍👩‍👧‍👦|", LineEdit::backspace, "|");
        case("xe\u{301}|", LineEdit::backspace, "x|");
    }

    #[test]
    fn moves_by_characters_and_words() {
        case("漢字|", LineEdit::left, "漢|字");
        case("漢|字", LineEdit::right, "漢字|");
        case("|a", LineEdit::left, "|a");
        case("a|", LineEdit::right, "a|");
        case("one two  |", LineEdit::word_left, "one |two  ");
        case("one t|wo", LineEdit::word_left, "one |two");
        case("on|e two", LineEdit::word_right, "one| two");
        case("one|  two three", LineEdit::word_right, "one  two| three");
        case("  |", LineEdit::word_left, "|  ");
        case("a|b", LineEdit::home, "|ab");
        case("a|b", LineEdit::end, "ab|");
    }

    #[test]
    fn removes_to_the_ends_and_by_words() {
        case("one two|x", LineEdit::delete_word, "one |x");
        case("one  |", LineEdit::delete_word, "|");
        case("ab|cd", LineEdit::delete_to_start, "|cd");
        case("ab|cd", LineEdit::delete_to_end, "ab|");
    }

    #[test]
    fn the_cursor_is_always_in_sight() {
        #[track_caller]
        fn case(marked: &str, columns: usize, text: &str, cursor: usize) {
            let text = text.to_owned();
            assert_eq!(edit(marked).view(columns), View { text, cursor });
        }
        case("hello|", 10, "hello", 5);
        case("|hello", 3, "hel", 0);
        case("hello|", 4, "llo", 3);
        case("hel|lo", 3, "ell", 2);
        case("漢字漢字|", 6, "漢字", 4);
        case("漢字|漢字", 6, "漢字漢", 4);
        case("hello|", 0, "", 0);
        case("|", 5, "", 0);
    }

    proptest! {
        #[test]
        fn any_keys_leave_a_whole_text(start in "\\PC{0,12}", keys in proptest::collection::vec((0_usize..12, "\\PC{0,3}"), 0..20), columns in 1_usize..12) {
            let mut it = LineEdit::new(&start);
            for (key, text) in keys {
                match key {
                    0 => it.paste(&text),
                    1 => it.backspace(),
                    2 => it.delete(),
                    3 => it.left(),
                    4 => it.right(),
                    5 => it.word_left(),
                    6 => it.word_right(),
                    7 => it.home(),
                    8 => it.end(),
                    9 => it.delete_word(),
                    10 => it.delete_to_start(),
                    _ => it.delete_to_end(),
                }
                let view = it.view(columns);
                prop_assert!(it.text.is_char_boundary(it.cursor));
                prop_assert!(wrap::columns(&view.text) <= columns);
                prop_assert!(view.cursor < columns);
            }
        }
    }
}
