//! Every key of the configuration is declared once, as a row: its type, its default, the variable
//! and the flag that set it too, and what it is for. The macros here and in `all.rs` make from the
//! rows what holds the values, what reads them, and the [`KeyInfo`] that the messages, `init`, the
//! manual page and `docs/configuration.md` are written from.

use super::value::Kind;

/// A table of the configuration, or its top.
#[derive(Debug, Clone, Copy)]
pub struct KeyTable {
    /// How it is opened; empty for the top of the file.
    pub header: &'static str,
    pub about: &'static str,
    /// An example, where its keys only make sense together.
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
    /// The variable that sets it too.
    pub variable: Option<&'static str>,
    /// The flag of `loop` and `resume` that sets it too.
    pub flag: Option<&'static str>,
    /// What it is for, in lines that fit a comment.
    pub about: &'static str,
}

/// What applies if a key is left out.
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

    /// What applies without the key, for users.
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
        super::key_table::KeyInfo {
            name: $name,
            kind: <$type as super::value::Read>::KIND,
            $(without: super::key_table::Without::Default(|| {
                <$type as super::value::Read>::KIND.toml(&$default)
            }),)?
            $(without: super::key_table::Without::Words {
                words: $words,
                example: $example,
            },)?
            asks: super::key_table::optional!($($asks)?),
            variable: super::key_table::optional!($($variable)?),
            flag: super::key_table::optional!($($flag)?),
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

/// Declares a table whose keys become one value: the struct holds each key's value in the file, or
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
            $($field: super::key_table::field!(type $type $(= $default)?),)*
        }

        impl $keys {
            pub(super) const TABLE: super::key_table::KeyTable =
                super::key_table::KeyTable {
                    header: $header,
                    about: $about,
                    example: super::key_table::optional!($($table_example)?),
                    keys: &[$(super::key_table::key_info!(
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
                    $($field: super::key_table::field!(value $($default)?),)*
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
    pub(crate) fn top_name(&self) -> Option<&'static str> {
        let inner = self.header.trim_matches(['[', ']']);
        inner.split('.').next().filter(|name| !name.is_empty())
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}
