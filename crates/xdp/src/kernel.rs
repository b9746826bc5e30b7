//! The BPF system call (bpf(2)): maps, programs and their attachment. The kernel frees each object
//! when its last descriptor is closed.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The register with the end of the stack.
pub const STACK: u8 = 10;
/// The bits of an operation that are its class.
pub const CLASS: u8 = 7;

/// `struct bpf_insn`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// The operation.
    pub code: u8,
    /// Source register << 4 | destination register.
    pub registers: u8,
    /// An offset.
    pub offset: i16,
    /// A constant.
    pub value: i32,
}

impl Instruction {
    /// Returns how many bytes below the end of the stack this instruction reaches. `before` is the
    /// instruction in front of it.
    pub fn stack_depth(&self, before: &Self) -> u32 {
        const MOVE: u8 = 0xbf;
        const ADD: u8 = 0x07;
        let [dst, src] = [self.registers & 15, self.registers >> 4];
        let below = match self.code & CLASS {
            1 if src == STACK => i32::from(self.offset),
            2 | 3 if dst == STACK => i32::from(self.offset),
            _ => {
                let copies = before.code == MOVE && before.registers == STACK << 4 | dst;
                if self.code == ADD && copies { self.value } else { 0 }
            }
        };
        below.min(0).unsigned_abs()
    }

    /// Creates an instruction. Fields that the operation does not use must be zero.
    pub fn new(code: u8, dst: u8, src: u8, offset: i16, value: i32) -> Self {
        Self { code, registers: src << 4 | dst, offset, value }
    }
}

/// The hook to which a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The driver of an interface, before the kernel makes a packet of the frame (XDP).
    Driver,
    /// The ingress of an interface, before the kernel's protocols (TCX, Linux 6.6 or later).
    Ingress,
}

/// Types of maps (linux/bpf.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapType {
    /// Values by key.
    Hash = 1,
    /// Elements by index.
    Array = 2,
    /// Values by key, separate for each processor.
    PerCpuHash = 5,
    /// Elements by index, separate for each processor.
    PerCpuArray = 6,
    /// Maps by index.
    ArrayOfMaps = 12,
    /// Interfaces by index.
    Interfaces = 14,
    /// AF_XDP sockets by queue.
    Sockets = 17,
    /// Records in order.
    Ring = 27,
}

/// Flags of maps.
pub mod flag {
    /// Entries take memory when they are made. The memory of removed entries is reused only when no
    /// program reads it any more.
    pub const ON_DEMAND: u32 = 1;
    /// The program may only read the map.
    pub const READ_ONLY: u32 = 1 << 7;
    /// The process can map the map into its memory.
    pub const MAPPABLE: u32 = 1 << 10;
    /// Maps of different sizes can replace each other in a map of maps.
    pub const ANY_SIZE: u32 = 1 << 12;
}

/// The parameters of a map.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub map_type: MapType,
    /// Bytes of a key.
    pub key: u32,
    /// Bytes of a value.
    pub value: u32,
    /// Limit on the entries.
    pub entries: u32,
    /// The flags, from [`flag`].
    pub flags: u32,
}

/// The types of a map's keys and values, as two of a set of types.
#[derive(Clone, Copy, Debug)]
pub struct Typed<'a> {
    /// The descriptor of all types.
    pub types: &'a OwnedFd,
    /// The number of the key's type.
    pub key: u32,
    /// The number of the value's type.
    pub value: u32,
}

#[repr(C)]
#[derive(Default)]
struct CreateMap {
    map_type: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    numa_node: u32,
    name: [u8; 16],
    interface: u32,
    types: u32,
    key_type: u32,
    value_type: u32,
}

#[repr(C, align(8))]
struct Element {
    map: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C, align(8))]
#[derive(Default)]
struct LoadTypes {
    types: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
}

#[repr(C, align(8))]
#[derive(Default)]
struct LoadProgram {
    program_type: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
    types: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
}

#[repr(C, align(8))]
#[derive(Default)]
struct Trial {
    program: u32,
    result: u32,
    input_size: u32,
    output_size: u32,
    input: u64,
    output: u64,
    repeat: u32,
    duration: u32,
    context: [u64; 3],
    flags: u32,
    cpu: u32,
}

#[repr(C, align(8))]
struct Link {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
    rest: [u64; 2],
}

#[repr(C, align(8))]
struct Batch {
    from: u64,
    to: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    flags: [u64; 2],
}

#[repr(C)]
struct Frozen {
    map: u32,
}

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const MAP_REMOVE: libc::c_int = 3;
const MAP_NEXT_KEY: libc::c_int = 4;
const PROGRAM_LOAD: libc::c_int = 5;
const PROGRAM_TRIAL: libc::c_int = 10;
const TYPES_LOAD: libc::c_int = 18;
const MAP_FREEZE: libc::c_int = 22;
const MAP_LOOKUP_BATCH: libc::c_int = 24;
const LINK_CREATE: libc::c_int = 28;
const LINK_UPDATE: libc::c_int = 29;

const PROGRAM_TYPE_FILTER: u32 = 1;
const PROGRAM_TYPE_CLASSIFIER: u32 = 3;
const PROGRAM_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const ATTACH_INGRESS: u32 = 46;
/// The licence of programs. They use no helper that is restricted to the GPL.
const LICENCE: &std::ffi::CStr = c"Apache-2.0";
/// The program accepts frames in several parts.
const FRAGMENTS: u32 = 1 << 5;
/// Attach in the driver, not to the generic path, which makes a packet first.
const IN_DRIVER: u32 = 1 << 2;

fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: the attributes belong to the command, outlive the call and have the size given.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

fn owned(descriptor: i32) -> OwnedFd {
    // SAFETY: the kernel has just returned it, and nothing else owns it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn raw(descriptor: &OwnedFd) -> u32 {
    descriptor.as_raw_fd() as u32
}

/// Returns a name as the kernel takes it: the first fifteen characters.
fn short(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
    bytes
}

/// Creates a map. For a map of maps, `inner` is an example of its elements.
///
/// # Errors
/// Without the rights or the memory.
pub fn create_map(
    name: &str,
    shape: Shape,
    inner: Option<&OwnedFd>,
    typed: Option<Typed<'_>>,
) -> io::Result<OwnedFd> {
    let mut attributes = CreateMap {
        map_type: shape.map_type as u32,
        key: shape.key,
        value: shape.value,
        entries: shape.entries,
        flags: shape.flags,
        inner: inner.map_or(0, raw),
        name: short(name),
        types: typed.map_or(0, |typed| raw(typed.types)),
        key_type: typed.map_or(0, |typed| typed.key),
        value_type: typed.map_or(0, |typed| typed.value),
        ..CreateMap::default()
    };
    bpf(MAP_CREATE, &mut attributes).map(owned)
}

/// Sets an entry of a map. `value` has the bytes of the value. A map of each processor takes a
/// value for each of them.
///
/// # Errors
/// If the kernel refuses it.
pub fn set(map: &OwnedFd, key: &[u8], value: &[u8]) -> io::Result<()> {
    let mut element =
        Element { map: raw(map), key: key.as_ptr() as u64, value: value.as_ptr() as u64, flags: 0 };
    bpf(MAP_UPDATE, &mut element).map(|_| ())
}

/// Reads an entry of a map into `value`, whose size is as for [`set`]. Returns whether the entry
/// exists.
///
/// # Errors
/// If the kernel refuses it.
pub fn find(map: &OwnedFd, key: &[u8], value: &mut [u8]) -> io::Result<bool> {
    let mut element = Element {
        map: raw(map),
        key: key.as_ptr() as u64,
        value: value.as_mut_ptr() as u64,
        flags: 0,
    };
    match bpf(MAP_LOOKUP, &mut element) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the key after another one, or the first.
///
/// # Errors
/// If the kernel refuses it.
pub fn next_key(map: &OwnedFd, key: Option<&[u8]>, size: usize) -> io::Result<Option<Vec<u8>>> {
    let mut next = vec![0; size];
    let mut element = Element {
        map: raw(map),
        key: key.map_or(0, |key| key.as_ptr() as u64),
        value: next.as_mut_ptr() as u64,
        flags: 0,
    };
    match bpf(MAP_NEXT_KEY, &mut element) {
        Ok(_) => Ok(Some(next)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes an entry of a map.
///
/// # Errors
/// If the kernel refuses it.
pub fn remove(map: &OwnedFd, key: &[u8]) -> io::Result<()> {
    let mut element = Element { map: raw(map), key: key.as_ptr() as u64, value: 0, flags: 0 };
    bpf(MAP_REMOVE, &mut element).map(|_| ())
}

/// Returns all entries of a hash map: all keys concatenated, and all values concatenated.
///
/// # Errors
/// If the kernel refuses it.
pub fn entries(map: &OwnedFd, key: usize, value: usize) -> io::Result<(Vec<u8>, Vec<u8>)> {
    const AT_ONCE: usize = 4096;
    let (mut all_keys, mut all_values) = (Vec::new(), Vec::new());
    let (mut keys, mut values) = (vec![0u8; AT_ONCE * key], vec![0u8; AT_ONCE * value]);
    let (mut place, mut next) = (0u64, 0u64);
    for is_first in std::iter::once(true).chain(std::iter::repeat(false)) {
        let mut batch = Batch {
            from: if is_first { 0 } else { &raw mut place as u64 },
            to: &raw mut next as u64,
            keys: keys.as_mut_ptr() as u64,
            values: values.as_mut_ptr() as u64,
            count: AT_ONCE as u32,
            map: raw(map),
            flags: [0; 2],
        };
        let read = bpf(MAP_LOOKUP_BATCH, &mut batch);
        let is_last = match read {
            Ok(_) => false,
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => true,
            Err(error) => return Err(error),
        };
        let count = batch.count as usize;
        all_keys.extend_from_slice(&keys[..count * key]);
        all_values.extend_from_slice(&values[..count * value]);
        if is_last {
            break;
        }
        place = next;
    }
    Ok((all_keys, all_values))
}

/// Makes a map immutable, so that the verifier knows its contents.
///
/// # Errors
/// If the kernel refuses it.
pub fn freeze(map: &OwnedFd) -> io::Result<()> {
    bpf(MAP_FREEZE, &mut Frozen { map: raw(map) }).map(|_| ())
}

/// Loads types (BTF).
///
/// # Errors
/// If the kernel refuses them. The text is its log.
pub fn load_types(types: &[u8]) -> Result<OwnedFd, (io::Error, String)> {
    let mut log = vec![0; LOG];
    let mut attributes = LoadTypes {
        types: types.as_ptr() as u64,
        log: log.as_mut_ptr() as u64,
        size: types.len() as u32,
        log_size: log.len() as u32,
        log_level: 1,
    };
    bpf(TYPES_LOAD, &mut attributes).map(owned).map_err(|error| (error, text(&log)))
}

/// Room for the log of the verifier.
const LOG: usize = 1 << 20;

fn text(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).into_owned()
}

/// Loads a program for the XDP hook. `functions` has for each function the number of its first
/// instruction, and its type from [`load_types`]. `log` receives the verifier's log, which slows it
/// down.
///
/// # Errors
/// If the kernel refuses it.
pub fn load_program(
    name: &str,
    instructions: &[Instruction],
    types: &OwnedFd,
    functions: &[(u32, u32)],
    log: Option<&mut String>,
) -> io::Result<OwnedFd> {
    let functions: Vec<u32> = functions.iter().flat_map(|(at, ty)| [*at, *ty]).collect();
    let mut attributes = LoadProgram {
        program_type: PROGRAM_TYPE_XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        flags: FRAGMENTS,
        name: short(name),
        attach_type: ATTACH_XDP,
        types: raw(types),
        function_size: 8,
        functions: functions.as_ptr() as u64,
        function_count: functions.len() as u32 / 2,
        ..LoadProgram::default()
    };
    let Some(log) = log else { return bpf(PROGRAM_LOAD, &mut attributes).map(owned) };
    let mut bytes = vec![0; LOG];
    attributes.log = bytes.as_mut_ptr() as u64;
    attributes.log_size = bytes.len() as u32;
    attributes.log_level = 1;
    let loaded = bpf(PROGRAM_LOAD, &mut attributes).map(owned);
    *log = text(&bytes);
    loaded
}

/// Loads a program of a few instructions.
///
/// # Errors
/// If the kernel refuses it.
pub fn load_small(hook: Hook, instructions: &[Instruction]) -> io::Result<OwnedFd> {
    let program_type = match hook {
        Hook::Driver => PROGRAM_TYPE_XDP,
        Hook::Ingress => PROGRAM_TYPE_CLASSIFIER,
    };
    load(program_type, instructions)
}

/// Loads a program of a few instructions that returns how many bytes of a packet a socket gets.
///
/// # Errors
/// If the kernel refuses it.
pub fn load_filter(instructions: &[Instruction]) -> io::Result<OwnedFd> {
    load(PROGRAM_TYPE_FILTER, instructions)
}

fn load(program_type: u32, instructions: &[Instruction]) -> io::Result<OwnedFd> {
    let mut attributes = LoadProgram {
        program_type,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        ..LoadProgram::default()
    };
    bpf(PROGRAM_LOAD, &mut attributes).map(owned)
}

/// Runs a program once on a frame. Returns the length of the resulting frame, whose bytes are in
/// `output`.
///
/// # Errors
/// If the kernel rejects the frame.
pub fn trial(program: &OwnedFd, input: &[u8], output: &mut [u8]) -> io::Result<usize> {
    let mut trial = Trial {
        program: raw(program),
        input_size: input.len() as u32,
        output_size: output.len() as u32,
        input: input.as_ptr() as u64,
        output: output.as_mut_ptr() as u64,
        repeat: 1,
        ..Trial::default()
    };
    bpf(PROGRAM_TRIAL, &mut trial)?;
    Ok(trial.output_size as usize)
}

/// Attaches a program to an interface. It stays attached as long as the descriptor is open.
///
/// # Errors
/// Without the rights, or if the kernel or the driver does not support the hook.
pub fn attach(program: &OwnedFd, hook: Hook, interface: u32) -> io::Result<OwnedFd> {
    let (attach_type, flags) = match hook {
        Hook::Driver => (ATTACH_XDP, IN_DRIVER),
        Hook::Ingress => (ATTACH_INGRESS, 0),
    };
    let mut link = Link { program: raw(program), interface, attach_type, flags, rest: [0; 2] };
    bpf(LINK_CREATE, &mut link).map(owned)
}

/// Replaces the program that a link has attached. Each frame goes to either the old or the new one.
///
/// # Errors
/// If the kernel refuses it.
pub fn replace(link: &OwnedFd, program: &OwnedFd) -> io::Result<()> {
    let mut update = [raw(link), raw(program), 0, 0];
    bpf(LINK_UPDATE, &mut update).map(|_| ())
}

/// Returns the number of processors for which a map of each processor has values.
///
/// # Errors
/// If the kernel does not report it.
pub fn processors() -> io::Result<usize> {
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last =
        possible.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    last.map(|last| last + 1).ok_or_else(|| io::Error::other("processors: not a list"))
}

/// Memory of a map that this process shares with the kernel.
pub struct Mapped {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to this value.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps the first bytes of a map's values.
    ///
    /// # Errors
    /// If the map cannot be mapped.
    pub fn new(map: &OwnedFd, bytes: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, which nothing else uses.
        let start = unsafe {
            let none = std::ptr::null_mut();
            libc::mmap(none, bytes, protection, libc::MAP_SHARED, map.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), bytes })
    }

    /// Returns the first byte. The kernel may change the bytes at any time.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
