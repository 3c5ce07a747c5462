//! Delta specs: what a change adds, modifies, removes and renames, read as `OpenSpec` reads it.
//!
//! A scenario is raw text under a fourth-level heading; its steps are not taken apart.

use crate::js;

/// What one delta spec says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Delta {
    /// New requirements.
    pub added: Vec<Requirement>,
    /// Requirements that replace existing ones of the same name.
    pub modified: Vec<Requirement>,
    /// Names of requirements that go away.
    pub removed: Vec<String>,
    /// Requirements that get another name.
    pub renamed: Vec<Rename>,
}

/// One requirement with its scenarios.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// Its name.
    pub name: String,
    /// The text before its first scenario.
    pub body: String,
    /// Whether the body says SHALL or MUST.
    pub normative: bool,
    /// Its scenarios.
    pub scenarios: Vec<DeltaScenario>,
}

/// One scenario of a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeltaScenario {
    /// Its name, without `Scenario:`.
    pub name: String,
    /// Its text below the heading, as written.
    pub text: String,
}

/// A requirement's old and new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rename {
    /// The name so far.
    pub from: String,
    /// The name to come.
    pub to: String,
}

/// Reads a delta spec; what is not in one of the four sections is left out.
pub(crate) fn read_delta(bytes: &[u8]) -> Delta {
    let text = String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines = mask_fences(text.split('\n'));
    let mut delta = Delta::default();
    for (title, body) in sections(&lines) {
        match title.to_lowercase().as_str() {
            "added requirements" => delta.added.extend(requirements(body)),
            "modified requirements" => delta.modified.extend(requirements(body)),
            "removed requirements" => delta.removed.extend(removed(body)),
            "renamed requirements" => delta.renamed.extend(renamed(body)),
            _ => {}
        }
    }
    delta
}

/// A line, and whether it stands inside a code fence.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    fenced: bool,
}

impl<'a> Line<'a> {
    /// The text, unless the line is only an example.
    fn structure(self) -> Option<&'a str> {
        (!self.fenced).then_some(self.text)
    }
}

/// Marks fenced lines by `OpenSpec`'s rule: any indent opens, and an open end hides the rest.
fn mask_fences<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Line<'a>> {
    let mut active: Option<(char, usize)> = None;
    lines
        .map(|text| {
            let fence = fence(text);
            let fenced = active.is_some() || fence.is_some();
            active = match (active, fence) {
                (None, Some((marker, length, _))) => Some((marker, length)),
                (Some((marker, length)), Some((end, count, bare)))
                    if bare && end == marker && count >= length =>
                {
                    None
                }
                (active, _) => active,
            };
            Line { text, fenced }
        })
        .collect()
}

/// The marker, its length, and whether nothing follows it.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let text = js::trim_start(line);
    let marker = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == marker).count();
    (length >= 3).then(|| (marker, length, js::trim(&text[length..]).is_empty()))
}

fn sections<'a>(lines: &'a [Line<'a>]) -> Vec<(&'a str, &'a [Line<'a>])> {
    let starts: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((index, section_title(line.structure()?)?)))
        .collect();
    let ends = starts
        .iter()
        .skip(1)
        .map(|(index, _)| *index)
        .chain([lines.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|((start, title), end)| (*title, &lines[start + 1..end]))
        .collect()
}

/// `^##\s+(.+)$`.
fn section_title(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("##")?;
    let spaced = rest.starts_with(js::is_space) && rest.chars().nth(1).is_some();
    // `.` crosses no line end, and only a feed ends a line here; `\s` may eat the others before.
    let title = js::trim_start(rest);
    (spaced && !title.contains(js::ends_line) && !rest.ends_with(js::ends_line))
        .then(|| js::trim(title))
}

/// `^###\s*Requirement:\s*(.+)\s*$`, in any case; the name without closing hashes.
fn requirement_name(line: &str) -> Option<&str> {
    let rest = js::trim_start(line.strip_prefix("###")?);
    let rest = strip_word(rest, "requirement:")?;
    let name = js::trim(rest);
    let blank = rest.chars().all(js::ends_line);
    (!blank && !name.contains(js::ends_line)).then(|| strip_closing_hashes(name))
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

fn strip_closing_hashes(text: &str) -> &str {
    let bare = text.trim_end_matches('#');
    if bare.ends_with(js::is_space) {
        js::trim_end(bare)
    } else {
        text
    }
}

fn requirements(lines: &[Line<'_>]) -> Vec<Requirement> {
    let starts: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((index, requirement_name(line.structure()?)?)))
        .collect();
    let ends = starts
        .iter()
        .skip(1)
        .map(|(index, _)| *index)
        .chain([lines.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|((start, name), end)| requirement(name, &lines[start + 1..end]))
        .collect()
}

fn requirement(name: &str, lines: &[Line<'_>]) -> Requirement {
    let body = body(lines);
    Requirement {
        name: name.to_owned(),
        normative: has_word(&body, "SHALL") || has_word(&body, "MUST"),
        body,
        scenarios: scenarios(lines),
    }
}

/// The lines before the first heading; `**Key**:` lines only where there is nothing else.
fn body(lines: &[Line<'_>]) -> String {
    let (facts, prose): (Vec<&str>, Vec<&str>) = lines
        .iter()
        .filter_map(|line| line.structure())
        .take_while(|line| heading_level(line).is_none())
        .map(js::trim)
        .filter(|line| !line.is_empty())
        .partition(|line| is_key_line(line));
    if prose.is_empty() { facts } else { prose }.join("\n")
}

/// `^#{1,6}\s`.
fn heading_level(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    ((1..=6).contains(&level) && line[level..].starts_with(js::is_space)).then_some(level)
}

/// `^\*\*[^*]+\*\*:`.
fn is_key_line(line: &str) -> bool {
    line.strip_prefix("**")
        .and_then(|rest| rest.split_once('*'))
        .is_some_and(|(key, rest)| !key.is_empty() && rest.starts_with("*:"))
}

/// Whether the word occurs with no letter, digit or underscore beside it.
fn has_word(text: &str, word: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(joins) && !text[at + word.len()..].starts_with(joins))
}

fn scenarios(lines: &[Line<'_>]) -> Vec<DeltaScenario> {
    let level = |line: &Line<'_>| line.structure().and_then(heading_level);
    let mut found = Vec::new();
    for (index, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| level(line) == Some(4))
    {
        let text: Vec<&str> = lines[index + 1..]
            .iter()
            .take_while(|next| level(next).is_none_or(|level| level > 4))
            .map(|next| next.text)
            .collect();
        let text = text.join("\n");
        // A heading without anything below it is no scenario.
        if !js::trim(&text).is_empty() {
            found.push(DeltaScenario {
                name: scenario_name(line.text).to_owned(),
                text: js::trim_end(text.trim_start_matches('\n')).to_owned(),
            });
        }
    }
    found
}

fn scenario_name(line: &str) -> &str {
    let text = strip_closing_hashes(js::trim(line.trim_start_matches('#')));
    js::trim(strip_word(text, "scenario:").unwrap_or(text))
}

fn removed<'a>(lines: &'a [Line<'a>]) -> impl Iterator<Item = String> {
    lines
        .iter()
        .filter_map(|line| line.structure())
        .filter_map(|line| {
            requirement_name(line).or_else(|| quoted_requirement(skip_bullet(line)?))
        })
        .map(str::to_owned)
}

fn skip_bullet(line: &str) -> Option<&str> {
    js::trim_start(line)
        .strip_prefix(['-', '*', '+'])
        .map(js::trim_start)
}

/// `` `?###\s*Requirement:\s*(.+?)`?\s*$ ``, here with exact case.
fn quoted_requirement(text: &str) -> Option<&str> {
    let text = js::trim_end(text.strip_prefix('`').unwrap_or(text));
    let rest = js::trim_start(text.strip_prefix("###")?).strip_prefix("Requirement:")?;
    let name = rest.strip_suffix('`').unwrap_or(rest);
    let name = strip_closing_hashes(js::trim(name));
    (!name.is_empty() && !name.contains(js::ends_line)).then_some(name)
}

fn renamed(lines: &[Line<'_>]) -> Vec<Rename> {
    let mut pairs = Vec::new();
    let mut old: Option<&str> = None;
    for line in lines.iter().filter_map(|line| line.structure()) {
        let item = skip_bullet(line).unwrap_or_else(|| js::trim_start(line));
        if let Some(name) = item.strip_prefix("FROM:").and_then(named) {
            old = Some(name);
        } else if let Some(name) = item.strip_prefix("TO:").and_then(named)
            && let Some(from) = old.take()
        {
            pairs.push(Rename {
                from: from.to_owned(),
                to: name.to_owned(),
            });
        }
    }
    pairs
}

fn named(text: &str) -> Option<&str> {
    quoted_requirement(js::trim_start(text))
}

#[cfg(test)]
mod tests;
