//! Table contents, as files from which memories are loaded.
//!
//! The files have the format of `$readmemh`: hexadecimal words, and `@` before an address in words.
//! Only nonzero words are written.

use std::fmt::Write as _;

use wireloom_bits::Bits;
use wireloom_offloads::Store;

use super::NpError;
use super::plan::Plan;

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

/// Returns the contents of all memories of a processor whose tables are in a store.
///
/// # Errors
/// If a table does not fit the memory that the machine provides for it.
pub fn images(plan: &Plan, store: &Store) -> Result<Vec<Image>, NpError> {
    let mut images = Vec::new();
    for service in &plan.services {
        images.extend(service.rule.realisation.images(plan, service, store)?);
    }
    images.iter_mut().for_each(|image| image.name.insert_str(0, &plan.label));
    Ok(images)
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
