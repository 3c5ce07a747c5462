//! Names of files in the text of a plan: `src/retry.rs`, in backticks or not.

use super::words::is_word_of;

/// Endings of files that a repository has. What ends otherwise may be `Type/method.name`.
const ENDINGS: &str = "\
    adoc astro bash bat c cc cfg cjs clj cmake conf cpp cs csproj css csv cts dart el erl ex exs \
    fs gd go gql gradle graphql h hbs hcl hpp hs html ini java jl js json json5 jsonc jsx kt kts \
    less lua m md mdx mjs ml mts nix php prisma proto ps1 py pyi rb rs rst scala scss sh sol sql \
    svelte svg swift tf toml ts tsx txt vue xml yaml yml zig";

/// Folders whose content is built, downloaded or private, so that it need not be there.
const NOT_KEPT: &str = "\
    .git .next .venv bin build coverage dist node_modules obj out target temp tmp vendor venv";

/// Ends of names of servers, as in `example.com/guide.html`.
const DOMAINS: &str = "ai app co com dev io net org";

/// Parts of a path that stand for others.
const PLACEHOLDERS: &str = "bar baz example foo my name nn nnn xxx your";

/// A part of a text, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// A word of a sentence.
    Word(&'a str),
    /// The path of a file, with a folder and an ending.
    File(&'a str),
    /// Other code.
    Code(&'a str),
}

impl<'a> Named<'a> {
    pub(super) fn word(&self) -> Option<&'a str> {
        match self {
            Self::Word(word) => Some(word),
            Self::File(_) | Self::Code(_) => None,
        }
    }

    pub(super) fn file(&self) -> Option<&'a str> {
        match self {
            Self::File(path) => Some(path),
            Self::Word(_) | Self::Code(_) => None,
        }
    }
}

/// The words, files and pieces of code of a text.
pub(super) fn tokens(text: &str) -> Vec<Named<'_>> {
    let pieces = pieces(text).filter(|(piece, _)| !piece.is_empty());
    let tokens = pieces.map(|(piece, is_code)| match as_file(piece) {
        Some(path) => Named::File(path),
        None if is_code || piece.contains('/') => Named::Code(piece),
        None => Named::Word(piece),
    });
    tokens.collect()
}

/// Everything in a text that may name a file or a folder, or the end of one.
pub(super) fn named(text: &str) -> impl Iterator<Item = &str> {
    let names = pieces(text).map(|(piece, _)| {
        let piece = piece.strip_prefix("./").unwrap_or(piece);
        without_line(piece).trim_end_matches('/')
    });
    names.filter(|name| name.contains(['/', '.']))
}

/// Whether the last part of a path has an ending, so that it is no folder.
pub(super) fn is_file_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| is_word_of(ending, ENDINGS))
}

/// The words of a text without the punctuation around them, and whether each is in backticks.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let parts = text.split('`').zip([false, true].into_iter().cycle());
    parts.flat_map(|(part, is_code)| {
        let is_end = |c: char| {
            c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '、' | '，' | '：' | '。')
        };
        part.split(is_end).map(move |piece| {
            let piece = piece
                .trim_start_matches('*')
                .trim_end_matches(['*', ':', '!', '?', '.']);
            (without_parentheses(piece), is_code)
        })
    })
}

/// `(src/a.rs)` without its parentheses; those inside a path belong to it.
fn without_parentheses(piece: &str) -> &str {
    let opens = piece.matches(['(', '[']).count();
    let closes = piece.matches([')', ']']).count();
    let piece = if opens > closes {
        piece.trim_start_matches(['(', '['])
    } else {
        piece
    };
    let piece = if closes > opens {
        piece.trim_end_matches([')', ']'])
    } else {
        piece
    };
    let inner = piece
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'));
    inner.unwrap_or(piece)
}

/// The path of a file that may or may not exist: nothing in it stands for something else.
fn as_file(piece: &str) -> Option<&str> {
    let path = without_line(piece.strip_prefix("./").unwrap_or(piece));
    let is_plain = |c: char| c.is_alphanumeric() || "_-./()[]+".contains(c);
    let mut folders = path.split('/');
    let is_whole = folders.clone().all(|part| !matches!(part, "" | "." | ".."));
    let is_kept = folders.clone().all(|part| !is_word_of(part, NOT_KEPT));
    let first = folders.next().filter(|first| *first != path)?;
    let server = first.rsplit_once('.');
    let is_server = server.is_some_and(|(name, end)| !name.is_empty() && is_word_of(end, DOMAINS));
    let fits = is_whole && is_kept && !is_server && is_file_name(path) && !is_placeholder(path);
    (fits && path.chars().all(is_plain)).then_some(path)
}

/// Whether a path stands for others: `path/to/file.ts`, `src/foo.rs`, `specs/NNN-name/plan.md`.
fn is_placeholder(path: &str) -> bool {
    let mut parts = path.split(['/', '.', '-', '_']);
    path.starts_with("path/to/") || parts.any(|part| is_word_of(part, PLACEHOLDERS))
}

/// `src/main.rs:12-40` without the lines.
fn without_line(piece: &str) -> &str {
    let Some((path, lines)) = piece.split_once(':') else {
        return piece;
    };
    let is_line = |c: char| c.is_ascii_digit() || c == '-' || c == ':';
    if lines.chars().all(is_line) {
        path
    } else {
        piece
    }
}
