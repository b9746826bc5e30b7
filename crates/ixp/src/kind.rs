//! The machine kind `ixp`.

use std::sync::Arc;

use wireloom_machine::{
    Capabilities, Configured, Described, Error, Files, Knob, Machine, MachineKind, Options,
    Program, Refusal, Result, Source,
};
use wireloom_offloads::Store;

use crate::Spec;
use crate::by_hand;
use crate::compiled::compile;

/// The machine kind `ixp`.
pub static KIND: &dyn MachineKind = &Described {
    name: NAME,
    schema: include_str!("../../../machines/ixp1200.toml"),
    example: "ixp1200",
    configure: |name, description| {
        Ok(Arc::new(Spec::build(name, description).map_err(Error::new)?))
    },
    patterned: None,
};

const NAME: &str = "ixp";

impl Configured for Spec {
    fn kind(&self) -> &'static str {
        NAME
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn settings(&self) -> Option<toml::Table> {
        toml::Table::try_from(self).ok()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            shows_drops: false,
            times: true,
            energy: true,
            updates_in_flight: false,
            loses: true,
            translates: false,
        }
    }

    fn can_be_watched(&self) -> bool {
        true
    }

    fn knobs(&self) -> &'static [Knob] {
        &[
            Knob::Rate,
            Knob::Buffer,
            Knob::Warm,
            Knob::Series,
            Knob::Seed,
            Knob::Events,
            Knob::Assertions,
            Knob::Rules,
            Knob::Profile,
        ]
    }

    fn refusals(&self, program: &Program) -> Vec<Refusal> {
        let Ok(mut store) = wireloom_ir::store(&program.optimised) else { return Vec::new() };
        let refused = compile(self, program, &mut store).err().unwrap_or_default();
        Refusal::of(refused)
    }

    fn start(
        &self,
        program: &Program,
        mut store: Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>> {
        progress("compiling microcode");
        let compiled = compile(self, program, &mut store).map_err(Refusal::first)?;
        Ok(Box::new(compiled.start(self, store, options)?))
    }

    fn start_own(
        &self,
        source: &Source,
        options: &Options,
    ) -> Option<Result<(Program, Box<dyn Machine>)>> {
        by_hand::is_by_hand(&source.file).then(|| by_hand::start(self, source, options))
    }

    fn generate(&self, program: &Program) -> Result<Files> {
        let mut store =
            wireloom_ir::store(&program.optimised).map_err(|refused| Error::new(refused.0))?;
        let compiled = compile(self, program, &mut store).map_err(Refusal::first)?;
        Ok(compiled.named())
    }
}
