//! The classic pcap format (draft-ietf-opsawg-pcap).

use super::error::Fault;
use super::link::LinkType;
use super::reader::Record;
use super::{MAX_RECORD, pcapng::Order};
use crate::input::Source;

/// Magic number for seconds and microseconds.
pub(super) const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
/// Magic number for seconds and nanoseconds.
pub(super) const MAGIC_NANO: u32 = 0xa1b2_3c4d;
/// Magic number of Kuznetzov's variant with longer record headers.
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// An open pcap file.
pub(super) struct Pcap {
    order: Order,
    nano: bool,
    link: LinkType,
    fcs: u8,
    records: u64,
}

impl Pcap {
    /// Reads the rest of the file header, whose first four bytes are `magic`. Returns `None` if the
    /// file is not a pcap file.
    pub(super) fn begin(magic: [u8; 4], source: &mut Source) -> Result<Option<Self>, Fault> {
        let big = u32::from_be_bytes(magic);
        let (order, magic) = match big {
            MAGIC_MICRO | MAGIC_NANO | MAGIC_MODIFIED => (Order::Big, big),
            _ => (Order::Little, big.swap_bytes()),
        };
        let nano = match magic {
            MAGIC_MICRO => false,
            MAGIC_NANO => true,
            MAGIC_MODIFIED => {
                return Err(Fault::new(
                    0,
                    "this is the \"modified\" pcap variant (magic number a1b2cd34)",
                    "convert it: `editcap -F pcapng FILE NEW` (Wireshark)",
                ));
            }
            _ => return Ok(None),
        };
        let mut rest = [0; FILE_HEADER - 4];
        if source.fill(&mut rest).map_err(|e| Fault::io(4, &e))? < rest.len() {
            return Err(Fault::cut_off(0, "the pcap file header"));
        }
        let major = order.u16(&rest[0..2]);
        if major != 2 {
            return Err(Fault::new(
                4,
                format!("pcap version {major} is not supported (only 2)"),
                "",
            ));
        }
        // The upper bits say whether a frame check sequence ends each packet, and give its length.
        let network = order.u32(&rest[16..20]);
        let fcs = if network & 1 << 26 != 0 { (network >> 28) as u8 * 2 } else { 0 };
        let link = LinkType::from_number(network & 0xffff).map_err(|n| unreadable_link(20, &n))?;
        Ok(Some(Self { order, nano, link, fcs, records: 0 }))
    }

    /// Reads the next record into `bytes`. Returns `None` at the end.
    pub(super) fn next(
        &mut self,
        source: &mut Source,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<Record>, Fault> {
        let start = source.offset;
        let mut header = [0; RECORD_HEADER];
        match source.fill(&mut header).map_err(|e| Fault::io(start, &e))? {
            0 => return Ok(None),
            RECORD_HEADER => {}
            _ => return Err(Fault::cut_off(start, "a record header")),
        }
        let field = |i: usize| self.order.u32(&header[4 * i..4 * i + 4]);
        let (seconds, fraction, captured, original) = (field(0), field(1), field(2), field(3));
        if captured > MAX_RECORD {
            return Err(Fault::new(
                start,
                format!(
                    "record {} claims to hold {captured} bytes; the limit of a capture is {MAX_RECORD}",
                    self.records + 1
                ),
                "the file is damaged here; `editcap -c` or `pcapfix` can save the packets before it",
            ));
        }
        bytes.resize(captured as usize, 0);
        if source.fill(bytes).map_err(|e| Fault::io(start, &e))? < bytes.len() {
            return Err(Fault::cut_off(start, "a record"));
        }
        self.records += 1;
        let fraction = u64::from(fraction) * if self.nano { 1 } else { 1000 };
        Ok(Some(Record {
            port: 0,
            arrival_ns: u64::from(seconds) * 1_000_000_000 + fraction,
            original,
            link: self.link,
            fcs: self.fcs,
            start,
        }))
    }
}

/// The error for a link type that cannot be converted to Ethernet.
pub(super) fn unreadable_link(offset: u64, number: &str) -> Fault {
    Fault::new(
        offset,
        format!(
            "the capture's link type is {number}; Ethernet, raw IP, loopback, PPP, Cisco HDLC, frame relay, \
             IEEE 802.11 and Linux cooked captures can be read"
        ),
        "capture on an Ethernet interface, or convert it with `tshark` or `tcprewrite`",
    )
}
