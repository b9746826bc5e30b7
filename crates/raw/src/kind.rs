//! The machine kind `raw`.

use std::sync::Arc;

use wireloom_machine::{
    Capabilities, Configured, Described, Error, Files, Knob, Machine, MachineKind, Options,
    Program, Refusal, Result, Source,
};
use wireloom_offloads::Store;

use crate::machine::{MachineSpec, Raw, compile, is_by_hand, start_by_hand};

/// The machine kind `raw`.
pub static KIND: &dyn MachineKind = &Described {
    name: NAME,
    schema: include_str!("../../../machines/raw.toml"),
    example: "raw-1",
    configure: |name, description| {
        Ok(Arc::new(MachineSpec::build(name, &description).map_err(Error::new)?))
    },
    patterned: None,
};

const NAME: &str = "raw";

impl Configured for MachineSpec {
    fn kind(&self) -> &'static str {
        NAME
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.chip.about
    }

    fn settings(&self) -> Option<toml::Table> {
        self.settings()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            shows_drops: false,
            times: true,
            energy: true,
            loses: true,
            ..Capabilities::default()
        }
    }

    fn can_be_watched(&self) -> bool {
        true
    }

    fn knobs(&self) -> &'static [Knob] {
        &[Knob::Rate, Knob::Buffer, Knob::Warm, Knob::Series, Knob::Profile]
    }

    fn sections_without_effect(&self, _: &wireloom_ir::Program) -> Vec<String> {
        let message = format!(
            "machine {}: [board] changes nothing here: it is for programs of tiles written by hand \
             (.rasm)",
            self.name
        );
        self.board.iter().map(|_| message.clone()).collect()
    }

    fn refusals(&self, program: &Program) -> Vec<Refusal> {
        let Ok(store) = wireloom_ir::store(&program.optimised) else { return Vec::new() };
        let refused = compile(self, &program.optimised, &store).err().unwrap_or_default();
        Refusal::of(refused)
    }

    fn start(
        &self,
        program: &Program,
        store: Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>> {
        progress("compiling programs of tiles");
        Ok(Box::new(Raw::start(self, &program.optimised, store, options)?))
    }

    fn start_own(
        &self,
        source: &Source,
        options: &Options,
    ) -> Option<Result<(Program, Box<dyn Machine>)>> {
        is_by_hand(&source.file).then(|| start_by_hand(self, source, options))
    }

    fn generate(&self, program: &Program) -> Result<Files> {
        let store =
            wireloom_ir::store(&program.optimised).map_err(|refused| Error::new(refused.0))?;
        let compiled = compile(self, &program.optimised, &store).map_err(Refusal::first)?;
        Ok(vec![("engine.rasm".to_owned(), compiled.text)])
    }
}
