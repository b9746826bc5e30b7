//! Memory that answers at once.

use crate::{Access, Bus, Fault, Size, Stall};

/// A range of bytes as a bus of its own: for tests, and for running programs without a machine around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    base: u32,
    bytes: Vec<u8>,
}

impl Memory {
    /// Bytes that begin at an address.
    pub fn new(base: u32, bytes: Vec<u8>) -> Self {
        Self { base, bytes }
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of an access.
    #[inline(always)]
    fn place(&mut self, address: u32, size: Size) -> Result<&mut [u8], Stall> {
        let begin = address.wrapping_sub(self.base) as usize;
        self.bytes.get_mut(begin..begin + size.bytes() as usize).ok_or(Stall::Fault(Fault::Nothing))
    }
}

impl Bus for Memory {
    #[inline(always)]
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        let place = self.place(access.address, access.size)?;
        Ok(match *place {
            [a] => u32::from(a),
            [a, b] => u32::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => unreachable!("sizes are 1, 2 and 4"),
        })
    }

    #[inline(always)]
    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        let place = self.place(access.address, access.size)?;
        place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
        Ok(())
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        let old = self.load(access)?;
        self.store(access, value)?;
        Ok(old)
    }
}
