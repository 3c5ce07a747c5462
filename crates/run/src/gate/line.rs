//! The program that a shell line surely starts, without which it fails. All that needs a shell to be
//! understood is unknown.

/// What a line starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First<'a> {
    /// A bare name, which the shell knows or finds in `PATH`.
    Name(&'a str),
    /// A path.
    Path(&'a str),
    /// It is not certain what the line starts, or that it fails without it.
    Unknown,
}

/// Whether a line has only words, which every shell reads alike.
pub(super) fn is_plain(line: &str) -> bool {
    line.split_whitespace().all(is_word)
}

/// The program that a line surely starts first, and fails without.
pub(super) fn first_program(line: &str) -> First<'_> {
    let mut rest = line.trim();
    // After these a missing program may do no harm.
    if rest.contains([';', '|', '\n', '`']) || rest.replace("&&", "").contains('&') {
        return First::Unknown;
    }
    while let Some((name, after)) = next_word(rest).filter(|(word, _)| is_assignment(word)) {
        if name.starts_with("PATH=") {
            return First::Unknown;
        }
        rest = after;
    }
    let Some((word, after)) = next_word(rest) else {
        return First::Unknown;
    };
    if word == "cd" {
        return after_folder(after);
    }
    match word {
        _ if !is_word(word) || word.contains('=') => First::Unknown,
        _ if word.contains('/') => First::Path(word),
        _ => First::Name(word),
    }
}

/// What follows `cd FOLDER &&`; a path would be seen from that folder.
fn after_folder(rest: &str) -> First<'_> {
    let folder = next_word(rest).filter(|(folder, _)| is_word(folder));
    let and = folder.and_then(|(_, rest)| next_word(rest));
    match and.filter(|(and, _)| *and == "&&") {
        Some((_, rest)) => match first_program(rest) {
            First::Path(_) | First::Unknown => First::Unknown,
            name @ First::Name(_) => name,
        },
        None => First::Unknown,
    }
}

fn next_word(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    (end > 0).then(|| line.split_at(end))
}

/// A word without anything that a shell would expand.
fn is_word(word: &str) -> bool {
    let is_safe = |c: char| c.is_alphanumeric() || "_-./+:,@%=".contains(c);
    !word.is_empty() && word.chars().all(is_safe)
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.starts_with(|c: char| !c.is_ascii_digit())
    };
    is_word(word) && word.split_once('=').is_some_and(|(name, _)| is_name(name))
}
