//! What can be written after a key in a settings file, and how it is read.

use std::fmt::Display;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::{Origin, SettingsProblem, Sourced, nearest};
use crate::words;
use ralph_base::allowance::{CostLimit, Rate, TokenLimit};
use ralph_base::duration::TimeLimit;
use ralph_base::size::SizeLimit;
use ralph_vault::MessageTemplate;

/// A value of a settings file.
pub(super) type Item<'i> = Spanned<DeValue<'i>>;
/// A key of a settings file.
pub(super) type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;

/// What is wrong at a place of a settings file.
#[derive(Debug)]
pub struct Mistake {
    /// The byte offset in the text.
    pub(super) offset: usize,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Mistake {
    pub(super) fn isolate_removed(key: &Key<'_>) -> Self {
        let problem = SettingsProblem::isolate_removed("");
        Self {
            offset: key.span().start,
            message: problem.message,
            hint: problem.hint,
        }
    }

    pub(super) fn at<T>(place: &Spanned<T>, message: impl Display) -> Self {
        Self {
            offset: place.span().start,
            message: message.to_string(),
            hint: None,
        }
    }

    pub(super) fn wrong_type(item: &Item<'_>, wanted: &str) -> Self {
        let found = item.get_ref().type_str();
        Self::at(item, format!("expected {wanted}, found {found}"))
    }

    /// `place` is empty at the top of a file, and else the header of a table.
    pub(super) fn unknown_key(key: &Key<'_>, known: &[&str], place: &str) -> Self {
        let name = key.get_ref();
        let mistake = match place {
            "" => Self::at(key, format!("unknown key `{name}`")),
            place => Self::at(key, format!("unknown key `{name}` in `{place}`")),
        };
        match nearest(name, known) {
            Some(near) => mistake.hint(format!("did you mean `{near}`?")),
            None => mistake.hint(format!("known keys: {}", known.join(", "))),
        }
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
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
    Patterns,
    SomeOf(fn() -> Vec<&'static str>),
    Environment,
}

impl Kind {
    /// What to write, for users.
    pub fn words(self) -> String {
        let words = match self {
            Self::OneOf(names) => return format!("one of {}", words::quoted(names())),
            Self::SomeOf(names) => return format!("a list of {}", words::quoted(names())),
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
            Self::Patterns => "a list of patterns",
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

/// A string as TOML has it.
pub fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    let escaped = escaped.replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// A type of value that keys have.
pub trait Read {
    /// What the value is kept as: mostly the type itself.
    type Value;
    const KIND: Kind;

    fn read(item: &Item<'_>) -> Result<Self::Value, Mistake>;
}

/// A value that is a table with keys of its own, or a list of such tables.
pub(super) trait FromTable: Sized {
    /// `key` is the one that the table stands under.
    fn from_table(key: &Key<'_>, item: &Item<'_>) -> Result<Self, Mistake>;
}

/// Implements [`Read`] with functions.
macro_rules! read {
    ($($type:ty => $value:ty, $kind:expr, $read:expr;)*) => {$(
        impl super::value::Read for $type {
            type Value = $value;
            const KIND: super::value::Kind = $kind;

            fn read(
                item: &super::value::Item<'_>,
            ) -> Result<$value, super::value::Mistake> {
                $read(item)
            }
        }
    )*};
}
pub(super) use read;

/// Declares an enum whose variants users write by their names.
macro_rules! choices {
    (
        $(#[$meta:meta])* $type:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $type {
            /// Every variant by the name users write.
            pub const NAMES: [(&'static str, Self); [$($name),*].len()] =
                [$(($name, Self::$variant)),*];
        }

        super::value::read! {
            $type => Self, super::value::Kind::OneOf(|| {
                Self::NAMES.iter().map(|(name, _)| *name).collect()
            }), super::value::choice;
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                super::value::named(text, &Self::NAMES)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let found = Self::NAMES.iter().find(|(_, value)| value == self);
                f.write_str(found.map_or("", |(name, _)| name))
            }
        }
    };
}
pub(super) use choices;

/// Text that is not blank.
pub(super) struct Filled;
/// The name of a model, which may be empty.
pub struct Model;
/// The name of a model.
pub(super) struct FilledModel;
/// A program and its arguments.
pub(super) struct Command;

read! {
    bool => Self, Kind::Flag, flag;
    u32 => Self, Kind::Count, count;
    Filled => String, Kind::Text, filled;
    Model => String, Kind::Text, model;
    FilledModel => String, Kind::Text, |item| filled(item).and_then(|_| model(item));
    Command => Vec<String>, Kind::Command, command;
    TimeLimit => Self, Kind::Duration, |item| limit(item, "a duration such as \"15m\"");
    SizeLimit => Self, Kind::Size, |item| limit(item, "a size such as \"50MB\"");
    CostLimit => Self, Kind::Money, |item| amount(item, "an amount such as 2.50");
    TokenLimit => Self, Kind::Tokens, |item| amount(item, "a number such as 500_000");
    MessageTemplate => Self, Kind::Text, choice;
    Rate => Self, Kind::Money, |item| amount(item, "an amount such as 2.50");
}

pub(super) fn table<'v, 'i>(item: &'v Item<'i>) -> Result<&'v DeTable<'i>, Mistake> {
    let table = item.get_ref().as_table();
    table.ok_or_else(|| Mistake::wrong_type(item, "a table"))
}

pub(super) fn array<'v, 'i>(item: &'v Item<'i>, wanted: &str) -> Result<&'v DeArray<'i>, Mistake> {
    let array = item.get_ref().as_array();
    array.ok_or_else(|| Mistake::wrong_type(item, wanted))
}

/// The tables of a list such as `[[gate]]`.
pub(super) fn tables<'v, 'i>(
    key: &Key<'_>,
    item: &'v Item<'i>,
) -> Result<&'v DeArray<'i>, Mistake> {
    let name = key.get_ref();
    let hint = || format!("write each {name} under its own `[[{name}]]`");
    array(item, "an array of tables").map_err(|mistake| mistake.hint(hint()))
}

pub(super) fn string(item: &Item<'_>) -> Result<String, Mistake> {
    let text = item.get_ref().as_str().map(str::to_owned);
    text.ok_or_else(|| Mistake::wrong_type(item, "a string"))
}

pub(super) fn filled(item: &Item<'_>) -> Result<String, Mistake> {
    let text = string(item)?;
    if text.trim().is_empty() {
        return Err(Mistake::at(item, "this must not be empty"));
    }
    Ok(text)
}

/// A model becomes an argument of the agent, which must not take it for a flag: a repository's file
/// needs no permission to name one.
fn model(item: &Item<'_>) -> Result<String, Mistake> {
    let text = string(item)?;
    if text.starts_with('-') {
        return Err(Mistake::at(item, "a model cannot start with `-`"));
    }
    Ok(text)
}

fn flag(item: &Item<'_>) -> Result<bool, Mistake> {
    let flag = item.get_ref().as_bool();
    flag.ok_or_else(|| Mistake::wrong_type(item, "`true` or `false`"))
}

fn count(item: &Item<'_>) -> Result<u32, Mistake> {
    let Some(integer) = item.get_ref().as_integer() else {
        return Err(Mistake::wrong_type(item, "a whole number"));
    };
    u32::from_str_radix(integer.as_str(), integer.radix())
        .map_err(|_| Mistake::at(item, format!("expected a number from 0 to {}", u32::MAX)))
}

fn command(item: &Item<'_>) -> Result<Vec<String>, Mistake> {
    let words = array(item, "an array of strings")
        .map_err(|mistake| mistake.hint("give program and arguments as a list"))?;
    let words: Vec<String> = words.iter().map(string).collect::<Result<_, _>>()?;
    match words.first() {
        Some(program) if !program.trim().is_empty() => Ok(words),
        _ => Err(Mistake::at(item, "the command names no program")),
    }
}

/// A limit has a unit and is therefore a string; a bare `0` is no limit.
fn limit<T: FromStr<Err: Display>>(item: &Item<'_>, wanted: &str) -> Result<T, Mistake> {
    match item.get_ref() {
        DeValue::String(text) => parsed(item, text),
        DeValue::Integer(integer) if integer.as_str() == "0" => parsed(item, "0"),
        _ => Err(Mistake::wrong_type(item, wanted)),
    }
}

/// A number, or a string with a number in it.
fn amount<T: FromStr<Err: Display>>(item: &Item<'_>, wanted: &str) -> Result<T, Mistake> {
    match item.get_ref() {
        DeValue::String(text) => parsed(item, text),
        DeValue::Integer(integer) if integer.radix() == 10 => parsed(item, integer.as_str()),
        DeValue::Float(float) => parsed(item, float.as_str()),
        _ => Err(Mistake::wrong_type(item, wanted)),
    }
}

/// A string that a type can be read from, such as one of its names.
pub(super) fn choice<T: FromStr<Err: Display>>(item: &Item<'_>) -> Result<T, Mistake> {
    parsed(item, &string(item)?)
}

fn parsed<T: FromStr<Err: Display>>(item: &Item<'_>, text: &str) -> Result<T, Mistake> {
    text.parse().map_err(|bad| Mistake::at(item, bad))
}

/// A string that is one of these names.
pub(super) fn one_of<T: Copy>(item: &Item<'_>, names: &[(&str, T)]) -> Result<T, Mistake> {
    named(&string(item)?, names).map_err(|bad| Mistake::at(item, bad))
}

/// The value with this name.
pub(super) fn named<T: Copy>(text: &str, names: &[(&str, T)]) -> Result<T, String> {
    let found = names.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known = words::quoted(names.iter().map(|(name, _)| name));
        format!("`{text}` is not one of {known}")
    })
}

/// Reads the value of a variable that is a setting; types name their own mistakes.
pub(super) fn read_variable<T: FromStr<Err: Display>>(
    kind: Kind,
    name: &'static str,
    value: &str,
) -> Result<Sourced<T>, SettingsProblem> {
    let trimmed = value.trim();
    let text = match kind {
        Kind::Flag => match trimmed.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => "true",
            "0" | "false" | "no" | "off" => "false",
            _ => "",
        },
        Kind::Count => trimmed,
        _ => value,
    };
    let value = text.parse().map_err(|bad: T::Err| {
        let message = match kind {
            Kind::Flag => format!("`{value}` is neither `true` nor `false`"),
            Kind::Count => format!("`{value}` is not a number from 0 to {}", u32::MAX),
            _ => bad.to_string(),
        };
        SettingsProblem::new(name, message)
    })?;
    Ok(Sourced::new(value, Origin::Variable(name)))
}
