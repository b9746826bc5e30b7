//! Instructions per packet of the programs other than the router, on a processor of StepNP.

use serde::Serialize;
use wireloom_net::Packet;
use wireloom_net::tables::{Family, Prefix};
use wireloom_net::traffic::{Generator, Sizes, Spec, TransportMix};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc_rig::{Instructions, Router, SETS};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result, Source};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-programs",
    what: "StepNP: instructions of a packet of address translation, of the search of payloads, and of MD4",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/nat.loom, programs/url.loom and programs/md4.loom with the tables of programs/tables",
        names: &["program", "set"],
        skip: &[],
        tools: &["arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"],
        tables: &[PageTable { name: "instructions", write: table }],
    },
};

/// A program and its packets.
struct Case {
    name: &'static str,
    program: &'static str,
    tables: Option<&'static str>,
    /// A description of the packets.
    of: &'static str,
    packets: fn() -> Result<Vec<Packet>>,
}

const CASES: [Case; 3] = [
    Case {
        name: "nat",
        program: "programs/nat.loom",
        tables: Some("programs/tables/nat.tables"),
        of: "64 bytes",
        packets: from_inside,
    },
    Case {
        name: "url",
        program: "programs/url.loom",
        tables: Some("programs/tables/url.tables"),
        of: "Internet mix of TCP",
        packets: || mix(20_000, TransportMix { tcp: 1, udp: 0, none: 0 }),
    },
    Case {
        name: "md4",
        program: "programs/md4.loom",
        tables: None,
        of: "Internet mix",
        packets: || mix(2000, Spec::default().transport),
    },
];

/// Generates 64-byte frames of TCP and UDP, from 10.0.0.0/24 to 192.0.2.0/24.
fn from_inside() -> Result<Vec<Packet>> {
    let spec = Spec {
        count: Some(20_000),
        sizes: Sizes::Fixed(64),
        transport: TransportMix { tcp: 1, udp: 1, none: 0 },
        ..Spec::default()
    };
    let pool = |address: [u8; 4]| {
        let address = u128::from(u32::from_be_bytes(address));
        Prefix::new(Family::V4, address, 24).into_iter().collect()
    };
    let made = Generator::with_prefixes(&spec, pool([192, 0, 2, 0]), pool([10, 0, 0, 0]));
    Ok(made.map_err(Error::new)?.collect())
}

/// Generates IPv4 and IPv6 in equal parts, with the sizes of the Internet mix, between any
/// addresses.
fn mix(count: u64, transport: TransportMix) -> Result<Vec<Packet>> {
    let mix = "ipv4=1,ipv6=1".parse().expect("it is a mix");
    let spec = Spec { count: Some(count), sizes: Sizes::Imix, mix, transport, ..Spec::default() };
    Ok(Generator::new(&spec).map_err(Error::new)?.collect())
}

/// The instructions of a program on an instruction set.
#[derive(Clone, Debug, Serialize)]
struct Row {
    program: &'static str,
    set: &'static str,
    #[serde(flatten)]
    counted: Instructions,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("programs beside the router");
    let mut rows = Vec::new();
    for case in &CASES {
        let tables = case.tables.map(|tables| settings.file(tables)).transpose()?;
        let program = Source::of(settings.file(case.program)?);
        let engine =
            Router::with(&program, tables.into_iter().collect(), Vec::new().into_iter().collect())?;
        let packets = (case.packets)()?;
        for (set, name) in SETS {
            let counted = engine.count(set, &packets)?;
            rows.push(Row { program: case.name, set: name, counted });
        }
    }
    let groups = CASES.each_ref().map(|case| {
        let own = rows.iter().filter(|row| row.program == case.name);
        Group::new(case.name, own.map(|row| row.counted.instructions))
    });
    let title = "Instructions for a packet";
    let svg = Bars::new(title, "instructions", SETS.map(|(_, name)| name), groups.to_vec()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let mut table =
        output::table(&["program", "packets", "set", "instructions", "communication"], &[3, 4]);
    for Row { program, set, counted } in rows {
        let of = CASES.iter().find(|case| case.name == *program).map_or("", |case| case.of);
        table.add_row([
            (*program).to_owned(),
            of.to_owned(),
            (*set).to_owned(),
            number(counted.instructions),
            format!("{:.1} %", 100.0 * counted.communication),
        ]);
    }
    format!("{table}\n")
}

/// Tabulates the instructions per packet and the share of communication, by instruction set.
fn table(values: &Values) -> Result<Table> {
    let heads = ["instructions a packet (communication)"].into_iter();
    let mut table = Table::new(heads.chain(SETS.map(|(_, name)| name)));
    for case in &CASES {
        let mut cells = vec![format!("{}.loom, {}", case.name, case.of)];
        for (_, set) in SETS {
            let key = format!("{}.{}", case.name, slug(set));
            let instructions = values.short(&format!("{key}.instructions"))?;
            let share = values.percent(&format!("{key}.communication"), 1)?;
            cells.push(format!("{instructions} ({share})"));
        }
        table.row(cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_as_the_table_says() {
        for case in &CASES {
            let packets = (case.packets)().expect(case.name);
            assert!(packets.len() >= 2000, "{}", case.name);
            let is_short = packets.iter().all(|packet| packet.bytes.len() == 60);
            assert_eq!(is_short, case.of == "64 bytes", "{}", case.name);
        }
    }
}
