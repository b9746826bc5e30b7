//! DIR-24-8-BASIC (Gupta et al., the paper's table): two tables of half-words in a memory.
//!
//! The first table has an entry for each value of an address's first 24 bits. An entry is a result
//! or, with its highest bit set, the number of a segment of the second table. A segment has 256
//! entries. A result is the port plus 1; 0 means no route.

use crate::device::Memory;

/// Bytes of the first table.
pub const FIRST_BYTES: u32 = 1 << 25;
/// Bytes of the second table with all segments that an entry can name.
pub const SECOND_BYTES: u32 = SEGMENTS << 9;
const SEGMENTS: u32 = 1 << 15;
const IS_SEGMENT: u16 = 1 << 15;

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The prefix. Bits after its length are ignored.
    pub prefix: u32,
    /// Bits of the prefix, 0 to 32.
    pub length: u8,
    /// The output port, at most 32,766.
    pub port: u16,
}

/// Why routes cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirError {
    /// A route has a length or port out of range.
    #[error("the route {0:?} is wrong: lengths are 0 to 32, ports 0 to 32766")]
    Route(Route),
    /// The second table is full.
    #[error("prefixes of more than 24 bits need more than {SEGMENTS} segments of the second table")]
    Segments,
    /// The memory is too small.
    #[error("the memory does not hold address {0:#x} of the tables")]
    Memory(u32),
}

/// Tables in a memory: the second follows the first.
struct Tables<'a> {
    memory: &'a mut Memory,
    base: u32,
    segments: u32,
}

/// Writes the tables of routes into a memory from an address on. The memory must hold zeros there.
///
/// # Errors
/// If a route is wrong, or the memory or the second table is too small.
pub fn write(memory: &mut Memory, base: u32, routes: &[Route]) -> Result<(), DirError> {
    let mut tables = Tables { memory, base, segments: 0 };
    let mut routes = routes.to_vec();
    routes.sort_by_key(|route| route.length);
    for route in routes {
        if route.length > 32 || route.port >= IS_SEGMENT - 1 {
            return Err(DirError::Route(route));
        }
        tables.add(route)?;
    }
    Ok(())
}

impl Tables<'_> {
    fn add(&mut self, route: Route) -> Result<(), DirError> {
        let (result, length) = (route.port + 1, u32::from(route.length));
        let first = route.prefix >> 8;
        if length <= 24 {
            let count = 1u32 << (24 - length);
            let begin = first & !(count - 1);
            // Longer prefixes are added later, so no entry refers to a segment yet.
            return (begin..begin + count).try_for_each(|number| self.set(2 * number, result));
        }
        let old = self.entry(2 * first)?;
        let segment = if old & IS_SEGMENT != 0 {
            u32::from(old & !IS_SEGMENT)
        } else {
            let segment = self.segments;
            if segment == SEGMENTS {
                return Err(DirError::Segments);
            }
            self.segments += 1;
            self.fill(segment, 0, 256, old)?;
            self.set(2 * first, segment as u16 | IS_SEGMENT)?;
            segment
        };
        let count = 1u32 << (32 - length);
        self.fill(segment, route.prefix & 0xff & !(count - 1), count, result)
    }

    fn fill(&mut self, segment: u32, begin: u32, count: u32, value: u16) -> Result<(), DirError> {
        let place = |number: u32| FIRST_BYTES + 2 * (segment << 8 | number);
        (begin..begin + count).try_for_each(|number| self.set(place(number), value))
    }

    fn word(&mut self, place: u32) -> Result<&mut u32, DirError> {
        let address = self.base.wrapping_add(place);
        self.memory.word(address & !3).ok_or(DirError::Memory(address))
    }

    fn entry(&mut self, place: u32) -> Result<u16, DirError> {
        let shift = 16 - 8 * (place & 2);
        Ok((*self.word(place)? >> shift) as u16)
    }

    fn set(&mut self, place: u32, value: u16) -> Result<(), DirError> {
        let shift = 16 - 8 * (place & 2);
        let word = self.word(place)?;
        *word = *word & !(0xffff << shift) | u32::from(value) << shift;
        Ok(())
    }
}
