//! The parameters of a process: capacitances of transistors and wires, and the supply voltage.
//!
//! The capacitances are from the 0.8 um process in Wilton and Jouppi, "An Enhanced Access and Cycle
//! Time Model for On-Chip Caches" (WRL 93/5, CACTI), appendix. For another process all lengths, and
//! so all capacitances, scale with its feature size, as in later versions of CACTI.

use thiserror::Error;

/// The feature size of the capacitances below, in micrometres.
const BASE_UM: f64 = 0.8;

/// Gate capacitance, F/um^2 (WRL 93/5).
const GATE: f64 = 1.95e-15;
/// Gate capacitance of pass transistors, F/um^2 (WRL 93/5).
const GATE_PASS: f64 = 1.45e-15;
/// Polysilicon wire, F/um (WRL 93/5).
const POLY: f64 = 0.25e-15;
/// Area of n and p diffusion, F/um^2 (WRL 93/5).
const DIFFUSION_AREA: [f64; 2] = [0.137e-15, 0.343e-15];
/// Sidewall of n and p diffusion, F/um (WRL 93/5).
const DIFFUSION_SIDE: [f64; 2] = [0.275e-15, 0.275e-15];
/// Overlap of n and p diffusion with gate and oxide, F/um (WRL 93/5).
const OVERLAP: [f64; 2] = [0.138e-15 + 0.263e-15, 0.138e-15 + 0.338e-15];
/// Metal wire, F/um (WRL 93/5).
const METAL: f64 = 275e-18;

/// A type of transistor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// n-channel.
    N,
    /// p-channel.
    P,
}

/// A value that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{key}` is {value}; it can be {range}")]
pub struct RangeError {
    /// The name of the value.
    pub key: &'static str,
    pub value: String,
    /// The valid range, such as `65 to 2000`.
    pub range: String,
}

/// Checks a range.
pub(crate) fn within<T: PartialOrd + std::fmt::Display>(
    key: &'static str,
    value: T,
    range: std::ops::RangeInclusive<T>,
) -> Result<(), RangeError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (value, range) = (value.to_string(), format!("{} to {}", range.start(), range.end()));
    Err(RangeError { key, value, range })
}

/// A process at a supply voltage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Process {
    feature_um: f64,
    volts: f64,
}

impl Process {
    /// Creates a process of a feature size in nanometres, 65 to 2,000, at a supply voltage in
    /// millivolts, 500 to 5,500.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn new(feature_nm: u32, millivolts: u32) -> Result<Self, RangeError> {
        within("process_nm", feature_nm, 65..=2000)?;
        within("voltage_mv", millivolts, 500..=5500)?;
        Ok(Self { feature_um: f64::from(feature_nm) / 1e3, volts: f64::from(millivolts) / 1e3 })
    }

    /// The supply voltage, in volts.
    pub fn volts(&self) -> f64 {
        self.volts
    }

    /// The feature size, in micrometres.
    pub fn feature_um(&self) -> f64 {
        self.feature_um
    }

    /// The ratio of lengths in this process to lengths in the 0.8 um process.
    pub fn scale(&self) -> f64 {
        self.feature_um / BASE_UM
    }

    /// The capacitance of a gate, in farads. Its width is `width_um` in the 0.8 um process.
    pub fn gate(&self, width_um: f64) -> f64 {
        self.scale() * (width_um * BASE_UM * GATE + 2.0 * BASE_UM * POLY)
    }

    /// The capacitance of the gate of a pass transistor, such as in a memory cell, in farads. Its
    /// width is `width_um` in the 0.8 um process.
    pub fn pass_gate(&self, width_um: f64) -> f64 {
        self.scale() * (width_um * BASE_UM * GATE_PASS + 2.0 * BASE_UM * POLY)
    }

    /// The capacitance of the drain of a transistor, in farads. Its width is `width_um` in the 0.8
    /// um process.
    pub fn drain(&self, width_um: f64, channel: Channel) -> f64 {
        let n = channel as usize;
        let area = 3.0 * BASE_UM * width_um * DIFFUSION_AREA[n];
        let side = (6.0 * BASE_UM + width_um) * DIFFUSION_SIDE[n];
        self.scale() * (area + side + width_um * OVERLAP[n])
    }

    /// The capacitance of a wire of `length_um` micrometres, in farads.
    pub fn wire(&self, length_um: f64) -> f64 {
        length_um * METAL
    }

    /// The energy to charge a capacitance to the supply voltage and to discharge it, in joules.
    pub(crate) fn switch(&self, farads: f64) -> f64 {
        farads * self.volts * self.volts
    }

    /// The energy to discharge a precharged capacitance by a swing and to charge it again, in
    /// joules.
    pub(crate) fn swing(&self, farads: f64, volts: f64) -> f64 {
        farads * self.volts * volts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacitances_are_those_of_the_report() {
        let base = Process::new(800, 5000).unwrap();
        // 2.4 um: 3 * 0.8 * 2.4 * 0.137 + (4.8 + 2.4) * 0.275 + 2.4 * 0.401 = 3.731 fF.
        assert!((base.drain(2.4, Channel::N) - 3.731e-15).abs() < 1e-18);
        // 10 * 0.8 * 1.95 + 2 * 0.8 * 0.25 = 16 fF.
        assert!((base.gate(10.0) - 16.0e-15).abs() < 1e-20);
        // 16 um of metal: 4.4 fF.
        assert!((base.wire(16.0) - 4.4e-15).abs() < 1e-20);
    }

    #[test]
    fn half_the_feature_size_has_half_the_capacitance() {
        let (large, small) = (Process::new(800, 5000).unwrap(), Process::new(400, 5000).unwrap());
        assert!((large.gate(3.0) / small.gate(3.0) - 2.0).abs() < 1e-12);
        assert!((large.drain(3.0, Channel::P) / small.drain(3.0, Channel::P) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn values_out_of_their_range_are_refused_by_their_key() {
        let refused = Process::new(20, 1000).unwrap_err();
        assert_eq!(refused.to_string(), "`process_nm` is 20; it can be 65 to 2000");
        assert_eq!(Process::new(180, 10).unwrap_err().key, "voltage_mv");
    }
}
