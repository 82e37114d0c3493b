//! The hash by which specs, samples and model sets refer to each other.

/// The SHA-256 digest of bytes that come in parts, as files do.
#[derive(Clone, Default)]
pub struct Sha256(hmac_sha256::Hash);

impl Sha256 {
    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes in lower-case hexadecimal, 64 characters.
    #[must_use]
    pub fn hex(self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in self.0.finalize() {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        text
    }
}

impl std::fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sha256").finish_non_exhaustive()
    }
}

/// The SHA-256 digest of `bytes` in lower-case hexadecimal, 64 characters.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut digest = Sha256::default();
    digest.add(bytes);
    digest.hex()
}

#[cfg(test)]
mod tests {
    use super::sha256_hex;

    #[test]
    fn the_standards_own_examples() {
        // FIPS 180-4, the empty message and "abc".
        assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
