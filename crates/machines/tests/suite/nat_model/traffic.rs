//! Random packets from both sides, mostly about present or past mappings.

use std::net::Ipv4Addr;

use super::translator::Translator;
use super::wire::{Datagram, Endpoint, ICMP, IcmpError, TCP, UDP, Wrong};

/// The translator's address.
pub const EXTERNAL: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// The MAC addresses of a frame from either side.
pub const STATIONS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// An arriving packet.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub time_ns: u64,
    pub is_from_inside: bool,
    /// The number of VLAN tags.
    pub tags: usize,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    Datagram(Datagram),
    Error(IcmpError),
}

impl Arrival {
    pub fn ingress(&self) -> u16 {
        u16::from(!self.is_from_inside)
    }

    /// Returns the bytes of the frame.
    pub fn bytes(&self) -> Vec<u8> {
        let packet = match &self.content {
            Content::Datagram(datagram) => datagram.bytes(),
            Content::Error(error) => error.bytes(&error.about, self.link()),
        };
        self.frame(STATIONS, &packet)
    }

    /// Returns a frame with a packet, and with this arrival's VLAN tags.
    pub fn frame(&self, [to, from]: [[u8; 6]; 2], packet: &[u8]) -> Vec<u8> {
        let tags = [0x81, 0, 0, 5].repeat(self.tags);
        [&to[..], &from, &tags, &[8, 0], packet].concat()
    }

    /// Returns the length of the link header, in bytes.
    pub fn link(&self) -> usize {
        14 + 4 * self.tags
    }
}

pub struct Traffic {
    state: u64,
    time_ns: u64,
}

impl Traffic {
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, time_ns: 0 }
    }

    /// Returns a random number below `limit` (xorshift64*, Vigna 2016).
    pub fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    pub fn next(&mut self, model: &Translator) -> Arrival {
        let pause = self.pick(&[0, 1, 2, 5, 10, 30, 149, 150]);
        let pause = if self.one_in(60) { self.pick(&[299, 300, 301, 1000, 1001]) } else { pause };
        self.time_ns += pause;
        let is_from_inside = self.below(5) < 3;
        let content = match (self.one_in(4), is_from_inside) {
            (false, true) => Content::Datagram(self.leaving(model)),
            (false, false) => Content::Datagram(self.arriving(model)),
            (true, _) => Content::Error(self.error(is_from_inside, model)),
        };
        let tags = self.below(3) as usize;
        Arrival { time_ns: self.time_ns, is_from_inside, tags, content }
    }

    fn host(&mut self) -> Endpoint {
        let address = Ipv4Addr::new(10, 0, 0, self.pick(&[1, 2, 3, 4]));
        match self.below(20) {
            0 => (Ipv4Addr::new(10, 0, 0, 80), 80),
            1 => (address, 8080),
            _ => (address, self.pick(&[5000, 5000, 5001, 123, 124, 1023, 1024, 65535])),
        }
    }

    fn remote(&mut self) -> Endpoint {
        (Ipv4Addr::new(192, 0, 2, self.pick(&[1, 2])), self.pick(&[53, 80, 5000]))
    }

    /// Returns an outside endpoint of a present or past mapping, or sometimes an arbitrary one.
    fn outside(&mut self, protocol: u8, model: &Translator) -> Endpoint {
        let known: Vec<Endpoint> = model.outside_endpoints(protocol).collect();
        if known.is_empty() || self.one_in(8) {
            return (EXTERNAL, self.pick(&[5000, 5001, 123, 8080, 2]));
        }
        self.pick(&known)
    }

    /// Returns a datagram whose endpoints are still to be chosen.
    fn datagram(&mut self) -> Datagram {
        let nowhere = (Ipv4Addr::UNSPECIFIED, 0);
        let protocol = self.pick(&[TCP, UDP, UDP, ICMP]);
        let kind = match protocol {
            TCP => self.pick(&[0x02, 0x10, 0x10, 0x18, 0x11, 0x14]),
            _ => self.pick(&[8, 8, 8, 0, 13, 14]),
        };
        let options = if self.one_in(3) { self.below(11) as usize } else { 0 };
        let length = self.below(40);
        let data = (0..length).map(|_| self.below(256) as u8).collect();
        let is_unsummed = self.one_in(4);
        Datagram { protocol, from: nowhere, to: nowhere, kind, is_unsummed, options, data }
    }

    fn leaving(&mut self, model: &Translator) -> Datagram {
        let mut datagram = self.datagram();
        datagram.from = self.host();
        datagram.to = match self.one_in(4) {
            true => self.outside(datagram.protocol, model),
            false => self.remote(),
        };
        datagram
    }

    fn arriving(&mut self, model: &Translator) -> Datagram {
        let mut datagram = self.datagram();
        datagram.from = self.remote();
        datagram.to = self.outside(datagram.protocol, model);
        if datagram.protocol == ICMP {
            datagram.from.1 = datagram.to.1;
        }
        datagram
    }

    fn error(&mut self, is_from_inside: bool, model: &Translator) -> IcmpError {
        let mut about = self.datagram();
        let router = Ipv4Addr::new(203, 0, 113, 9);
        let to = if is_from_inside {
            let about_hairpin = self.one_in(2);
            about.to = self.host();
            about.from = match about_hairpin {
                true => self.outside(about.protocol, model),
                false => self.remote(),
            };
            if about.protocol == ICMP {
                about.from.1 = about.to.1;
            }
            about.from.0
        } else {
            about.from = self.outside(about.protocol, model);
            about.to = self.remote();
            about.from.0
        };
        let length = about.bytes().len() - 20 - 4 * about.options;
        let embedded = self.pick(&[8, 12, 17, 18, 20, 40]).min(length);
        let wrong = match self.below(16) {
            0 => Some(Wrong::Icmp),
            1 => Some(Wrong::EmbeddedIp),
            _ => None,
        };
        let (kind, options) = (self.pick(&[3, 4, 11, 12]), self.below(11) as usize);
        let from = if is_from_inside { Ipv4Addr::new(10, 0, 0, 254) } else { router };
        IcmpError { from, to, kind, options, about, embedded, wrong }
    }
}
