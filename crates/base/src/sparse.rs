//! Files with holes: copied, compared and measured by the data they hold, so that a file of 500 GB
//! with a few bytes in it costs a few bytes.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// How much is read at once.
const PORTION: usize = 1024 * 1024;

/// A shorter file is read whole, holes included.
pub const SHORT: u64 = 1 << 30;

/// The room a file takes up on disk, but never more than its length.
pub fn allocated(metadata: &Metadata) -> u64 {
    metadata.size().min(metadata.blocks().saturating_mul(512))
}

/// True for a long file that is mostly holes: it is neither hashed nor given to git, which would
/// read every hole.
pub fn is_mostly_holes(metadata: &Metadata) -> bool {
    metadata.size() > SHORT && allocated(metadata) < metadata.size() / 2
}

/// Copies a whole file into an empty one, holes as holes. Returns its length.
pub fn copy(source: &File, target: &File) -> io::Result<u64> {
    let metadata = source.metadata()?;
    if allocated(&metadata) >= metadata.size() {
        return io::copy(&mut &*source, &mut &*target);
    }
    let length = metadata.size();
    let mut buffer = vec![0; PORTION];
    let mut at = 0;
    while let Some(start) = next_data(source, at, length)? {
        let end = next_hole(source, start, length)?;
        at = start;
        while at < end {
            let most = usize::try_from(end - at).map_or(PORTION, |left| left.min(PORTION));
            let count = source.read_at(&mut buffer[..most], at)?;
            if count == 0 {
                break;
            }
            target.write_all_at(&buffer[..count], at)?;
            at += count as u64;
        }
        at = end;
    }
    target.set_len(length)?;
    Ok(length)
}

/// True where two files have the same bytes.
pub fn same_bytes(one: &File, other: &File) -> io::Result<bool> {
    let length = one.metadata()?.size();
    if other.metadata()?.size() != length {
        return Ok(false);
    }
    let mut buffers = (vec![0; PORTION], vec![0; PORTION]);
    let mut at = 0;
    loop {
        let starts = (next_data(one, at, length)?, next_data(other, at, length)?);
        let start = match starts {
            (Some(a), Some(b)) => a.min(b),
            (Some(start), None) | (None, Some(start)) => start,
            (None, None) => return Ok(true),
        };
        let count = fill(one, &mut buffers.0, start)?;
        if fill(other, &mut buffers.1, start)? != count || buffers.0[..count] != buffers.1[..count]
        {
            return Ok(false);
        }
        at = start + count.max(1) as u64;
    }
}

/// Reads until the buffer is full or nothing is left.
fn fill(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match file.read_at(&mut buffer[count..], at + count as u64)? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

/// Where the next data begins; none where only a hole follows.
fn next_data(file: &File, at: u64, length: u64) -> io::Result<Option<u64>> {
    if at >= length {
        return Ok(None);
    }
    match seek(file, SeekFrom::Data(at)) {
        Ok(start) => Ok(Some(start).filter(|start| *start < length)),
        Err(Errno::NXIO) => Ok(None),
        // A file system that does not know: all of it is data.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(at)),
        Err(error) => Err(error.into()),
    }
}

/// Where the data that begins at `at` ends.
fn next_hole(file: &File, at: u64, length: u64) -> io::Result<u64> {
    match seek(file, SeekFrom::Hole(at)) {
        Ok(end) => Ok(end.min(length)),
        Err(Errno::NXIO | Errno::INVAL | Errno::OPNOTSUPP) => Ok(length),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const GIGABYTE: u64 = 1 << 30;

    /// A file of 500 GB with a few bytes in it.
    fn long() -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(500 * GIGABYTE).unwrap();
        file.write_all_at(b"start", 0).unwrap();
        file.write_all_at(b"middle", 300 * GIGABYTE + 7).unwrap();
        file
    }

    #[test]
    fn copy_keeps_holes_and_bytes_of_a_long_file() {
        let (source, target) = (long(), tempfile::tempfile().unwrap());
        assert_eq!(copy(&source, &target).unwrap(), 500 * GIGABYTE);
        assert_eq!(target.metadata().unwrap().size(), 500 * GIGABYTE);
        assert!(allocated(&target.metadata().unwrap()) < 10_000_000);
        assert!(is_mostly_holes(&target.metadata().unwrap()));
        let mut bytes = [0; 6];
        target
            .read_exact_at(&mut bytes, 300 * GIGABYTE + 7)
            .unwrap();
        assert_eq!(&bytes, b"middle");
        assert!(same_bytes(&source, &target).unwrap());
    }

    #[test]
    fn files_with_holes_are_compared_by_their_bytes() {
        let (one, other) = (long(), long());
        assert!(same_bytes(&one, &other).unwrap());
        other.write_all_at(b"\0\0", 400 * GIGABYTE).unwrap();
        assert!(same_bytes(&one, &other).unwrap());
        other.write_all_at(b"x", 400 * GIGABYTE).unwrap();
        assert!(!same_bytes(&one, &other).unwrap());
        assert!(!same_bytes(&other, &one).unwrap());
        other.set_len(10).unwrap();
        assert!(!same_bytes(&one, &other).unwrap());
    }

    #[test]
    fn files_without_holes_are_copied_and_compared() {
        let (one, other) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let mut bytes = vec![7; PORTION + 10];
        one.write_all_at(&bytes, 0).unwrap();
        assert_eq!(copy(&one, &other).unwrap(), bytes.len() as u64);
        assert!(same_bytes(&one, &other).unwrap());
        bytes[PORTION + 5] = 8;
        other.write_all_at(&bytes, 0).unwrap();
        assert!(!same_bytes(&one, &other).unwrap());
        other.set_len(PORTION as u64).unwrap();
        assert!(!same_bytes(&one, &other).unwrap());
    }
}
