//! Checks the ranges of a description's numbers.

use wireloom_sim::SpecError;
use wireloom_sim::parts::arbiter::Arbiter;
use wireloom_sim::parts::line::Pace;
use wireloom_sim::spec::within;

use super::{EngineSpec, MPKT_BYTES, MsfSpec, Spec};

impl Spec {
    fn check_msf(&self) -> Result<(), SpecError> {
        let MsfSpec { element_bytes, receive_bytes, transmit_bytes, .. } = self.msf;
        if !matches!(element_bytes, 64 | 128 | 256) {
            let problem = format!("is {element_bytes}; it can be 64, 128 or 256");
            return Err(SpecError::new("msf.element_bytes", problem));
        }
        for (key, bytes) in
            [("msf.receive_bytes", receive_bytes), ("msf.transmit_bytes", transmit_bytes)]
        {
            if bytes == 0 || bytes > 8192 || !bytes.is_multiple_of(element_bytes) {
                let problem =
                    format!("is {bytes}; it can be a multiple of {element_bytes} up to 8192");
                return Err(SpecError::new(key, problem));
            }
        }
        within("msf.freelists", self.msf.freelists, 1..=3)
    }

    /// Checks the ranges of all numbers.
    ///
    /// # Errors
    /// The first number out of range, by its key.
    pub fn check(&self) -> Result<(), SpecError> {
        within("engines", self.engines, 1..=16)?;
        if self.clusters == 0 || !self.engines.is_multiple_of(self.clusters) {
            let problem =
                format!("is {}; it can be a divisor of `engines`, {}", self.clusters, self.engines);
            return Err(SpecError::new("clusters", problem));
        }
        self.check_msf()?;
        let EngineSpec { contexts, control_store, stages, execute_stage, .. } = self.engine;
        let sizes = self.engine.version.sizes();
        within("engine.contexts", contexts, 1..=sizes.contexts as u32)?;
        within("engine.control_store", control_store, 1..=sizes.control_store as u32)?;
        within("engine.stages", stages, 1..=16)?;
        within("engine.execute_stage", execute_stage, 0..=stages - 1)?;
        within("engine.swap_aborts", self.engine.swap_aborts, 0..=3)?;
        within("engine.commands", self.engine.commands, 1..=64)?;
        Arbiter::new(&self.engine.arbiter, contexts as usize)
            .map_err(|error| error.within("engine.arbiter"))?;
        Arbiter::new(&self.command_bus.arbiter, self.engines as usize)
            .map_err(|error| error.within("command_bus.arbiter"))?;
        for (bus, spec) in [("sram_bus", self.sram_bus), ("sdram_bus", self.sdram_bus)] {
            within(&format!("{bus}.words_per_cycle"), spec.words_per_cycle, 1..=4)?;
        }
        for (key, value, range) in self.sizes() {
            within(key, value, range)?;
        }
        within("hash.step_bits", self.hash.step_bits, 1..=64)?;
        for (key, value) in self.cycles() {
            within(key, value, 1..=1024)?;
        }
        let turns = [
            ("sram.turnaround_cycles", self.sram.turnaround_cycles),
            ("sdram.turnaround_cycles", self.sdram.turnaround_cycles),
            ("scratch.modify_cycles", self.scratch.modify_cycles),
            ("ix_bus.overhead_cycles", self.ix_bus.overhead_cycles),
        ];
        turns.into_iter().try_for_each(|(key, value)| within(key, value, 0..=1024))?;
        for (key, bytes, granule) in [
            ("sram.bytes", self.sram.bytes, 4),
            ("sdram.bytes", self.sdram.bytes, 8),
            ("scratch.bytes", self.scratch.bytes, 4),
        ] {
            if !bytes.is_multiple_of(granule) {
                let problem = format!("is {bytes}; it can be a multiple of {granule}");
                return Err(SpecError::new(key, problem));
            }
        }
        for (key, value) in [
            ("sdram.banks", self.sdram.banks),
            ("sdram.row_bytes", self.sdram.row_bytes),
            ("sram.interleave_bytes", self.sram.interleave_bytes),
            ("sdram.interleave_bytes", self.sdram.interleave_bytes),
        ] {
            if !value.is_power_of_two() {
                return Err(SpecError::new(key, format!("is {value}; it can be a power of two")));
            }
        }
        self.power.check()?;
        self.governor
            .check(self.engine.clock, self.power.technology.voltage_mv)
            .map_err(|error| error.within("governor"))?;
        match self.ports.pace {
            Pace::Load(load) => within("ports.pace.load", load, 1e-6..=1.0),
            Pace::Poisson(load) => within("ports.pace.poisson", load, 1e-6..=0.999_999),
            Pace::Line | Pace::Given => Ok(()),
        }
    }

    fn sizes(&self) -> [(&'static str, u32, std::ops::RangeInclusive<u32>); 25] {
        [
            ("sram.bytes", self.sram.bytes, 4..=1 << 26),
            ("sram.channels", self.sram.channels, 1..=4),
            ("sram.interleave_bytes", self.sram.interleave_bytes, 64..=65536),
            ("sram.queue", self.sram.queue, 1..=1024),
            ("sram.locks", self.sram.locks, 1..=64),
            ("sram.lists", self.sram.lists, 1..=8),
            ("sdram.bytes", self.sdram.bytes, 8..=1 << 30),
            ("sdram.channels", self.sdram.channels, 1..=4),
            ("sdram.interleave_bytes", self.sdram.interleave_bytes, 64..=65536),
            ("sdram.burst_quads", self.sdram.burst_quads, 1..=8),
            ("sdram.banks", self.sdram.banks, 2..=16),
            ("sdram.row_bytes", self.sdram.row_bytes, 64..=65536),
            ("sdram.queue", self.sdram.queue, 1..=1024),
            ("sdram.refresh_interval_cycles", self.sdram.refresh_interval_cycles, 0..=1 << 24),
            ("scratch.bytes", self.scratch.bytes, 4..=65536),
            ("scratch.queue", self.scratch.queue, 1..=1024),
            ("hash.queue", self.hash.queue, 1..=1024),
            ("fbi.queue", self.fbi.queue, 1..=1024),
            ("msf.queue", self.msf.queue, 1..=1024),
            ("fbi.receive_elements", self.fbi.receive_elements, 1..=16),
            ("fbi.transmit_elements", self.fbi.transmit_elements, 1..=16),
            ("ix_bus.bytes", self.ix_bus.bytes, 1..=MPKT_BYTES),
            ("ports.count", self.ports.count, 1..=16),
            ("ports.receive_mpkts", self.ports.receive_mpkts, 24..=4096),
            ("ports.transmit_mpkts", self.ports.transmit_mpkts, 1..=4096),
        ]
    }

    fn cycles(&self) -> [(&'static str, u32); 27] {
        [
            ("command_bus.latency_cycles", self.command_bus.latency_cycles),
            ("command_bus.interval_cycles", self.command_bus.interval_cycles),
            ("command_bus.hop_cycles", self.command_bus.hop_cycles),
            ("msf.access_cycles", self.msf.access_cycles),
            ("msf.write_cycles", self.msf.write_cycles),
            ("msf.word_cycles", self.msf.word_cycles),
            ("sram_bus.push_cycles", self.sram_bus.push_cycles),
            ("sram_bus.pull_cycles", self.sram_bus.pull_cycles),
            ("sdram_bus.push_cycles", self.sdram_bus.push_cycles),
            ("sdram_bus.pull_cycles", self.sdram_bus.pull_cycles),
            ("sram.access_cycles", self.sram.access_cycles),
            ("sram.write_cycles", self.sram.write_cycles),
            ("sram.word_cycles", self.sram.word_cycles),
            ("sdram.access_cycles", self.sdram.access_cycles),
            ("sdram.activate_cycles", self.sdram.activate_cycles),
            ("sdram.precharge_cycles", self.sdram.precharge_cycles),
            ("sdram.write_cycles", self.sdram.write_cycles),
            ("sdram.quad_cycles", self.sdram.quad_cycles),
            ("sdram.refresh_cycles", self.sdram.refresh_cycles),
            ("scratch.access_cycles", self.scratch.access_cycles),
            ("scratch.write_cycles", self.scratch.write_cycles),
            ("scratch.word_cycles", self.scratch.word_cycles),
            ("hash.front_cycles", self.hash.front_cycles),
            ("hash.back_cycles", self.hash.back_cycles),
            ("fbi.access_cycles", self.fbi.access_cycles),
            ("fbi.write_cycles", self.fbi.write_cycles),
            ("fbi.word_cycles", self.fbi.word_cycles),
        ]
    }
}

#[cfg(test)]
mod tests {
    use wireloom_description::Description;

    use super::*;

    #[test]
    fn the_description_in_the_repository_is_a_machine() {
        let spec = Spec::base();
        assert_eq!((spec.engines, spec.engine.contexts), (6, 4));
        assert_eq!(spec.check(), Ok(()));
    }

    #[test]
    fn unknown_keys_and_values_out_of_range_are_refused_by_their_key() {
        let refused = |text: &str| {
            let text = format!("extends = \"ixp1200\"\n{text}");
            let description = Description::parse("mine.toml", &text).expect("it is TOML");
            Spec::build("mine", description).expect_err("it is wrong")
        };
        for (text, says) in [
            ("engins = 6", "engins"),
            ("engines = 0", "`engines`"),
            ("[sram]\nlatency = 3", "latency"),
            ("[sram]\nbytes = 6", "`sram.bytes`"),
            ("[sdram]\nbanks = 3", "`sdram.banks`"),
            ("[engine]\nexecute_stage = 5", "`engine.execute_stage`"),
            ("[ports]\nreceive_mpkts = 2", "`ports.receive_mpkts`"),
            ("[hash]\nstep_bits = 0", "`hash.step_bits`"),
        ] {
            let message = refused(text);
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
