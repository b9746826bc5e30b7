//! Engine time on a simulated machine with many packets in flight, whose offloads end times at
//! ticks.
//!
//! The line pauses before a packet that arrives at a tick or later. When all packets before it have
//! left, the machine executes the packets of the timers that are due by then, one tick after the
//! other. Then the line goes on.

use std::collections::VecDeque;

use wireloom_ir::{Clock, Due, Program};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;

/// The clock of an engine, and the packets that wait for a tick.
#[derive(Clone, Debug)]
pub struct Pauses {
    clock: Clock,
    /// Packets that wait, each with its number in the order of the offers.
    held: VecDeque<(u64, Packet)>,
}

impl Pauses {
    /// Returns the clock of a program; `None` if none of its times end at ticks.
    pub fn of(program: &Program) -> Option<Self> {
        Some(Self { clock: Clock::of(program)?, held: VecDeque::new() })
    }

    /// Lets a packet wait after all others.
    pub fn hold(&mut self, number: u64, frame: &Frame<'_>) {
        self.held.push_back((number, frame.to_packet()));
    }

    /// Returns the number of packets that wait.
    pub fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// Returns the arrival of the first packet that waits, in nanoseconds.
    pub fn next_arrival(&self) -> Option<u64> {
        self.held.front().map(|(_, packet)| packet.arrival_ns)
    }

    /// Returns engine time in nanoseconds. Packets in flight may have advanced it further.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Removes the first packet that waits, unless it has to wait for a tick. `reached_ns` is the
    /// engine time that the packets in flight have reached.
    pub fn pass(&mut self, reached_ns: u64) -> Option<(u64, Packet)> {
        let arrival_ns = self.next_arrival()?;
        // Packets of several ports may overtake each other. A packet with an old time stamp must
        // not come in before the packet that ended the last pause. Packets of timers reach the tick,
        // so only the time of that packet shows that it has come in.
        let overtakes = arrival_ns < self.clock.last_tick() && reached_ns < self.clock.now_ns();
        if arrival_ns >= self.clock.next_tick_of_all() || overtakes {
            return None;
        }
        self.held.pop_front()
    }

    /// Removes the first packet that waits. No packet is in flight, and engine time is its arrival
    /// or later.
    pub fn take(&mut self) -> Option<(u64, Packet)> {
        self.held.pop_front()
    }

    /// Advances to the arrival of a packet.
    pub fn arrive(&mut self, arrival_ns: u64) {
        self.clock.arrive(arrival_ns);
    }

    /// Returns the packets of the next timers that are due by a time, and advances to their tick.
    /// No packet is in flight; `reached_ns` is the engine time that the last ones have reached.
    pub fn due(&mut self, store: &mut Store, reached_ns: u64, by_ns: u64) -> Option<Due> {
        if reached_ns > self.clock.now_ns() {
            self.clock.arrive(reached_ns);
        }
        self.clock.due(store, by_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses() -> Pauses {
        let text = "engine timed() {
            offload old : timer<u8, size = 4, tick = 1000>;
            offload kept : exact<u8, u8, size = 4, age = 50, tick = 300>;
            step begin { old.set(1, 10); kept.insert(1, 1); finish; }
            step over on old(u8 key) { done; }
        }";
        let checked = wireloom_lang::check_source("timed.loom", text, &Default::default());
        let program = crate::Program::new(&checked.program.expect("a program"));
        Pauses::of(&program.optimised).expect("it has ticks")
    }

    fn hold(pauses: &mut Pauses, arrivals: &[u64]) {
        for (number, arrival_ns) in (0..).zip(arrivals) {
            pauses.hold(number, &Frame { ingress: 0, arrival_ns: *arrival_ns, bytes: &[] });
        }
    }

    fn passed(pauses: &mut Pauses, reached_ns: u64) -> Vec<u64> {
        std::iter::from_fn(|| pauses.pass(reached_ns)).map(|(number, _)| number).collect()
    }

    #[test]
    fn packets_wait_for_the_ticks_of_all_offloads() {
        let mut pauses = pauses();
        hold(&mut pauses, &[0, 299, 300, 650, 899, 1000]);
        assert_eq!(passed(&mut pauses, 0), [0, 1]);
        assert_eq!((pauses.held(), pauses.next_arrival()), (4, Some(300)));
        pauses.arrive(300);
        assert_eq!(passed(&mut pauses, 300), [2], "the next tick is at 600");
        pauses.arrive(650);
        assert_eq!(passed(&mut pauses, 650), [3, 4]);
        pauses.arrive(1000);
        assert_eq!(passed(&mut pauses, 899), [5]);
        assert_eq!(pauses.held(), 0);
    }

    #[test]
    fn a_late_packet_does_not_overtake_the_packet_that_ended_a_pause() {
        let mut pauses = pauses();
        hold(&mut pauses, &[310, 290, 320]);
        pauses.arrive(310);
        assert_eq!(passed(&mut pauses, 0), [0], "none of them has been taken yet");
        assert_eq!(passed(&mut pauses, 300), [0_u64; 0], "only timers of the tick have run");
        assert_eq!(passed(&mut pauses, 310), [1, 2]);
    }
}
