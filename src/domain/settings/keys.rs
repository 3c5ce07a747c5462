//! Every key of the configuration, once: what it is for, what it takes, what holds without it, and
//! which variable and flag say the same.
//!
//! The reader of the file takes its lists of known keys from here, `init` its comments, the manual
//! page and `docs/configuration.md` their tables.

mod list;

use super::Settings;

pub(crate) use self::list::TABLES;

/// A table of the configuration, or its top.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyTable {
    /// How it is opened; empty for the top of the file.
    pub(crate) header: &'static str,
    /// What it is for.
    pub(crate) about: &'static str,
    /// What it may look like, where its keys only make sense together.
    pub(crate) example: Option<&'static str>,
    /// Its keys, in the order they are told.
    pub(crate) keys: &'static [KeyInfo],
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyInfo {
    /// Its name within its table.
    pub(crate) name: &'static str,
    /// Whether it counts at once in a repository's own file, or only after the user allowed it.
    pub(crate) trust: Trust,
    /// What may stand behind it.
    pub(crate) kind: Kind,
    /// What holds without it.
    pub(crate) without: Without,
    /// The variable that says the same.
    pub(crate) variable: Option<&'static str>,
    /// The flag of `loop` and `resume` that says the same.
    pub(crate) flag: Option<&'static str>,
    /// What it is for, in lines that fit a comment.
    pub(crate) about: &'static str,
}

/// Whether a repository's own file may use a key without the user's permission. A file may have come
/// with a clone, or an agent may have changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It only decides how ralphtool itself works: it starts nothing, sets no variable of any
    /// program, opens no path and removes nothing.
    NotNeeded,
    /// It does this, and counts only after the user has allowed it; `{name}` is that of its table.
    Needed(&'static str),
}

/// What may stand behind a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Text.
    Text,
    /// One of these words.
    OneOf(fn() -> Vec<&'static str>),
    /// The name of an agent, or a list of them.
    Agents,
    /// A whole number.
    Count,
    /// Yes or no.
    Flag,
    /// How long.
    Duration,
    /// How many bytes.
    Size,
    /// How many US dollars.
    Money,
    /// How many tokens.
    Tokens,
    /// A program and its arguments.
    Command,
    /// Folders and files.
    Paths,
    /// Some of these words.
    SomeOf(fn() -> Vec<&'static str>),
    /// Variables of an environment.
    Environment,
}

impl Kind {
    /// What users are told to write.
    pub(crate) fn words(self) -> String {
        let list = |names: &[&str]| {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            quoted.join(", ")
        };
        match self {
            Self::Text => "a string".to_owned(),
            Self::OneOf(names) => format!("one of {}", list(&names())),
            Self::Agents => "a name, or a list of names".to_owned(),
            Self::Count => "a whole number".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Duration => "a duration such as `\"15m\"`".to_owned(),
            Self::Size => "a size such as `\"50MB\"`".to_owned(),
            Self::Money => "an amount such as `2.50`".to_owned(),
            Self::Tokens => "a number such as `500_000` or `\"2M\"`".to_owned(),
            Self::Command => "a list: program and arguments".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::SomeOf(names) => format!("a list of {}", list(&names())),
            Self::Environment => "a table of variables".to_owned(),
        }
    }
}

/// What holds where a key is left out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Without {
    /// A value, as TOML has it.
    Default(fn(&Settings) -> String),
    /// Nothing; the value is an example.
    Nothing(&'static str),
    /// Something that is no value of its own, in words; the value is an example.
    Other(&'static str, &'static str),
    /// It cannot be left out; the value is an example.
    Needed(&'static str),
}

impl Without {
    /// A value that may stand in a file: the default, or else an example.
    pub(crate) fn value(self, defaults: &Settings) -> String {
        match self {
            Self::Default(value) => value(defaults),
            Self::Nothing(example) | Self::Needed(example) | Self::Other(_, example) => {
                example.to_owned()
            }
        }
    }

    /// What users are told about the key that is left out.
    pub(crate) fn words(self, defaults: &Settings) -> String {
        match self {
            Self::Default(value) => format!("`{}`", value(defaults)),
            Self::Nothing(_) => "nothing".to_owned(),
            Self::Other(words, _) => words.to_owned(),
            Self::Needed(_) => "needed".to_owned(),
        }
    }
}

/// How often a table may be in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It is the top of the file.
    Top,
    /// Once: `[budget]`.
    Once(&'static str),
    /// In a list: `[[gate]]`.
    Many(&'static str),
    /// Once for each name: `[agents.mine]`.
    Named(&'static str),
}

/// The names of the keys below that header.
pub(crate) fn names(header: &str) -> Vec<&'static str> {
    let of_it = TABLES.iter().filter(|table| table.header == header);
    let keys = of_it.flat_map(|table| table.keys).map(|key| key.name);
    let tables = TABLES.iter().filter(|_| header.is_empty());
    keys.chain(tables.filter_map(KeyTable::top_name)).collect()
}

impl KeyTable {
    /// How often it may be in a file.
    pub(crate) fn shape(&self) -> Shape {
        match self.top_name() {
            None => Shape::Top,
            Some(name) if self.header.starts_with("[[") => Shape::Many(name),
            Some(name) if self.header.contains('.') => Shape::Named(name),
            Some(name) => Shape::Once(name),
        }
    }

    /// The key at the top of the file that opens it.
    pub(crate) fn top_name(&self) -> Option<&'static str> {
        let inner = self.header.trim_matches(['[', ']']);
        inner.split('.').next().filter(|name| !name.is_empty())
    }
}

/// A string as TOML has it.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests;
