//! Whether the kernel forwards what arrives on a port.
//!
//! It forwards nothing from an interface whose `forwarding` is 0, and takes no IPv6 at all from one
//! with `disable_ipv6`. The machine's tables do not know that. So what arrives at such a port is looked
//! at here: the machine decides on it, but nothing of it is sent. Packets for this computer go to the
//! kernel.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::conditions::{interface_name, setting};

/// The versions of IP that the kernel forwards from an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwards {
    pub ipv4: bool,
    pub ipv6: bool,
}

impl Forwards {
    /// Settings of the kernel for an interface. A missing one forbids nothing.
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

/// Protocols that are not forwarded, by port of arrival. All cores read it.
#[derive(Debug, Default)]
pub struct Barred(Vec<(Option<u32>, AtomicU8)>);

impl Barred {
    /// For ports that are these interfaces. Nothing is barred before the first update.
    pub fn new(ports: &[Option<u32>]) -> Self {
        Self(ports.iter().map(|index| (*index, AtomicU8::new(0))).collect())
    }

    /// Reads the settings of all ports again. They bind only a program that stands in for the
    /// kernel: a firewall in the middle of a wire forwards where the kernel does not.
    pub fn update(&self, stands_in: bool) {
        for (index, bits) in &self.0 {
            if let Some(name) = index.and_then(interface_name) {
                let barred = if stands_in { Forwards::of(&name).bits() } else { 0 };
                bits.store(barred, Ordering::Relaxed);
            }
        }
    }

    /// Whether the kernel would not forward some frame that arrives on a port.
    pub fn has_any(&self, port: usize) -> bool {
        self.bits(port) != 0
    }

    /// Whether the kernel would not forward a frame that arrived on a port.
    pub fn has(&self, port: usize, frame: &[u8]) -> bool {
        self.bits(port) & version(frame) != 0
    }

    fn bits(&self, port: usize) -> u8 {
        self.0.get(port).map_or(0, |(_, bits)| bits.load(Ordering::Relaxed))
    }
}

/// Interfaces from which frames with a VLAN tag have arrived.
#[derive(Debug, Default)]
pub struct Tagged(Vec<(Option<u32>, AtomicBool)>);

impl Tagged {
    /// For ports that are these interfaces.
    pub fn new(ports: &[Option<u32>]) -> Self {
        Self(ports.iter().map(|index| (*index, AtomicBool::new(false))).collect())
    }

    /// Looks at the frames of a port, until one had a tag.
    pub(crate) fn look<'a>(&self, port: usize, mut frames: impl Iterator<Item = &'a [u8]>) {
        if let Some((Some(_), is_known)) = self.0.get(port)
            && !is_known.load(Ordering::Relaxed)
            && frames.any(is_tagged)
        {
            is_known.store(true, Ordering::Relaxed);
        }
    }

    /// The interfaces.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = u32> {
        let known = self.0.iter().filter(|(_, is_known)| is_known.load(Ordering::Relaxed));
        known.filter_map(|(index, _)| *index)
    }
}

/// Whether a frame belongs to a VLAN. With number 0 a tag is a priority only, and the kernel takes the
/// frame as one without.
fn is_tagged(frame: &[u8]) -> bool {
    match frame.get(12..16) {
        Some([0x81, 0x00, high, low] | [0x88, 0xa8, high, low]) => high & 15 != 0 || *low != 0,
        _ => false,
    }
}

/// The version of IP of a frame, after its VLAN tags; 0 if it is another packet.
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
        // A priority, IPv4, and a frame that ends too early.
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
