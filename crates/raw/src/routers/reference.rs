//! The reference of the routers: the golden model of programs/raw/ipv4.loom.

use std::collections::{BTreeMap, VecDeque};

use wireloom_bits::Bits;
use wireloom_ir::{Execute, Golden, Verdict};
use wireloom_machine::{Error, Program, Result};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Content, Entry, EntryKey, Store};

use crate::board::Played;
use crate::dir24::Route;

/// The golden model with routes.
pub struct Reference {
    golden: Golden,
}

/// Packets that golden sends, by output port and bytes, with the input and number of each.
type Wanted = BTreeMap<(u16, Vec<u8>), VecDeque<(usize, usize)>>;

/// The result of a comparison of a router with the golden model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Packets that left exactly as golden sends them.
    pub forwarded: usize,
    /// Packets that golden drops.
    pub dropped: usize,
    /// Packets that golden sends and that did not leave.
    pub lost: usize,
    /// Packets that left after a later one of the same input and output.
    pub reordered: usize,
}

/// Returns the offloads of a program that has an offload `routes`.
///
/// # Errors
/// If the program has no such offload, or it refuses a route.
pub fn store(program: &Program, routes: &[Route]) -> Result<Store> {
    let refused = |why| Error::new(format!("{why:?}"));
    let mut store = wireloom_ir::store(&program.optimised).map_err(refused)?;
    let slot = store.find_mut("routes");
    let Some(Content::Kind { instance, .. }) = slot.map(|slot| &mut slot.content) else {
        return Err(Error::new("the program has no offload `routes`"));
    };
    for route in routes {
        let length = u32::from(route.length);
        let kept = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        let bits = Bits::new(32, (route.prefix & kept).into());
        let key = EntryKey::Prefix { bits, length };
        let value = Bits::new(16, route.port.into());
        instance.load(Entry { key, value }).map_err(refused)?;
    }
    Ok(store)
}

impl Reference {
    /// Creates the golden model of a program that has an offload `routes`.
    ///
    /// # Errors
    /// If the program has no such offload, or it refuses a route.
    pub fn new(program: &Program, routes: &[Route]) -> Result<Self> {
        Ok(Self { golden: Golden::new(program.optimised.clone(), store(program, routes)?) })
    }

    /// Compares the packets that left a board with golden's results for the packets of each input.
    /// `ports` are the ports of the board's outputs.
    ///
    /// # Errors
    /// If a packet left that golden does not send there.
    pub fn check(
        &mut self,
        inputs: &[Vec<Vec<u8>>],
        ports: &[u8],
        played: &Played,
    ) -> Result<Checked> {
        let mut checked = Checked::default();
        let mut wanted = Wanted::new();
        for (input, packets) in inputs.iter().enumerate() {
            for (number, bytes) in packets.iter().enumerate() {
                let packet = Packet { ingress: input as u16, arrival_ns: 0, bytes: bytes.clone() };
                let frames: [Frame<'_>; 1] = [packet.frame()];
                let mut is_sent = false;
                self.golden.offer(&frames, &mut |output| {
                    if let Verdict::Sent { port } = output.verdict {
                        let place = wanted.entry((port, output.bytes.to_vec())).or_default();
                        place.push_back((input, number));
                        is_sent = true;
                    }
                });
                checked.dropped += usize::from(!is_sent);
            }
        }
        for (output, packets) in ports.iter().zip(&played.delivered) {
            let mut last = vec![0; inputs.len()];
            for packet in packets {
                let key = (packet.port, packet.bytes.clone());
                let found = wanted.get_mut(&key).and_then(VecDeque::pop_front);
                let Some((input, number)) = found.filter(|_| packet.port == u16::from(*output))
                else {
                    return Err(Error::new(format!(
                        "port {output}: a packet of {} bytes for port {} left in cycle {}, \
                         which golden does not send there: {:02x?}",
                        packet.bytes.len(),
                        packet.port,
                        packet.ended,
                        &packet.bytes[..packet.bytes.len().min(64)]
                    )));
                };
                checked.reordered += usize::from(number < last[input]);
                last[input] = last[input].max(number);
                checked.forwarded += 1;
            }
        }
        checked.lost = wanted.values().map(VecDeque::len).sum();
        Ok(checked)
    }
}
