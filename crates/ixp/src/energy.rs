//! The components whose accesses are counted for energy.
//!
//! A model of power gives each class an energy; without one all energies are 0 and only the counts
//! mean something.

use wireloom_sim::Energy;
use wireloom_sim::energy::{Class, Component, ComponentSpec};

/// Classes of events in an engine.
pub const ENGINE_CLASSES: [&str; 7] =
    ["instruction", "alu", "shift", "register_read", "register_write", "transfer", "command"];

/// Classes of events in a unit or a bus.
pub const UNIT_CLASSES: [&str; 2] = ["command", "word"];

/// Units and buses, in the order of their components, which follow those of the engines.
pub const UNITS: [&str; 8] =
    ["sram", "sdram", "scratch", "hash", "fbi", "command_bus", "sram_bus", "sdram_bus"];

/// The component of an engine.
pub fn engine(number: usize) -> Component {
    Component(number as u32)
}

/// The component of a unit or bus, by its place in [`UNITS`].
pub fn unit(engines: u32, place: usize) -> Component {
    Component(engines + place as u32)
}

/// The class of a command at a unit.
pub const COMMAND: Class = Class(0);
/// The class of a word at a unit or on a bus.
pub const WORD: Class = Class(1);

/// The components of a machine, with energies of 0, at a nominal voltage in millivolts.
pub fn components(engines: u32, nominal_millivolts: u32) -> Vec<ComponentSpec> {
    let component = |name: String, classes: &[&str]| ComponentSpec {
        name,
        nominal_millivolts,
        events: classes.iter().map(|class| ((*class).to_owned(), Energy::default())).collect(),
        states: vec![("on".to_owned(), 0)],
        static_exponent: 1,
    };
    let engines = (0..engines).map(|number| component(format!("engine_{number}"), &ENGINE_CLASSES));
    engines.chain(UNITS.iter().map(|unit| component((*unit).to_owned(), &UNIT_CLASSES))).collect()
}
