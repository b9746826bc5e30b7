//! Leakage of transistors that are off.

use crate::process::Process;

/// The current of an off transistor at 25 degrees, by feature size: nanometres, and amperes for
/// each micrometre of width. Assumed, after the ITRS of 1997 (250 nm) and 1999 (180, 130, 100 nm),
/// high performance, quoted from memory.
const OFF: [(f64, f64); 5] =
    [(350.0, 0.3e-9), (250.0, 1e-9), (180.0, 5e-9), (130.0, 10e-9), (100.0, 20e-9)];
/// The temperature increase that doubles the current, in kelvin (assumed: a decade in 75 K).
const DOUBLING: f64 = 22.6;

/// The power that transistors of this total width leak at a temperature in degrees Celsius, in
/// nanowatts.
pub fn nanowatts(process: Process, width_um: f64, celsius: f64) -> u64 {
    let heat = 2f64.powf((celsius - 25.0) / DOUBLING);
    let watts = width_um * off_current(process.feature_um() * 1e3) * heat * process.volts();
    (watts * 1e9).round().max(0.0) as u64
}

/// The current at a feature size, by linear interpolation between logarithms; the outer segments
/// extend beyond the ends.
fn off_current(nm: f64) -> f64 {
    let last = OFF.len() - 2;
    let place = OFF.iter().skip(1).position(|(next, _)| nm >= *next).unwrap_or(last).min(last);
    let [(from, a), (to, b)] = [OFF[place], OFF[place + 1]];
    let share = (nm.ln() - from.ln()) / (to.ln() - from.ln());
    (a.ln() + share * (b.ln() - a.ln())).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_met_and_smaller_processes_leak_more() {
        for (nm, amperes) in OFF {
            assert!((off_current(nm) / amperes - 1.0).abs() < 1e-9, "{nm}");
        }
        let currents: Vec<f64> =
            (65..=800).rev().step_by(5).map(|nm| off_current(f64::from(nm))).collect();
        assert!(currents.is_sorted());
    }

    #[test]
    fn power_is_current_times_voltage_and_doubles_with_heat() {
        let process = Process::new(250, 2000).unwrap();
        // A metre of width leaks 1 mA at 2 V.
        assert_eq!(nanowatts(process, 1e6, 25.0), 2_000_000);
        assert_eq!(nanowatts(process, 1e6, 25.0 + DOUBLING), 4_000_000);
        assert_eq!(nanowatts(process, 0.0, 25.0), 0);
    }
}
