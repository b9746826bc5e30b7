//! Directives that place data in memory.

use super::Diagnostic;
use super::line::{Labels, Line};

type Result<T> = std::result::Result<T, Diagnostic>;

/// Limit on the bytes of a section. A larger one is a mistake in the source.
const MOST: u64 = 1 << 26;

/// The data of a section.
pub(super) struct Block<'a> {
    /// The line that begins the section.
    pub line: Line<'a>,
    bytes: Vec<u8>,
}

impl<'a> Block<'a> {
    pub fn new(line: Line<'a>) -> Self {
        Self { line, bytes: Vec::new() }
    }

    /// Returns the words of the section, big-endian. Zeros fill the last one.
    pub fn words(mut self) -> Vec<u32> {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        self.bytes.chunks(4).map(word).collect()
    }
}

/// A directive of data.
enum Directive {
    /// Numbers of this many bytes each.
    Numbers(u32),
    Space(u32),
    /// Pads to a multiple of this many bytes, a power of two.
    Align(u32),
}

impl Line<'_> {
    fn data_directive(&self) -> Result<(Directive, Self)> {
        let (name, rest) = self.first();
        let most = MOST as i64;
        let directive = match name.text() {
            ".word" => Directive::Numbers(4),
            ".half" => Directive::Numbers(2),
            ".byte" => Directive::Numbers(1),
            ".space" => Directive::Space(rest.number(0, most)? as u32),
            ".align" => {
                let to = rest.number(1, 1 << 20)? as u32;
                if !to.is_power_of_two() {
                    return Err(rest.error("a power of two is needed here", None));
                }
                Directive::Align(to)
            }
            _ => {
                let help = "there are `.word`, `.half`, `.byte`, `.space` and `.align`";
                return Err(name.error("no directive of data", Some(help)));
            }
        };
        Ok((directive, rest))
    }

    /// Returns the number of bytes that a line of data takes at an address.
    pub fn data_bytes(&self, address: u32) -> Result<u32> {
        let (directive, rest) = self.data_directive()?;
        let bytes = match directive {
            Directive::Numbers(size) => {
                if !address.is_multiple_of(size) {
                    let message = format!("address {address:#x} is no multiple of {size}");
                    let help = format!("write `.align {size}` before it");
                    return Err(self.error(&message, Some(&help)));
                }
                let count = rest.list().len().max(usize::from(!rest.is_empty())) as u32;
                if count == 0 {
                    return Err(self.error("numbers are needed here", None));
                }
                size * count
            }
            Directive::Space(bytes) => bytes,
            Directive::Align(to) => (to - address % to) % to,
        };
        if u64::from(address) + u64::from(bytes) > 1 << 32 {
            return Err(self.error("the data ends past the last address", None));
        }
        Ok(bytes)
    }

    /// Appends the bytes of a line of data.
    pub fn data(&self, address: Labels<'_>, block: &mut Block<'_>) -> Result<()> {
        let (directive, rest) = self.data_directive()?;
        let Directive::Numbers(size) = directive else {
            let bytes = match directive {
                Directive::Space(bytes) => bytes as usize,
                Directive::Align(to) => {
                    block.bytes.len().next_multiple_of(to as usize) - block.bytes.len()
                }
                Directive::Numbers(_) => 0,
            };
            block.bytes.resize(block.bytes.len() + bytes, 0);
            return Ok(());
        };
        let bits = 8 * size;
        let numbers = rest.list();
        for number in if numbers.is_empty() { vec![rest] } else { numbers } {
            let value = match address(number.text()).filter(|_| size == 4) {
                Some(address) => i64::from(address),
                None => number.number(-(1 << (bits - 1)), (1 << bits) - 1)?,
            };
            block.bytes.extend(&(value as u32).to_be_bytes()[4 - size as usize..]);
        }
        Ok(())
    }
}
