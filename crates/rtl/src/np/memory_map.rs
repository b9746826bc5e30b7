//! What the control plane finds behind the AXI4-Lite port: registers, targets, and the fields of their entries; what a driver is written from.

use std::fmt::Write as _;

use serde::Serialize;
use wireloom_offloads::Layout;

use super::plan::{Plan, Service};
use super::services::{self, METER_RATE_BITS};
use super::{Processor, called, lookup, patterns, ports};
use crate::machine::Realisation;

/// The address of what is reached burst by burst, in a memory outside the chip.
pub(super) const BURST: &str = "burst";
/// Bits of a register.
const REGISTER_BITS: u32 = 32;

/// A block of registers, and what can be reached through them.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryMap {
    /// The registers.
    pub registers: Vec<Register>,
    /// The control targets.
    pub targets: Vec<Target>,
}

/// A register of `wl_axil_control`, or several side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Register {
    /// Its name.
    pub name: &'static str,
    /// Byte address of the first.
    pub address: u32,
    /// How many there are, four bytes apart.
    pub count: u32,
    /// `ro`, `rw` or `wo`.
    pub access: &'static str,
    /// What it holds or does.
    pub meaning: &'static str,
}

/// A control target.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// Its number on the control bus.
    pub number: usize,
    /// The offload behind it, as the source calls it; empty for the statistics.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub offload: String,
    /// Which of its copies: pipe, cluster, engine.
    pub place: String,
    /// What it holds.
    #[serde(flatten)]
    pub contents: Contents,
}

/// What a control target holds: entries, each of which is read and written whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// Which of the tables of an offload, or what they are.
    pub holds: String,
    /// What ADDRESS says.
    pub address: String,
    /// How many addresses there are, from 0 on.
    pub addresses: u64,
    /// Bits of an entry, which stands in the lowest of the data registers.
    pub bits: u32,
    /// Data registers that it takes.
    pub words: u32,
    /// `rw`, or `ro` if a write does nothing.
    pub access: &'static str,
    /// What an entry is made of, the most significant first.
    pub fields: Vec<Field>,
    /// What is read instead, where that is something else than what is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<Field>,
    /// What the entry at each address is, where each is something else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<String>,
}

/// A part of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name: that of the source for what the program declares.
    pub name: String,
    /// Its lowest bit.
    pub offset: u32,
    /// Its width.
    pub bits: u32,
}

impl Contents {
    /// Entries of these fields, by an address that counts so many.
    pub(super) fn new(holds: &str, address: &str, addresses: u64, fields: Vec<Field>) -> Self {
        let mut contents = Self {
            holds: holds.to_owned(),
            address: address.to_owned(),
            addresses,
            bits: 0,
            words: 0,
            access: "rw",
            fields,
            read: Vec::new(),
            entries: Vec::new(),
        };
        contents.measure();
        contents
    }

    /// Numbers of 64 bits that only count.
    pub(super) fn statistics(entries: Vec<String>) -> Self {
        let count = packed([("count".to_owned(), 64)]);
        let contents = Self::new("statistics", "number of a counter", entries.len() as u64, count);
        Self { access: "ro", entries, ..contents }
    }

    /// The same, but that something else is read than is written.
    fn reading(mut self, read: Vec<Field>) -> Self {
        self.read = read;
        self.measure();
        self
    }

    fn measure(&mut self) {
        let ends = self.fields.iter().chain(&self.read).map(|field| field.offset + field.bits);
        self.bits = ends.max().unwrap_or(0);
        self.words = self.bits.div_ceil(REGISTER_BITS);
    }
}

/// Names and widths, the most significant first, as fields of one entry.
pub(super) fn packed(parts: impl IntoIterator<Item = (String, u32)>) -> Vec<Field> {
    let parts: Vec<(String, u32)> = parts.into_iter().collect();
    let mut offset: u32 = parts.iter().map(|(_, bits)| bits).sum();
    let field = |(name, bits)| {
        offset -= bits;
        Field { name, offset, bits }
    };
    parts.into_iter().map(field).collect()
}

/// The leaves of a key or value; `whole` is the name of one that has no parts.
pub(super) fn leaves(whole: &str, layout: Option<&Layout>) -> Vec<(String, u32)> {
    let name = |name: &str| if name.is_empty() { whole.to_owned() } else { name.to_owned() };
    layout.iter().flat_map(|layout| &layout.fields).map(|(leaf, bits)| (name(leaf), *bits)).collect()
}

/// The same where others stand beside it, which may have leaves of the same names.
pub(super) fn leaves_of(whole: &str, layout: Option<&Layout>) -> Vec<(String, u32)> {
    let name = |name: &str| if name.is_empty() { whole.to_owned() } else { format!("{whole}.{name}") };
    layout.iter().flat_map(|layout| &layout.fields).map(|(leaf, bits)| (name(leaf), *bits)).collect()
}

/// The registers in front of a control bus of so many bits.
pub(super) fn registers(control_bits: usize) -> Vec<Register> {
    let register = |name, address, access, meaning| Register { name, address, count: 1, access, meaning };
    vec![
        register("VERSION", 0x000, "ro", "of these registers: 1"),
        register(
            "GEOMETRY",
            0x004,
            "ro",
            "clusters in bits 23:16, engines of each 15:8, threads of each 7:0",
        ),
        register("DATABITS", 0x008, "ro", "bits of the widest entry, rounded up"),
        register(
            "STATUS",
            0x00c,
            "ro",
            "bit 0: a command is under way; bit 1: the last one got no answer (there is no such target)",
        ),
        register("TARGET", 0x010, "rw", "bits 7:0: number of the target that the next command is for"),
        register("ADDRESS", 0x014, "rw", "which of its entries"),
        register(
            "COMMAND",
            0x018,
            "wo",
            "1 reads, 2 writes; with bit 8 set, ADDRESS is one more when it is done",
        ),
        register("CONFIG", 0x01c, "ro", "targets of a pipe in bits 31:8, pipes 7:0"),
        Register {
            count: (control_bits as u32).div_ceil(REGISTER_BITS),
            ..register(
                "DATA",
                0x100,
                "rw",
                "the entry, its lowest bits in the first: to be written, or what was read",
            )
        },
    ]
}

/// Registers and control targets of a processor.
pub fn memory_map(processor: &Processor) -> MemoryMap {
    let plan = &processor.plan;
    let machine = &plan.machine;
    let mut targets = vec![Target {
        number: 0,
        offload: String::new(),
        place: plan.top_module(),
        contents: Contents::statistics(statistics(plan)),
    }];
    for pipe in 0..machine.lanes() {
        let base = 1 + pipe * plan.targets_a_pipe();
        for service in &plan.services {
            for (offset, (offload, contents)) in targets_of(plan, service).into_iter().enumerate() {
                let first = base + services::first_pipe_target(plan, service);
                targets.push(Target {
                    number: first + offset,
                    offload,
                    place: format!("pipe {pipe}"),
                    contents,
                });
            }
        }
        for cluster in 0..machine.clusters_a_pipe() {
            let base = base + plan.pipe_targets() + cluster * plan.cluster_targets();
            for (offset, (service, engine)) in services::cluster_targets(plan).into_iter().enumerate() {
                let engine = engine.map_or(String::new(), |engine| format!(", engine {engine}"));
                targets.push(Target {
                    number: base + offset,
                    offload: service.offload.clone(),
                    place: format!("pipe {pipe}, cluster {cluster}{engine}"),
                    contents: contents(service),
                });
            }
        }
    }
    MemoryMap { registers: registers(plan.control_bits), targets }
}

/// What the processor's statistics count, by address.
fn statistics(plan: &Plan) -> Vec<String> {
    let lanes = 0..plan.machine.lanes();
    let of_lanes = [
        "packets sent on",
        "packets that ended without being sent, of",
        "cycles in which a packet waited before",
    ]
    .into_iter()
    .flat_map(|what| lanes.clone().map(move |lane| format!("{what} lane {lane}")));
    of_lanes.chain(ports::counter_names(plan)).collect()
}

/// Of each of a service's targets in a pipe: the path of the offload, and what is there.
fn targets_of(plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
    if services::pipe_targets(plan, service) == 0 {
        return Vec::new();
    }
    if let Some(called) = &service.called {
        return called.tables.iter().cloned().zip(called::targets(called)).collect();
    }
    let contents = match service.rule.realisation {
        Realisation::Trie => lookup::targets(plan, service),
        Realisation::Automaton => patterns::targets(service),
        _ => vec![contents(service)],
    };
    contents.into_iter().map(|contents| (service.offload.clone(), contents)).collect()
}

/// What a service with one target has there.
fn contents(service: &Service) -> Contents {
    let config = &service.config;
    let elements = service.elements() as u64;
    let flag = |name: &str| (name.to_owned(), 1);
    let value = config.value.as_ref();
    match service.rule.realisation {
        Realisation::Counters | Realisation::FlowCounter => {
            let counts = packed(["packets", "bytes"].map(|name| (name.to_owned(), 64)));
            Contents::new("counters", "index", elements, counts)
        }
        Realisation::HashTable => {
            let entry = [leaves_of("key", config.key.as_ref()), leaves_of("value", value)].concat();
            let written = packed([flag("remove")].into_iter().chain(entry.clone()));
            let read = packed(["used", "live", "static"].map(flag).into_iter().chain(entry));
            let address = "to be read: number of an entry; to be written: any, the key says which";
            Contents::new("entries", address, elements, written).reading(read)
        }
        Realisation::Meter => {
            let rates = ["cir", "cbs", "ebs", "pir", "pbs"];
            let rates = packed(rates.map(|name| (name.to_owned(), METER_RATE_BITS as u32)));
            Contents::new("rates; a write fills the buckets", "index", elements, rates)
        }
        _ => Contents::new("elements", "index", elements, packed(leaves("value", value))),
    }
}

/// How a driver uses the registers, for a folder's README.
pub(super) const ACCESS: &str = "\
Registers are 32 bits wide. To write an entry: wait until bit 0 of STATUS is 0; write TARGET, ADDRESS and the words of the entry to DATA,
the lowest bits first; write 2 to COMMAND; wait again. To read one: TARGET, ADDRESS, 1 to COMMAND, wait, read DATA. Bit 1 of STATUS is 0 if
the target answered. Entries move whole, so that no packet sees a torn one. memory_map.json has all of this for programs.
";

/// The registers as a table for people.
pub(super) fn register_table(registers: &[Register]) -> String {
    let mut text = String::from("| byte address | register | | |\n|---|---|---|---|\n");
    for register in registers {
        let Register { name, address, count, access, meaning } = register;
        let address = match count {
            1 => format!("{address:#05x}"),
            _ => format!("{address:#05x} to {:#05x}", address + 4 * (count - 1)),
        };
        let _ = writeln!(text, "| {address} | {name} | {access} | {meaning} |");
    }
    text
}

/// Control targets as a table for people.
pub(super) fn target_table(targets: &[Target]) -> String {
    let mut text = String::from(
        "| target | what | where | address | bits (words) | fields: bits |\n|---|---|---|---|---|---|\n",
    );
    for Target { number, offload, place, contents } in targets {
        let what = match offload.as_str() {
            "" => contents.holds.clone(),
            offload => format!("`{offload}`: {}", contents.holds),
        };
        let mut fields = field_list(&contents.fields);
        if !contents.read.is_empty() {
            fields = format!("written {fields}; read {}", field_list(&contents.read));
        }
        if !contents.entries.is_empty() {
            let entries =
                contents.entries.iter().enumerate().map(|(address, what)| format!("{address} {what}"));
            fields += &format!("; by address: {}", entries.collect::<Vec<_>>().join(", "));
        }
        let Contents { address, addresses, bits, words, .. } = contents;
        let _ = writeln!(
            text,
            "| {number} | {what} | {place} | {address}, below {addresses} | {bits} ({words}) | {fields} |"
        );
    }
    text
}

fn field_list(fields: &[Field]) -> String {
    let field = |field: &Field| match field.bits {
        1 => format!("`{}` {}", field.name, field.offset),
        bits => format!("`{}` {}:{}", field.name, field.offset + bits - 1, field.offset),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::templates::needed;
    use super::*;

    #[test]
    fn registers_are_those_of_the_template() {
        let files = needed(&["wl_axil_control"]);
        let template = files.iter().find(|file| file.name.ends_with("wl_axil_control.sv")).unwrap();
        let listed = template.text.lines().filter_map(|line| {
            let mut words = line.strip_prefix("//   0x")?.split_whitespace();
            let address = u32::from_str_radix(words.next()?, 16).ok()?;
            Some((address, words.next()?.trim_end_matches("[k]"), words.next()?))
        });
        let ours = registers(192);
        let told: Vec<_> = ours.iter().map(|r| (r.address, r.name, r.access)).collect();
        assert_eq!(told, listed.collect::<Vec<_>>());
        assert_eq!(ours.last().unwrap().count, 6);
    }

    #[test]
    fn fields_fill_an_entry_from_its_highest_bit() {
        let layout = Layout { fields: vec![("port".into(), 16), ("known".into(), 1)] };
        let names = |fields: &[Field]| {
            let field = |f: &Field| format!("{} {}+{}", f.name, f.offset, f.bits);
            fields.iter().map(field).collect::<Vec<_>>()
        };
        assert_eq!(names(&packed(leaves("value", Some(&layout)))), ["port 1+16", "known 0+1"]);
        let key = leaves_of("key", Some(&Layout::scalar(32)));
        let both = packed([key, leaves_of("value", Some(&layout))].concat());
        assert_eq!(names(&both), ["key 17+32", "value.port 1+16", "value.known 0+1"]);
        let contents = Contents::new("elements", "index", 4, both);
        assert_eq!((contents.bits, contents.words), (49, 2));
    }
}
