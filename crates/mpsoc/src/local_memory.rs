//! The local memory of a thread.

use std::ops::Range;
use std::sync::Arc;

use wireloom_isa::{Access, Bus, Fault, Size, Stall};

use super::mpe::{self, LOCAL_BYTES, Registers};
use super::tally::Tally;

/// The top four bits of the valid addresses.
pub(super) mod region {
    use crate::mpe;

    pub(crate) const CONSTANTS: u32 = 0;
    pub(crate) const LOCAL_STORE: u32 = mpe::LOCAL_STORE >> 28;
    pub(crate) const REGISTERS: u32 = mpe::REGISTERS >> 28;
    pub(crate) const SHARED: u32 = mpe::SHARED >> 28;
    pub(crate) const CALLS: u32 = mpe::CALLS >> 28;
}

/// Read-only data of programs; all threads share it.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    base: u32,
    /// Addresses below this hold instructions and the data that only these instructions read. Null
    /// pointers point there.
    guard: u32,
    bytes: Arc<[u8]>,
    /// The mask that selects the address bits of a line.
    line: u32,
}

impl Constants {
    /// Read-only bytes that begin at address `base`. The cache has lines of `line_bytes` bytes, a
    /// power of two. Only the instructions below `guard` can read the bytes below `guard`.
    pub(super) fn new(base: u32, guard: u32, bytes: &[u8], line_bytes: u32) -> Self {
        Self { base, guard, bytes: bytes.into(), line: !(line_bytes - 1) }
    }

    /// The number of bytes, with the program.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Reads a constant for an instruction that does not lie below the guard.
    #[inline(always)]
    pub(super) fn value(&self, access: Access) -> Result<u32, Stall> {
        if access.address < self.guard {
            return Err(Stall::Fault(Fault::Nothing));
        }
        value(&self.bytes, access.address.wrapping_sub(self.base), access.size)
    }

    /// Reads a constant for the instruction at `pc`.
    #[inline(always)]
    pub(super) fn value_at(&self, pc: u32, access: Access) -> Result<u32, Stall> {
        if pc < self.guard {
            return value(&self.bytes, access.address.wrapping_sub(self.base), access.size);
        }
        self.value(access)
    }

    /// The line that contains an address.
    #[inline(always)]
    pub(super) fn line(&self, address: u32) -> u32 {
        address & self.line
    }
}

/// The local store of a thread, the registers that describe the packet to send, and constants. As a
/// bus it serves accesses that no other component can observe or change. All other accesses, and
/// invalid ones, must wait for their issue time.
#[derive(Clone, Debug)]
pub(super) struct LocalMemory {
    pub(super) local: Box<[u8; LOCAL_BYTES]>,
    /// The registers that the program writes before it sends a packet.
    pub(super) registers: Registers,
    constants: Constants,
    /// The part of the local store that other components may write while the thread runs.
    pub(super) shared: Range<u32>,
    /// The line of the last constant that was read, or [`NO_DATA`].
    pub(super) data: u32,
    /// The resource use of the thread's instructions, possibly with some that are not yet issued.
    pub(super) tally: Tally,
}

/// The value of `data` before the first read of a constant: no line begins at an odd address.
pub(super) const NO_DATA: u32 = 1;

impl LocalMemory {
    pub(super) fn new(constants: Constants) -> Self {
        let local = Box::new([0; LOCAL_BYTES]);
        let (registers, tally) = (Registers::default(), Tally::default());
        Self { local, registers, constants, shared: 0..0, data: NO_DATA, tally }
    }

    /// The place of an address in the local store.
    #[inline(always)]
    fn place(&self, access: Access) -> Result<u32, Stall> {
        let place = access.address - mpe::LOCAL_STORE;
        if self.shared.contains(&place) { Err(Stall::Wait) } else { Ok(place) }
    }
}

impl Bus for LocalMemory {
    #[inline(always)]
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => value(self.local.as_slice(), self.place(access)?, access.size),
            region::CONSTANTS if access.count == 1 => {
                self.data = self.constants.line(access.address);
                self.constants.value(access)
            }
            region::REGISTERS if access.size == Size::Word && access.count == 1 => {
                let value = self.registers.at(access.address).copied().ok_or(Stall::Wait)?;
                self.tally.outside[0] += 1;
                Ok(value)
            }
            _ => Err(Stall::Wait),
        }
    }

    #[inline(always)]
    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => {
                let place = self.place(access)?;
                put(&mut self.local, place, access.size, value)
            }
            region::REGISTERS if access.size == Size::Word => {
                *self.registers.at(access.address).ok_or(Stall::Wait)? = value;
                self.tally.outside[1] += 1;
                Ok(())
            }
            _ => Err(Stall::Wait),
        }
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        if access.address >> 28 != region::LOCAL_STORE {
            return Err(Stall::Wait);
        }
        let old = self.load(access)?;
        self.store(access, value)?;
        Ok(old)
    }
}

/// Writes a value to a local store, little-endian.
#[inline(always)]
pub(super) fn put(
    local: &mut [u8; LOCAL_BYTES],
    at: u32,
    size: Size,
    value: u32,
) -> Result<(), Stall> {
    let place = local.get_mut(at as usize..at as usize + size.bytes() as usize);
    let place = place.ok_or(Stall::Fault(Fault::Nothing))?;
    place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
    Ok(())
}

/// Reads a value from bytes, little-endian.
#[inline(always)]
pub(super) fn value(bytes: &[u8], at: u32, size: Size) -> Result<u32, Stall> {
    let at = at as usize;
    match bytes.get(at..at.wrapping_add(size.bytes() as usize)) {
        Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
        Some(&[a, b]) => Ok(u32::from(u16::from_le_bytes([a, b]))),
        Some(&[a]) => Ok(u32::from(a)),
        _ => Err(Stall::Fault(Fault::Nothing)),
    }
}
