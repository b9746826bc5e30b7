//! The load of the paper's section 5.4: a number of instructions per packet, some of which wait for
//! the network.

use super::mpe;
use super::run::Run;
use super::workload::{Issued, Outcome, Port, Workload};

/// Instructions that only take time. The first receives the packet and the last sends it. Accesses
/// to the network are distributed evenly over the instructions between.
///
/// An access is a message to the memory's node and one back: two one-way latencies. The paper's own
/// numbers (section 5.4) imply this. With 4 threads at 160 ns, 40 Mb/s of 54-byte packets leave a
/// thread 43 us for a packet; 860 instructions of 4 cycles take 6.9 us of them, and the remaining
/// 36 us are 108 times 336 ns. Likewise, half of the 16 us of a packet at 40 ns, or of 30 us at 80
/// ns, are 108 times 74 or 139 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// The number of instructions per packet, 2 or more.
    pub instructions: u32,
    /// The number of instructions that wait for the network: at most all except the first and the
    /// last.
    pub accesses: u32,
}

/// The paper's profile of its IPv4 application.
pub const PAPER: Synthetic = Synthetic { instructions: 860, accesses: 108 };

/// The position of a thread in its packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    done: u32,
    /// An accumulator. Each instruction adds the number of accesses; it overflows at the number of
    /// instructions between the first and the last.
    sum: u32,
}

impl Synthetic {
    /// Advances to the next instruction that does more than take time. Returns the instructions
    /// before it.
    fn behind(&self, thread: &mut Position) -> Run {
        let between = self.instructions - 2;
        let left = self.instructions - 1 - thread.done;
        // The next access is the instruction at which the sum overflows.
        let before_access = (between - thread.sum).div_ceil(self.accesses.max(1)) - 1;
        let count =
            if self.accesses == 0 { left } else { left.min(before_access) }.min(u32::from(u8::MAX));
        thread.done += count;
        thread.sum += count * self.accesses;
        Run { count: count as u16, cycles: 1 }
    }
}

impl Workload for Synthetic {
    type Thread = Position;

    fn thread(&self, _: u32) -> Position {
        Position::default()
    }

    #[inline]
    fn issue(&self, thread: &mut Position, port: &mut Port<'_>) -> Issued {
        let outcome = |is_done: bool| Issued {
            cycles: 1,
            outcome: if is_done { Outcome::Done } else { Outcome::Waits },
        };
        if thread.done == 0 {
            let is_done = port.receive().is_some();
            thread.done = u32::from(is_done);
            return outcome(is_done);
        }
        if thread.done == self.instructions - 1 {
            let sent = port.send(mpe::kind::FINISH);
            *thread = Position::default();
            return if sent.is_ok() {
                outcome(true)
            } else {
                Issued { cycles: 1, outcome: Outcome::Failed }
            };
        }
        let between = self.instructions - 2;
        let sum = thread.sum + self.accesses;
        if sum >= between && !port.probe() {
            return outcome(false);
        }
        thread.sum = if sum >= between { sum - between } else { sum };
        thread.done += 1;
        if port.may_be_ahead {
            port.behind = self.behind(thread);
        }
        outcome(true)
    }

    fn place(&self, thread: &Position) -> String {
        format!("instruction {} of {}", thread.done, self.instructions)
    }
}
