//! Charges the events of processors, network, memories and objects to an account of energy.

use wireloom_power::{Account, ByClass};

use super::parts::{ChipPart, ObjectPart, ProcessorPart};
use super::unit::Unit;
use crate::platform::Counts;

/// Charges the events since the last charge. `counts` and `cycles`, the cycles of the processors'
/// clock, are totals since the machine's start.
pub(crate) fn charge(account: &mut Account, counts: &Counts, units: &[Unit], cycles: u64) {
    for (number, processor) in counts.processors.iter().enumerate() {
        let tally = &processor.tally;
        let ([fetched, new_lines], [read, data_lines]) = (processor.lines[0], processor.lines[1]);
        let [sent, received] = processor.words;
        let [local_reads, local_writes] = tally.local();
        let outside: u64 = tally.outside.iter().sum();
        let mut part = |part: ProcessorPart, totals: ByClass<'_, u64>| {
            account.charge_unit(number, part, totals);
        };
        let [added, logic] = tally.alu();
        part(ProcessorPart::Alu, &[("add", added), ("logic", logic)]);
        part(ProcessorPart::Shifter, &[("shift", tally.shifts())]);
        part(ProcessorPart::Multiplier, &[("multiply", tally.products())]);
        let [reads, writes] = tally.registers();
        part(ProcessorPart::Registers, &[("read", reads), ("write", writes)]);
        // Sent words are read from local memories, and received words are written to them.
        let (reads, writes) = (local_reads + sent, local_writes + received);
        part(ProcessorPart::LocalMemory, &[("read", reads), ("write", writes)]);
        let instructions = processor.instructions;
        part(ProcessorPart::FetchBuffers, &[("line", fetched), ("fetch", instructions)]);
        part(ProcessorPart::InstructionCache, &[("read", fetched), ("line", new_lines)]);
        part(ProcessorPart::DataCache, &[("read", read), ("line", data_lines)]);
        part(ProcessorPart::MessageEngine, &[("access", outside), ("word", sent + received)]);
        part(ProcessorPart::Scheduler, &[("grant", instructions)]);
        part(ProcessorPart::Clock, &[("cycle", cycles)]);
    }
    let [messages, routes, hops] = counts.network;
    account
        .charge_part(ChipPart::Network, &[("message", messages), ("route", routes), ("hop", hops)]);
    account.charge_part(ChipPart::Broker, &[("call", counts.calls)]);
    let memories = [
        (ChipPart::PacketMemory, counts.packet_memory),
        (ChipPart::SharedMemory, counts.shared_memory),
    ];
    for (memory, [read, written]) in memories {
        let (reads, writes) = (read.div_ceil(4), written.div_ceil(4));
        account.charge_part(memory, &[("read", reads), ("write", writes)]);
    }
    account.charge_part(ChipPart::Pins, &[("word", counts.line_words)]);
    account.charge_part(ChipPart::ClockTree, &[("cycle", cycles)]);
    for (number, (done, unit)) in counts.objects.iter().zip(units).enumerate() {
        let [reads, writes, steps] = unit.totals(done);
        account.charge_part(
            ObjectPart(number),
            &[("read", reads), ("write", writes), ("step", steps)],
        );
    }
}

#[cfg(test)]
mod tests {
    use wireloom_power::{Account, Place};
    use wireloom_sim::{Energy, Time};

    use super::*;
    use crate::Spec;
    use crate::energy::{groups, plan};
    use crate::platform::ProcessorCounts;

    fn account() -> Account {
        Account::new(plan(&Spec::base(), &[], 1000).expect("a plan"), None).expect("an account")
    }

    #[test]
    fn a_machine_at_rest_takes_leakage_and_clock_alone() {
        let mut account = account();
        account.advance(Time::nanoseconds(2000));
        let processors = vec![ProcessorCounts::default(); 16];
        charge(&mut account, &Counts { processors, ..Counts::default() }, &[], 1000);
        let clocks = [("clock", 16), ("clock_tree", 1)].map(|(name, count)| {
            let mut parts = account.plan().unit_parts.iter().chain(&account.plan().parts);
            let (_, model) = parts.find(|(part, _)| part.name == name).expect("a clock");
            Energy(model.energy("cycle").0 * count * 1000)
        });
        assert!(clocks[0] > Energy(0) && clocks[1] > Energy(0) && account.stationary() > Energy(0));
        let wanted = account.stationary() + clocks.into_iter().sum();
        assert_eq!(account.total(), wanted);
        // If the clock stops, only leakage remains.
        let mut still = super::tests::account();
        still.advance(Time::nanoseconds(2000));
        charge(&mut still, &Counts::default(), &[], 0);
        assert_eq!(still.total(), still.stationary());
        let pins = groups(&still).find(|(name, _)| *name == "pins").expect("pins").1;
        assert_eq!(pins, Energy(0));
    }

    #[test]
    fn so_many_accesses_cost_so_many_times_the_energy_of_one() {
        let mut counts =
            Counts { processors: vec![ProcessorCounts::default(); 16], ..Counts::default() };
        counts.processors[3].lines = [[70, 7], [0, 0]];
        counts.processors[3].words = [5, 11];
        counts.packet_memory = [400, 41];
        let mut account = account();
        charge(&mut account, &counts, &[], 0);
        let plan = account.plan();
        let energy = |part: ProcessorPart, class: &str, count: u128| {
            Energy(plan.unit_parts[part.place()].1.energy(class).0 * count)
        };
        let wanted = [
            energy(ProcessorPart::InstructionCache, "read", 70),
            energy(ProcessorPart::InstructionCache, "line", 7),
            energy(ProcessorPart::FetchBuffers, "line", 70),
            energy(ProcessorPart::LocalMemory, "read", 5),
            energy(ProcessorPart::LocalMemory, "write", 11),
            energy(ProcessorPart::MessageEngine, "word", 16),
        ];
        assert_eq!(account.unit(3), wanted.into_iter().sum());
        assert_eq!(account.unit(2), Energy(0));
        let memory = &plan.parts[ChipPart::PacketMemory.place()].1;
        let words = Energy(memory.energy("read").0 * 100 + memory.energy("write").0 * 11);
        assert_eq!(account.part(ChipPart::PacketMemory), words);
    }
}
