//! Paths as `git diff` prints them.

use crate::paths::show;

/// The path in what stands after `diff --git `: both names are the same but for their prefix, if
/// they have one. Where a file has two paths, another line says them.
pub(super) fn header_path(names: &[u8]) -> String {
    let (old, new) = names.split_at(names.len() / 2);
    let new = new.strip_prefix(b" ").unwrap_or(new);
    let (old, new) = (unquoted(old), unquoted(new));
    match new.as_slice() {
        [_, b'/', rest @ ..] if old != new => show(rest),
        _ => show(&new),
    }
}

/// A name without git's quotes and escapes.
pub(super) fn unquoted(name: &[u8]) -> Vec<u8> {
    let Some(inner) = name
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""))
    else {
        return name.to_vec();
    };
    let mut path = Vec::new();
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            path.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'a') => path.push(7),
            Some(b'b') => path.push(8),
            Some(b't') => path.push(b'\t'),
            Some(b'n') => path.push(b'\n'),
            Some(b'v') => path.push(11),
            Some(b'f') => path.push(12),
            Some(b'r') => path.push(b'\r'),
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    if let Some(digit) = bytes.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                path.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            Some(other) => path.push(other),
            None => {}
        }
    }
    path
}
