//! Every key of the configuration is declared once, as a row: its type, its default, the variable
//! and the flag that set it too, and what it is for. The macros here and in `all.rs` make from the
//! rows what holds the values, what reads them, and the [`KeyInfo`] that the messages, `init`, the
//! manual page and `docs/configuration.md` are written from.

use std::fmt::Display;

use super::agents::{AgentKeys, EscalateKeys, StoryKeys};
use super::all::{BUDGET, TAMPER, TIMEOUTS, TOP};
use super::gate::GateKeys;
use super::notify::NotifyKeys;
use super::prices::PriceKeys;

/// The tables of the configuration, the top of the file first.
pub const TABLES: [KeyTable; 10] = [
    TOP,
    GateKeys::TABLE,
    TIMEOUTS,
    BUDGET,
    TAMPER,
    NotifyKeys::TABLE,
    PriceKeys::TABLE,
    EscalateKeys::TABLE,
    StoryKeys::TABLE,
    AgentKeys::TABLE,
];

/// A table of the configuration, or its top.
#[derive(Debug, Clone, Copy)]
pub struct KeyTable {
    /// How it is opened; empty for the top of the file.
    pub header: &'static str,
    pub about: &'static str,
    /// What it may look like, where its keys only make sense together.
    pub example: Option<&'static str>,
    pub keys: &'static [KeyInfo],
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct KeyInfo {
    /// Its name within its table.
    pub name: &'static str,
    pub kind: Kind,
    pub without: Without,
    /// What it does that the user has to allow before it counts in a repository's own file, which
    /// may have come with a clone or been changed by an agent; `{name}` is that of its table. None
    /// where it only decides how ralphtool itself works: it starts nothing, sets no variable of any
    /// program, opens no path and removes nothing.
    pub asks: Option<&'static str>,
    /// The variable that says the same.
    pub variable: Option<&'static str>,
    /// The flag of `loop` and `resume` that says the same.
    pub flag: Option<&'static str>,
    /// What it is for, in lines that fit a comment.
    pub about: &'static str,
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Text,
    OneOf(fn() -> Vec<&'static str>),
    Agents,
    Count,
    Flag,
    Duration,
    Size,
    Money,
    Tokens,
    Command,
    Paths,
    SomeOf(fn() -> Vec<&'static str>),
    Environment,
}

impl Kind {
    /// What users are told to write.
    pub fn words(self) -> String {
        let list = |names: Vec<&str>| {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            quoted.join(", ")
        };
        let words = match self {
            Self::OneOf(names) => return format!("one of {}", list(names())),
            Self::SomeOf(names) => return format!("a list of {}", list(names())),
            Self::Text => "a string",
            Self::Agents => "a name, or a list of names",
            Self::Count => "a whole number",
            Self::Flag => "`true` or `false`",
            Self::Duration => "a duration such as `\"15m\"`",
            Self::Size => "a size such as `\"50MB\"`",
            Self::Money => "an amount such as `2.50`",
            Self::Tokens => "a number such as `500_000` or `\"2M\"`",
            Self::Command => "a list: program and arguments",
            Self::Paths => "a list of paths",
            Self::Environment => "a table of variables",
        };
        words.to_owned()
    }

    /// A value as TOML has it.
    pub(super) fn toml(self, value: &impl Display) -> String {
        match self {
            Self::Flag | Self::Count => value.to_string(),
            _ => quoted(&value.to_string()),
        }
    }
}

/// What holds where a key is left out.
#[derive(Debug, Clone, Copy)]
pub enum Without {
    /// A value, as TOML has it.
    Default(fn() -> String),
    /// Something that is no value of its own, in words.
    Words {
        words: &'static str,
        /// A value that the key could have, as TOML has it.
        example: &'static str,
    },
}

impl Without {
    /// A value that may stand in a file: the default, or else an example.
    pub fn value(self) -> String {
        match self {
            Self::Default(value) => value(),
            Self::Words { example, .. } => example.to_owned(),
        }
    }

    /// What users are told about the key that is left out.
    pub fn words(self) -> String {
        match self {
            Self::Default(value) => format!("`{}`", value()),
            Self::Words { words, .. } => words.to_owned(),
        }
    }
}

/// The [`KeyInfo`] of a row.
macro_rules! key_info {
    (
        $name:expr, $type:ty, [$($default:expr)?], [$($words:literal, $example:literal)?],
        [$($asks:literal)?], [$($variable:literal)?], [$($flag:literal)?], $about:literal
    ) => {
        super::keys::KeyInfo {
            name: $name,
            kind: <$type as super::value::Read>::KIND,
            $(without: super::keys::Without::Default(|| {
                <$type as super::value::Read>::KIND.toml(&$default)
            }),)?
            $(without: super::keys::Without::Words {
                words: $words,
                example: $example,
            },)?
            asks: super::keys::optional!($($asks)?),
            variable: super::keys::optional!($($variable)?),
            flag: super::keys::optional!($($flag)?),
            about: $about,
        }
    };
}
pub(super) use key_info;

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}
pub(super) use optional;

/// Declares a table whose keys become one value: the struct holds what a file says of each key, or
/// its default.
macro_rules! table {
    (
        $keys:ident, $header:literal, $about:literal $(, example $table_example:literal)?;
        $(
            $field:ident: $type:ty $(= $default:expr)?
            $(, without $words:literal, example $example:literal)?
            $(, asks $asks:literal)? $(, flag $flag:literal)?, $key_about:literal;
        )*
    ) => {
        pub(super) struct $keys {
            $($field: super::keys::field!(type $type $(= $default)?),)*
        }

        impl $keys {
            pub(super) const TABLE: super::keys::KeyTable =
                super::keys::KeyTable {
                    header: $header,
                    about: $about,
                    example: super::keys::optional!($($table_example)?),
                    keys: &[$(super::keys::key_info!(
                        stringify!($field), $type, [$($default)?], [$($words, $example)?],
                        [$($asks)?], [], [$($flag)?], $key_about
                    ),)*],
                };

            /// `header` is that of the table in the file.
            fn read(
                header: &str,
                item: &super::value::Item<'_>,
            ) -> Result<Self, super::value::Mistake> {
                use super::value::{Mistake, Read, table};
                let mut keys = Self {
                    $($field: super::keys::field!(value $($default)?),)*
                };
                for (key, item) in table(item)? {
                    match key.get_ref().as_ref() {
                        $(stringify!($field) => keys.$field = <$type as Read>::read(item)?.into(),)*
                        _ => return Err(Mistake::unknown_key(key, &Self::TABLE.names(), header)),
                    }
                }
                Ok(keys)
            }
        }
    };
}
pub(super) use table;

/// A field of a table: an option, unless the key has a default.
macro_rules! field {
    (type $type:ty) => { Option<<$type as super::value::Read>::Value> };
    (type $type:ty = $default:expr) => { <$type as super::value::Read>::Value };
    (value) => { None };
    (value $default:expr) => { $default };
}
pub(super) use field;

impl KeyTable {
    /// Whether there is one for each name, such as `[agents.mine]`.
    pub(super) fn is_by_name(&self) -> bool {
        self.header.contains('.')
    }

    /// The key at the top of the file that opens it.
    pub fn top_name(&self) -> Option<&'static str> {
        let inner = self.header.trim_matches(['[', ']']);
        inner.split('.').next().filter(|name| !name.is_empty())
    }

    /// The names of its keys; at the top, those of the tables too.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let tables = TABLES.iter().filter(|_| self.header.is_empty());
        let keys = self.keys.iter().map(|key| key.name);
        keys.chain(tables.filter_map(Self::top_name)).collect()
    }
}

/// A string as TOML has it.
pub fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests;
