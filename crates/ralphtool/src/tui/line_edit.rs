//! A text input of one line.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::wrap;

/// A text with a cursor in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LineEdit {
    text: String,
    /// A byte position at a grapheme boundary.
    cursor: usize,
    /// The whole text is selected: what is typed replaces it. A key that moves the cursor ends that.
    is_selected: bool,
}

/// The visible part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// The text to draw.
    pub(crate) text: String,
    /// The column of the cursor in it.
    pub(crate) cursor: usize,
}

impl LineEdit {
    /// A text with the cursor at its end.
    pub(crate) fn new(text: &str) -> Self {
        let mut edit = Self::default();
        edit.paste(text);
        edit
    }

    /// A text that the first letter replaces.
    pub(crate) fn selected(text: &str) -> Self {
        let is_selected = !text.is_empty();
        Self {
            is_selected,
            ..Self::new(text)
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether what is typed replaces the text.
    pub(crate) const fn is_selected(&self) -> bool {
        self.is_selected
    }

    /// Inserts a text at the cursor: line breaks and tabs become spaces, escape sequences and
    /// control characters are dropped.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\t', " ");
        let text = crate::ui::text::clean(&text);
        if std::mem::take(&mut self.is_selected) {
            self.remove(0, self.text.len());
        }
        self.text.insert_str(self.cursor, &text);
        // An inserted mark joins the character before it.
        self.cursor = self.boundary_at_or_after(self.cursor + text.len());
    }

    /// Handles a key: types, moves or deletes.
    pub(crate) fn press(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_removal = matches!(key.code, KeyCode::Backspace | KeyCode::Delete);
        if self.is_selected && is_removal {
            *self = Self::default();
            return;
        }
        let is_letter = matches!(key.code, KeyCode::Char(_)) && !control;
        self.is_selected &= is_letter;
        match key.code {
            KeyCode::Char('u') if control => self.remove(0, self.cursor),
            KeyCode::Char('k') if control => self.text.truncate(self.cursor),
            KeyCode::Char('w') if control => self.remove(self.word_before(), self.cursor),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(c) if !control => self.paste(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => self.remove(self.before(), self.cursor),
            KeyCode::Delete => self.remove(self.cursor, self.after()),
            KeyCode::Left if control => self.cursor = self.word_before(),
            KeyCode::Right if control => self.cursor = self.word_after(),
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => {}
        }
    }

    /// The part to draw in this many columns, so that the cursor is visible, at the end too.
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
        // The column that was kept free for the cursor.
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

    fn word_after(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let word = rest.trim_start();
        let spaces = rest.len() - word.len();
        let word = word.find(char::is_whitespace).unwrap_or(word.len());
        self.boundary_at_or_after(self.cursor + spaces + word)
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
            is_selected: false,
        }
    }

    fn key(code: KeyCode) -> impl Fn(&mut LineEdit) {
        move |it| it.press(KeyEvent::from(code))
    }

    fn ctrl(code: KeyCode) -> impl Fn(&mut LineEdit) {
        move |it| it.press(KeyEvent::new(code, KeyModifiers::CONTROL))
    }

    #[track_caller]
    fn case(before: &str, act: impl FnOnce(&mut LineEdit), after: &str) {
        let mut it = edit(before);
        act(&mut it);
        assert_eq!(it, edit(after));
    }

    #[test]
    fn types_at_the_cursor() {
        case("a|c", key(KeyCode::Char('b')), "ab|c");
        case("|", key(KeyCode::Char('漢')), "漢|");
        case("e|x", key(KeyCode::Char('\u{301}')), "e\u{301}|x");
        case("a|", key(KeyCode::Char('\u{7}')), "a|");
    }

    #[test]
    fn a_selected_text_is_replaced_by_what_is_typed() {
        #[track_caller]
        fn case(act: impl FnOnce(&mut LineEdit), after: &str) {
            let mut it = LineEdit::selected("off");
            act(&mut it);
            assert_eq!(it, edit(after));
        }
        case(key(KeyCode::Char('5')), "5|");
        case(|it| it.paste("2.50"), "2.50|");
        case(key(KeyCode::Backspace), "|");
        case(key(KeyCode::Left), "of|f");
        case(ctrl(KeyCode::Char('a')), "|off");
        assert!(!LineEdit::selected("").is_selected());
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
        case("ab|c", key(KeyCode::Backspace), "a|c");
        case("|c", key(KeyCode::Backspace), "|c");
        case("a|bc", key(KeyCode::Delete), "a|c");
        case("a|", key(KeyCode::Delete), "a|");
        case("👨‍👩‍👧‍👦|", key(KeyCode::Backspace), "|");
        case("xe\u{301}|", key(KeyCode::Backspace), "x|");
    }

    #[test]
    fn moves_by_characters_and_words() {
        case("漢字|", key(KeyCode::Left), "漢|字");
        case("漢|字", key(KeyCode::Right), "漢字|");
        case("|a", key(KeyCode::Left), "|a");
        case("a|", key(KeyCode::Right), "a|");
        case("one two  |", ctrl(KeyCode::Left), "one |two  ");
        case("one t|wo", ctrl(KeyCode::Left), "one |two");
        case("on|e two", ctrl(KeyCode::Right), "one| two");
        case("one|  two three", ctrl(KeyCode::Right), "one  two| three");
        case("  |", ctrl(KeyCode::Left), "|  ");
        case("a|b", key(KeyCode::Home), "|ab");
        case("a|b", key(KeyCode::End), "ab|");
    }

    #[test]
    fn removes_to_the_ends_and_by_words() {
        case("one two|x", ctrl(KeyCode::Char('w')), "one |x");
        case("one  |", ctrl(KeyCode::Char('w')), "|");
        case("ab|cd", ctrl(KeyCode::Char('u')), "|cd");
        case("ab|cd", ctrl(KeyCode::Char('k')), "ab|");
    }

    #[test]
    fn the_cursor_is_always_visible() {
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
            for (which, text) in keys {
                match which {
                    0 => it.paste(&text),
                    1 => key(KeyCode::Backspace)(&mut it),
                    2 => key(KeyCode::Delete)(&mut it),
                    3 => key(KeyCode::Left)(&mut it),
                    4 => key(KeyCode::Right)(&mut it),
                    5 => ctrl(KeyCode::Left)(&mut it),
                    6 => ctrl(KeyCode::Right)(&mut it),
                    7 => key(KeyCode::Home)(&mut it),
                    8 => key(KeyCode::End)(&mut it),
                    9 => ctrl(KeyCode::Char('w'))(&mut it),
                    10 => ctrl(KeyCode::Char('u'))(&mut it),
                    _ => ctrl(KeyCode::Char('k'))(&mut it),
                }
                let view = it.view(columns);
                prop_assert!(it.text.is_char_boundary(it.cursor));
                prop_assert!(wrap::columns(&view.text) <= columns);
                prop_assert!(view.cursor < columns);
            }
        }
    }
}
