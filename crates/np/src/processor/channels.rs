//! The memory channels of a processor: the accesses of each offload, and the pins.

use std::fmt::Write as _;

use serde::Serialize;
use wireloom_compile::analysis::effects::successors;
use wireloom_ir::{Engine, OffloadId, OpKind, Step};
use wireloom_machine::thousands;

use super::plan::{Channel, Plan, Service};

/// The most channels with which the paper closed timing on one FPGA (section 4.4).
pub const PUBLISHED_MOST: usize = 4;

/// The memory channels of a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Channels {
    /// The channels of one lane.
    pub of_lane: Vec<ChannelUse>,
    /// The number of lanes. Each lane has its own channels.
    pub lanes: usize,
    /// The number of channels of all lanes.
    pub channels: usize,
    /// The number of pins of all channels.
    pub pins: usize,
}

/// A memory channel and its accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelUse {
    pub name: String,
    /// The name of the offload in the source.
    pub offload: String,
    /// Words in the memory.
    pub words: usize,
    pub word_bits: usize,
    /// Bursts of two words that a request reads and writes.
    pub reads: usize,
    /// Bursts of two words that a request writes.
    pub writes: usize,
    /// The reads, and equally many writes, that the channel can do in a core cycle.
    pub slots: usize,
    /// The most requests of a packet; `None` if they are in a loop.
    pub requests: Option<u32>,
    /// Pins of the memory's interface.
    pub pins: usize,
}

/// Returns the memory channels of a processor.
pub fn channels(plan: &Plan) -> Channels {
    let uses = plan.channels.iter().map(|channel| {
        let service = plan.services.iter().find(|service| service.name == channel.service);
        let service = service.expect("a channel belongs to a service");
        channel_use(channel, service)
    });
    let of_lane: Vec<ChannelUse> = uses.collect();
    let lanes = plan.machine.lanes();
    Channels {
        channels: lanes * of_lane.len(),
        pins: lanes * of_lane.iter().map(|channel| channel.pins).sum::<usize>(),
        of_lane,
        lanes,
    }
}

fn channel_use(channel: &Channel, service: &Service) -> ChannelUse {
    ChannelUse {
        name: channel.name.clone(),
        offload: service.offload.clone(),
        words: channel.words,
        word_bits: channel.word_bits,
        reads: channel.used,
        writes: if service.rule.realisation.writes_channels() { channel.used } else { 0 },
        slots: channel.slots,
        requests: service.requests,
        pins: pins(channel),
    }
}

/// Returns the FPGA pins of a memory with two-word bursts: D and Q, the address that counts bursts,
/// a byte write select for each 9 bits, RPS#, WPS#, K, K#, CQ and CQ#. QDRII+ parts have the same
/// pins. Pins that a board ties to a level (C, C#, DOFF#, ZQ) are left out, and so is QVLD, which
/// controllers do not need. Sources: the makers' data sheets, for example of the CY7C1512KV18 of 4M
/// x 18, with 21 address pins, and of the CY7C1514KV18 of 2M x 36, with 20.
fn pins(channel: &Channel) -> usize {
    2 * channel.word_bits + channel.address_bits() + channel.word_bits / 9 + 6
}

impl Channels {
    /// Formats the channels as a line for people.
    pub fn summary(&self) -> String {
        let Self { of_lane, lanes, channels, pins } = self;
        let more = if *channels > PUBLISHED_MOST {
            format!("; the paper closed timing with at most {PUBLISHED_MOST}")
        } else {
            String::new()
        };
        let of_each = match lanes {
            1 => String::new(),
            _ => format!(" ({} for each of {lanes} lanes)", of_lane.len()),
        };
        let plural = if *channels == 1 { "" } else { "s" };
        format!(
            "{channels} memory channel{plural}{of_each}, {} pins of the FPGA to their chips{more}",
            thousands(*pins as u64)
        )
    }

    /// Returns the channels of a lane as a Markdown table, and their sum.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| channel | offload | words | of bits | reads a request | writes | of a core cycle | requests a packet | pins |\n\
             |---|---|---|---|---|---|---|---|---|\n",
        );
        for channel in &self.of_lane {
            let ChannelUse { name, offload, words, word_bits, reads, writes, slots, .. } = channel;
            let requests = match channel.requests {
                Some(requests) => format!("at most {requests}"),
                None => "in a loop".to_owned(),
            };
            let _ = writeln!(
                text,
                "| `{name}` | `{offload}` | {words} | {word_bits} | {reads} | {writes} | {slots} | {requests} | {} |",
                channel.pins
            );
        }
        text
    }
}

/// Returns the most requests that a packet makes to an offload, or `None` if they are in a loop.
pub(super) fn requests(engine: &Engine, offload: OffloadId) -> Option<u32> {
    let calls = engine.steps.iter().map(|step| calls(step, offload)).collect::<Vec<_>>();
    // For each reachable step, the most requests on any path to it, including the step itself.
    let mut most: Vec<Option<u32>> = vec![None; engine.steps.len()];
    *most.first_mut()? = Some(calls[0]);
    for _ in 0..=engine.steps.len() {
        let before = most.clone();
        for (from, step) in engine.steps.iter().enumerate() {
            let Some(so_far) = most[from] else { continue };
            for next in successors(step) {
                most[next] = most[next].max(Some(so_far + calls[next]));
            }
        }
        if most == before {
            return most.into_iter().flatten().max();
        }
    }
    None
}

fn calls(step: &Step, wanted: OffloadId) -> u32 {
    let mut count = 0;
    step.for_each_op(|op| {
        let is_wanted = matches!(op.kind, OpKind::Call { offload, .. } if offload == wanted);
        count += u32::from(is_wanted);
    });
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(text: &str) -> Engine {
        let text = format!(
            "engine e() {{ offload seen : counter<size = 4>; offload ports : array<u16, size = 4>; {text} }}"
        );
        let checked =
            wireloom_lang::check_source("e.loom", &text, &wireloom_lang::Options::default());
        let program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
        program.engines[0].clone()
    }

    fn of(engine: &Engine, name: &str) -> Option<u32> {
        let index = engine.offloads.iter().position(|offload| offload.name == name);
        requests(engine, OffloadId(index.expect("it is there") as u32))
    }

    #[test]
    fn the_way_with_the_most_requests_counts() {
        let engine = engine(
            "step first { seen.count(0, 1); if (packet.length > 5) next more; next last; }
             step more { seen.count(1, 1); packet.egress = ports.read(1); next last; }
             step last { seen.count(2, 1); finish; }",
        );
        assert_eq!((of(&engine, "seen"), of(&engine, "ports")), (Some(3), Some(1)));
    }

    #[test]
    fn requests_in_a_loop_have_no_bound() {
        let engine = engine(
            "step first { packet.egress = ports.read(1); next again; }
             step again { seen.count(1, 1); if (packet.length > 5) next again; finish; }",
        );
        assert_eq!((of(&engine, "seen"), of(&engine, "ports")), (None, Some(1)));
    }

    #[test]
    fn pins_are_those_of_the_parts() {
        let part = |word_bits, words| Channel {
            name: String::new(),
            service: String::new(),
            slots: 3,
            used: 1,
            word_bits,
            words,
        };
        assert_eq!(pins(&part(18, 4 << 20)), 18 + 18 + 21 + 2 + 6);
        assert_eq!(pins(&part(36, 2 << 20)), 36 + 36 + 20 + 4 + 6);
    }
}
