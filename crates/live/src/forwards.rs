//! Whether the kernel forwards packets that arrive on a port.
//!
//! The kernel does not forward from an interface whose `forwarding` is 0, and accepts no IPv6 at
//! all from one with `disable_ipv6`. The machine's tables do not know these settings. So frames
//! from such a port are checked here: the machine processes them, but none is sent. Packets for
//! this computer go to the kernel.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::system::{interface_name, setting};

/// The IP versions that the kernel forwards from an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwards {
    pub ipv4: bool,
    pub ipv6: bool,
}

impl Forwards {
    /// Reads the kernel's settings for an interface. A missing setting forbids nothing.
    pub fn of(name: &str) -> Self {
        let is = |path: &str, value: u32| setting(path) == Some(value);
        let forces = is(&format!("ipv6/conf/{name}/force_forwarding"), 1);
        let is_off6 = is("ipv6/conf/all/forwarding", 0) && !forces;
        Self {
            ipv4: !is(&format!("ipv4/conf/{name}/forwarding"), 0),
            ipv6: !is_off6 && !is(&format!("ipv6/conf/{name}/disable_ipv6"), 1),
        }
    }

    fn bits(self) -> u8 {
        (u8::from(!self.ipv4) * IPV4) | (u8::from(!self.ipv6) * IPV6)
    }
}

const IPV4: u8 = 1;
const IPV6: u8 = 2;

/// The IP versions that are not forwarded, by port of arrival. All cores read it.
#[derive(Debug, Default)]
pub struct Barred(Vec<(Option<u32>, AtomicU8)>);

impl Barred {
    /// Creates the table for ports with these interfaces. Nothing is barred before the first
    /// update.
    pub fn new(ports: &[Option<u32>]) -> Self {
        Self(ports.iter().map(|index| (*index, AtomicU8::new(0))).collect())
    }

    /// Reads the settings of all ports again. They apply only to a program that stands in for the
    /// kernel: a firewall in the middle of a wire forwards where the kernel does not.
    pub fn update(&self, stands_in: bool) {
        for (index, bits) in &self.0 {
            if let Some(name) = index.and_then(interface_name) {
                let barred = if stands_in { Forwards::of(&name).bits() } else { 0 };
                bits.store(barred, Ordering::Relaxed);
            }
        }
    }

    /// Returns whether the kernel bars some IP version on a port.
    pub fn has_any(&self, port: usize) -> bool {
        self.bits(port) != 0
    }

    /// Returns whether the kernel would not forward a frame that arrived on a port.
    pub fn has(&self, port: usize, frame: &[u8]) -> bool {
        self.bits(port) & version(frame) != 0
    }

    fn bits(&self, port: usize) -> u8 {
        self.0.get(port).map_or(0, |(_, bits)| bits.load(Ordering::Relaxed))
    }
}

/// Records the interfaces at which frames with a VLAN tag have arrived.
#[derive(Debug, Default)]
pub struct Tagged(Vec<(Option<u32>, AtomicBool)>);

impl Tagged {
    /// Creates the record for ports with these interfaces.
    pub fn new(ports: &[Option<u32>]) -> Self {
        Self(ports.iter().map(|index| (*index, AtomicBool::new(false))).collect())
    }

    /// Checks the frames of a port for tags, until one has been seen.
    pub(crate) fn look<'a>(&self, port: usize, mut frames: impl Iterator<Item = &'a [u8]>) {
        if let Some((Some(_), is_known)) = self.0.get(port)
            && !is_known.load(Ordering::Relaxed)
            && frames.any(is_tagged)
        {
            is_known.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the interfaces at which tagged frames have arrived.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = u32> {
        let known = self.0.iter().filter(|(_, is_known)| is_known.load(Ordering::Relaxed));
        known.filter_map(|(index, _)| *index)
    }
}

/// Returns whether a frame belongs to a VLAN. A tag with VLAN number 0 only sets a priority; the
/// kernel treats such a frame as untagged.
fn is_tagged(frame: &[u8]) -> bool {
    match frame.get(12..16) {
        Some([0x81, 0x00, high, low] | [0x88, 0xa8, high, low]) => high & 15 != 0 || *low != 0,
        _ => false,
    }
}

/// Returns the bit of a frame's IP version, after its VLAN tags. Returns 0 for other packets.
fn version(frame: &[u8]) -> u8 {
    const ADDRESSES: usize = 12;
    const TAG: usize = 4;
    let mut types = frame.get(ADDRESSES..).unwrap_or_default();
    loop {
        match types {
            [0x08, 0x00, ..] => return IPV4,
            [0x86, 0xdd, ..] => return IPV6,
            [0x81, 0x00, ..] | [0x88, 0xa8, ..] => types = types.get(TAG..).unwrap_or_default(),
            _ => return 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_known_from_which_tagged_frames_came() {
        let tagged = Tagged::new(&[Some(7), Some(9), None]);
        let frame = |types: &[u8]| [&[0; 12], types].concat();
        let look = |port, types: &[u8]| {
            tagged.look(port, [&frame(&[8, 0, 0x45, 0])[..], &frame(types)].into_iter());
            tagged.interfaces().collect::<Vec<_>>()
        };
        // A priority tag, IPv4, and a truncated frame.
        for types in [&[0x81, 0, 0xe0, 0][..], &[8, 0, 0x45, 0], &[0x81, 0, 0]] {
            assert_eq!(look(0, types), [0; 0], "{types:x?}");
        }
        assert_eq!(look(1, &[0x88, 0xa8, 1, 0]), [9]);
        assert_eq!(look(0, &[0x81, 0, 0xe0, 5]), [7, 9]);
        assert_eq!(look(2, &[0x81, 0, 0, 5]), [7, 9], "it is no interface");
        assert_eq!(look(3, &[0x81, 0, 0, 5]), [7, 9], "there is no such port");
    }

    #[test]
    fn frames_of_a_version_are_barred_at_their_port() {
        let frame = |types: &[u8]| [&[0; 12], types].concat();
        let barred = Barred(vec![
            (None, AtomicU8::new(0)),
            (None, AtomicU8::new(Forwards { ipv4: false, ipv6: true }.bits())),
            (None, AtomicU8::new(Forwards { ipv4: true, ipv6: false }.bits())),
        ]);
        for (types, expected) in [
            (&[8, 0, 0x45][..], [false, true, false]),
            (&[0x86, 0xdd, 0x60], [false, false, true]),
            (&[0x81, 0, 0, 5, 8, 0], [false, true, false]),
            (&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], [false, false, true]),
            (&[0x88, 0x47, 0, 0, 0, 0], [false; 3]),
            (&[0x81, 0, 0], [false; 3]),
            (&[], [false; 3]),
        ] {
            let frame = frame(types);
            assert_eq!([0, 1, 2].map(|port| barred.has(port, &frame)), expected, "{types:x?}");
        }
        assert!(!barred.has(9, &frame(&[8, 0])));
        assert_eq!([0, 1, 2, 9].map(|port| barred.has_any(port)), [false, true, true, false]);
    }
}
