//! Git object ids, and the id a file's raw bytes would have as a git blob.
//!
//! Knows both object formats; knows nothing of repositories.

use std::fmt;
use std::fmt::Write as _;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use sha1::digest::DynDigest;

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectFormat {
    /// 20 bytes.
    Sha1,
    /// 32 bytes.
    Sha256,
}

impl ObjectFormat {
    /// As git's configuration spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// The tree without entries, which git knows without having it.
    pub fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }

    /// How many bytes an id has.
    pub const fn id_length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// The id that stands for "does not exist" in ref updates.
    pub const fn zero(self) -> ObjectId {
        ObjectId {
            length: self.id_length(),
            bytes: [0; 32],
        }
    }

    fn hasher(self) -> Box<dyn DynDigest> {
        match self {
            Self::Sha1 => Box::new(sha1::Sha1::default()),
            Self::Sha256 => Box::new(sha2::Sha256::default()),
        }
    }
}

/// One object's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    length: usize,
    bytes: [u8; 32],
}

impl ObjectId {
    /// How the repository names its objects.
    pub const fn format(&self) -> ObjectFormat {
        match self.length {
            32 => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        }
    }

    /// Reads a full hexadecimal id.
    pub fn parse(hex: &[u8]) -> Option<Self> {
        if hex.len() != 40 && hex.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (slot, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *slot = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Self::from_bytes(&bytes[..hex.len() / 2])
    }

    /// The bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// An id from its bytes.
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        if raw.len() != 20 && raw.len() != 32 {
            return None;
        }
        let mut bytes = [0; 32];
        bytes[..raw.len()].copy_from_slice(raw);
        Some(Self {
            length: raw.len(),
            bytes,
        })
    }

    /// The first characters, as people quote an id.
    pub fn short(&self) -> String {
        self.to_string().chars().take(10).collect()
    }

    /// The id of `length` bytes read from `reader`, as a blob; an error when the length is not right.
    pub fn of_blob(format: ObjectFormat, length: u64, reader: impl Read) -> io::Result<Self> {
        let mut hasher = format.hasher();
        hasher.update(format!("blob {length}\0").as_bytes());
        if feed(&mut *hasher, reader)? != length {
            return Err(io::Error::other("the file changed while it was read"));
        }
        Ok(Self::finished(format, hasher))
    }

    /// The id of an object of any kind.
    pub fn of_object(format: ObjectFormat, kind: &str, bytes: &[u8]) -> Self {
        let mut hasher = format.hasher();
        hasher.update(format!("{kind} {}\0", bytes.len()).as_bytes());
        hasher.update(bytes);
        Self::finished(format, hasher)
    }

    /// The checksum git puts at the end of its files.
    pub fn checksum(format: ObjectFormat, bytes: &[u8]) -> Self {
        let mut hasher = format.hasher();
        hasher.update(bytes);
        Self::finished(format, hasher)
    }

    /// The digest of everything a reader gives: of an inflated object, its id.
    pub fn of_stream(format: ObjectFormat, reader: impl Read) -> io::Result<Self> {
        let mut hasher = format.hasher();
        feed(&mut *hasher, reader)?;
        Ok(Self::finished(format, hasher))
    }

    fn finished(format: ObjectFormat, hasher: Box<dyn DynDigest>) -> Self {
        let digest = hasher.finalize();
        Self::from_bytes(&digest).unwrap_or(format.zero())
    }
}

/// Hashes everything a reader gives; how many bytes that were.
fn feed(hasher: &mut dyn DynDigest, mut reader: impl Read) -> io::Result<u64> {
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            return Ok(total);
        }
        total += count as u64;
        hasher.update(&buffer[..count]);
    }
}

/// Whatever in a text looks like a full object id.
pub fn named_in(text: &[u8]) -> impl Iterator<Item = ObjectId> {
    text.split(|byte| !byte.is_ascii_hexdigit())
        .filter_map(ObjectId::parse)
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes()
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ObjectId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(text.as_bytes()).ok_or_else(|| serde::de::Error::custom("not an object id"))
    }
}

/// Ids, one a line.
pub(crate) fn lines(ids: &[ObjectId]) -> String {
    ids.iter().fold(String::new(), |mut text, id| {
        let _ = writeln!(text, "{id}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_has_the_id_git_gives_it() {
        let id = ObjectId::of_blob(ObjectFormat::Sha1, 6, &b"hello\n"[..]).unwrap();
        assert_eq!(id.to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
        let id = ObjectId::of_blob(ObjectFormat::Sha256, 6, &b"hello\n"[..]).unwrap();
        assert_eq!(
            id.to_string(),
            "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4"
        );
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_an_error() {
        assert!(ObjectId::of_blob(ObjectFormat::Sha1, 7, &b"hello\n"[..]).is_err());
    }

    #[test]
    fn ids_are_found_in_any_text() {
        let id = "ce013625030ba8dba906f756967f9e9ca394464a";
        let text = format!("ref: refs/heads/x {id}\n{id}0 ({id})\0");
        let want = ObjectId::parse(id.as_bytes()).unwrap();
        assert_eq!(named_in(text.as_bytes()).collect::<Vec<_>>(), [want, want]);
    }

    #[test]
    fn an_id_survives_its_text() {
        let text = "ce013625030ba8dba906f756967f9e9ca394464a";
        assert_eq!(ObjectId::parse(text.as_bytes()).unwrap().to_string(), text);
        assert_eq!(ObjectId::parse(b"ce01"), None);
        assert_eq!(ObjectId::parse(&[b'z'; 40]), None);
    }
}
