//! Memory chips, from the currents of their data sheets.
//!
//! The method follows manufacturers' notes on the power of memory systems (for example Micron
//! TN-46-03). A data sheet gives the current in each state of operation. The energy of an activity
//! is its current above standby, times voltage and time.

use serde::{Deserialize, Serialize};
use wireloom_sim::Energy;

use crate::joules;
use crate::process::{RangeError, within};

/// Synchronous DRAM chips that work together.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DramChips {
    /// The number of chips side by side, 1 to 64.
    pub chips: u32,
    /// The supply voltage, in volts, 0.5 to 5.5.
    pub volts: f64,
    /// The current with one row opened and closed in each row cycle, in milliamperes (IDD0 or
    /// IDD1).
    pub activate_ma: f64,
    /// The current with rows open and no access, in milliamperes (IDD3N).
    pub open_ma: f64,
    /// The current with all rows closed, in milliamperes (IDD2N).
    pub standby_ma: f64,
    /// The current of an endless burst of reads or writes, in milliamperes (IDD4).
    pub burst_ma: f64,
    /// The current of refreshes without a pause, in milliamperes (IDD5).
    pub refresh_ma: f64,
    /// The time of a row cycle, in nanoseconds (tRC).
    pub row_cycle_ns: f64,
    /// The time of a refresh, in nanoseconds (tRFC).
    pub refresh_ns: f64,
}

impl DramChips {
    /// Checks ranges: currents and times from 0 to 10,000, and no activity below its standby
    /// current.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn check(&self) -> Result<(), RangeError> {
        within("chips", self.chips, 1..=64)?;
        within("volts", self.volts, 0.5..=5.5)?;
        within("standby_ma", self.standby_ma, 0.0..=1e4)?;
        within("open_ma", self.open_ma, self.standby_ma..=1e4)?;
        within("activate_ma", self.activate_ma, self.open_ma..=1e4)?;
        within("burst_ma", self.burst_ma, self.open_ma..=1e4)?;
        within("refresh_ma", self.refresh_ma, self.open_ma..=1e4)?;
        within("row_cycle_ns", self.row_cycle_ns, 0.0..=1e4)?;
        within("refresh_ns", self.refresh_ns, 0.0..=1e4)
    }

    /// The energy of a current above standby over a time, for all chips.
    fn above(&self, current_ma: f64, ns: f64) -> Energy {
        joules((current_ma - self.open_ma) * 1e-3 * self.volts * ns * 1e-9 * f64::from(self.chips))
    }

    /// The energy to open and close a row.
    pub fn activate(&self) -> Energy {
        self.above(self.activate_ma, self.row_cycle_ns)
    }

    /// The energy of data on the pins for `ns` nanoseconds.
    pub fn burst(&self, ns: f64) -> Energy {
        self.above(self.burst_ma, ns)
    }

    /// The energy of a refresh.
    pub fn refresh(&self) -> Energy {
        self.above(self.refresh_ma, self.refresh_ns)
    }

    /// The power with rows open and no access, in nanowatts.
    pub fn open_nanowatts(&self) -> u64 {
        (self.open_ma * self.volts * 1e6 * f64::from(self.chips)).round() as u64
    }
}

/// Synchronous SRAM chips that work together.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SramChips {
    /// The number of chips side by side, 1 to 64.
    pub chips: u32,
    /// The supply voltage, in volts, 0.5 to 5.5.
    pub volts: f64,
    /// The current with an access in each cycle, in milliamperes (ICC).
    pub active_ma: f64,
    /// The clock frequency at which `active_ma` is given, in megahertz, 1 to 2,000.
    pub active_mhz: f64,
    /// The current without accesses, in milliamperes (ISB).
    pub standby_ma: f64,
}

impl SramChips {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn check(&self) -> Result<(), RangeError> {
        within("chips", self.chips, 1..=64)?;
        within("volts", self.volts, 0.5..=5.5)?;
        within("active_mhz", self.active_mhz, 1.0..=2000.0)?;
        within("standby_ma", self.standby_ma, 0.0..=1e4)?;
        within("active_ma", self.active_ma, self.standby_ma..=1e4)
    }

    /// The energy of an access to all chips.
    pub fn access(&self) -> Energy {
        let amperes = (self.active_ma - self.standby_ma) * 1e-3;
        joules(amperes * self.volts / (self.active_mhz * 1e6) * f64::from(self.chips))
    }

    /// The power without accesses, in nanowatts.
    pub fn standby_nanowatts(&self) -> u64 {
        (self.standby_ma * self.volts * 1e6 * f64::from(self.chips)).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAM: DramChips = DramChips {
        chips: 4,
        volts: 3.0,
        activate_ma: 120.0,
        open_ma: 40.0,
        standby_ma: 30.0,
        burst_ma: 140.0,
        refresh_ma: 240.0,
        row_cycle_ns: 60.0,
        refresh_ns: 50.0,
    };

    #[test]
    fn energies_are_currents_above_standby_times_voltage_and_time() {
        DRAM.check().unwrap();
        // 80 mA * 3 V * 60 ns * 4; 100 mA * 3 V * 10 ns * 4; 200 mA * 3 V * 50 ns * 4.
        assert!((DRAM.activate().as_picojoules() - 57_600.0).abs() < 1e-6);
        assert!((DRAM.burst(10.0).as_picojoules() - 12_000.0).abs() < 1e-6);
        assert!((DRAM.refresh().as_picojoules() - 120_000.0).abs() < 1e-6);
        assert_eq!(DRAM.open_nanowatts(), 480_000_000);
        let sram = SramChips {
            chips: 2,
            volts: 2.5,
            active_ma: 300.0,
            active_mhz: 100.0,
            standby_ma: 50.0,
        };
        sram.check().unwrap();
        assert!((sram.access().as_picojoules() - 12_500.0).abs() < 1e-6);
        assert_eq!(sram.standby_nanowatts(), 250_000_000);
    }

    #[test]
    fn an_activity_below_standby_is_refused() {
        assert_eq!(DramChips { burst_ma: 20.0, ..DRAM }.check().unwrap_err().key, "burst_ma");
        assert_eq!(DramChips { chips: 0, ..DRAM }.check().unwrap_err().key, "chips");
    }
}
