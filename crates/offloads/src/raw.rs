//! The memory of an instance's state, for machines that realise the kind themselves over the same
//! memory.
//!
//! The native engine's C code works on these addresses, so the instance's own methods, the control
//! plane and reports see packets' changes without copying. A view is valid until the instance is
//! next used through `&mut`.

use crate::lpm::LpmView;

/// The memory of an instance. Elements are little-endian arrays of 64-bit words (`Bits::words`),
/// bits above the width zero.
#[derive(Clone, Copy, Debug)]
pub enum RawView {
    /// `array`: `elements` elements of `ceil(width of the value / 64)` words each.
    Array {
        /// The first word of element 0.
        data: *mut u64,
        /// Number of elements.
        elements: u64,
    },
    /// `counter`: `elements` pairs of packets and bytes, one 64-bit word each.
    Counter {
        /// The packets of counter 0.
        data: *mut u64,
        /// Number of counters.
        elements: u64,
    },
    /// `lpm`: see [`crate::lpm`] for how it is read. The view is that of a pinned reader, so a
    /// control plane in another thread may change the table meanwhile;
    /// [`crate::Instance::raw_done`] releases it.
    Lpm(LpmView),
}
