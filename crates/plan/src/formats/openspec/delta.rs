//! Delta specs: the requirements a change adds and modifies, read as `OpenSpec` reads them.
//!
//! A scenario is raw text under a fourth-level heading; its steps are not parsed. Requirements
//! that are removed or renamed ask for nothing an agent could check, so they are not read.

use crate::change::Scenario;
use crate::js;

/// One requirement with its scenarios.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) name: String,
    pub(super) scenarios: Vec<Scenario>,
}

/// What one delta spec asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Delta {
    /// New requirements.
    pub(super) added: Vec<Requirement>,
    /// Requirements that replace existing ones of the same name.
    pub(super) modified: Vec<Requirement>,
}

impl Delta {
    /// All its scenarios.
    pub(super) fn into_scenarios(self) -> impl Iterator<Item = Scenario> {
        let requirements = self.added.into_iter().chain(self.modified);
        requirements.flat_map(|requirement| requirement.scenarios)
    }
}

/// Reads the delta spec of a capability; what is not in one of the two sections is left out.
pub(super) fn read_delta(capability: &str, bytes: &[u8]) -> Delta {
    let text = String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let lines = mask_fences(text.split('\n'));
    let mut delta = Delta::default();
    for (title, body) in parts(&lines, section_title) {
        let list = match title.to_lowercase().as_str() {
            "added requirements" => &mut delta.added,
            "modified requirements" => &mut delta.modified,
            _ => continue,
        };
        for (name, lines) in parts(body, requirement_name) {
            list.push(Requirement {
                name: name.to_owned(),
                scenarios: scenarios(capability, name, lines),
            });
        }
    }
    delta
}

/// A line, and whether it stands inside a code fence.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    /// Its number, from 1.
    number: usize,
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
        .zip(1..)
        .map(|(text, number)| {
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
            Line {
                text,
                number,
                fenced,
            }
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

/// Cuts at the lines that have a title; what is before the first of them is left out.
fn parts<'a>(
    lines: &'a [Line<'a>],
    title: fn(&str) -> Option<&str>,
) -> Vec<(&'a str, &'a [Line<'a>])> {
    let starts: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((index, title(line.structure()?)?)))
        .collect();
    let ends = starts.iter().skip(1).map(|(index, _)| *index);
    starts
        .iter()
        .zip(ends.chain([lines.len()]))
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

/// `^#{1,6}\s`.
fn heading_level(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    ((1..=6).contains(&level) && line[level..].starts_with(js::is_space)).then_some(level)
}

fn scenarios(capability: &str, requirement: &str, lines: &[Line<'_>]) -> Vec<Scenario> {
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
            found.push(Scenario {
                capability: capability.to_owned(),
                requirement: requirement.to_owned(),
                name: scenario_name(line.text).to_owned(),
                text: js::trim_end(text.trim_start_matches('\n')).to_owned(),
                line: line.number,
            });
        }
    }
    found
}

fn scenario_name(line: &str) -> &str {
    let text = strip_closing_hashes(js::trim(line.trim_start_matches('#')));
    js::trim(strip_word(text, "scenario:").unwrap_or(text))
}

#[cfg(test)]
mod tests;
