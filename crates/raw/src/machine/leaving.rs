//! Packets that leave the chip: their ports, their order, and the packets that a full queue
//! dropped.

use wireloom_codegen_tile::{LAST, RUNAWAY, Way};
use wireloom_ir::{Output, Reason, ReasonSetId, TIMERS, Verdict};
use wireloom_machine::{Error, LostOutput, Result, Settled, Sink};

use super::port::Departure;
use super::{Pending, Raw};

impl Raw {
    /// Takes the packets that have left the chip. Returns the packets that began to enter.
    pub(super) fn collect_left(&mut self) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for number in 0..self.placement.cards.len() {
            let input = self.placement.cards[number].port;
            let entered = std::mem::take(&mut Self::port(&mut self.chip, input).entered);
            numbers.extend(entered.iter().map(|(number, _)| *number));
            self.measured.entered.extend(entered);
        }
        for number in 0..self.placement.ports.len() {
            let output = self.placement.ports[number];
            let left = std::mem::take(&mut Self::port(&mut self.chip, output).left);
            for left in left {
                match left.is_dropped {
                    true => self.dropped_at[number] += 1,
                    false => self.left_at[number] += u64::from(!left.words.is_empty()),
                }
                let Some((tile, serial)) = left.sent else {
                    self.leaves(number, left)?;
                    continue;
                };
                let placement = &self.placement;
                let from = placement.cards.iter().position(|card| placement.sender(card) == tile);
                let from =
                    from.ok_or_else(|| Error::new("a packet left a tile that sends none"))?;
                // Fewer than 65,536 packets of a card wait for an earlier one.
                let next = self.serial[from].next_number();
                let serial = next + u64::from(serial.wrapping_sub(next as u16));
                self.check_port(number, from, serial, &left)?;
                self.serial[from].come(serial, left);
            }
        }
        for card in 0..self.placement.cards.len() {
            while let Some(left) = self.serial[card].pop() {
                self.leaves(card, left)?;
            }
        }
        Ok(numbers)
    }

    /// Checks that a packet left at its port, and not before an earlier packet of its card.
    fn check_port(&mut self, number: usize, from: usize, serial: u64, left: &Departure) -> Result {
        let wanted = match Way::of(left.side) {
            Way::Port => usize::from(left.port()) % self.placement.ports.len(),
            _ => self.placement.own(from),
        };
        if wanted != number {
            let message = format!("a packet to port {wanted} left the chip at {number}");
            return Err(Error::new(message));
        }
        if Way::of(left.side) == Way::Port && !left.is_dropped {
            let last = self.last.entry((number, from)).or_default();
            if serial < *last {
                let message = format!("packets of card {from} left port {number} out of order");
                return Err(Error::new(message));
            }
            *last = serial + 1;
        }
        Ok(())
    }

    /// Records the next departure of a card's packets.
    fn leaves(&mut self, card: usize, left: Departure) -> Result {
        let pending = &mut self.pending[card];
        let none = || Error::new("more packets have left the chip than it was given");
        let packet = pending.front().ok_or_else(none)?;
        let number = packet.number;
        // Without a buffer a packet counts as arrived when it begins to enter.
        let came = self.lines.buffer.map(|_| packet.at);
        self.measured.leaves(number, came, &left);
        let is_last = left.side & LAST != 0;
        if is_last {
            pending.pop_front();
        }
        self.departures.leave(number, left, is_last);
        Ok(())
    }

    /// Passes on the packets that have left, in order.
    pub(super) fn pass_on(&mut self, sink: Sink<'_>) -> Settled {
        let mut settled = Settled::default();
        self.lines.lost.drain(..).for_each(|number| settled.lost.push(number));
        while let Some((number, packet, all)) = self.departures.pop() {
            if number < TIMERS {
                settled.taken.push(number);
            }
            let outputs = all.iter().filter(|left| Way::of(left.side) != Way::Done);
            for (output, left) in outputs.enumerate() {
                if left.is_dropped {
                    let port = left.port();
                    settled.lost_outputs.push(LostOutput { packet: number, output, port });
                } else {
                    pass_on(packet, left, sink);
                }
            }
        }
        settled
    }
}

fn pass_on(packet: Pending, left: &Departure, sink: Sink<'_>) {
    let reason = || match Way::reason(left.side) {
        (RUNAWAY, _) => Reason::Runaway,
        (set, value) => Reason::Program(ReasonSetId(set), value),
    };
    let verdict = match Way::of(left.side) {
        Way::Port => Verdict::Sent { port: left.port() },
        Way::Core => Verdict::ToCpu(reason()),
        Way::Drop => Verdict::Dropped(reason()),
        Way::Done => return,
    };
    sink(Output {
        sequence: packet.number,
        arrival_ns: packet.arrival_ns,
        ingress: packet.ingress,
        verdict,
        bytes: &left.bytes(),
    });
}
