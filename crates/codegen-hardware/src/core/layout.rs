//! The layout of the vectors between the shell and the generated logic (`wl_pkg`).

use wireloom_compile::analysis::loops::Loops;
use wireloom_compile::analysis::storage::Storage;
use wireloom_ir::{Engine, EngineKind, OffloadTarget, Program, StepId};

use super::calls::TimeUse;
use super::port::{OffloadPort, PLACE_BITS, TICKET_BITS, bits_for};

/// The lowest bit of the window's front, the first field of the packet's part of the state
/// (`wl_pkg::packet_state_t`).
pub const FRONT: u32 = 0;
/// The lowest bit of the window's length (9 bits).
pub const WINDOW: u32 = 8;
/// The lowest bit of the packet's length (16 bits).
pub const LENGTH: u32 = 17;
/// The lowest bit of the egress port (16 bits).
pub const EGRESS: u32 = 33;
/// The lowest bit of the context.
pub const CONTEXT: u32 = 49;

/// The lowest bit of the length at arrival (`wl_pkg::packet_info_t`).
pub const INFO_LENGTH: u32 = 0;
/// The lowest bit of the ingress port.
pub const INFO_INGRESS: u32 = 16;
const INFO_REST: u32 = 32;

/// The vectors of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Whether the engine takes packets. Otherwise its state is the context alone.
    pub has_packet: bool,
    /// The size in bytes of a word of the packet that the engine reads or writes (`HeaderBytes` of
    /// the shells).
    pub header_bytes: u32,
    /// The number of bits of a step's number.
    pub step_bits: u32,
    /// The step that ends runaway threads; `None` if no thread can run away.
    pub runaway_step: Option<u32>,
    /// The lowest bit of the count of backward jumps.
    pub backward_jumps: Option<u32>,
    /// The number of bits of a thread's state.
    pub state_bits: u32,
    /// The lowest bit of each context variable.
    pub context: Vec<u32>,
    /// The number of bits of a called engine's reply, which begins at bit 0 of its last state; 0 if
    /// the engine takes packets.
    pub reply_bits: u32,
    /// The number of bits of a packet's information.
    pub info_bits: u32,
    /// The lowest bit of the arrival time, if it is needed.
    pub arrival: Option<u32>,
    /// The lowest bit of the sequence number, if it is needed.
    pub sequence: Option<u32>,
    /// The lowest bit of the ticket, which is the low bits of the packet's number on its lane.
    pub ticket: Option<u32>,
    /// The number of bits of the sequence number: 64, or the bits of a ticket if only the order
    /// matters, or both ([`Self::is_apart`]).
    pub sequence_bits: u32,
    /// Whether the sequence number differs from the number on the lane, where packets of timers are
    /// between others. It then follows the ticket.
    pub is_apart: bool,
    /// The lowest bit of the address of the packet's body ([`PLACE_BITS`] bits), if it is needed.
    pub place: Option<u32>,
    /// The lowest bit of each offload port's request.
    pub requests: Vec<u32>,
    /// The number of bits of all requests.
    pub request_bits: u32,
    /// The lowest bit of each offload port's reply.
    pub replies: Vec<u32>,
    /// The number of bits of all replies.
    pub reply_total: u32,
}

impl Layout {
    /// Returns the layout of an engine with these ports and this header word size in bytes.
    pub fn of(
        program: &Program,
        engine: &Engine,
        ports: &[OffloadPort],
        header_bytes: u32,
    ) -> Self {
        let has_packet = matches!(engine.kind, EngineKind::Packet);
        let reply_bits = match engine.kind {
            EngineKind::Packet => 0,
            EngineKind::Call { reply, .. } => reply,
        };
        let loops = Loops::of(engine);
        let steps = engine.steps.len() + usize::from(!loops.is_empty());
        let storage = Storage::of(engine);
        let base = if has_packet { CONTEXT } else { 0 };
        let mut end = base + storage.bits;
        let backward_jumps = (!loops.is_empty()).then_some(end);
        end += if loops.is_empty() { 0 } else { 16 };
        let time = TimeUse::of(program, engine);
        let mut info = INFO_REST;
        let mut next = |bits: u32| {
            (bits > 0).then(|| {
                info += bits;
                info - bits
            })
        };
        let has_timers = engine.offloads.iter().any(
            |offload| matches!(&offload.target, OffloadTarget::Kind(config) if config.has_step()),
        );
        let is_apart = time.sequence && has_timers;
        let sequence_bits = match ports.iter().any(|port| port.ordered) {
            _ if is_apart => TICKET_BITS + 64,
            _ if time.sequence => 64,
            ordered => TICKET_BITS * u32::from(ordered),
        };
        let (arrival, ticket) = (next(64 * u32::from(time.arrival)), next(sequence_bits));
        let sequence = ticket.map(|low| if is_apart { low + TICKET_BITS } else { low });
        let place = next(PLACE_BITS * u32::from(ports.iter().any(|port| port.body.is_some())));
        let (requests, request_bits) = stacked(ports.iter().map(|p| p.request_bits));
        let (replies, reply_total) = stacked(ports.iter().map(|p| p.reply_bits));
        Self {
            has_packet,
            header_bytes,
            step_bits: bits_for(steps).max(1),
            runaway_step: (!loops.is_empty()).then_some(engine.steps.len() as u32),
            backward_jumps,
            state_bits: end.max(reply_bits).max(1),
            context: storage.offsets.iter().map(|offset| base + offset).collect(),
            reply_bits,
            info_bits: info,
            arrival,
            sequence,
            ticket,
            sequence_bits,
            is_apart,
            place,
            requests,
            request_bits,
            replies,
            reply_total,
        }
    }

    /// Returns the number of bits of a word that is read or written.
    pub fn word_bits(&self) -> u32 {
        8 * self.header_bytes
    }

    /// Returns the number of bits of a port's reply.
    pub fn reply_bits_of(&self, port: u32) -> u32 {
        let low = self.replies[port as usize];
        self.replies.get(port as usize + 1).copied().unwrap_or(self.reply_total) - low
    }

    /// Returns whether a jump counts as a backward jump.
    pub fn is_backward(from: usize, to: StepId) -> bool {
        to.index() <= from
    }
}

/// Returns the lowest bit of each of several adjacent fields, and the total number of bits.
fn stacked(widths: impl Iterator<Item = u32>) -> (Vec<u32>, u32) {
    let mut end = 0;
    let offsets = widths
        .map(|width| {
            end += width;
            end - width
        })
        .collect();
    (offsets, end)
}
