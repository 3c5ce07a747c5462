//! The difference between two versions of a git configuration, applied to a third one, key by key.

use std::collections::BTreeSet;

/// A configuration: its sections in order.
struct Config {
    sections: Vec<Section>,
}

/// A head and the entries below it. What comes before the first head has none.
struct Section {
    /// The head as git compares it.
    name: String,
    head: String,
    entries: Vec<Entry>,
}

/// One setting, or a comment: its lines, the last one with its line break.
#[derive(Clone, PartialEq, Eq)]
struct Entry {
    /// The key as git compares it; a comment is its own key.
    key: String,
    text: String,
}

/// `ours` with every key whose values differ between `from` and `to` as `to` has it. None where one of
/// them is not text.
pub(super) fn with_changes(ours: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let read = |bytes| Some(Config::read(std::str::from_utf8(bytes).ok()?));
    let (mut ours, from, to) = (read(ours)?, read(from)?, read(to)?);
    let names = to.sections.iter().chain(&from.sections).map(|it| &*it.name);
    for name in without_repeats(names) {
        let (before, after) = (from.entries(name), to.entries(name));
        let keys = after.iter().chain(&before).map(|it| &*it.key);
        for key in without_repeats(keys) {
            let of_key = |entries: &[&Entry]| -> Vec<Entry> {
                let entries = entries.iter().filter(|it| it.key == key);
                entries.copied().cloned().collect()
            };
            let wanted = of_key(&after);
            if of_key(&before) != wanted {
                let head = to.section(name).map_or(name, |it| &it.head);
                ours.set(name, head, key, wanted);
            }
        }
        if to.section(name).is_none() {
            ours.sections
                .retain(|it| it.name != name || !it.entries.is_empty());
        }
    }
    Some(ours.text().into_bytes())
}

impl Config {
    fn read(text: &str) -> Self {
        let mut sections = vec![Section::new("")];
        let mut lines = text.split_inclusive('\n');
        while let Some(line) = lines.next() {
            let mut rest = line.trim_start();
            if rest.starts_with('[') {
                let end = end_of_head(rest);
                sections.push(Section::new(&rest[..end]));
                rest = rest[end..].trim_start();
            }
            if rest.is_empty() {
                continue;
            }
            let mut entry = rest.to_owned();
            while is_continued(&entry)
                && let Some(next) = lines.next()
            {
                entry.push_str(next);
            }
            if let Some(section) = sections.last_mut() {
                section.entries.push(Entry::new(entry));
            }
        }
        Self { sections }
    }

    fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|it| it.name == name)
    }

    /// The entries of all sections of a name.
    fn entries(&self, name: &str) -> Vec<&Entry> {
        let sections = self.sections.iter().filter(|it| it.name == name);
        sections.flat_map(|it| &it.entries).collect()
    }

    /// Replaces the entries of a key.
    fn set(&mut self, name: &str, head: &str, key: &str, entries: Vec<Entry>) {
        for section in self.sections.iter_mut().filter(|it| it.name == name) {
            section.entries.retain(|it| it.key != key);
        }
        if entries.is_empty() {
            return;
        }
        if self.section(name).is_none() {
            self.sections.push(Section::new(head));
        }
        let last = self.sections.iter_mut().rfind(|it| it.name == name);
        if let Some(section) = last {
            section.entries.extend(entries);
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            if !section.head.is_empty() {
                text.push_str(&section.head);
                text.push('\n');
            }
            let indent = if section.head.is_empty() { "" } else { "\t" };
            for entry in &section.entries {
                text.push_str(indent);
                text.push_str(&entry.text);
            }
        }
        text
    }
}

impl Section {
    fn new(head: &str) -> Self {
        // The name of a section ignores case, that of a part in quotes does not.
        let (section, part) = head.split_at(head.find('"').unwrap_or(head.len()));
        Self {
            name: section.to_ascii_lowercase() + part,
            head: head.to_owned(),
            entries: Vec::new(),
        }
    }
}

impl Entry {
    fn new(mut text: String) -> Self {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let key = if text.starts_with(['#', ';']) {
            text.clone()
        } else {
            let end = text.find('=').unwrap_or(text.len());
            text[..end].trim().to_ascii_lowercase()
        };
        Self { key, text }
    }
}

fn without_repeats<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// Where the head of a section ends: after its bracket, which may be inside quotes before.
fn end_of_head(line: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return at + 1,
            _ => {}
        }
    }
    line.len()
}

/// True where a setting goes on in the next line.
fn is_continued(entry: &str) -> bool {
    let line = entry.lines().last().unwrap_or_default();
    let is_comment = entry.starts_with(['#', ';']);
    let slashes = line.chars().rev().take_while(|c| *c == '\\').count();
    !is_comment && entry.ends_with('\n') && slashes % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::with_changes;
    use pretty_assertions::assert_eq;

    fn merged(ours: &str, from: &str, to: &str) -> String {
        let bytes = with_changes(ours.as_bytes(), from.as_bytes(), to.as_bytes());
        String::from_utf8(bytes.unwrap()).unwrap()
    }

    #[test]
    fn a_change_is_applied_to_its_keys_alone() {
        let ours = "[core]\n\tbare = false\n[remote \"up\"]\n\turl = a\n\tfetch = x\n";
        let from = "[core]\n\tbare = false\n\tfsmonitor = evil\n[remote \"up\"]\n\turl = b\n\
                    [alias]\n\told = log\n";
        let to = "[Core]\n\tbare = false\n\tfsmonitor = evil\n\tabbrev = 9\n# mine\n\
                  [remote \"up\"]\n\turl = c\n\turl = d\n[remote \"UP\"] url = e\n";
        assert_eq!(
            merged(ours, from, to),
            "[core]\n\tbare = false\n\tabbrev = 9\n\t# mine\n\
             [remote \"up\"]\n\tfetch = x\n\turl = c\n\turl = d\n[remote \"UP\"]\n\turl = e\n"
        );
    }

    #[test]
    fn what_is_removed_goes_with_its_section() {
        let ours = "[remote \"up\"]\n\turl = a\n[core]\n\tx = 1\n";
        let from = "[remote \"up\"]\n\turl = a\n";
        assert_eq!(merged(ours, from, ""), "[core]\n\tx = 1\n");
    }

    #[test]
    fn a_setting_of_several_lines_is_one_entry() {
        let long = "[alias]\n\tx = !sh \\\n  [no head]\n\ty = log # comment";
        assert_eq!(
            merged("", "", long),
            "[alias]\n\tx = !sh \\\n  [no head]\n\ty = log # comment\n"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_not_merged() {
        assert_eq!(with_changes(b"\xff", b"", b""), None);
    }
}
