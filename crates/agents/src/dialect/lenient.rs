//! Types that take whatever JSON value comes: one of an unexpected sort counts as absent, and
//! a tool's answer is measured and not kept.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::agent_event::start_of;

/// How much of a short text is kept.
const SHORT_CAP: usize = 400;

/// A short text; anything else counts as none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Short(pub String);

impl Short {
    /// True if there is no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A number; anything else counts as none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Number(pub Option<f64>);

impl Number {
    /// The whole part, if it is a number that is not negative.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be in range"
    )]
    pub(crate) fn whole(self) -> Option<u64> {
        self.0
            .filter(|number| (0.0..9.0e15).contains(number))
            .map(|number| number as u64)
    }

    /// The whole part, or nothing.
    pub(crate) fn count(self) -> u64 {
        self.whole().unwrap_or(0)
    }
}

/// How many bytes of text a value holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size(pub u64);

/// True or false; anything else counts as false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flag(pub bool);

/// Reads lenient types from any sort of JSON value, with [`Anything`].
macro_rules! deserialize_from_anything {
    ($($name:ty),+) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(Anything(Self::default()))
            }
        }
    )+};
}
pub(crate) use deserialize_from_anything;

deserialize_from_anything!(Short, Number, Size, Flag);

/// What a lenient type makes of each sort of JSON value; by default nothing.
pub(crate) trait Lenient: Default {
    fn text(&mut self, _text: &str) {}
    fn number(&mut self, _number: f64) {}
    fn truth(&mut self, _truth: bool) {}
    fn sequence<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn map<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

impl Lenient for Short {
    fn text(&mut self, text: &str) {
        start_of(text, SHORT_CAP).clone_into(&mut self.0);
    }
}

impl Lenient for Number {
    fn number(&mut self, number: f64) {
        self.0 = Some(number);
    }
}

impl Lenient for Flag {
    fn truth(&mut self, truth: bool) {
        self.0 = truth;
    }
}

impl Lenient for Size {
    fn text(&mut self, text: &str) {
        self.0 = text.len() as u64;
    }
    fn sequence<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Size>()? {
            self.0 += item.0;
        }
        Ok(())
    }
    fn map<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<Short>()? {
            let size = entries.next_value::<Size>()?;
            if !key.0.ends_with("type") {
                self.0 += size.0;
            }
        }
        Ok(())
    }
}

/// Accepts every sort of JSON value for a lenient type.
pub(crate) struct Anything<T>(pub T);

impl<'de, T: Lenient> Visitor<'de> for Anything<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_str<E>(mut self, text: &str) -> Result<T, E> {
        self.0.text(text);
        Ok(self.0)
    }
    #[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn visit_u64<E>(mut self, number: u64) -> Result<T, E> {
        self.0.number(number as f64);
        Ok(self.0)
    }
    #[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn visit_i64<E>(mut self, number: i64) -> Result<T, E> {
        self.0.number(number as f64);
        Ok(self.0)
    }
    fn visit_f64<E>(mut self, number: f64) -> Result<T, E> {
        self.0.number(number);
        Ok(self.0)
    }
    fn visit_bool<E>(mut self, truth: bool) -> Result<T, E> {
        self.0.truth(truth);
        Ok(self.0)
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(self.0)
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, items: A) -> Result<T, A::Error> {
        self.0.sequence(items)?;
        Ok(self.0)
    }
    fn visit_map<A: MapAccess<'de>>(mut self, entries: A) -> Result<T, A::Error> {
        self.0.map(entries)?;
        Ok(self.0)
    }
}
