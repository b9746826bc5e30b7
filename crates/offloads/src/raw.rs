//! The memory of an instance's state, for machines that implement the kind themselves on the same
//! memory.
//!
//! The native engine's C code works on these addresses, so that the instance's own methods, the
//! control plane and reports see changes by packets without copying. A view is valid until the next
//! use of the instance through `&mut`.

use std::ffi::c_void;

use crate::lpm::LpmView;

/// The memory of an instance. Elements are little-endian arrays of 64-bit words (`Bits::words`);
/// bits above the width are zero.
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
    /// `lpm`: [`crate::lpm`] describes how to read it. The view belongs to a pinned reader, so that
    /// a control plane in another thread may change the table in the meantime;
    /// [`crate::Instance::raw_done`] releases it.
    Lpm(LpmView),
    /// `exact`: the table, whose address never changes. The kind's module `table` describes it.
    Exact(*mut c_void),
    /// `meter`: `elements` meters of four 64-bit words, and their rates. The view is that of
    /// runtime/c/meter.h.
    Meter {
        /// The view.
        view: *const c_void,
        /// Number of meters.
        elements: u64,
    },
    /// `match`: the automaton of the patterns. The view is that of runtime/c/match.h.
    Match(*const c_void),
}
