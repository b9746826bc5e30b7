//! The memory map of the AXI4-Lite port: registers, targets, and the fields of their entries.
//! Drivers are written from this map.

use std::fmt::Write as _;

use serde::Serialize;

use super::contents::{Contents, Field, REGISTER_BITS};
use super::plan::Plan;
use super::reasons::ReasonCounter;
use super::{ports, services};
use crate::description::{NpSpec, Place};

/// A block of registers, and the control targets that are accessed through it.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryMap {
    pub registers: Vec<Register>,
    /// The cycles after which a command without a reply fails. A driver must wait for as long.
    pub timeout_cycles: usize,
    /// The control targets.
    pub targets: Vec<Target>,
    /// The counters of reasons for which packets are dropped or handed to the control processor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonCounter>,
}

/// A register of `wl_axil_control`, or several consecutive ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Register {
    pub name: &'static str,
    /// Byte address of the first register.
    pub address: u32,
    /// Number of registers, four bytes apart.
    pub count: u32,
    /// `ro`, `rw` or `wo`.
    pub access: &'static str,
    /// The contents of the register, or the effect of a write.
    pub meaning: &'static str,
}

/// A control target.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// Number on the control bus.
    pub number: usize,
    /// The offload that the target belongs to, by its name in the source; empty for the statistics.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub offload: String,
    /// The place of the copy, such as `pipe 0, cluster 1`.
    pub place: String,
    #[serde(flatten)]
    pub contents: Contents,
}

/// Returns the registers of a control bus of this width.
pub(crate) fn registers(control_bits: usize) -> Vec<Register> {
    let register =
        |name, address, access, meaning| Register { name, address, count: 1, access, meaning };
    vec![
        register("VERSION", 0x000, "ro", "of these registers: 2"),
        register(
            "GEOMETRY",
            0x004,
            "ro",
            "clusters in bits 31:24, engines of each 23:16, threads of each 15:0",
        ),
        register("DATABITS", 0x008, "ro", "bits of the widest entry, rounded up"),
        register(
            "STATUS",
            0x00c,
            "ro",
            "bit 0: a command is under way; bit 1: the last one got no answer (there is no such target)",
        ),
        register(
            "TARGET",
            0x010,
            "rw",
            "bits 7:0: number of the target that the next command is for",
        ),
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

/// Returns the value of GEOMETRY. Descriptions of machines keep each number within its field.
pub(super) fn geometry(machine: &NpSpec) -> u32 {
    let field = |value: usize, bits: u32| {
        assert!(value < 1 << bits, "{value} does not fit {bits} bits of GEOMETRY");
        value as u32
    };
    field(machine.clusters, 8) << 24 | field(machine.engines, 8) << 16 | field(machine.threads, 16)
}

/// Returns the registers and control targets of a processor.
pub fn memory_map(plan: &Plan) -> MemoryMap {
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
            if service.rule.place != Place::Pipe {
                continue;
            }
            let contents = service.rule.realisation.contents(plan, service);
            for (offset, (offload, contents)) in contents.into_iter().enumerate() {
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
            for (offset, (service, engine)) in
                services::cluster_targets(plan).into_iter().enumerate()
            {
                let engine = engine.map_or(String::new(), |engine| format!(", engine {engine}"));
                let contents = service.rule.realisation.contents(plan, service);
                targets.extend(contents.into_iter().map(|(offload, contents)| Target {
                    number: base + offset,
                    offload,
                    place: format!("pipe {pipe}, cluster {cluster}{engine}"),
                    contents,
                }));
            }
        }
    }
    MemoryMap {
        registers: registers(plan.control_bits),
        timeout_cycles: plan.control_timeout(),
        targets,
        reasons: plan.reason_counters(),
    }
}

/// Returns the control targets of all copies of the table at a path.
pub(crate) fn targets(plan: &Plan, path: &str) -> Vec<u8> {
    let targets = memory_map(plan).targets.into_iter();
    targets.filter(|target| target.offload == path).map(|target| target.number as u8).collect()
}

/// Returns the meaning of the processor's statistics, by address.
fn statistics(plan: &Plan) -> Vec<String> {
    let lanes = 0..plan.machine.lanes();
    let of_lanes = [
        "packets sent on",
        "packets that ended without being sent, of",
        "cycles in which a packet waited before",
    ]
    .into_iter()
    .flat_map(|what| lanes.clone().map(move |lane| format!("{what} lane {lane}")));
    let reasons = plan.reason_counters();
    let of_reasons = reasons.iter().map(ReasonCounter::describe);
    of_lanes.chain(ports::counter_names(plan)).chain(of_reasons).collect()
}

/// The README section about the use of the registers by a driver.
pub(crate) const ACCESS: &str = "\
Registers are 32 bits wide. To write an entry: wait until bit 0 of STATUS is 0; write TARGET, ADDRESS and the words of the entry to DATA,
the lowest bits first; write 2 to COMMAND; wait again. To read one: TARGET, ADDRESS, 1 to COMMAND, wait, read DATA. After the wait, bit 1 of
STATUS is 0 if the target answered; while bit 0 is 1, bit 1 tells of the command before. Entries move whole, so that no packet sees a torn
one. memory_map.json has all of this for programs.
";

/// Returns the README sentence about how long a command may take.
pub(crate) fn timeout(map: &MemoryMap) -> String {
    format!(
        "A command fails if its target does not answer within {} cycles, more than it takes to clear a table or to expire all of its entries.\n",
        map.timeout_cycles
    )
}

/// Returns the registers as a Markdown table.
pub(crate) fn register_table(registers: &[Register]) -> String {
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

/// Returns the control targets as a Markdown table.
pub(crate) fn target_table(targets: &[Target]) -> String {
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
            let entries = contents
                .entries
                .iter()
                .enumerate()
                .map(|(address, what)| format!("{address} {what}"));
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
    fn geometry_holds_the_largest_machines() {
        let machine = |text: &str| {
            let text = format!("extends = \"np\"\n{text}");
            NpSpec::parse("large", &text).unwrap_or_else(|error| panic!("{error}"))
        };
        let large = machine("clusters = 64\nengines = 64\nthreads = 64");
        assert_eq!(geometry(&large), 0x4040_0040);
        let pipelined = "clusters = 8\nlanes = 8\nengines = 1\nthreads = 512\n\
                         [engine]\nshell = \"pipelined\"";
        assert_eq!(geometry(&machine(pipelined)), 0x0801_0200);
    }
}
