//! The README section about how to connect a processor: clocks, reset, packets, memories, and
//! corner cases.

use std::fmt::Write as _;

use super::Processor;
use super::memory_map::{MemoryMap, Target};
use super::pipe::SENT_BITS;
use super::plan::{Channel, Plan};
use super::reasons::ReasonCounter;
use super::services::memory_port_names;
use super::top::EVENT;
use crate::description::Reset;

/// Cycles after which a reset has reached every part, as in the test bench.
const RESET_CYCLES: usize = 8;
/// Bytes of the longest packet, and of the part of it that engines read and write.
const LONGEST: usize = 65_535;
const WINDOW: usize = 128;
/// The bit that tells whether a key was found whose time is over, unless keys are longer.
const FOUND: usize = 64;

pub(super) fn section(processor: &Processor, map: &MemoryMap) -> String {
    let plan = &processor.plan;
    let mut text = String::from("\n## Integration\n");
    text += &clocks(plan);
    text += &reset(plan, map);
    text += &packets_in(plan);
    text += &packets_out(plan);
    text += &odd_packets(plan);
    text += &order(plan);
    if plan.has_engine_time {
        text += &timers(plan, map);
    }
    if !plan.channels.is_empty() {
        text += &memories(plan);
    }
    text += &control(map);
    text
}

fn clocks(plan: &Plan) -> String {
    let clock = &plan.machine.clock;
    let mut text = format!(
        "\n### Clocks\n\n`clk_i` is the clock of all ports but those of memories; rates in this file are for {} MHz. Inputs are sampled, and \
         outputs change, at its rising edge.\n",
        clock.core_mhz
    );
    if !plan.channels.is_empty() {
        let ratio = clock.memory_ratio;
        let _ = write!(
            text,
            "\n`clk_mem_i` is the clock of the memory ports: exactly {ratio} times as fast, {} MHz, and in phase: each rising edge of `clk_i` \
             coincides with one of `clk_mem_i`. Take both from the same PLL. Paths between the two are not synchronised: they must meet the \
             period of `clk_mem_i`.\n",
            clock.core_mhz as usize * ratio
        );
    }
    text
}

fn reset(plan: &Plan, map: &MemoryMap) -> String {
    let inputs = if plan.machine.ports.are_narrow() { "port" } else { "lane" };
    let mut text = format!(
        "\n### Reset\n\n`rst_i` is active high and {}. Hold it for at least {RESET_CYCLES} cycles{}. While it is high, `s_axis_tready_o` \
         is low on every {inputs}, and no packet is taken.\n\n\
         - Packets inside are lost. A packet that is leaving ends without `tlast`: reset the receivers too.\n\
         - Of a packet that reset cuts on its way in, the rest is taken after the reset and discarded up to `tlast`, so it never becomes a packet. A \
         sender that begins a new packet instead loses this one.\n\
         - The statistics and counters of reasons begin at zero. Contents of tables stay, with these exceptions:\n",
        match plan.machine.reset {
            Reset::Synchronous => "synchronous to `clk_i`",
            Reset::Asynchronous =>
                "asserted at any time, but released synchronously to `clk_i`: put a reset synchroniser before it",
        },
        if plan.channels.is_empty() {
            ""
        } else {
            ", and until the memory controllers are calibrated"
        },
    );
    let mut wait = 0;
    for service in &plan.services {
        let Some((what, cycles)) = service.rule.realisation.after_reset(service) else { continue };
        wait = wait.max(cycles);
        let _ = writeln!(text, "  - `{}`: {what}", service.offload);
    }
    if wait == 0 {
        text += "  - none\n";
    } else {
        let _ = write!(
            text,
            "\nRequests to these wait for up to {wait} cycles after reset; packets are taken meanwhile.\n"
        );
    }
    text + &start(map)
}

/// Lists the steps between reset and the first packet.
fn start(map: &MemoryMap) -> String {
    let mut steps = vec!["Reset it, as above.".to_owned()];
    let has_seeds = map.targets.iter().any(|target| target.contents.seed.is_some());
    if has_seeds {
        steps.push(
            "Set the seeds of hashes (below), to random numbers that are new after each reset: \
             reset gives every processor the same seeds, and who knows a seed can choose keys that collide."
                .to_owned(),
        );
    }
    if map.targets.iter().any(|target| !target.offload.is_empty() && target.contents.access == "rw")
    {
        steps.push("Fill the tables.".to_owned());
    }
    steps.push(
        "Let packets come. Nothing inside waits for the steps before: a packet that comes earlier is \
         processed with the tables as they are."
            .to_owned(),
    );
    let mut text = String::from("\n### Start\n\n");
    for (index, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{}. {step}", index + 1);
    }
    if has_seeds {
        text += "\nWhat a table has learned from packets is lost when its seed is set, so set seeds before packets come.\n";
    }
    text
}

fn packets_in(plan: &Plan) -> String {
    let machine = &plan.machine;
    let narrow = machine.ports.are_narrow();
    let (streams, bytes, user) = if narrow {
        (machine.ports.numbers.len(), machine.ports.bytes, plan.user_bits - 16)
    } else {
        (machine.lanes(), plan.data_bytes, plan.user_bits)
    };
    let mut text = format!(
        "\n### Packets in: `s_axis_*`\n\nAXI4-Stream, {}, side by side in each port, the first in the lowest bits.\n\n\
         | port | bits | contents |\n|---|---|---|\n\
         | `s_axis_tdata_i` | {streams} x {} | byte 0 of the packet in bits 7:0 of its first beat, byte {} in the highest |\n\
         | `s_axis_tkeep_i` | {streams} x {bytes} | bit k for byte k: all ones but in the last beat, which has ones from bit 0 on |\n\
         | `s_axis_tvalid_i`, `s_axis_tready_o`, `s_axis_tlast_i` | {streams} x 1 | `tlast` on the last beat |\n",
        streams_of(plan, false),
        8 * bytes,
        bytes - 1,
    );
    if user > 0 {
        let arrival = format!("bits {}:{}", user - 1, user.saturating_sub(64));
        let what = match (narrow, plan.user_bits > 16) {
            (true, _) => format!("{arrival}: arrival time in nanoseconds; on the first beat"),
            (false, true) => {
                format!(
                    "bits 15:0: ingress port; {arrival}: arrival time in nanoseconds; on the first beat"
                )
            }
            (false, false) => "ingress port; on the first beat".to_owned(),
        };
        let _ = writeln!(text, "| `s_axis_tuser_i` | {streams} x {user} | {what} |");
    }
    if narrow {
        text += "\nThe ingress port that the program sees is the number of the stream's port.\n";
    }
    text
}

/// Names the streams.
fn streams_of(plan: &Plan, out: bool) -> String {
    let machine = &plan.machine;
    if !machine.ports.are_narrow() {
        return match machine.lanes() {
            1 => "one lane".to_owned(),
            lanes => format!("{lanes} lanes, 0 to {}", lanes - 1),
        };
    }
    let numbers: Vec<String> = machine.ports.numbers.iter().map(u16::to_string).collect();
    let cpu = if out { ", and last the control processor's" } else { "" };
    format!("one stream for each of the ports {}{cpu}", numbers.join(", "))
}

/// Describes engine time, and what a board does so that the steps of timers run.
fn timers(plan: &Plan, map: &MemoryMap) -> String {
    let mut text = String::from(
        "\n### Time and timers\n\nThe program sees engine time: the latest arrival time in `tuser` of all packets so far.\n",
    );
    let mut rows = String::new();
    for (number, service) in plan.timed_services().enumerate() {
        let target = map.targets.iter().find(|target| target.offload == service.offload);
        let target = target.map_or_else(|| "-".to_owned(), |target| target.number.to_string());
        let tick_ns = service.config.param("tick").low_u64();
        let bits = service.key_bits();
        let _ =
            writeln!(rows, "| {number} | `{}` | {target} | {bits} | {tick_ns} |", service.offload);
    }
    if !rows.is_empty() {
        let _ = write!(
            text,
            "\nSteps that run for keys begin with a packet from port 65,535: its first 16 bits are a number of the table below, and the key \
             follows, padded with zeros at its end to whole bytes. Its arrival time is the tick. Before the first packet that arrives at a tick or \
             later, wait until all packets before have left. Write the tick to address 0xC0000001 of the target, then read address 0x40000000, and \
             0x40000001 until a read returns no key (bit {FOUND} or, with longer keys, the bit above the key is zero): the low 64 bits are then the \
             earliest end of all other keys. Send a packet for each key, in the order of the keys' bits, tick by tick.\n\n\
             | number | offload | control target | bits of a key | nanoseconds from tick to tick |\n|---|---|---|---|---|\n{rows}"
        );
    }
    text
}

fn packets_out(plan: &Plan) -> String {
    let machine = &plan.machine;
    let (streams, bytes) = if machine.ports.are_narrow() {
        (machine.ports.numbers.len() + 1, machine.ports.bytes)
    } else {
        (machine.lanes(), plan.data_bytes)
    };
    let lanes = machine.lanes();
    let cpu = if machine.ports.are_narrow() {
        "Packets for the control processor leave on its stream; those for a port that does not exist are dropped and counted."
    } else {
        "Packets for the control processor leave on the lane on which they came, with kind 4."
    };
    format!(
        "\n### Packets out: `m_axis_*`, `event_*`\n\nAXI4-Stream, {}, bytes as on the way in.\n\n\
         | port | bits | contents |\n|---|---|---|\n\
         | `m_axis_tdata_o` | {streams} x {} | bytes |\n\
         | `m_axis_tkeep_o` | {streams} x {bytes} | all ones but in the last beat |\n\
         | `m_axis_tvalid_o`, `m_axis_tready_i`, `m_axis_tlast_o` | {streams} x 1 | |\n\
         | `m_axis_tuser_o` | {streams} x {SENT_BITS} | 42:40 kind, 39:32 reason set, 31:16 reason, 15:0 egress port; on every beat |\n\
         | `event_valid_o` | {lanes} x 1 | a packet ends without being sent; it cannot be stalled |\n\
         | `event_o` | {lanes} x {EVENT} | 26:24 kind, 23:16 reason set, 15:0 reason |\n\n\
         Kinds: 1 sent, 2 a copy is sent and more follows, 3 dropped, 4 for the control processor, 5 ended without sending. Reasons have a meaning \
         for kinds 3 and 4: the codes are listed under Control. {cpu} `probe_o` and the other outputs are statistics: leave them open.\n",
        streams_of(plan, true),
        8 * bytes,
    )
}

fn odd_packets(plan: &Plan) -> String {
    let ports = &plan.machine.ports;
    let long = if ports.are_narrow() {
        format!(
            "the first {LONGEST} bytes are used, the rest is taken and discarded; a packet of more than {} bytes keeps the lane from other ports while it arrives",
            ports.queue_beats * plan.data_bytes
        )
    } else {
        format!("the first {LONGEST} bytes are used, the rest is taken and discarded")
    };
    format!(
        "\n### Packets of every shape\n\n\
         | packet | what happens |\n|---|---|\n\
         | 1 to {LONGEST} bytes | legal: there is no shortest packet, and no padding is needed. Engines read and write the first {WINDOW} bytes |\n\
         | no bytes (`tlast` with `tkeep` zero, first beat) | a packet of length 0: what becomes of it is up to the program |\n\
         | a last beat without bytes after others | ends the packet |\n\
         | more than {LONGEST} bytes | {long} |\n\
         | `tlast` is missing | the next packet's bytes are appended to this one. A packet is processed when its `tlast` has come, so its {} waits; only reset ends it early |\n\
         | a hole in `tkeep` of the last beat | the bytes before the hole |\n\
         | `tkeep` not all ones in another beat | taken as all ones |\n",
        if ports.are_narrow() { "port" } else { "lane" },
    )
}

fn order(plan: &Plan) -> String {
    let mut text = String::from("\n### Order and back-pressure\n\n");
    if plan.machine.ports.are_narrow() {
        text += "- Packets of one port keep their order, and so do packets on their way to one port. Between ports an arbiter takes turns, a packet each; \
                 that order is the order in which packets see state.\n\
                 - When an output stalls, its queue fills up; then all later packets wait, whatever port they go to.\n";
    } else if plan.machine.lanes() == 1 {
        text += "- Packets, and events in the place of those that are not sent, leave in the order of arrival.\n";
    } else {
        text += "- Packets are numbered in the cycle in which `tvalid` first offers them, the lower lane first. A packet leaves on the lane on which it came. It is not \
                 offered before all packets with lower numbers have been, on whichever lane, and events take the place of packets that are not sent.\n\
                 - No lane waits for another at the input, nor for the receiver of another at the output, as far as the order of 2,048 packets is kept.\n\
                 - Deal packets to the lanes by bytes: let a lane that has had more beats than another one wait. While a run of packets leaves on one lane the \
                 others wait for its end, and what leaves in runs makes room for new runs. Packets that leave with more beats than they came with (a tag or a \
                 label pushed) lose most by it.\n";
    }
    text += "- Nothing inside loses packets. When the engines, a service or an output cannot keep up, `s_axis_tready_o` goes low; the sender has to keep or \
             drop what arrives then.\n\
             - `tvalid` depends on no `tready`; what is offered stays until it is taken.\n";
    text
}

fn memories(plan: &Plan) -> String {
    let (machine, lanes) = (&plan.machine, plan.machine.lanes());
    let latency = machine.memory.latency;
    let mut text = format!(
        "\n### Memory channels\n\nEach is the user port of a QDR SRAM controller, in the domain of `clk_mem_i`: a read and a write of a burst of two words each cycle, to any \
         addresses, without back-pressure. The first word of a burst is in the lowest bits. `rd_data_i` must hold the burst exactly {latency} \
         cycles of `clk_mem_i` after `rd_cmd_o` (`memory.latency`: put registers behind a faster controller, build anew for a slower one); there is no valid \
         signal. A controller whose latency varies needs a FIFO for its replies: build for its longest latency, and take each burst out when that has \
         passed. A read sees all writes of earlier cycles, and none of its own. Engines get the reply {} cycles of `clk_i` after the request, at the \
         least. Commands mean nothing while `rst_i` is high.\n\n| ports | bits |\n|---|---|\n",
        super::channel_latency(machine, latency)
    );
    for channel in &plan.channels {
        let _ = writeln!(text, "{}", channel_row(channel, lanes));
    }
    text
}

fn channel_row(channel: &Channel, lanes: usize) -> String {
    let ports = memory_port_names(channel);
    let names: Vec<String> = ports.iter().map(|(name, _)| format!("`{name}`")).collect();
    let widths: Vec<String> = ports.iter().map(|(_, width)| format!("{lanes} x {width}")).collect();
    format!("| {} | {} |", names.join(", "), widths.join(", "))
}

fn control(map: &MemoryMap) -> String {
    let mut text = String::from(
        "\n### Control\n\nAXI4-Lite, `s_axil_*`: addresses of 16 bits that count bytes, data of 32 bits. Writes need all of `wstrb`; an address without a register gets \
         SLVERR. A command for a target that does not exist fails at once, and one without an answer after 65,536 cycles; STATUS says so.\n",
    );
    text +=
        "\nReasons and their counters (target 0):\n\n| address | code | counts |\n|---|---|---|\n";
    for counter in &map.reasons {
        let code = counter.code.map_or(String::new(), |code| format!("{code:#08x}"));
        let _ = writeln!(
            text,
            "| {} | {code} | {} |",
            counter.address,
            ReasonCounter::describe(counter)
        );
    }
    let seeded: Vec<&Target> =
        map.targets.iter().filter(|target| target.contents.seed.is_some()).collect();
    if !seeded.is_empty() {
        text += "\nSeeds: one write each after reset, of random bits. It empties a table of keys, so fill that afterwards; of a table with caches it empties only these. \
                 All copies of a table may have the same seed. Who does not know it cannot choose keys that collide.\n\n\
                 | target | offload | address | data |\n|---|---|---|---|\n";
        for target in seeded {
            let Some(seed) = target.contents.seed else { continue };
            let bits =
                |bits: u32| if bits > 0 { format!("{bits} random bits") } else { "any".into() };
            let address = match seed.address_bits {
                0 => format!("{:#010x}", seed.address),
                bits => format!("{:#010x} and {bits} random bits", seed.address),
            };
            let _ = writeln!(
                text,
                "| {} | `{}` | {address} | {} |",
                target.number,
                target.offload,
                bits(seed.data_bits)
            );
        }
    }
    text
}
