//! Our router with the tables of a topology.

use std::fmt::Write;
use std::net::IpAddr;
use std::path::Path;

use wireloom_compile::passes::PassOptions;
use wireloom_ir::{Execute, Golden, Program, Reason, Verdict, store};
use wireloom_lang::Options;
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::Packet;
use wireloom_net::tables::TableFile;
use wireloom_offloads::{Store, load_tables};

use super::namespaces::{Topology, mac_text};

/// `Route_kind` of programs/parts/routes.loom.
const FORWARD: u8 = 1;
const OWN: u8 = 2;
const DIRECTED_BROADCAST: u8 = 3;
const CONNECTED: u8 = 4;

/// Our router's verdict on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ours {
    /// The packet was sent.
    Sent {
        /// The output port.
        port: u16,
        /// The bytes sent.
        bytes: Vec<u8>,
    },
    /// The packet was handed to the control processor for this reason.
    Cpu(String),
    /// The packet was dropped for this reason.
    Dropped(String),
}

/// The router on golden and on native, which must agree.
pub struct Router {
    program: Program,
    golden: Golden,
    native: Native,
}

impl Router {
    /// Creates programs/router.loom with the topology's routes and neighbours.
    pub fn new(topology: &Topology) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/router.loom");
        // The kernel's reverse-path filter is off; so is ours.
        let options =
            Options { sets: vec![("CHECK_SOURCE".into(), "false".into())], ..Options::default() };
        let checked = wireloom_lang::check(&source, &options);
        let messages = wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
        let mut program = wireloom_compile::lower(&checked.program.expect(&messages));
        wireloom_compile::pipeline::optimise(&mut program, &PassOptions::default());

        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("linux.tables");
        std::fs::write(&path, tables(topology)).expect("the table file is written");
        let loaded = || -> Store {
            let mut store = store(&program).expect("the router's offloads");
            let file = TableFile::open(&path).expect("the table file parses");
            load_tables(&mut store, file).expect("the table file suits the router");
            store
        };
        let library =
            Library::build(&program, &BuildOptions::default()).expect("the C compiler accepts it");
        Self {
            golden: Golden::new(program.clone(), loaded()),
            native: Native::new(library, loaded()),
            program,
        }
    }

    /// Returns the verdict on a packet.
    pub fn forward(&mut self, ingress: u16, bytes: &[u8]) -> Ours {
        let packet = Packet { ingress, arrival_ns: 0, bytes: bytes.to_vec() };
        let golden = one_output(&self.program, &mut self.golden, &packet);
        let native = one_output(&self.program, &mut self.native, &packet);
        assert_eq!(golden, native, "golden and native differ on {bytes:02x?}");
        golden
    }
}

fn one_output(program: &Program, machine: &mut dyn Execute, packet: &Packet) -> Ours {
    let name = |reason: Reason| match reason {
        Reason::Program(set, value) => {
            let members = &program.reasons[set.index()].members;
            let member = members.iter().find(|(number, _)| *number == u64::from(value));
            member.map_or_else(|| value.to_string(), |(_, name)| name.clone())
        }
        Reason::Runaway => "runaway".into(),
    };
    let mut outputs = Vec::new();
    machine.execute(std::slice::from_ref(packet), &mut |output| {
        outputs.push(match output.verdict {
            Verdict::Sent { port } => Ours::Sent { port, bytes: output.bytes.to_vec() },
            Verdict::ToCpu(reason) => Ours::Cpu(name(reason)),
            Verdict::Dropped(reason) => Ours::Dropped(name(reason)),
        });
    });
    assert_eq!(outputs.len(), 1, "the router does one thing with a packet: {outputs:?}");
    outputs.remove(0)
}

/// Formats the topology as a table file.
fn tables(topology: &Topology) -> String {
    let mut text = String::from("table ports\n");
    let line = |text: &mut String, line: String| {
        writeln!(text, "{line}").expect("a string takes everything")
    };
    for (i, port) in topology.ports.iter().enumerate() {
        line(&mut text, format!("{i} mac={}", mac_text(port.mac)));
    }
    line(&mut text, "table next_hops".into());
    for (i, port) in topology.ports.iter().enumerate() {
        let (dst, src) = (mac_text(port.neighbour), mac_text(port.mac));
        line(&mut text, format!("{i} port={i} dst={dst} src={src} mtu={}", port.mtu));
    }
    for (family, tables) in [(4, ["destinations4", "sources4"]), (6, ["destinations6", "sources6"])]
    {
        for table in tables {
            line(&mut text, format!("table {table}"));
            for (prefix, length, hop, kind) in entries(topology) {
                if prefix.is_ipv4() == (family == 4) {
                    line(
                        &mut text,
                        format!("{prefix}/{length} next_hop={hop} class={hop} kind={kind}"),
                    );
                }
            }
        }
    }
    text
}

/// Returns prefix, length, next hop and kind of every route that the topology implies, as the
/// kernel creates them.
fn entries(topology: &Topology) -> Vec<(IpAddr, u8, usize, u8)> {
    let mut entries = Vec::new();
    let whole = |address: IpAddr| if address.is_ipv4() { 32 } else { 128 };
    for (i, port) in topology.ports.iter().enumerate() {
        for &(address, length) in &port.addresses {
            let (network, last) = network(address, length);
            entries.push((network, length, i, CONNECTED));
            // The broadcast address of an IPv4 subnet (RFC 1812 section 4.2.3.1); the subnet-router
            // anycast address of an IPv6 one (RFC 4291 section 2.6.1).
            if address.is_ipv4() {
                entries.push((last, 32, i, DIRECTED_BROADCAST));
            } else {
                entries.push((network, 128, i, OWN));
            }
            entries.push((address, whole(address), i, OWN));
        }
        for &gateway in &port.gateways {
            entries.push((gateway, whole(gateway), i, FORWARD));
        }
    }
    for route in &topology.routes {
        let hop = topology.ports.iter().position(|port| port.gateways.contains(&route.gateway));
        entries.push((route.prefix, route.length, hop.expect("a gateway of some port"), FORWARD));
    }
    entries
}

/// Returns the first and last address of an address's network.
fn network(address: IpAddr, length: u8) -> (IpAddr, IpAddr) {
    match address {
        IpAddr::V4(address) => {
            let host = u32::MAX.checked_shr(length.into()).unwrap_or(0);
            let bits = u32::from(address);
            (IpAddr::V4((bits & !host).into()), IpAddr::V4((bits | host).into()))
        }
        IpAddr::V6(address) => {
            let host = u128::MAX.checked_shr(length.into()).unwrap_or(0);
            let bits = u128::from(address);
            (IpAddr::V6((bits & !host).into()), IpAddr::V6((bits | host).into()))
        }
    }
}
