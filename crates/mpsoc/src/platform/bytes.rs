//! Calls of objects that work on the bytes of packets.

use std::ops::Range;

use wireloom_net::PacketInHand;
use wireloom_sim::Time;
use wireloom_sim::parts::memory::Direction;

use super::super::objects::Objects;
use super::super::workload::Workload;
use super::Platform;

impl<W: Workload, O: Objects> Platform<W, O> {
    /// The packet that a call carries, joined with the bytes after its window in packet memory.
    pub(super) fn join(&self, number: u32) -> Option<PacketInHand> {
        let call = &self.calls[number as usize];
        let carried = call.carried.as_ref()?;
        Some(carried.join(self.io.kept(carried.place), call.caller?.number))
    }

    /// Exchanges the packet bytes in `extent` between the object of a call and packet memory. The
    /// object reads bytes after the window from packet memory and writes changed ones back. Returns
    /// the time at which the exchange is done.
    pub(super) fn exchange(
        &mut self,
        number: u32,
        mut extent: Range<usize>,
        hand: &PacketInHand,
        now: Time,
    ) -> Time {
        let call = &mut self.calls[number as usize];
        let Some(carried) = &mut call.carried else { return now };
        let place = carried.place;
        if carried.may_change && !carried.take_over(hand, self.io.kept(place)) {
            return now;
        }
        let direction = if carried.may_change { Direction::Write } else { Direction::Read };
        extent.start = extent.start.max(hand.window_len());
        self.io.reach(now, direction, place, extent)
    }
}
