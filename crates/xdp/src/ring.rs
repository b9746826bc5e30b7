//! A ring buffer of the kernel (BPF_MAP_TYPE_RINGBUF): programs write records, this process reads
//! them in order.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::kernel::{self, MapType, Shape};

/// Bytes of a page.
const PAGE: usize = 4096;
/// Bytes in front of a record.
const HEADER: usize = 8;
/// Flags in a record's length: it is being written, or it must be skipped.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;

/// The reader's end of the ring.
pub struct Ring {
    map: OwnedFd,
    /// The page with the reader's position.
    own: Area,
    /// The page with the writer's position, and the data mapped twice, so that each record is
    /// contiguous.
    kernels: Area,
    bytes: usize,
}

/// Mapped memory.
struct Area {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to this value.
unsafe impl Send for Area {}

impl Area {
    fn new(map: &OwnedFd, from: usize, bytes: usize, protection: i32) -> io::Result<Self> {
        // SAFETY: a new mapping, which nothing else uses.
        let start = unsafe {
            let none = std::ptr::null_mut();
            let fd = map.as_raw_fd();
            libc::mmap(none, bytes, protection, libc::MAP_SHARED, fd, from as libc::off_t)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), bytes })
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

impl Ring {
    /// Creates a ring of `bytes` bytes, a power of two and a multiple of the page size.
    ///
    /// # Errors
    /// Without the rights or the memory.
    pub fn new(name: &str, bytes: usize) -> io::Result<Self> {
        let map_type = MapType::Ring;
        let shape = Shape { map_type, key: 0, value: 0, entries: bytes as u32, flags: 0 };
        let map = kernel::create_map(name, shape, None, None)?;
        let own = Area::new(&map, 0, PAGE, libc::PROT_READ | libc::PROT_WRITE)?;
        let kernels = Area::new(&map, PAGE, PAGE + 2 * bytes, libc::PROT_READ)?;
        Ok(Self { map, own, kernels, bytes })
    }

    /// Returns the map that programs write into.
    pub fn map(&self) -> &OwnedFd {
        &self.map
    }

    /// Passes on up to `most` available records, and frees their room. Returns their number.
    pub fn read(&mut self, most: usize, mut each: impl FnMut(&[u8])) -> usize {
        // SAFETY: the kernel changes its positions and lengths as whole words; both areas are
        // mapped, and a record lies within twice the data from any place in the first half.
        let (consumed, produced, data) = unsafe {
            let consumed = &*self.own.start.cast::<AtomicUsize>();
            let produced = &*self.kernels.start.cast::<AtomicUsize>();
            (consumed, produced, self.kernels.start.add(PAGE))
        };
        let mut count = 0;
        let mut at = consumed.load(Ordering::Relaxed);
        while count < most && at < produced.load(Ordering::Acquire) {
            // SAFETY: as above.
            let header = unsafe { data.add(at & (self.bytes - 1)) };
            // SAFETY: records begin at multiples of eight bytes with their length.
            let length = unsafe { &*header.cast::<AtomicU32>() }.load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let bytes = (length & !(BUSY | DISCARDED)) as usize;
            if length & DISCARDED == 0 {
                // SAFETY: the record is complete, and the kernel does not write to it until it is
                // consumed.
                each(unsafe { std::slice::from_raw_parts(header.add(HEADER), bytes) });
                count += 1;
            }
            at += (HEADER + bytes).next_multiple_of(8);
            consumed.store(at, Ordering::Release);
        }
        count
    }
}
