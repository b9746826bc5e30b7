//! Memory that completes every access at once.

use crate::{Access, Bus, Fault, Size, Space, Stall};

/// A range of bytes as a bus, for every memory space. It serves tests, and programs without a
/// machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    base: u32,
    bytes: Vec<u8>,
}

impl Memory {
    /// Creates a memory of these bytes, from address `base` on.
    pub fn new(base: u32, bytes: Vec<u8>) -> Self {
        Self { base, bytes }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes of an access.
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

/// Several memories, each in its own space.
#[derive(Clone, Debug, Default)]
pub struct Spaces(Vec<(Space, Memory)>);

impl Spaces {
    /// Adds a memory, which replaces an earlier one in its space.
    #[must_use]
    pub fn with(mut self, space: Space, memory: Memory) -> Self {
        self.0.retain(|(other, _)| *other != space);
        self.0.push((space, memory));
        self
    }

    /// Returns the memory of a space.
    pub fn memory(&self, space: Space) -> Option<&Memory> {
        self.0.iter().find(|(other, _)| *other == space).map(|(_, memory)| memory)
    }

    fn of(&mut self, access: Access) -> Result<&mut Memory, Stall> {
        let memory = self.0.iter_mut().find(|(space, _)| *space == access.space);
        memory.map(|(_, memory)| memory).ok_or(Stall::Fault(Fault::Nothing))
    }
}

impl Bus for Spaces {
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        self.of(access)?.load(access)
    }

    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        self.of(access)?.store(access, value)
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        self.of(access)?.swap(access, value)
    }
}
