//! Checks that engines read packets in place and touch no byte around them, where a mapping may
//! end.

use std::ptr::null_mut;

use crate::support::{agree_on, fill_tables, options, options_for_lanes, random, ways};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use wireloom_ir::Program;
use wireloom_net::{Frame, Packet};

/// A packet's bytes between two inaccessible pages, next to one of them.
struct Fenced {
    map: *mut u8,
    size: usize,
    first: usize,
    length: usize,
}

impl Fenced {
    /// Places the packet at the end of the accessible pages with `is_last`, else at their
    /// beginning.
    fn new(packet: &Packet, is_last: bool) -> Self {
        let bytes = &packet.bytes;
        let page = rustix::param::page_size();
        let inner = bytes.len().max(1).next_multiple_of(page);
        let size = inner + 2 * page;
        let first = if is_last { page + inner - bytes.len() } else { page };
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the map is new, nobody else has it, and only addresses inside it are used.
        let map: *mut u8 = unsafe {
            let map = mmap_anonymous(null_mut(), size, rights, MapFlags::PRIVATE).expect("memory");
            let start = map.cast::<u8>();
            start.add(first).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            mprotect(map, page, MprotectFlags::empty()).expect("a page of the map");
            let end = start.add(page + inner).cast();
            mprotect(end, page, MprotectFlags::empty()).expect("a page of the map");
            start
        };
        Self { map, size, first, length: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: they lie in the map, which lives as long as this.
        unsafe { std::slice::from_raw_parts(self.map.add(self.first), self.length) }
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from the map any more.
        unsafe { munmap(self.map.cast(), self.size).expect("a map") };
    }
}

/// Runs each packet once directly after an inaccessible page, and once directly before one.
fn hold(programs: &[Program], packets: &[Packet]) {
    let fenced = |packet| [false, true].map(|is_last| (packet, Fenced::new(packet, is_last)));
    let fenced: Vec<(&Packet, Fenced)> = packets.iter().flat_map(fenced).collect();
    let mut frames = Vec::new();
    for (packet, fenced) in &fenced {
        frames.push(Frame { bytes: fenced.bytes(), ..packet.frame() });
    }
    for options in [options(), options_for_lanes()] {
        agree_on(programs, &options, &frames, &fill_tables);
    }
}

#[test]
fn nothing_around_a_packet_is_read() {
    let programs: Vec<Program> = (0..4).map(ways::program).collect();
    hold(&programs, &ways::packets(3, 600));
    let programs: Vec<Program> = (0..4).map(random::program).collect();
    hold(&programs, &random::packets(3, 200));
}
