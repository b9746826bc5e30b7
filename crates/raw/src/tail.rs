//! Idle cycles of a chip: all units wait, and only a device at a port will act without input, at a
//! time that it knows. Such cycles are counted at once instead of being simulated one by one.
//!
//! This does not change results. A cycle in which no unit acted and no queue changed repeats until
//! a device acts without input ([`Device::next`](crate::Device::next)): units see queues as they
//! were before their cycle, and count what they wait for.

use crate::chip::Chip;
use crate::queue::Queue;

impl Chip {
    /// Returns the number of cycles after the last simulated one in which every unit keeps waiting
    /// as it does now. It is 0 if any unit may act in the next cycle.
    pub(crate) fn resting(&self) -> u64 {
        if !self.has_rested || self.simulates_rest {
            return 0;
        }
        let next = self.devices.iter().flatten().map(|device| device.next(self.now));
        next.min().unwrap_or(u64::MAX).saturating_sub(self.now + 1)
    }

    /// Whether the last simulated cycle changed nothing that units see, and no unit waits for a
    /// point in time. No unit acted in that cycle.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.tiles.iter().all(|tile| tile.waits_for_networks())
            && self.routers.iter().flatten().all(|router| router.waits_for_queues(self.now))
            && self.queues.iter().all(|queue| Queue::is_steady(queue, self.now))
    }

    /// Counts cycles in which the chip rests.
    pub(crate) fn rest(&mut self, cycles: u64) {
        let (layout, queues, next) = (&self.layout, &self.queues, self.now + 1);
        for tile in &mut self.tiles {
            if let Some(block) = tile.block(layout, queues, next) {
                tile.cycles.blocked(block, cycles);
                tile.waits(cycles);
            }
        }
        for switch in &mut self.switches {
            switch.rest(queues, next, cycles);
        }
        self.now += cycles;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use wireloom_isa::raw::Network;
    use wireloom_machine::{Machine, Options, Rate, Registry, Source, load_store};
    use wireloom_net::traffic::{Generator, Sizes, Spec as Traffic};
    use wireloom_net::{Frame, Packet};

    use crate::asm::assemble;
    use crate::machine::MachineSpec;
    use crate::{Chip, Device, Port, Raw, Side, Spec};

    static REGISTRY: Registry = Registry::new(&[crate::KIND]);

    /// Returns the measurements of a run, and the packets that left.
    fn ran(
        (on, program, tables): (&str, &str, &str),
        options: &Options,
        simulates_rest: bool,
    ) -> (Vec<String>, u64, u64) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let machine = REGISTRY.find(on).expect("a machine");
        let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
        let program = Source::of(folder.join("../../programs").join(program)).compiled();
        let program = program.expect("it compiles").optimised;
        let (store, _) = load_store(&program, &[folder.join(tables)], &|_| ()).expect("tables");
        let mut raw = Raw::start(spec, &program, store, options).expect("it starts");
        raw.chip.simulates_rest = simulates_rest;
        // Long packets where tails go around the tiles.
        let sizes = Sizes::Fixed(if spec.mapping.rest.is_some() { 300 } else { 64 });
        let traffic = Traffic { count: Some(12), ports: 4, sizes, ..Traffic::default() };
        let packets: Vec<Packet> = Generator::new(&traffic).expect("packets").collect();
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        let mut did = Vec::new();
        let mut sink = |output: wireloom_ir::Output<'_>| {
            did.push(format!("{:?} {:?}", output.verdict, output.bytes));
        };
        raw.offer(&frames, &mut sink).and_then(|_| raw.finish(&mut sink)).expect("it runs");
        did.extend(raw.departures().iter().map(|departure| format!("{departure:?}")));
        let record = raw.record(Duration::from_secs(1)).expect("a record");
        did.push(serde_json::to_string(&record).expect("values"));
        let (columns, rows) = (raw.chip.spec().columns as u8, raw.chip.spec().rows as u8);
        for place in (0..columns).flat_map(|x| (0..rows).map(move |y| (x, y))) {
            did.push(format!("{place:?} {:?} {:?}", raw.chip.spent(place), raw.chip.counts(place)));
        }
        did.push(format!("{:?}", raw.recordings().series));
        (did, raw.chip.cycles(), raw.chip.simulated)
    }

    #[test]
    fn counters_and_energy_are_those_of_cycles_that_are_simulated() {
        let ipv4 = ("ipv4.loom", "tests/engines/four.tables");
        // The state of `nat` has an owner.
        let nat = ("nat.loom", "../../programs/tests/nat.tables");
        let at =
            |mpps, buffer| Options { rate: Some(Rate::Mpps(mpps)), buffer, ..Options::default() };
        let over_time = Options { interval_ns: Some(3_333), ..at(0.2, None) };
        for (on, (program, tables), options) in [
            ("raw-1", ipv4, at(0.2, None)),
            ("raw-rows", ipv4, at(0.2, None)),
            ("raw-egress", ipv4, over_time),
            ("raw-queues", ipv4, at(0.2, None)),
            // Tails go from card to card, and through memories.
            ("raw-version-4", ipv4, at(0.2, None)),
            ("raw-version-1", ipv4, at(0.2, None)),
            ("raw-rows", nat, at(0.2, Some(2))),
            // Cards that lose packets, and lines that stop.
            ("raw-1", ipv4, at(2.0, Some(1))),
            ("raw-1", ipv4, at(2.0, None)),
        ] {
            let skipped = ran((on, program, tables), &options, false);
            let simulated = ran((on, program, tables), &options, true);
            assert_eq!(skipped.0, simulated.0, "{on}, {program}");
            assert_eq!(skipped.1, simulated.1, "{on}, {program}");
            assert_eq!(simulated.2, simulated.1, "{on}, {program}");
            if options.rate == Some(Rate::Mpps(0.2)) {
                let (whole, each) = (skipped.1, skipped.2);
                assert!(each < whole, "{on}, {program}: {each} of {whole} were simulated");
            }
        }
    }

    #[test]
    fn a_low_rate_costs_what_packets_cost() {
        let of = ("raw-rows", "ipv4.loom", "tests/engines/four.tables");
        let at = |mpps| Options { rate: Some(Rate::Mpps(mpps)), ..Options::default() };
        let [few, many] = [0.1, 0.001].map(|mpps| ran(of, &at(mpps), false));
        assert!(many.1 > 90 * few.1, "{} cycles and {}", few.1, many.1);
        assert!(many.2 < few.2 + 1000, "{} and {} were simulated", few.2, many.2);
    }

    /// A device whose word comes in a given cycle.
    struct Late(u64);

    impl Device for Late {
        fn cycle(&mut self, port: &mut Port<'_>) -> bool {
            if port.now == self.0 {
                port.write(Network::Static1, 7);
            }
            port.now <= self.0
        }

        fn next(&self, now: u64) -> u64 {
            if now < self.0 { self.0 } else { u64::MAX }
        }
    }

    #[test]
    fn a_chip_wakes_for_a_word_and_for_a_timer() {
        let waits = "move $t1, $csti\n mfsr $t2, cycle\n break\n";
        let source = |before: &str| {
            format!(
                ".tile 0 0\n{before} {waits}at: mfsr $t3, cycle\n li $t0, 0\n mtsr $t0, mask\n eret\n\
                 .switch 0 0\n route $cWi->$csti\n halt"
            )
        };
        let timer = "la $t0, at\n mtsr $t0, vector\n li $t0, 2\n mtsr $t0, mask\n li $t0, 300\n \
                     mtsr $t0, timer\n inton\n";
        for (before, is_interrupted) in [("", false), (timer, true)] {
            let registers = |simulates_rest| {
                let program = assemble("test.raw", &source(before));
                let program = program.unwrap_or_else(|error| panic!("{}", error.render()));
                let spec = Spec { columns: 1, rows: 1, ..Spec::built_in() };
                let mut chip = Chip::new(&spec, &program).expect("a chip");
                chip.attach((0, 0), Side::West, Late(900)).expect("a port");
                chip.simulates_rest = simulates_rest;
                chip.run(10_000).expect("it ends");
                assert!(chip.is_halted());
                let registers = [9, 10, 11].map(|number| chip.register((0, 0), number));
                (registers, chip.cycles(), chip.spent((0, 0)))
            };
            let skipped = registers(false);
            assert_eq!(skipped, registers(true));
            let [word, came, interrupted] = skipped.0;
            assert_eq!((word, came), (7, 903));
            assert_eq!(interrupted > 0, is_interrupted);
            assert!(!is_interrupted || (300..310).contains(&interrupted), "{interrupted}");
        }
    }
}
