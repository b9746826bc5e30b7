//! Arrays of static memory cells: register files, control stores, scratchpads, FIFOs.
//!
//! The model follows CACTI: an access switches address lines and predecoders, one word line, the
//! bit lines of all cells of that line, sense amplifiers and data lines. A large array is cut into
//! subarrays, of which an access uses one. The model takes the cut with the least energy.

use wireloom_sim::Energy;

use crate::joules;
use crate::process::{Channel, Process, RangeError, within};

/// The width and the height of a cell with one port, in um of the 0.8 um process (WRL 93/5).
const CELL_UM: [f64; 2] = [8.0, 16.0];
/// The increase of both for each further port, in um: a wire of 3 and a space of 2 feature sizes
/// (CACTI 2).
const PORT_UM: f64 = 4.0;
/// The width of the access transistors of a cell, in um (WRL 93/5).
const ACCESS_UM: f64 = 2.4;
/// The widths of the n and p transistors of a decoder gate, in um (assumed: as WRL 93/5's NOR).
const DECODER_UM: [f64; 2] = [2.4, 12.0];
/// The widths of the n and p transistors of a word line driver, in um (assumed).
const WORD_DRIVER_UM: [f64; 2] = [10.0, 20.0];
/// The width of a precharge transistor, in um (WRL 93/5: at most 25).
const PRECHARGE_UM: f64 = 10.0;
/// The internal capacitance of a sense amplifier and its latch, as a gate width in um (assumed).
const SENSE_UM: f64 = 24.0;
/// The share of data and address lines that change (Wattch: activity factor).
const ACTIVITY: f64 = 0.5;
/// The swing of sensed bit lines, as a share of the supply (assumed: CACTI stops at 0.1 V, but real
/// word lines close later).
const SENSED_SWING: f64 = 0.25;

/// The method of reading bit lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Sense amplifiers detect a small swing of each pair: memories.
    Sensed,
    /// One line for each port swings fully, and half of the lines change: register files.
    FullSwing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array {
    process: Process,
    /// The number of words, not necessarily a power of two.
    words: u32,
    /// The number of bits of a word.
    bits: u32,
    ports: u32,
    reading: Reading,
    shape: Shape,
}

/// The cut of an array: the number of words next to each other in a row, and the number of
/// subarrays one above the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    columns: u32,
    subarrays: u32,
}

impl Array {
    /// Creates an array of `words` words, 1 to 2^24, of `bits` bits, 1 to 1,024, with `ports` ports
    /// that read or write, 1 to 16. The cut is the one with the least energy of a read.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn new(
        process: Process,
        words: u32,
        bits: u32,
        ports: u32,
        reading: Reading,
    ) -> Result<Self, RangeError> {
        let whole = Self::whole(process, words, bits, ports, reading)?;
        let shapes = (0..6).flat_map(|columns| (0..10).map(move |cut| (columns, cut)));
        let arrays = shapes.filter_map(|(columns, subarrays)| {
            let shape = Shape { columns: 1 << columns, subarrays: 1 << subarrays };
            let rows = words / (shape.columns * shape.subarrays);
            // With fewer than 16 rows, decoders outweigh the cells of a subarray.
            (rows >= 16).then_some(Self { shape, ..whole })
        });
        let least = arrays.min_by(|a, b| a.read_joules().total_cmp(&b.read_joules()));
        Ok(least.unwrap_or(whole))
    }

    /// Creates the array in one piece: each row holds one word, and all rows share the bit lines.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn whole(
        process: Process,
        words: u32,
        bits: u32,
        ports: u32,
        reading: Reading,
    ) -> Result<Self, RangeError> {
        within("words", words, 1..=1 << 24)?;
        within("bits", bits, 1..=1024)?;
        within("ports", ports, 1..=16)?;
        let shape = Shape { columns: 1, subarrays: 1 };
        Ok(Self { process, words, bits, ports, reading, shape })
    }

    /// The energy to read a word.
    pub fn read(&self) -> Energy {
        joules(self.read_joules())
    }

    /// The energy to write a word.
    pub fn write(&self) -> Energy {
        let swing = match self.reading {
            // One line of each pair swings fully.
            Reading::Sensed => 1.0,
            Reading::FullSwing => ACTIVITY,
        };
        let bit_lines = f64::from(self.bits) * swing * self.process.switch(self.bit_line());
        // The cells of the row that are not written are read.
        let others = f64::from(self.bits * (self.shape.columns - 1)) * self.read_bit_line();
        joules(self.select() + bit_lines + others + self.route())
    }

    /// The total width of the transistors that leak in all cells, in micrometres of this process.
    pub fn leaking_um(&self) -> f64 {
        // Three of six transistors are off, and one for each further port.
        let transistors = 3.0 + f64::from(self.ports - 1);
        f64::from(self.words)
            * f64::from(self.bits)
            * transistors
            * ACCESS_UM
            * self.process.scale()
    }

    /// The number of bits that the array holds.
    pub fn capacity_bits(&self) -> u64 {
        u64::from(self.words) * u64::from(self.bits)
    }

    fn read_joules(&self) -> f64 {
        let cells = f64::from(self.bits * self.shape.columns);
        let sense = match self.reading {
            Reading::Sensed => {
                f64::from(self.bits) * self.process.switch(self.process.gate(SENSE_UM))
            }
            Reading::FullSwing => 0.0,
        };
        self.select() + cells * self.read_bit_line() + sense + self.route()
    }

    fn rows(&self) -> f64 {
        f64::from(self.words.div_ceil(self.shape.columns * self.shape.subarrays))
    }

    /// The width and the height of a cell, in micrometres of this process.
    fn cell(&self) -> [f64; 2] {
        CELL_UM.map(|um| (um + PORT_UM * f64::from(self.ports - 1)) * self.process.scale())
    }

    /// The energy of the decoder and the word line, in joules.
    fn select(&self) -> f64 {
        let process = &self.process;
        let [width, height] = self.cell();
        let cells = f64::from(self.bits * self.shape.columns);
        let pair = |[n, p]: [f64; 2]| process.gate(n) + process.gate(p);
        // Each group of three address bits drives eight lines along the rows. Each line has a gate
        // for one row in eight. One line falls and one rises.
        let groups = (self.rows().log2() / 3.0).ceil().max(1.0);
        let line = process.wire(self.rows() * height) + self.rows() / 8.0 * pair(DECODER_UM);
        let gate = pair(WORD_DRIVER_UM)
            + process.drain(DECODER_UM[0], Channel::N)
            + process.drain(DECODER_UM[1], Channel::P);
        let word_line = process.wire(cells * width)
            + 2.0 * cells * process.pass_gate(ACCESS_UM)
            + process.drain(WORD_DRIVER_UM[0], Channel::N)
            + process.drain(WORD_DRIVER_UM[1], Channel::P);
        process.switch(groups * line + gate + word_line)
    }

    /// The capacitance of a bit line. Cells share their contacts in pairs.
    fn bit_line(&self) -> f64 {
        let [_, height] = self.cell();
        let cell = self.process.drain(ACCESS_UM, Channel::N) / 2.0 + self.process.wire(height);
        self.rows() * cell + 2.0 * self.process.drain(PRECHARGE_UM, Channel::P)
    }

    fn read_bit_line(&self) -> f64 {
        let (process, line) = (&self.process, self.bit_line());
        match self.reading {
            Reading::Sensed => process.swing(line, SENSED_SWING * process.volts()),
            Reading::FullSwing => ACTIVITY * process.switch(line),
        }
    }

    /// The energy of the address and data lines between the edge of the array and a subarray. Their
    /// length is half of the width and half of the height.
    fn route(&self) -> f64 {
        let [width, height] = self.cell();
        let side = f64::from(self.bits * self.shape.columns) * width / 2.0
            + self.rows() * f64::from(self.shape.subarrays) * height / 2.0;
        let lines = f64::from(self.bits) + f64::from(self.words).log2().ceil();
        ACTIVITY * lines * self.process.switch(self.process.wire(side))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process() -> Process {
        Process::new(800, 5000).unwrap()
    }

    fn array(words: u32, bits: u32) -> Array {
        Array::new(process(), words, bits, 1, Reading::Sensed).unwrap()
    }

    /// An array of 16 words of 1 bit has only one shape. Its parts are computed by hand, in fF.
    #[test]
    fn a_small_array_has_the_energy_of_its_parts() {
        let array = Array::new(process(), 16, 1, 1, Reading::FullSwing).unwrap();
        let metal = 0.275;
        let gate = |um: f64| um * 1.56 + 0.4;
        let drain_n = |um: f64| um * 0.3288 + (4.8 + um) * 0.275 + um * 0.401;
        let drain_p = |um: f64| um * 0.8232 + (4.8 + um) * 0.275 + um * 0.476;
        // 16 rows take four address bits: two groups of lines.
        let line = 16.0 * 16.0 * metal + 2.0 * (gate(2.4) + gate(12.0));
        let driver = gate(10.0) + gate(20.0) + drain_n(2.4) + drain_p(12.0);
        let word = 8.0 * metal + 2.0 * (2.4 * 1.16 + 0.4) + drain_n(10.0) + drain_p(20.0);
        let bit = 16.0 * (drain_n(2.4) / 2.0 + 16.0 * metal) + 2.0 * drain_p(10.0);
        let route = 0.5 * 5.0 * metal * (4.0 + 128.0);
        let femtojoules = (2.0 * line + driver + word + 0.5 * bit + route) * 25.0;
        let found = array.read().as_picojoules() * 1e3;
        assert!((found / femtojoules - 1.0).abs() < 1e-9, "{found} of {femtojoules}");
    }

    #[test]
    fn more_words_more_bits_and_more_ports_cost_more() {
        let mut last = Energy(0);
        for words in [16, 32, 64, 256, 1024, 4096, 65536] {
            let read = array(words, 32).read();
            assert!(read > last, "{words} words: {read}, fewer: {last}");
            last = read;
        }
        assert!(array(64, 64).read() > array(64, 32).read());
        let two = Array::new(process(), 64, 32, 2, Reading::Sensed).unwrap();
        assert!(two.read() > array(64, 32).read());
        assert!(two.leaking_um() > array(64, 32).leaking_um());
    }

    #[test]
    fn a_large_array_is_cut() {
        let large = array(65536, 32);
        assert!(large.shape.subarrays > 1, "{:?}", large.shape);
        let whole = Array::whole(process(), 65536, 32, 1, Reading::Sensed).unwrap();
        assert!(large.read() < whole.read());
    }

    /// The NePSim talk's control store: 4 KB in blocks of 4 bytes, direct mapped, 10 address bits.
    #[test]
    fn a_control_store_in_one_piece_takes_six_times_the_energy_of_one_that_is_cut() {
        let process = Process::new(280, 2000).unwrap();
        let picojoules = |array: Result<Array, RangeError>| array.unwrap().read().as_picojoules();
        let cut = picojoules(Array::new(process, 1024, 32, 1, Reading::Sensed));
        let whole = picojoules(Array::whole(process, 1024, 32, 1, Reading::Sensed));
        assert!((whole - 183.7).abs() < 0.05 && (cut - 30.4).abs() < 0.05, "{whole} {cut}");
    }

    #[test]
    fn energy_scales_with_the_square_of_the_voltage_and_the_feature_size() {
        let at = |nm, millivolts| {
            let process = Process::new(nm, millivolts).unwrap();
            Array::new(process, 64, 32, 1, Reading::Sensed).unwrap().read().as_picojoules()
        };
        assert!((at(250, 2000) / at(250, 1000) - 4.0).abs() < 1e-6);
        assert!((at(500, 2000) / at(250, 2000) - 2.0).abs() < 1e-6);
    }

    #[test]
    fn writing_a_memory_costs_more_than_reading_it() {
        assert!(array(1024, 32).write() > array(1024, 32).read());
    }

    #[test]
    fn arrays_out_of_range_are_refused() {
        let refused = |words, bits, ports| {
            Array::new(process(), words, bits, ports, Reading::Sensed).unwrap_err().key
        };
        assert_eq!(refused(0, 32, 1), "words");
        assert_eq!(refused(16, 0, 1), "bits");
        assert_eq!(refused(16, 8, 99), "ports");
    }
}
