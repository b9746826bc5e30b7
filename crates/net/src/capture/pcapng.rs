//! The pcapng format (draft-ietf-opsawg-pcapng).

use super::MAX_RECORD;
use super::error::Fault;
use super::link::LinkType;
use super::pcap::unreadable_link;
use super::reader::Record;
use crate::input::Source;

/// Block type of a section header. It is the same in both byte orders.
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub(super) const ENHANCED_PACKET: u32 = 6;

pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

pub(super) const OPT_END: u16 = 0;
pub(super) const OPT_COMMENT: u16 = 1;
pub(super) const OPT_IF_NAME: u16 = 2;
/// The option with a packet's flags: bits 0 and 1 are its direction, bits 5 to 8 the length of its
/// frame check sequence.
pub(super) const OPT_PACKET_FLAGS: u16 = 2;
/// The direction of received packets.
pub(super) const INBOUND: u32 = 1;
pub(super) const OPT_SHB_USERAPPL: u16 = 4;
pub(super) const OPT_IF_TSRESOL: u16 = 9;
const OPT_IF_FCSLEN: u16 = 13;
const OPT_IF_TSOFFSET: u16 = 14;

/// Ports have 16 bits, so no real section has more interfaces.
const MAX_INTERFACES: usize = 65_536;

/// The byte order of a file or section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    /// Reads a number of two bytes.
    pub(super) fn u16(self, bytes: &[u8]) -> u16 {
        let bytes = [bytes[0], bytes[1]];
        if self == Self::Big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    /// Reads a number of four bytes.
    pub(super) fn u32(self, bytes: &[u8]) -> u32 {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if self == Self::Big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn u64(self, bytes: &[u8]) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes)), u64::from(self.u32(&bytes[4..])));
        if self == Self::Big { first << 32 | second } else { second << 32 | first }
    }
}

/// The contents of an interface description.
#[derive(Clone)]
struct Interface {
    link: Result<LinkType, String>,
    /// File offset of the description, for messages.
    described_at: u64,
    snaplen: u32,
    port: u16,
    fcs: u8,
    clock: Clock,
}

/// The clock of timestamps: `if_tsresol` and `if_tsoffset`.
#[derive(Clone, Copy)]
struct Clock {
    /// Units per second.
    units: u128,
    /// Seconds to add.
    offset_s: i64,
}

impl Clock {
    /// Converts to nanoseconds. Values over 64 bits (after the year 2554) saturate.
    fn to_ns(self, timestamp: u64) -> u64 {
        let ns = match self.units {
            1_000_000 => u128::from(timestamp) * 1000,
            1_000_000_000 => u128::from(timestamp),
            units => {
                let timestamp = u128::from(timestamp);
                // Split so that no product overflows: a remainder is below 2^64 units.
                timestamp / units * 1_000_000_000 + timestamp % units * 1_000_000_000 / units
            }
        };
        let ns = ns.min(i128::MAX as u128) as i128 + i128::from(self.offset_s) * 1_000_000_000;
        ns.clamp(0, i128::from(u64::MAX)) as u64
    }
}

/// An open pcapng file.
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
    /// Blocks skipped because their type is unknown or has no meaning here.
    pub(super) skipped: u64,
}

/// An option of a block. Options that this reader uses have at most 16 bytes; the first 16 bytes of
/// others are kept.
struct BlockOption {
    /// The offset of the option in the file.
    at: u64,
    code: u16,
    length: usize,
    kept: [u8; 16],
}

impl BlockOption {
    fn value(&self) -> &[u8] {
        &self.kept[..self.length.min(self.kept.len())]
    }

    fn wrong_length(&self, owner: &str) -> Fault {
        Fault::damaged(
            self.at,
            format!("option {} of {owner} has the wrong length, {}", self.code, self.length),
        )
    }
}

/// A block that is being read, and the number of bytes left of its body.
struct Block<'a> {
    source: &'a mut Source,
    order: Order,
    start: u64,
    total: u32,
    left: u64,
}

impl Block<'_> {
    fn take(&mut self, into: &mut [u8], thing: &str) -> Result<(), Fault> {
        if into.len() as u64 > self.left {
            return Err(Fault::damaged(
                self.start,
                format!("the block's length, {}, is too small for {thing}", self.total),
            ));
        }
        self.left -= into.len() as u64;
        let at = self.source.offset;
        if self.source.fill(into).map_err(|e| Fault::io(at, &e))? < into.len() {
            return Err(Fault::cut_off(self.start, "a block"));
        }
        Ok(())
    }

    fn skip(&mut self, count: u64) -> Result<(), Fault> {
        let at = self.source.offset;
        if self.source.skip(count).map_err(|e| Fault::io(at, &e))? < count {
            return Err(Fault::cut_off(self.start, "a block"));
        }
        self.left -= count;
        Ok(())
    }

    /// Reads the next option of `owner`. Returns `None` at the end of the block or of its option
    /// list.
    fn option(&mut self, owner: &str) -> Result<Option<BlockOption>, Fault> {
        if self.left < 4 {
            return Ok(None);
        }
        let at = self.source.offset;
        let mut head = [0; 4];
        self.take(&mut head, "an option")?;
        let (code, length) = (self.order.u16(&head), usize::from(self.order.u16(&head[2..])));
        if code == OPT_END {
            return Ok(None);
        }
        let padded = length.next_multiple_of(4) as u64;
        if padded > self.left {
            return Err(Fault::damaged(
                at,
                format!(
                    "option {code} of {owner} is longer ({length} bytes) than the rest of its block"
                ),
            ));
        }
        let mut option = BlockOption { at, code, length, kept: [0; 16] };
        let kept = length.min(option.kept.len());
        self.take(&mut option.kept[..kept], "an option")?;
        self.skip(padded - kept as u64)?;
        Ok(Some(option))
    }

    /// Skips the rest and checks the length at the end, which repeats the one at the start.
    fn finish(mut self) -> Result<(), Fault> {
        self.skip(self.left)?;
        let mut trailer = [0; 4];
        let at = self.source.offset;
        if self.source.fill(&mut trailer).map_err(|e| Fault::io(at, &e))? < 4 {
            return Err(Fault::cut_off(self.start, "a block"));
        }
        let trailer = self.order.u32(&trailer);
        if trailer != self.total {
            return Err(Fault::damaged(
                at,
                format!("a block of length {} ends with the length {trailer}", self.total),
            ));
        }
        Ok(())
    }
}

impl Pcapng {
    /// Begins a file whose first four bytes are the type of a section header.
    pub(super) fn begin(source: &mut Source) -> Result<Self, Fault> {
        let mut file = Self { order: Order::Little, interfaces: Vec::new(), skipped: 0 };
        let start = source.offset - 4;
        file.section(start, source)?;
        Ok(file)
    }

    /// Reads the next packet into `bytes`. Returns `None` at the end. If a packet is damaged and
    /// the next block can be found, `skips` decides whether to skip the packet. Its argument is the
    /// offset of the block.
    pub(super) fn next(
        &mut self,
        source: &mut Source,
        bytes: &mut Vec<u8>,
        skips: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Record>, Fault> {
        loop {
            let start = source.offset;
            let mut kind = [0; 4];
            match source.fill(&mut kind).map_err(|e| Fault::io(start, &e))? {
                0 => return Ok(None),
                4 => {}
                _ => return Err(Fault::cut_off(start, "a block")),
            }
            if u32::from_be_bytes(kind) == SECTION_HEADER {
                self.section(start, source)?;
                continue;
            }
            let mut length = [0; 4];
            if source.fill(&mut length).map_err(|e| Fault::io(start, &e))? < 4 {
                return Err(Fault::cut_off(start, "a block"));
            }
            let total = self.order.u32(&length);
            if total < 12 || !total.is_multiple_of(4) {
                return Err(Fault::damaged(
                    start + 4,
                    format!(
                        "a block claims the length {total}; it must be a multiple of 4 and at least 12"
                    ),
                ));
            }
            let kind = self.order.u32(&kind);
            let block =
                Block { source, order: self.order, start, total, left: u64::from(total) - 12 };
            let read = match kind {
                INTERFACE_DESCRIPTION => {
                    self.interface(block)?;
                    continue;
                }
                ENHANCED_PACKET => self.packet(block, bytes, false),
                OBSOLETE_PACKET => self.packet(block, bytes, true),
                SIMPLE_PACKET => self.simple_packet(block, bytes),
                _ => {
                    self.skipped += 1;
                    block.finish()?;
                    continue;
                }
            };
            match read {
                Err(fault) if fault.is_damage && self.ends(source, start, total) => {
                    if !skips(start) {
                        return Err(Fault { is_skippable: true, ..fault });
                    }
                }
                read => return read.map(Some),
            }
        }
    }

    /// Skips the rest of a damaged block. Returns whether the block ends with its length: the next
    /// block then begins after it.
    fn ends(&self, source: &mut Source, start: u64, total: u32) -> bool {
        let trailer_at = start + u64::from(total) - 4;
        let Some(rest) = trailer_at.checked_sub(source.offset) else { return false };
        let mut trailer = [0; 4];
        source.skip(rest).is_ok_and(|skipped| skipped == rest)
            && source.fill(&mut trailer).is_ok_and(|read| read == 4)
            && self.order.u32(&trailer) == total
    }

    fn section(&mut self, start: u64, source: &mut Source) -> Result<(), Fault> {
        let mut head = [0; 8];
        if source.fill(&mut head).map_err(|e| Fault::io(start, &e))? < 8 {
            return Err(Fault::cut_off(start, "a section header"));
        }
        let order = match [Order::Big, Order::Little]
            .into_iter()
            .find(|o| o.u32(&head[4..]) == BYTE_ORDER_MAGIC)
        {
            Some(order) => order,
            None => {
                return Err(Fault::new(
                    start + 8,
                    "a section header has no byte-order magic number",
                    "this is not a pcapng file, or it is damaged here",
                ));
            }
        };
        let total = order.u32(&head[..4]);
        if total < 28 || !total.is_multiple_of(4) {
            return Err(Fault::damaged(
                start + 4,
                format!(
                    "a section header claims the length {total}; it must be a multiple of 4 and at least 28"
                ),
            ));
        }
        self.order = order;
        self.interfaces.clear();
        let mut block = Block { source, order, start, total, left: u64::from(total) - 16 };
        let mut version = [0; 2];
        block.take(&mut version, "a section header")?;
        let major = order.u16(&version);
        if major != 1 {
            return Err(Fault::new(
                start + 12,
                format!("pcapng version {major} is not supported (only 1)"),
                "",
            ));
        }
        block.finish()
    }

    fn interface(&mut self, mut block: Block<'_>) -> Result<(), Fault> {
        let number = self.interfaces.len();
        if number >= MAX_INTERFACES {
            return Err(Fault::new(block.start, "the section has more than 65,536 interfaces", ""));
        }
        let mut fixed = [0; 8];
        block.take(&mut fixed, "an interface description")?;
        let mut interface = Interface {
            link: LinkType::from_number(u32::from(self.order.u16(&fixed))),
            described_at: block.start + 8,
            snaplen: self.order.u32(&fixed[4..]),
            port: number as u16,
            fcs: 0,
            clock: Clock { units: 1_000_000, offset_s: 0 },
        };
        while let Some(option) = block.option("an interface")? {
            interface.option(&option, self.order)?;
        }
        self.interfaces.push(interface);
        block.finish()
    }

    fn described(&self, number: u32, start: u64) -> Result<(&Interface, LinkType), Fault> {
        let Some(interface) = self.interfaces.get(number as usize) else {
            return Err(Fault::damaged(
                start,
                format!(
                    "a packet names interface {number}, but {} are described",
                    self.interfaces.len()
                ),
            ));
        };
        match &interface.link {
            Ok(link) => Ok((interface, *link)),
            Err(number) => Err(unreadable_link(interface.described_at, number)),
        }
    }

    fn packet(
        &self,
        mut block: Block<'_>,
        bytes: &mut Vec<u8>,
        obsolete: bool,
    ) -> Result<Record, Fault> {
        let start = block.start;
        let mut fixed = [0; 20];
        block.take(&mut fixed, "a packet block")?;
        let number =
            if obsolete { u32::from(self.order.u16(&fixed)) } else { self.order.u32(&fixed) };
        let (interface, link) = self.described(number, start)?;
        // The high half of a timestamp comes first in both byte orders.
        let timestamp =
            u64::from(self.order.u32(&fixed[4..])) << 32 | u64::from(self.order.u32(&fixed[8..]));
        let (captured, original) = (self.order.u32(&fixed[12..]), self.order.u32(&fixed[16..]));
        self.take_packet(&mut block, captured, bytes)?;
        let padding = u64::from(captured).next_multiple_of(4) - u64::from(captured);
        block.skip(padding.min(block.left))?;
        let mut fcs = interface.fcs;
        while let Some(option) = block.option("a packet")? {
            if option.code == OPT_PACKET_FLAGS {
                fcs = frame_check_length(&option, self.order)?.unwrap_or(fcs);
            }
        }
        block.finish()?;
        Ok(Record {
            port: interface.port,
            arrival_ns: interface.clock.to_ns(timestamp),
            original,
            link,
            fcs,
            start,
        })
    }

    fn simple_packet(&self, mut block: Block<'_>, bytes: &mut Vec<u8>) -> Result<Record, Fault> {
        let start = block.start;
        let mut fixed = [0; 4];
        block.take(&mut fixed, "a packet block")?;
        let original = self.order.u32(&fixed);
        let (interface, link) = self.described(0, start)?;
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        self.take_packet(&mut block, original.min(limit), bytes)?;
        block.finish()?;
        // Simple packets carry no time.
        Ok(Record {
            port: interface.port,
            arrival_ns: 0,
            original,
            link,
            fcs: interface.fcs,
            start,
        })
    }

    fn take_packet(
        &self,
        block: &mut Block<'_>,
        captured: u32,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if captured > MAX_RECORD || u64::from(captured) > block.left {
            return Err(Fault::damaged(
                block.start,
                format!(
                    "a packet claims to have {captured} bytes in a block of {} bytes",
                    block.total
                ),
            ));
        }
        bytes.resize(captured as usize, 0);
        block.take(bytes, "its packet")
    }
}

/// Returns the length in bytes of the frame check sequence that a packet's flags state. It takes
/// precedence over the interface's (`if_fcslen`). Returns `None` if the flags state 0, which means
/// unknown.
fn frame_check_length(flags: &BlockOption, order: Order) -> Result<Option<u8>, Fault> {
    if flags.length != 4 {
        return Err(flags.wrong_length("a packet"));
    }
    let length = (order.u32(flags.value()) >> 5 & 0xf) as u8;
    Ok((length > 0).then_some(length))
}

impl Interface {
    fn option(&mut self, option: &BlockOption, order: Order) -> Result<(), Fault> {
        let value = option.value();
        match (option.code, option.length) {
            (OPT_IF_NAME, ..=16) => {
                let name = std::str::from_utf8(value).unwrap_or("").trim_end_matches('\0');
                if let Some(port) = name.strip_prefix("port").and_then(|n| n.parse().ok()) {
                    self.port = port;
                }
            }
            (OPT_IF_TSRESOL, 1) => {
                let exponent = u32::from(value[0] & 0x7f);
                let base: u128 = if value[0] & 0x80 == 0 { 10 } else { 2 };
                let units = base.checked_pow(exponent).filter(|&u| u <= 1 << 96);
                self.clock.units = units.ok_or_else(|| {
                    let what = format!("a clock of {base}^-{exponent} s is too fine");
                    Fault::new(option.at, what, "")
                })?;
            }
            (OPT_IF_FCSLEN, 1) => self.fcs = value[0],
            (OPT_IF_TSOFFSET, 8) => self.clock.offset_s = order.u64(value) as i64,
            (OPT_IF_TSRESOL | OPT_IF_FCSLEN | OPT_IF_TSOFFSET, _) => {
                return Err(option.wrong_length("an interface"));
            }
            _ => {}
        }
        Ok(())
    }
}
