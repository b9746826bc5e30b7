//! Hand-made edge cases: packets at the limits of each field.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::frames::Is::This;
use super::frames::{Ethernet, Ipv4, Ipv6, Is, udp};

/// A packet that arrives at port 0, and its description.
pub struct Case {
    pub group: &'static str,
    /// The property that the case tests.
    pub name: String,
    pub frame: Vec<u8>,
}

/// The addresses of the cases, matching the topology of the test.
pub struct Place {
    /// The router's MAC address on port 0.
    pub router: [u8; 6],
    /// The sender's MAC address.
    pub sender: [u8; 6],
    /// IPv4 destinations behind ports 1, 2 and 3 (MTU 1500, 1280 and 9000).
    pub v4: [Ipv4Addr; 3],
    /// IPv6 destinations behind ports 1, 2 and 3.
    pub v6: [Ipv6Addr; 3],
    /// An IPv4 source behind port 0.
    pub from4: Ipv4Addr,
    /// An IPv6 source behind port 0.
    pub from6: Ipv6Addr,
}

struct Cases<'a> {
    place: &'a Place,
    group: &'static str,
    out: Vec<Case>,
}

pub fn all(place: &Place) -> Vec<Case> {
    let mut cases = Cases { place, group: "", out: Vec::new() };
    cases.ipv4_lengths();
    cases.ipv4_header_length_and_options();
    cases.ipv4_fragments();
    cases.ipv4_checksums();
    cases.time_to_live();
    cases.ipv4_addresses();
    cases.ipv4_other_fields();
    cases.ipv6_lengths();
    cases.ipv6_extension_headers();
    cases.ipv6_addresses();
    cases.ethernet();
    cases.vlan();
    cases.truncated();
    cases.out
}

impl Cases<'_> {
    fn ethernet_header(&self, ethertype: u16) -> Ethernet {
        Ethernet { to: self.place.router, from: self.place.sender, tags: Vec::new(), ethertype }
    }

    /// Returns a datagram that every router forwards: 26 bytes of UDP to port 1's network.
    fn good4(&self) -> Ipv4 {
        Ipv4 {
            version: 4,
            ihl: Is::Right,
            tos: 0,
            length: Is::Right,
            id: 0x1234,
            fragment: 0,
            ttl: 64,
            protocol: 17,
            checksum: Is::Right,
            from: self.place.from4,
            to: self.place.v4[0],
            options: Vec::new(),
            payload: udp(4000, 5000, b"edge case payload!"),
        }
    }

    fn good6(&self) -> Ipv6 {
        Ipv6 {
            version: 6,
            class: 0,
            flow: 0,
            length: Is::Right,
            next: 17,
            hops: 64,
            from: self.place.from6,
            to: self.place.v6[0],
            payload: udp(4000, 5000, b"edge case payload!"),
        }
    }

    fn push(&mut self, name: impl Into<String>, frame: Vec<u8>) {
        self.out.push(Case { group: self.group, name: name.into(), frame });
    }

    fn ip4(&mut self, name: impl Into<String>, change: impl FnOnce(&mut Ipv4)) {
        let mut packet = self.good4();
        change(&mut packet);
        let frame = self.ethernet_header(0x0800).around(&packet.bytes());
        self.push(name, frame);
    }

    fn ip6(&mut self, name: impl Into<String>, change: impl FnOnce(&mut Ipv6)) {
        let mut packet = self.good6();
        change(&mut packet);
        let frame = self.ethernet_header(0x86dd).around(&packet.bytes());
        self.push(name, frame);
    }

    fn ipv4_lengths(&mut self) {
        self.group = "IPv4 length (RFC 791 3.1, RFC 1812 5.2.2)";
        let right = self.good4().bytes().len() as u16;
        for length in [0, 1, 19, 20, 21, right - 1, right, right + 1, right + 100, 0xffff] {
            self.ip4(format!("total length {length}, {right} bytes there"), |p| {
                p.length = This(length)
            });
        }
        for bytes in [0, 1, 7, 8, 9, 25, 26, 27, 500, 1471, 1472] {
            self.ip4(format!("{bytes} bytes of payload"), |p| p.payload = vec![0xa5; bytes]);
        }
        for padding in [1, 2, 6, 18, 26] {
            let mut packet = self.good4().bytes();
            packet.resize(packet.len() + padding, 0xee);
            let frame = self.ethernet_header(0x0800).around(&packet);
            self.push(format!("{padding} bytes of padding behind the datagram"), frame);
        }
        let targets = self.place.v4;
        for (to, mtu) in targets.into_iter().zip([1500usize, 1280, 9000]) {
            for (flag, fragment) in [("may", 0u16), ("don't", 0x4000)] {
                for size in [mtu - 1, mtu, mtu + 1, mtu + 8] {
                    self.ip4(format!("{size} bytes where {mtu} fit, {flag} fragment"), |p| {
                        p.to = to;
                        p.fragment = fragment;
                        p.payload = vec![0x5a; size - 20];
                    });
                }
            }
        }
    }

    fn ipv4_header_length_and_options(&mut self) {
        self.group = "IPv4 header length and options (RFC 791 3.1)";
        for ihl in 0..16u8 {
            self.ip4(format!("header length {ihl} words, 5 there"), |p| p.ihl = This(ihl));
        }
        let gateway = self.place.v4[1].octets();
        let mut routed = vec![131, 7, 4];
        routed.extend(gateway);
        let mut strict = routed.clone();
        strict[0] = 137;
        for (name, options) in [
            ("one no-operation", vec![1, 0, 0, 0]),
            ("four no-operations", vec![1; 4]),
            ("forty no-operations", vec![1; 40]),
            ("end of list", vec![0; 4]),
            ("record route with room", [vec![7, 11, 4], vec![0; 8]].concat()),
            ("record route, full", [vec![7, 7, 8], vec![10; 4]].concat()),
            ("record route, pointer inside", vec![7, 7, 3, 0, 0, 0, 0]),
            ("time stamp", [vec![68, 12, 5, 0], vec![0; 8]].concat()),
            ("time stamp, overflow nibble full", vec![68, 8, 9, 0xf0, 0, 0, 0, 0]),
            ("loose source route", routed),
            ("strict source route", strict),
            ("router alert (RFC 2113)", vec![148, 4, 0, 0]),
            ("security (RFC 1108)", vec![130, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            ("stream identifier", vec![136, 4, 0, 1]),
            ("unknown option", vec![0x5e, 4, 1, 2]),
            ("option length zero", vec![7, 0, 0, 0]),
            ("option length one", vec![7, 1, 0, 0]),
            ("option past the header", vec![7, 39, 4, 0]),
        ] {
            self.ip4(name, |p| p.options = options);
        }
        self.ip4("options and TTL 1", |p| {
            p.options = vec![1; 4];
            p.ttl = 1;
        });
        self.ip4("options and a wrong checksum", |p| {
            p.options = vec![1; 4];
            p.checksum = This(0x1111);
        });
    }

    fn ipv4_fragments(&mut self) {
        self.group = "IPv4 fragments (RFC 791 3.2)";
        for (name, fragment) in [
            ("first", 0x2000u16),
            ("middle", 0x2001),
            ("last", 0x0002),
            ("offset of the largest datagram", 0x1fff),
            ("offset that makes the datagram too long, more to come", 0x3fff),
            ("don't fragment", 0x4000),
            ("don't fragment, yet more to come", 0x6000),
            ("don't fragment, yet an offset", 0x4001),
            ("reserved flag (RFC 3514)", 0x8000),
            ("all flags", 0xe000),
        ] {
            self.ip4(name, |p| p.fragment = fragment);
        }
        for bytes in [0, 1, 7, 8] {
            self.ip4(format!("first, of {bytes} bytes"), |p| {
                p.fragment = 0x2000;
                p.payload = vec![0; bytes];
            });
        }
    }

    fn ipv4_checksums(&mut self) {
        self.group = "IPv4 checksum (RFC 1071, RFC 1624)";
        // The identification makes the right checksum each of these values. Near 0xfeff and 0xffff,
        // an update for the lower TTL must propagate the carry, which RFC 1141 gets wrong.
        for wanted in [
            0x0000u16, 0x0001, 0x00ff, 0x0100, 0x7fff, 0x8000, 0xfdff, 0xfefe, 0xfeff, 0xff00,
            0xfffe,
        ] {
            for ttl in [64, 2] {
                let mut packet = self.good4();
                packet.ttl = ttl;
                packet.id = 0;
                packet.checksum = This(0);
                let rest = super::frames::ones_sum(&packet.bytes()[..20]);
                packet.id = super::frames::ones_sum(
                    &[(!wanted).to_be_bytes(), (!rest).to_be_bytes()].concat(),
                );
                packet.checksum = This(wanted);
                let frame = self.ethernet_header(0x0800).around(&packet.bytes());
                self.push(format!("right checksum {wanted:#06x}, TTL {ttl}"), frame);
                if wanted == 0 {
                    packet.checksum = This(0xffff);
                    let frame = self.ethernet_header(0x0800).around(&packet.bytes());
                    self.push(format!("0xffff where 0x0000 is right, TTL {ttl}"), frame);
                }
            }
        }
        let right = u16::from_be_bytes(self.good4().bytes()[10..12].try_into().expect("two bytes"));
        for (name, checksum) in [
            ("one more", right.wrapping_add(1)),
            ("one less", right.wrapping_sub(1)),
            ("inverted", !right),
            ("bytes exchanged", right.swap_bytes()),
            ("zero", 0),
            ("all ones", 0xffff),
        ] {
            self.ip4(format!("wrong checksum: {name}"), |p| p.checksum = This(checksum));
        }
    }

    fn time_to_live(&mut self) {
        self.group = "time to live, hop limit (RFC 1812 5.3.1, RFC 8200 3)";
        for ttl in [0, 1, 2, 3, 127, 128, 254, 255] {
            self.ip4(format!("IPv4, TTL {ttl}"), |p| p.ttl = ttl);
            self.ip6(format!("IPv6, hop limit {ttl}"), |p| p.hops = ttl);
        }
        for ttl in [0, 1] {
            self.ip4(format!("IPv4, TTL {ttl} and a wrong checksum"), |p| {
                p.ttl = ttl;
                p.checksum = This(0);
            });
            self.ip4(format!("IPv4, TTL {ttl} and no route"), |p| {
                p.ttl = ttl;
                p.to = Ipv4Addr::new(100, 100, 100, 100);
            });
        }
    }

    fn ipv4_addresses(&mut self) {
        self.group = "IPv4 addresses (RFC 1812 4.2.2.11, 5.3.7; RFC 6890)";
        for (name, to) in [
            ("port 2's network", self.place.v4[1]),
            ("port 3's network", self.place.v4[2]),
            ("no route", Ipv4Addr::new(100, 100, 100, 100)),
            ("this host", Ipv4Addr::UNSPECIFIED),
            ("this network", Ipv4Addr::new(0, 1, 2, 3)),
            ("loopback", Ipv4Addr::LOCALHOST),
            ("end of the loopback network", Ipv4Addr::new(127, 255, 255, 254)),
            ("all hosts", Ipv4Addr::new(224, 0, 0, 1)),
            ("OSPF routers", Ipv4Addr::new(224, 0, 0, 5)),
            ("multicast of wide scope", Ipv4Addr::new(239, 1, 2, 3)),
            ("class E", Ipv4Addr::new(240, 0, 0, 1)),
            ("limited broadcast", Ipv4Addr::BROADCAST),
            ("the router itself", Ipv4Addr::new(10, 0, 0, 1)),
            ("the router itself, on another port", Ipv4Addr::new(10, 0, 1, 1)),
            ("back where it came from", Ipv4Addr::new(10, 0, 0, 2)),
            ("a gateway's own address", Ipv4Addr::new(10, 0, 1, 2)),
        ] {
            self.ip4(format!("to {name}, {to}"), |p| p.to = to);
        }
        for (name, from) in [
            ("this host", Ipv4Addr::UNSPECIFIED),
            ("this network", Ipv4Addr::new(0, 1, 2, 3)),
            ("loopback", Ipv4Addr::LOCALHOST),
            ("multicast", Ipv4Addr::new(224, 0, 0, 1)),
            ("class E", Ipv4Addr::new(240, 0, 0, 1)),
            ("limited broadcast", Ipv4Addr::BROADCAST),
            ("the router itself", Ipv4Addr::new(10, 0, 0, 1)),
            ("the destination", self.place.v4[0]),
            ("somewhere unknown", Ipv4Addr::new(100, 100, 100, 100)),
        ] {
            self.ip4(format!("from {name}, {from}"), |p| p.from = from);
        }
    }

    fn ipv4_other_fields(&mut self) {
        self.group = "IPv4, other fields";
        for version in [0, 1, 3, 5, 6, 7, 15] {
            self.ip4(format!("version {version}"), |p| p.version = version);
        }
        for tos in [0x01, 0x03, 0x10, 0xb8, 0xff] {
            self.ip4(format!("type of service {tos:#04x}"), |p| p.tos = tos);
        }
        for protocol in [0, 1, 2, 4, 6, 41, 47, 50, 51, 89, 132, 254, 255] {
            self.ip4(format!("protocol {protocol}"), |p| p.protocol = protocol);
        }
        for id in [0, 0xffff] {
            self.ip4(format!("identification {id:#06x}"), |p| p.id = id);
        }
    }

    fn ipv6_lengths(&mut self) {
        self.group = "IPv6 length (RFC 8200 3, 5)";
        let right = self.good6().payload.len() as u16;
        for length in [0, 1, right - 1, right + 1, right + 100, 0xffff] {
            self.ip6(format!("payload length {length}, {right} bytes there"), |p| {
                p.length = This(length)
            });
        }
        self.ip6("no payload, length 0", |p| {
            p.payload = Vec::new();
            p.next = 59;
        });
        for padding in [1, 6, 26] {
            let mut packet = self.good6().bytes();
            packet.resize(packet.len() + padding, 0xee);
            let frame = self.ethernet_header(0x86dd).around(&packet);
            self.push(format!("{padding} bytes of padding behind the packet"), frame);
        }
        let targets = self.place.v6;
        for (to, mtu) in targets.into_iter().zip([1500usize, 1280, 9000]) {
            for size in [mtu - 1, mtu, mtu + 1, mtu + 8] {
                self.ip6(format!("{size} bytes where {mtu} fit"), |p| {
                    p.to = to;
                    p.payload = vec![0x5a; size - 40];
                });
            }
        }
        for version in [0, 4, 5, 7, 15] {
            self.ip6(format!("version {version}"), |p| p.version = version);
        }
        for (class, flow) in [(0xff, 0), (0, 0xfffff), (0x2e << 2, 0x12345), (3, 1)] {
            self.ip6(format!("traffic class {class:#04x}, flow label {flow:#07x}"), |p| {
                p.class = class;
                p.flow = flow;
            });
        }
    }

    fn ipv6_extension_headers(&mut self) {
        self.group = "IPv6 extension headers (RFC 8200 4)";
        let inner = self.good6().payload;
        let with = |header: &[u8]| [header, &inner[..]].concat();
        let mut segment = vec![17, 2, 4, 1, 0, 0, 0, 0];
        segment.extend(self.place.v6[1].octets());
        for (name, next, payload) in [
            ("hop-by-hop, padding only", 0, with(&[17, 0, 1, 4, 0, 0, 0, 0])),
            ("hop-by-hop, router alert (RFC 2711)", 0, with(&[17, 0, 5, 2, 0, 0, 1, 0])),
            ("hop-by-hop, unknown option to skip", 0, with(&[17, 0, 0x1e, 4, 0, 0, 0, 0])),
            ("hop-by-hop, unknown option to discard", 0, with(&[17, 0, 0x5e, 4, 0, 0, 0, 0])),
            ("hop-by-hop, unknown option to answer", 0, with(&[17, 0, 0x9e, 4, 0, 0, 0, 0])),
            ("hop-by-hop, option past the header", 0, with(&[17, 0, 1, 40, 0, 0, 0, 0])),
            ("hop-by-hop longer than the packet", 0, with(&[17, 255, 1, 4, 0, 0, 0, 0])),
            ("routing, type 0 (RFC 5095)", 43, with(&[17, 0, 0, 0, 0, 0, 0, 0])),
            ("routing, segments left", 43, with(&segment)),
            ("fragment, first", 44, with(&[17, 0, 0, 1, 0, 0, 0, 7])),
            ("fragment, middle", 44, with(&[17, 0, 0, 9, 0, 0, 0, 7])),
            ("fragment, atomic (RFC 6946)", 44, with(&[17, 0, 0, 0, 0, 0, 0, 7])),
            ("encapsulating security", 50, with(&[0; 8])),
            ("authentication", 51, with(&[17, 1, 0, 0, 0, 0, 0, 0])),
            ("destination options", 60, with(&[17, 0, 1, 4, 0, 0, 0, 0])),
            ("no next header, with payload", 59, inner.clone()),
            ("hop-by-hop where it must not stand", 60, with(&[0, 0, 1, 4, 0, 0, 0, 0])),
            ("ICMPv6 echo", 58, vec![128, 0, 0, 0, 0, 1, 0, 1]),
            ("TCP", 6, vec![0; 20]),
            ("IPv4 in IPv6", 4, self.good4().bytes()),
            ("unknown next header", 253, inner.clone()),
            ("reserved next header", 255, inner.clone()),
        ] {
            self.ip6(name, |p| {
                p.next = next;
                p.payload = payload;
            });
        }
    }

    fn ipv6_addresses(&mut self) {
        self.group = "IPv6 addresses (RFC 4291 2.4-2.7)";
        let address = |text: &str| -> Ipv6Addr { text.parse().expect("an IPv6 address") };
        for (name, to) in [
            ("port 2's network", self.place.v6[1]),
            ("port 3's network", self.place.v6[2]),
            ("no route", address("3fff:1::1")),
            ("unspecified", address("::")),
            ("loopback", address("::1")),
            ("link-local", address("fe80::1234")),
            ("all nodes", address("ff02::1")),
            ("all routers", address("ff02::2")),
            ("multicast of interface scope", address("ff01::1")),
            ("multicast of global scope", address("ff0e::1234")),
            ("IPv4-mapped", address("::ffff:192.0.2.1")),
            ("IPv4-compatible", address("::192.0.2.1")),
            ("unique local, no route", address("fd00::1")),
            ("the router itself", address("2001:db8:0:0::1")),
            ("back where it came from", address("2001:db8:0:0::2")),
        ] {
            self.ip6(format!("to {name}, {to}"), |p| p.to = to);
        }
        for (name, from) in [
            ("unspecified", address("::")),
            ("loopback", address("::1")),
            ("link-local", address("fe80::1234")),
            ("multicast", address("ff02::1")),
            ("IPv4-mapped", address("::ffff:192.0.2.1")),
            ("the destination", self.place.v6[0]),
            ("somewhere unknown", address("3fff:1::1")),
        ] {
            self.ip6(format!("from {name}, {from}"), |p| p.from = from);
        }
    }

    fn ethernet(&mut self) {
        self.group = "Ethernet";
        let (good4, good6) = (self.good4().bytes(), self.good6().bytes());
        let right = self.ethernet_header(0x0800);
        for (name, to) in [
            ("another host", [0x02, 0, 0, 0, 0x99, 0x99]),
            ("broadcast", [0xff; 6]),
            ("IPv4 multicast", [0x01, 0, 0x5e, 0, 0, 1]),
            ("nobody", [0; 6]),
        ] {
            let frame = Ethernet { to, ..right.clone() }.around(&good4);
            self.push(format!("IPv4 for {name}'s MAC address"), frame);
            let frame = Ethernet { to, ethertype: 0x86dd, ..right.clone() }.around(&good6);
            self.push(format!("IPv6 for {name}'s MAC address"), frame);
        }
        for (name, ethertype) in [
            ("IPv4 called IPv6", 0x86dd),
            ("IPv4 called ARP", 0x0806),
            ("IPv4 called LLDP", 0x88cc),
            ("IPv4 called MPLS", 0x8847),
            ("IPv4 called experimental", 0x88b5),
            ("a length instead of a type", 0x0040),
            ("the least type", 0x0600),
        ] {
            let frame = Ethernet { ethertype, ..right.clone() }.around(&good4);
            self.push(name, frame);
        }
        let frame = right.around(&good6);
        self.push("IPv6 called IPv4", frame);
        let who_has = [
            &[0, 1, 8, 0, 6, 4, 0, 1][..],
            &self.place.sender,
            &[10, 0, 0, 2],
            &[0; 6],
            &[10, 0, 0, 1],
        ]
        .concat();
        let frame = Ethernet { to: [0xff; 6], ethertype: 0x0806, ..right }.around(&who_has);
        self.push("ARP request for the router", frame);
    }

    fn vlan(&mut self) {
        self.group = "VLAN tags (IEEE 802.1Q)";
        let (good4, good6) = (self.good4().bytes(), self.good6().bytes());
        for (name, tags) in [
            ("priority tag", vec![(0x8100, 0xe000)]),
            ("VLAN 1", vec![(0x8100, 1)]),
            ("VLAN 100", vec![(0x8100, 100)]),
            ("VLAN 4094, priority 7", vec![(0x8100, 0xeffe)]),
            ("VLAN 4095, which is reserved", vec![(0x8100, 0x0fff)]),
            ("service VLAN alone", vec![(0x88a8, 200)]),
            ("service and customer VLAN", vec![(0x88a8, 200), (0x8100, 100)]),
            ("two customer VLANs", vec![(0x8100, 200), (0x8100, 100)]),
            ("three VLANs", vec![(0x88a8, 300), (0x8100, 200), (0x8100, 100)]),
        ] {
            for (protocol, ethertype, packet) in
                [("IPv4", 0x0800, &good4), ("IPv6", 0x86dd, &good6)]
            {
                let mut header = self.ethernet_header(ethertype);
                header.tags = tags.clone();
                self.push(format!("{protocol}, {name}"), header.around(packet));
            }
        }
        let mut tagged = self.ethernet_header(0x0800);
        tagged.tags = vec![(0x88a8, 200), (0x8100, 100)];
        let frame = tagged.around(&good4);
        for length in 12..24 {
            self.push(format!("two tags, cut to {length} bytes"), frame[..length].to_vec());
        }
    }

    fn truncated(&mut self) {
        self.group = "cut short";
        for (name, header, frame) in [
            ("IPv4", 42, self.ethernet_header(0x0800).around(&self.good4().bytes())),
            ("IPv6", 62, self.ethernet_header(0x86dd).around(&self.good6().bytes())),
        ] {
            for length in (0..=header).chain([frame.len() - 1]) {
                self.push(
                    format!("{name}, cut to {length} of {} bytes", frame.len()),
                    frame[..length].to_vec(),
                );
            }
        }
    }
}
