//! What is a thread's own.

use std::ops::Range;
use std::sync::Arc;

use wireloom_isa::{Access, Bus, Fault, Size, Stall};

use super::mpe::{self, LOCAL_BYTES, Registers};

/// The top four bits of the addresses that lead somewhere.
pub(super) mod region {
    use crate::mpsoc::mpe;

    pub(in crate::mpsoc) const CONSTANTS: u32 = 0;
    pub(in crate::mpsoc) const LOCAL_STORE: u32 = mpe::LOCAL_STORE >> 28;
    pub(in crate::mpsoc) const REGISTERS: u32 = mpe::REGISTERS >> 28;
    pub(in crate::mpsoc) const SHARED: u32 = mpe::SHARED >> 28;
    pub(in crate::mpsoc) const CALLS: u32 = mpe::CALLS >> 28;
}

/// What programs read and never change; all threads have the same.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    base: u32,
    bytes: Arc<[u8]>,
    /// The bits of an address that name its line.
    line: u32,
}

impl Constants {
    /// Bytes from an address on, of which a cache holds lines of so many bytes: a power of two.
    pub(super) fn new(base: u32, bytes: &[u8], line_bytes: u32) -> Self {
        Self { base, bytes: bytes.into(), line: !(line_bytes - 1) }
    }

    /// The constant of an access.
    #[inline(always)]
    pub(super) fn value(&self, access: Access) -> Result<u32, Stall> {
        value(&self.bytes, access.address.wrapping_sub(self.base), access.size)
    }

    /// The line that an address is in.
    #[inline(always)]
    pub(super) fn line(&self, address: u32) -> u32 {
        address & self.line
    }
}

/// The local store of a thread, what it writes before it sends a packet, and constants. As a bus it does what nobody else can tell or change; what an
/// instruction does beyond that must wait for its turn, and so must what cannot be done.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) local: Box<[u8; LOCAL_BYTES]>,
    /// Those that are written before a packet is sent.
    pub(super) registers: Registers,
    constants: Constants,
    /// What of the local store others may write meanwhile.
    pub(super) shared: Range<u32>,
    /// The line of the constant that was read last, or [`NO_DATA`].
    pub(super) data: u32,
}

/// No constant was read: no line begins at an odd address.
pub(super) const NO_DATA: u32 = 1;

impl Own {
    pub(super) fn new(constants: Constants) -> Self {
        let local = Box::new([0; LOCAL_BYTES]);
        Self { local, registers: Registers::default(), constants, shared: 0..0, data: NO_DATA }
    }

    /// Where in the local store an address is.
    #[inline(always)]
    fn place(&self, access: Access) -> Result<u32, Stall> {
        let place = access.address - mpe::LOCAL_STORE;
        if self.shared.contains(&place) { Err(Stall::Wait) } else { Ok(place) }
    }
}

impl Bus for Own {
    #[inline(always)]
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => value(self.local.as_slice(), self.place(access)?, access.size),
            region::CONSTANTS if access.count == 1 => {
                self.data = self.constants.line(access.address);
                self.constants.value(access)
            }
            region::REGISTERS if access.size == Size::Word && access.count == 1 => {
                self.registers.at(access.address).copied().ok_or(Stall::Wait)
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

/// Puts a value at a place in a local store, little-endian.
#[inline(always)]
pub(super) fn put(local: &mut [u8; LOCAL_BYTES], at: u32, size: Size, value: u32) -> Result<(), Stall> {
    let place = local.get_mut(at as usize..at as usize + size.bytes() as usize);
    let place = place.ok_or(Stall::Fault(Fault::Nothing))?;
    place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
    Ok(())
}

/// The value at a place in bytes, little-endian.
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
