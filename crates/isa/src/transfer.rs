//! Single accesses of instructions: checks alignment, and turns faults into exceptions.

use crate::exception::Direction;
use crate::{Access, Bus, Cause, Size, Stall, Stop};

#[inline(always)]
pub(crate) fn load<B: Bus>(bus: &mut B, address: u32, size: Size) -> Result<u32, Stop> {
    aligned(Direction::Load, address, size)?;
    let access = Access::single(address, size);
    let value = bus.load(access).map_err(|stall| stop(bus, stall, Direction::Load, access))?;
    bus.done();
    Ok(value)
}

#[inline(always)]
pub(crate) fn store<B: Bus>(bus: &mut B, address: u32, size: Size, value: u32) -> Result<(), Stop> {
    aligned(Direction::Store, address, size)?;
    let access = Access::single(address, size);
    bus.store(access, value).map_err(|stall| stop(bus, stall, Direction::Store, access))?;
    bus.done();
    Ok(())
}

/// Refuses an access at an address that is not a multiple of its size.
#[inline(always)]
pub(crate) fn aligned(direction: Direction, address: u32, size: Size) -> Result<(), Stop> {
    if size.is_aligned(address) {
        Ok(())
    } else {
        Err(Cause::Misaligned { direction, address, size }.into())
    }
}

/// Returns the result of an instruction whose access did not complete.
#[cold]
pub(crate) fn stop<B: Bus>(
    bus: &mut B,
    stall: Stall,
    direction: Direction,
    access: Access,
) -> Stop {
    match stall {
        Stall::Wait => Stop::Wait,
        Stall::Fault(fault) => {
            bus.done();
            Cause::Fault { direction, address: access.address, size: access.size, fault }.into()
        }
    }
}
