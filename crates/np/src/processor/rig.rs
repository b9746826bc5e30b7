//! The embedded test rig (the Gorilla paper, section 4.6): the chip itself generates packets and
//! checks the output.
//!
//! `np_rig` contains `np_top` with a generator and a collector for each lane, the report unit with
//! its own AXI4-Lite slave, and block RAM that replaces the external memories. `np_rig_sim` gives
//! it the ports of `np_sim`, so that the same harness can drive it. There the lanes are unused, and
//! the registers of the report start at `REPORT_BASE`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wireloom_bits::Bits;
use wireloom_net::tables::Prefix;

use super::error::NpError;
use super::image::hex;
use super::pipe::SENT_BITS;
use super::plan::{Channel, Plan, Service};
use super::services::memory_port_names;
use super::top::{EVENT, axil, axil_slave, clocks, ports, probe};
use super::wires::{bit, bits, element, vector};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Direction, Expr, Instance, Item, Module, Type, Unary};
use wireloom_codegen_hardware::tables::Memory;

/// Byte address of the report registers in `np_rig_sim`.
pub const REPORT_BASE: u32 = 1 << (super::top::REGISTER_BITS - 1);

/// Data bits of the report's control bus.
const REPORT_BITS: usize = 64;

/// Rejects processor features that the rig does not support.
pub(super) fn check(plan: &Plan) -> Result<(), NpError> {
    if plan.machine.ports.are_narrow() {
        let message = "the embedded rig drives lanes, and the machine has narrow ports: set `kind = \"wide\"` in [ports]"
            .to_owned();
        return Err(NpError::Illegal { machine: plan.machine.name.clone(), message });
    }
    if plan.user_bits > 16 {
        let message = "the embedded rig's packets have no arrival time, which the program asks for"
            .to_owned();
        return Err(NpError::Illegal { machine: plan.machine.name.clone(), message });
    }
    for channel in &plan.channels {
        let service =
            plan.services.iter().find(|s| s.name == channel.service).expect("each has one");
        if service.rule.realisation.spans_memory() {
            continue;
        }
        let (has, needs) =
            (words(plan, channel) / 2, service.elements() * channel.used.next_power_of_two());
        if needs > has {
            return Err(service.refusal(
                &plan.machine,
                format!(
                    "it needs {needs} bursts, but the rig has {has} in place of a memory: declare fewer entries, or set `rig.memory_words`"
                ),
            ));
        }
    }
    Ok(())
}

/// Returns the words of block RAM that replace the memory of a channel.
fn words(plan: &Plan, channel: &Channel) -> usize {
    plan.machine.rig.memory_words.min(channel.words)
}

/// Returns whether the highest bit of an address selects a half of the block RAM. This holds for a
/// trie, whose levels occupy both ends of its memory.
fn keeps_half(plan: &Plan, channel: &Channel) -> bool {
    let service = plan.services.iter().find(|s| s.name == channel.service);
    service.is_some_and(|s| s.rule.realisation.spans_memory())
        && words(plan, channel) < channel.words
}

/// Returns the network processor in its rig.
pub fn module(plan: &Plan) -> Module {
    let doc = format!(
        "Embedded test rig around the engine `{}` on machine `{}`: it sends packets, checks what comes back, and reports.\n\
         Tables are written over s_axil_*; the report (wl_report) is target 0 behind s_axil_rig_*.",
        plan.engine, plan.machine.name
    );
    let mut module = Module::new("np_rig", &doc);
    module.ports = clocks(plan);
    module.ports.extend(axil("s_axil", "AXI4-Lite: the network processor's control plane."));
    module.ports.extend(axil("s_axil_rig", "AXI4-Lite: the rig's report."));
    module.ports.push(probe(plan));
    module.items = nets(plan);
    module.items.push(Item::Instance(processor(plan)));
    module.items.push(lanes(plan));
    module.items.extend(report(plan));
    module.items.extend(plan.channels.iter().map(|channel| memory(plan, channel)));
    let addresses = plan.channels.iter().flat_map(|channel| {
        ["rd_addr", "wr_addr"]
            .map(|what| name(format!("{}_{what}", channel.name)).unary(Unary::Parity))
    });
    let unused = addresses
        .chain([name("m_axis_tuser").unary(Unary::Parity), name("ending").unary(Unary::Parity)]);
    module.items.extend([
        Item::Blank,
        Item::comment(
            "Addresses have more bits than the block RAM; where packets leave does not matter here.",
        ),
        Item::value("unused", Type::Bit, Expr::Concat(unused.collect()).unary(Unary::Parity)),
    ]);
    module
}

fn nets(plan: &Plan) -> Vec<Item> {
    let lanes = plan.machine.lanes();
    let mut items = Vec::new();
    for end in ["s", "m"] {
        let user = if end == "s" { plan.user_bits } else { SENT_BITS };
        for (what, width) in [
            ("tdata", 8 * plan.data_bytes),
            ("tkeep", plan.data_bytes),
            ("tvalid", 1),
            ("tready", 1),
            ("tlast", 1),
            ("tuser", user),
        ] {
            items.push(vector(format!("{end}_axis_{what}"), lanes * width));
        }
    }
    items.extend([vector("event_valid", lanes), vector("ending", lanes * EVENT)]);
    items.extend(["received", "gap", "late", "wrong"].map(|what| vector(what, lanes)));
    for channel in &plan.channels {
        items.extend(
            memory_port_names(channel)
                .into_iter()
                .map(|(port, width)| vector(net(&port), lanes * width)),
        );
    }
    items.extend([
        vector("report_target", 8),
        vector("report_address", 32),
        vector("report_data", REPORT_BITS),
        vector("report_answer", REPORT_BITS),
    ]);
    items.extend(
        ["run", "report_valid", "report_write", "report_done"].map(|n| Item::net(n, Type::Bit)),
    );
    items
}

/// Returns the name of the net at a port. `event` is a keyword of SystemVerilog and cannot be a
/// name.
fn net(port: &str) -> String {
    match port {
        "event_o" => "ending".to_owned(),
        _ => port.trim_end_matches("_i").trim_end_matches("_o").to_owned(),
    }
}

fn processor(plan: &Plan) -> Instance {
    let mut processor = Instance::new("np_top", "i_np");
    for port in ports(plan) {
        let passes =
            port.name.starts_with("s_axil") || port.name.starts_with("clk") || port.name == "rst_i";
        let value =
            if passes || port.name == "probe_o" { name(&port.name) } else { name(net(&port.name)) };
        processor = processor.port(port.name, value);
    }
    for channel in &plan.channels {
        for (port, _) in memory_port_names(channel) {
            let value = name(net(&port));
            processor = processor.port(port, value);
        }
    }
    processor
}

/// Returns a generator and a collector for each lane.
fn lanes(plan: &Plan) -> Item {
    let i = || name("i");
    let rig = &plan.machine.rig;
    let beat = 8 * plan.data_bytes;
    let wide = |width: u32, value: u128| Expr::Number(Bits::new(width, value));
    let hosts = |network: &Prefix, width: u32| match network.length() {
        0 => u128::MAX >> (128 - width),
        length => (u128::MAX >> (128 - width)) & !(u128::MAX << (width - length)),
    };
    let (four, six) = (rig.network4(), rig.network6());
    let first = i().cast(int(32));
    let stride = Expr::number(32, plan.machine.lanes() as u64);
    let generator = clocked("wl_packet_generator", "i_generator")
        .parameter("Templates", Expr::number(3, rig.templates()))
        .parameter("Labels", int(rig.labels as usize))
        .parameter("LabelMask", wide(20, (1 << rig.label_bits) - 1))
        .parameter("Mask4", wide(32, hosts(&four, 32)))
        .parameter("Base4", wide(32, four.bits()))
        .parameter("SourceMask4", wide(32, hosts(&four, 32)))
        .parameter("SourceBase4", wide(32, four.bits()))
        .parameter("Mask6", wide(128, hosts(&six, 128)))
        .parameter("Base6", wide(128, six.bits()))
        .parameter("RouterMac", wide(48, u128::from(rig.mac())))
        .parameter("PortBits", int(rig.port_bits as usize))
        .parameter("First", first.clone())
        .parameter("Stride", stride.clone())
        .parameter("Seed", Expr::number(64, 0x9e37_79b9_7f4a_7c15).add(i().cast(int(64))))
        .port("run_i", name("run"))
        .port("m_tvalid_o", bit("s_axis_tvalid", i()))
        .port("m_tready_i", bit("s_axis_tready", i()))
        .port("m_tdata_o", element("s_axis_tdata", i(), beat))
        .port("m_tkeep_o", element("s_axis_tkeep", i(), plan.data_bytes))
        .port("m_tlast_o", bit("s_axis_tlast", i()))
        .port("m_tuser_o", element("s_axis_tuser", i(), plan.user_bits));
    let collector = clocked("wl_packet_collector", "i_collector")
        .parameter("First", first)
        .parameter("Stride", stride)
        .port("s_tvalid_i", bit("m_axis_tvalid", i()))
        .port("s_tready_o", bit("m_axis_tready", i()))
        .port("s_tdata_i", element("m_axis_tdata", i(), beat))
        .port("s_tkeep_i", element("m_axis_tkeep", i(), plan.data_bytes))
        .port("s_tlast_i", bit("m_axis_tlast", i()))
        .port("received_o", bit("received", i()))
        .port("gap_o", bit("gap", i()))
        .port("late_o", bit("late", i()))
        .port("wrong_o", bit("wrong", i()));
    Item::For {
        label: "gen_lane".into(),
        variable: "i".into(),
        count: int(plan.machine.lanes()),
        items: vec![Item::Instance(generator), Item::Instance(collector)],
    }
}

fn report(plan: &Plan) -> Vec<Item> {
    let offered = || name("s_axis_tvalid");
    let unit = clocked("wl_report", "i_report")
        .parameter("Lanes", int(plan.machine.lanes()))
        .parameter("CtlTarget", Expr::number(8, 0))
        .parameter("CtlBits", int(REPORT_BITS))
        .port("run_o", name("run"))
        .port("sent_i", offered().and(name("s_axis_tready")))
        .port("refused_i", offered().and(name("s_axis_tready").not()))
        .port("received_i", name("received"))
        .port("gap_i", name("gap"))
        .port("late_i", name("late"))
        .port("wrong_i", name("wrong"))
        .port("event_i", name("event_valid"))
        .port("ctl_valid_i", name("report_valid"))
        .port("ctl_write_i", name("report_write"))
        .port("ctl_target_i", name("report_target"))
        .port("ctl_address_i", name("report_address"))
        .port("ctl_data_i", name("report_data"))
        .port("ctl_done_o", name("report_done"))
        .port("ctl_data_o", name("report_answer"));
    vec![
        Item::Blank,
        Item::Instance(
            axil_slave(plan, "s_axil_rig", "report").parameter("CtlBits", int(REPORT_BITS)),
        ),
        Item::Instance(unit),
    ]
}

/// Returns the block RAM that replaces the memory of a channel, for each lane.
fn memory(plan: &Plan, channel: &Channel) -> Item {
    let i = || name("i");
    let words = words(plan, channel);
    let (has, wants) = (bits(words / 2) as usize, channel.address_bits());
    let address = |what: &str| {
        let net = format!("{}_{what}", channel.name);
        let low = |width: usize| name(&net).part(i().mul(int(wants)), int(width));
        if !keeps_half(plan, channel) {
            return low(has);
        }
        Expr::Concat(vec![name(&net).index(i().mul(int(wants)).add(int(wants - 1))), low(has - 1)])
    };
    let net = |what: &str| format!("{}_{what}", channel.name);
    let data = |what: &str| element(net(what), i(), channel.data_bits());
    let block = Instance::new("wl_qdr_block", format!("i_{}", channel.name))
        .parameter("WordBits", int(channel.word_bits))
        .parameter("Words", int(words))
        .parameter("AddressBits", int(has))
        .parameter("Latency", int(plan.machine.memory.latency))
        .parameter("Image", Expr::Text(channel.name.clone()))
        .port("clk_mem_i", name("clk_mem_i"))
        .port("rd_cmd_i", bit(net("rd_cmd"), i()))
        .port("rd_addr_i", address("rd_addr"))
        .port("rd_data_o", data("rd_data"))
        .port("wr_cmd_i", bit(net("wr_cmd"), i()))
        .port("wr_addr_i", address("wr_addr"))
        .port("wr_data_i", data("wr_data"));
    Item::For {
        label: format!("gen_{}", channel.name),
        variable: "i".into(),
        count: int(plan.machine.lanes()),
        items: vec![Item::Instance(block)],
    }
}

/// Returns the rig with the ports of `np_sim`. The highest bit of an address selects the registers
/// of the processor or of the report. There is one access at a time.
pub fn simulation(plan: &Plan) -> Module {
    let mut module = Module::new(
        "np_rig_sim",
        "The embedded test rig with the ports of `np_sim`; its lanes are dead.",
    );
    module.ports = ports(plan);
    let mut rig = Instance::new("np_rig", "i_rig");
    for port in clocks(plan).into_iter().chain([probe(plan)]) {
        let value = name(&port.name);
        rig = rig.port(port.name, value);
    }
    let top = super::top::REGISTER_BITS as u32 - 1;
    let meant = |access: &str, is_rig: bool| {
        let high = name(format!("s_axil_{access}addr_i")).bits(top, 1);
        if is_rig { high } else { high.not() }
    };
    for (is_rig, prefix) in [(false, "s_axil"), (true, "s_axil_rig")] {
        for (port, inside) in axil("s_axil", "").into_iter().zip(axil(prefix, "")) {
            let what = port.name.trim_start_matches("s_axil_");
            let value = match what {
                "awvalid_i" | "wvalid_i" => name(&port.name).and(meant("aw", is_rig)),
                "arvalid_i" => name(&port.name).and(meant("ar", is_rig)),
                "awaddr_i" | "araddr_i" => {
                    Expr::Concat(vec![Expr::number(1, 0), name(&port.name).bits(0, top)])
                }
                _ if port.direction == Direction::Input => name(&port.name),
                _ => name(format!("{}_{what}", if is_rig { "rig" } else { "np" })),
            };
            if port.direction == Direction::Output {
                let net = format!("{}_{what}", if is_rig { "rig" } else { "np" });
                module.items.push(Item::net(net, port.ty));
            }
            rig = rig.port(inside.name, value);
        }
    }
    module.items.push(Item::Instance(rig));
    for port in ports(plan).into_iter().filter(|port| port.direction == Direction::Output) {
        let Some(what) = port.name.strip_prefix("s_axil_") else {
            if port.name != "probe_o" {
                module.items.push(Item::assign(port.name, Expr::Zeros));
            }
            continue;
        };
        let of = |whose: &str| name(format!("{whose}_{what}"));
        let access = if what.starts_with('r') { "ar" } else { "aw" };
        let value = match what {
            "rdata_o" | "rresp_o" | "bresp_o" => meant(access, true).choose(of("rig"), of("np")),
            _ => of("np").or(of("rig")),
        };
        module.items.push(Item::assign(port.name, value));
    }
    module
}

/// Returns the contents of a trie's memory in the block RAM of the rig. The first level includes
/// only the network of the rig.
///
/// # Errors
/// If two bursts have the same place in the block RAM.
pub(crate) fn trie_image(
    plan: &Plan,
    service: &Service,
    channel: &Channel,
    memory: &Memory,
    has_root: bool,
) -> Result<String, NpError> {
    let rig = &plan.machine.rig;
    let (network, width) =
        if service.request_bits == 32 { (rig.network4(), 32) } else { (rig.network6(), 128) };
    // Address bits of the first level, which lies once at the beginning of the memory.
    const ROOT_BITS: u32 = 20;
    let of_root = |key: u128| (key >> (width - ROOT_BITS)) as u64;
    let first = of_root(network.bits());
    let last = of_root(network.address(u128::MAX));
    let burst = u64::from(memory.shape().burst);
    let bursts = u64::from(memory.shape().entries) / burst;
    let has = words(plan, channel) as u64 / 2;
    let place = |address: u64| match keeps_half(plan, channel) {
        false => address,
        true => (address >= bursts / 2) as u64 * (has / 2) + address % (has / 2),
    };
    let mut placed: BTreeMap<u64, (u64, Bits)> = BTreeMap::new();
    for address in 0..bursts {
        let is_root = has_root && address < (1 << ROOT_BITS) / burst;
        if is_root && !(first / burst..=last / burst).contains(&address) {
            continue;
        }
        let data = memory.burst(address as u32);
        if data.is_zero() {
            continue;
        }
        if let Some((other, _)) = placed.insert(place(address), (address, data)) {
            let why = format!(
                "its trie does not fit {} words of block RAM: bursts {other} and {address} of `{}` fall on one; set \
                 `rig.memory_words`, or load fewer routes",
                2 * has,
                channel.name
            );
            return Err(service.refusal(&plan.machine, why));
        }
    }
    Ok(placed.iter().fold(String::new(), |mut text, (place, (_, data))| {
        let _ = writeln!(text, "@{place:x} {}", hex(data));
        text
    }))
}
