//! The user's git configuration as it is when a run begins, written out flat: conditional and
//! relative includes are resolved, and nothing an agent writes into any config file later, a
//! filter say, is ever executed by us.

use std::fmt::Write as _;

/// Keys that describe the user's own git directory, or that our calls decide themselves.
const LEFT_OUT: &[&str] = &[
    "core.bare",
    "core.worktree",
    "core.repositoryformatversion",
    "core.hookspath",
    "core.fsmonitor",
    "core.splitindex",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "index.sparse",
];

/// Sections that describe the user's own git directory, or that are resolved already.
const LEFT_OUT_SECTIONS: &[&str] = &[
    "extensions.",
    "include.",
    "includeif.",
    "remote.",
    "branch.",
];

/// Turns the answer of `git config --list -z` into a file.
pub(crate) fn flat(listing: &[u8]) -> String {
    let mut text = String::new();
    for item in listing
        .split(|byte| *byte == 0)
        .filter(|item| !item.is_empty())
    {
        let item = String::from_utf8_lossy(item);
        let (key, value) = match item.split_once('\n') {
            Some((key, value)) => (key, Some(value)),
            None => (&*item, None),
        };
        let is_left_out = LEFT_OUT.contains(&key)
            || LEFT_OUT_SECTIONS
                .iter()
                .any(|section| key.starts_with(section));
        if !is_left_out {
            write_entry(&mut text, key, value);
        }
    }
    text
}

fn write_entry(text: &mut String, key: &str, value: Option<&str>) {
    let (Some((section, _)), Some((head, name))) = (key.split_once('.'), key.rsplit_once('.'))
    else {
        return;
    };
    let _ = match head
        .strip_prefix(section)
        .and_then(|rest| rest.strip_prefix('.'))
    {
        Some(subsection) => writeln!(text, "[{section} \"{}\"]", escaped(subsection)),
        None => writeln!(text, "[{section}]"),
    };
    let _ = match value {
        Some(value) => writeln!(text, "\t{name} = \"{}\"", escaped(value)),
        None => writeln!(text, "\t{name}"),
    };
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
        out
    })
}

/// The last value of a key without a subsection, in a file that [`flat`] wrote.
pub(crate) fn value_of(config: &str, key: &str) -> Option<String> {
    let (section, name) = key.split_once('.')?;
    let heading = format!("[{section}]");
    let mut inside = false;
    let mut found = None;
    for line in config.lines() {
        if line.starts_with('[') {
            inside = line == heading;
            continue;
        }
        let (present, value) = match line.trim_start().split_once(" = ") {
            Some((present, value)) => (present, value),
            None => (line.trim_start(), "true"),
        };
        if inside && present == name {
            found = Some(unescaped(value));
        }
    }
    found
}

fn unescaped(value: &str) -> String {
    let quoted = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let mut text = String::new();
    let mut characters = quoted.unwrap_or(value).chars();
    while let Some(c) = characters.next() {
        text.push(match (c, quoted) {
            ('\\', Some(_)) => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => c,
            },
            _ => c,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{flat, value_of};
    use pretty_assertions::assert_eq;

    #[test]
    fn a_listing_becomes_a_file_git_reads_the_same() {
        let listing = b"user.name\nAnn \"A\"\0core.bare\nfalse\0filter.a.b.clean\ncat %f\\\0\
            core.autocrlf\0remote.o.url\nx\0alias.x\none\ntwo\0";
        assert_eq!(
            flat(listing),
            "[user]\n\tname = \"Ann \\\"A\\\"\"\n\
             [filter \"a.b\"]\n\tclean = \"cat %f\\\\\"\n\
             [core]\n\tautocrlf\n\
             [alias]\n\tx = \"one\\ntwo\"\n"
        );
    }

    #[test]
    fn a_value_is_found_again() {
        let text = flat(b"core.a\n1\0core.b\0core.a\n \"x\\\0filter.core.a\nno\0");
        assert_eq!(value_of(&text, "core.a").as_deref(), Some(" \"x\\"));
        assert_eq!(value_of(&text, "core.b").as_deref(), Some("true"));
        assert_eq!(value_of(&text, "core.c"), None);
    }

    #[test]
    fn git_reads_back_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let listing: &[u8] = b"user.name\n  Ann # \"A\"; \0filter.x y.clean\na\tb\\n\n\0";
        std::fs::write(&path, flat(listing)).unwrap();
        let output = std::process::Command::new("git")
            .args(["config", "--list", "-z", "--file"])
            .arg(&path)
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(listing)
        );
    }
}
