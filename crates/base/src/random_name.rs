//! Names that no other process has chosen.

/// A random name of lower-case letters and digits.
pub fn random_name(length: usize) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = vec![0; length];
    if getrandom::fill(&mut bytes).is_err() {
        let clock = jiff::Timestamp::now().as_nanosecond().to_le_bytes();
        for (slot, byte) in bytes.iter_mut().zip(clock.iter().cycle()) {
            *slot = *byte;
        }
    }
    bytes
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect()
}
