//! JSON values and the bytes they stand at, so that one can be replaced and all others kept.
//!
//! A [`RawValue`] is a piece of the text that was parsed: where it stands is where it begins in
//! memory.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses a whole text.
pub(super) fn parse(bytes: &[u8]) -> Result<&RawValue, serde_json::Error> {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    // A raw value is not parsed; this also limits how deep values are nested.
    serde_json::from_slice::<Value>(text)?;
    serde_json::from_slice(text)
}

/// The named values of an object, of several with one name the last; empty if it is no object.
pub(super) fn members(raw: &RawValue) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// A named value of an object.
pub(super) fn member<'a>(raw: &'a RawValue, key: &str) -> Option<&'a RawValue> {
    members(raw).remove(key)
}

/// The values of an array; none if it is no array.
pub(super) fn items(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// The value itself.
pub(super) fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// Which of the bytes it was parsed from it stands at.
pub(super) fn span(raw: &RawValue, bytes: &[u8]) -> Range<usize> {
    let start = raw.get().as_ptr().addr() - bytes.as_ptr().addr();
    start..start + raw.get().len()
}
