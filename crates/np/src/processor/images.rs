//! The contents of tables, as files that memories are loaded from.
//!
//! The format is that of `$readmemh`: hexadecimal words, `@` before an address in words. Only what
//! is not zero is written.

use std::fmt::Write as _;

use wireloom_bits::Bits;
use wireloom_offloads::Store;

use super::NpError;
use super::plan::Plan;

/// The contents of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Name of the image's memory: `+wl_image_NAME=FILE`.
    pub name: String,
    /// The file's text.
    pub text: String,
}

impl Image {
    /// Path in a built folder.
    pub fn path(&self) -> String {
        format!("images/{}.hex", self.name)
    }
}

/// The contents of all memories of a processor whose tables are in a store.
///
/// # Errors
/// If a table does not fit the memory that the machine has for it.
pub fn images(plan: &Plan, store: &Store) -> Result<Vec<Image>, NpError> {
    let mut images = Vec::new();
    for service in &plan.services {
        images.extend(service.rule.realisation.images(plan, service, store)?);
    }
    images.iter_mut().for_each(|image| image.name.insert_str(0, &plan.label));
    Ok(images)
}

/// A line for a word.
pub(crate) fn line(text: &mut String, address: u64, word: &Bits) {
    let _ = writeln!(text, "@{address:x} {}", hex(word));
}

/// A number in hexadecimal digits.
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
