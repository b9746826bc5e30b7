//! Charges the events of processors, network, memories and objects to an account of energy.

use wireloom_power::Account;

use super::parts::{ChipPart, PARTS, ProcessorPart};
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
        let mut part = |part: ProcessorPart, totals: &[u64]| {
            account.charge_unit(number, part as usize, totals)
        };
        part(ProcessorPart::Alu, &tally.alu());
        part(ProcessorPart::Shifter, &[tally.shifts()]);
        part(ProcessorPart::Multiplier, &[tally.products()]);
        part(ProcessorPart::Registers, &tally.registers());
        // Sent words are read from local memories, and received words are written to them.
        part(ProcessorPart::LocalMemory, &[local_reads + sent, local_writes + received]);
        part(ProcessorPart::FetchBuffers, &[fetched, processor.instructions]);
        part(ProcessorPart::InstructionCache, &[fetched, new_lines]);
        part(ProcessorPart::DataCache, &[read, data_lines]);
        part(ProcessorPart::MessageEngine, &[outside, sent + received]);
        part(ProcessorPart::Scheduler, &[processor.instructions]);
        part(ProcessorPart::Clock, &[cycles]);
    }
    let words = |[read, written]: [u64; 2]| [read.div_ceil(4), written.div_ceil(4)];
    account.charge_part(ChipPart::Network as usize, &counts.network);
    account.charge_part(ChipPart::Broker as usize, &[counts.calls]);
    account.charge_part(ChipPart::PacketMemory as usize, &words(counts.packet_memory));
    account.charge_part(ChipPart::SharedMemory as usize, &words(counts.shared_memory));
    account.charge_part(ChipPart::Pins as usize, &[counts.line_words]);
    account.charge_part(ChipPart::ClockTree as usize, &[cycles]);
    let objects = (PARTS.len()..).zip(counts.objects.iter().zip(units));
    for (place, (done, unit)) in objects {
        account.charge_part(place, &unit.totals(done));
    }
}

#[cfg(test)]
mod tests {
    use wireloom_power::Account;
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
            Energy(model.energies[0].0 * count * 1000)
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
        let energy = |part: ProcessorPart, class: usize, count: u128| {
            Energy(plan.unit_parts[part as usize].1.energies[class].0 * count)
        };
        let wanted = [
            energy(ProcessorPart::InstructionCache, 0, 70),
            energy(ProcessorPart::InstructionCache, 1, 7),
            energy(ProcessorPart::FetchBuffers, 0, 70),
            energy(ProcessorPart::LocalMemory, 0, 5),
            energy(ProcessorPart::LocalMemory, 1, 11),
            energy(ProcessorPart::MessageEngine, 1, 16),
        ];
        assert_eq!(account.unit(3), wanted.into_iter().sum());
        assert_eq!(account.unit(2), Energy(0));
        let memory = &plan.parts[ChipPart::PacketMemory as usize].1.energies;
        let words = Energy(memory[0].0 * 100 + memory[1].0 * 11);
        assert_eq!(account.part(ChipPart::PacketMemory as usize), words);
    }
}
