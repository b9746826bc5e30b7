//! The contents of a memory, as a file from which the memory is loaded.
//!
//! The files have the format of `$readmemh`: hexadecimal words, and `@` before an address in words.
//! Only nonzero words are written.

use std::fmt::Write as _;

use wireloom_bits::Bits;

/// The contents of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Name of the image, as in `+wl_image_NAME=FILE`.
    pub name: String,
    /// The text of the file.
    pub text: String,
}

impl Image {
    /// Returns the path in a built folder.
    pub fn path(&self) -> String {
        format!("images/{}.hex", self.name)
    }
}

/// Appends a line for one word.
pub(crate) fn line(text: &mut String, address: u64, word: &Bits) {
    let _ = writeln!(text, "@{address:x} {}", hex(word));
}

/// Returns a number in hexadecimal digits.
pub(crate) fn hex(bits: &Bits) -> String {
    let bytes = bits.resize(bits.width().next_multiple_of(8)).to_bytes();
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_padded_to_bytes() {
        assert_eq!(hex(&Bits::new(12, 0xabc)), "0abc");
        assert_eq!(hex(&Bits::new(16, 0x12)), "0012");
    }
}
