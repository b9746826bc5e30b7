//! Raw memory of an instance's state, for machines that implement a kind themselves on the same
//! memory.
//!
//! The C code of the native engine works on these addresses. The methods of the instance, the
//! control plane and reports therefore see changes by packets without copying. A view is valid
//! until the next use of the instance through `&mut`.

use std::ffi::c_void;

use crate::lpm::LpmView;

/// The memory of an instance. Elements are little-endian arrays of 64-bit words (`Bits::words`).
/// Bits above the width are zero.
#[derive(Clone, Copy, Debug)]
pub enum RawView {
    /// `array`: each element has `ceil(width of the value / 64)` words.
    Array {
        /// The first word of element 0.
        data: *mut u64,
        elements: u64,
    },
    /// `counter`: each counter is a pair of 64-bit words, the packets and the bytes.
    Counter {
        /// The packets of counter 0.
        data: *mut u64,
        /// Number of counters.
        elements: u64,
    },
    /// `lpm`: [`crate::lpm`] describes how to read it. The view belongs to a pinned reader, so a
    /// control plane in another thread may change the table meanwhile.
    /// [`crate::Instance::raw_done`] releases the view.
    Lpm(LpmView),
    /// `exact`: the table, whose address never changes. The module `table` of the kind describes
    /// it.
    Exact(*mut c_void),
    /// `meter`: each meter has four 64-bit words and its rates. runtime/c/meter.h declares the
    /// view.
    Meter {
        view: *const c_void,
        /// Number of meters.
        elements: u64,
    },
    /// `match`: the automaton of the patterns. runtime/c/match.h declares the view.
    Match(*const c_void),
}
