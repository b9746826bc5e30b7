//! Whether the kernel forwards what arrives on a port.
//!
//! It forwards nothing from an interface whose `forwarding` is 0, and takes no IPv6 at all from one
//! with `disable_ipv6`. The machine's tables do not know that. So what the machine sends is looked at
//! here, if there is such a port.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::conditions::{interface_name, setting};

/// The versions of IP that the kernel forwards from an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwards {
    pub ipv4: bool,
    pub ipv6: bool,
}

impl Forwards {
    /// What the kernel's settings say of an interface. One that is missing forbids nothing.
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
        u8::from(!self.ipv4) * IPV4 | u8::from(!self.ipv6) * IPV6
    }
}

const IPV4: u8 = 1;
const IPV6: u8 = 2;

/// What is not forwarded, by port. All cores read it.
#[derive(Debug, Default)]
pub struct Barred(Vec<(Option<u32>, AtomicU8)>);

impl Barred {
    /// For ports that are these interfaces.
    pub fn new(ports: &[Option<u32>]) -> Self {
        let barred = Self(ports.iter().map(|index| (*index, AtomicU8::new(0))).collect());
        barred.update();
        barred
    }

    /// Reads the settings of all ports again.
    pub fn update(&self) {
        for (index, bits) in &self.0 {
            if let Some(name) = index.and_then(interface_name) {
                bits.store(Forwards::of(&name).bits(), Ordering::Relaxed);
            }
        }
    }

    /// Whether the kernel would not forward a frame that arrived on a port.
    pub fn has(&self, port: u16, frame: &[u8]) -> bool {
        let bits =
            self.0.get(usize::from(port)).map_or(0, |(_, bits)| bits.load(Ordering::Relaxed));
        bits != 0 && bits & version(frame) != 0
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
    }
}
