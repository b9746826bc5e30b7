//! The structures that generated C and this crate share, in Rust. The C is in runtime/batch.h,
//! packet.h and slot.h.

use std::ffi::c_void;

/// The value of `WL_ABI`. It changes with any of these structures.
pub const ABI: u32 = 9;
/// The value of `WL_NO_OUTPUT`.
pub const NO_OUTPUT: u32 = u32::MAX;

/// Values of `enum wl_verdict`.
pub mod verdict {
    pub const NOTHING: u32 = 0;
    pub const SENT: u32 = 1;
    pub const TO_CPU: u32 = 2;
    pub const DROPPED: u32 = 3;
    pub const RUNAWAY: u32 = 4;
}

/// A frame as `struct wl_arrival`.
type Arrival = wireloom_net::Frame<'static>;

/// Whether this compiler lays frames out as C does. Rust promises the order of fields, but not the
/// order of a slice's address and length.
pub fn is_frame_as_in_c() -> bool {
    let bytes = [0; 3];
    // SAFETY: both have the size of two words, and any bits are numbers.
    let words: [usize; 2] = unsafe { std::mem::transmute(&bytes[..]) };
    words == [bytes.as_ptr().addr(), bytes.len()] && size_of::<Arrival>() == 32
}

/// `struct wl_output`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Output {
    pub window: *const u8,
    pub payload: *const u8,
    pub window_length: u32,
    pub payload_length: u32,
    pub next: u32,
    pub reasons: u32,
    pub value: u16,
    pub verdict: u32,
}

/// `struct wl_end`
#[repr(C)]
pub struct End {
    pub last: Output,
    pub first_emitted: u32,
    pub last_emitted: u32,
}

/// The beginning of `struct wl_machine`. Its `ends` follow.
#[repr(C)]
pub struct MachineAbi {
    pub slots: *const Slot,
    pub steps: *mut u64,
    pub in_lanes: u64,
    pub emitted: *const Output,
    pub emitted_count: u64,
    pub emitted_room: u64,
    arena: [usize; 3],
    pub ends: [End; 0],
}

/// `struct wl_env`
#[repr(C)]
pub struct Env {
    pub now_ns: u64,
    pub sequence: u64,
}

/// `wl_host_call`
pub type HostCall = unsafe extern "C" fn(
    instance: *mut c_void,
    method: u32,
    args: *const u64,
    reply: *mut u64,
    packet: *mut c_void,
    arena: *mut c_void,
    env: *const Env,
);

/// `struct wl_slot`
#[repr(C)]
pub struct Slot {
    pub data: *mut c_void,
    pub elements: u64,
    pub instance: *mut c_void,
    pub call: HostCall,
    pub counts: *mut u64,
    pub spread: *const u32,
    pub blocks: *const c_void,
    pub values: *const u64,
    pub direct: *const c_void,
    pub direct_shift: u64,
}

/// `struct wl_view`
#[repr(C)]
pub struct View {
    pub window: *const u8,
    pub payload: *const u8,
    pub arrival_ns: u64,
    pub window_length: u32,
    pub payload_length: u32,
    pub ingress: u16,
    pub egress: u16,
}

/// `struct wl_engine`
#[repr(C)]
pub struct EngineAbi {
    pub abi: u32,
    pub batch: u32,
    pub slots: u32,
    pub state_size: usize,
    pub execute: unsafe extern "C" fn(
        state: *mut c_void,
        packets: *const c_void,
        count: u32,
        known: u32,
        sequence: u64,
    ),
    pub close: unsafe extern "C" fn(state: *mut c_void),
    pub show: unsafe extern "C" fn(packet: *const c_void, view: *mut View),
    pub replace: unsafe extern "C" fn(packet: *mut c_void, arena: *mut c_void, view: *const View),
}
