//! The two paths of a file in a diff, from whichever line says them best.

/// What the lines of a file's head say about its paths.
#[derive(Debug, Default)]
pub(super) struct Header {
    old: Vec<u8>,
    new: Vec<u8>,
    /// Paths have no `a/` and `b/` before them.
    is_bare: bool,
}

impl Header {
    /// Reads what stands after `diff --git `.
    pub(super) fn read(names: &[u8]) -> Self {
        let (old, new) = halves(names);
        let is_bare = old == new;
        Self {
            old: inside(old, is_bare),
            new: inside(new, is_bare),
            is_bare,
        }
    }

    /// Hears of `--- PATH`.
    pub(super) fn found_old(&mut self, path: &[u8]) {
        if let Some(path) = named(path) {
            self.old = inside(path, self.is_bare);
        }
    }

    /// Hears of `+++ PATH`.
    pub(super) fn found_new(&mut self, path: &[u8]) {
        if let Some(path) = named(path) {
            self.new = inside(path, self.is_bare);
        }
    }

    /// Hears of `rename from PATH`.
    pub(super) fn moved_from(&mut self, path: &[u8]) {
        self.old = unquoted(path);
    }

    /// Hears of `rename to PATH`.
    pub(super) fn moved_to(&mut self, path: &[u8]) {
        self.new = unquoted(path);
    }

    /// The paths before and after.
    pub(super) fn paths(&self) -> (String, String) {
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        (text(&self.old), text(&self.new))
    }
}

/// The path of a `---` or `+++` line; git ends one that has spaces with a tab.
fn named(path: &[u8]) -> Option<Vec<u8>> {
    let path = path.strip_suffix(b"\t").unwrap_or(path);
    (path != b"/dev/null").then(|| unquoted(path))
}

fn inside(path: Vec<u8>, is_bare: bool) -> Vec<u8> {
    match path.as_slice() {
        [_, b'/', rest @ ..] if !is_bare => rest.to_vec(),
        _ => path,
    }
}

/// Splits the two names of a header. Those without quotes may hold spaces: then both are the same
/// but for their prefix, or another line says them.
fn halves(names: &[u8]) -> (Vec<u8>, Vec<u8>) {
    if names.first() == Some(&b'"') {
        let end = end_of_quoted(names);
        let rest = names.get(end + 1..).unwrap_or_default();
        return (unquoted(&names[..end]), unquoted(rest));
    }
    if names.last() == Some(&b'"')
        && let Some(at) = names.windows(2).position(|pair| pair == b" \"")
    {
        return (names[..at].to_vec(), unquoted(&names[at + 1..]));
    }
    let middle = names.len() / 2;
    let (old, new) = names.split_at(middle);
    let new = new.strip_prefix(b" ").unwrap_or(new);
    let is_same = old == new || old.get(1..) == new.get(1..);
    if is_same {
        return (old.to_vec(), new.to_vec());
    }
    let at = names.iter().position(|byte| *byte == b' ');
    let at = at.unwrap_or(names.len());
    let rest = names.get(at + 1..).unwrap_or_default();
    (names[..at].to_vec(), rest.to_vec())
}

/// Where a quoted name ends, its quote included.
fn end_of_quoted(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
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
