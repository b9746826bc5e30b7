//! The machine kind `raw`.

use std::any::Any;
use std::sync::Arc;

use wireloom_codegen_tile::Refused;
use wireloom_description::Description;
use wireloom_machine::{
    Capabilities, Configured, Error, Files, Kind, Knob, Machine, Options, Program, Refusal, Result,
    Source,
};
use wireloom_offloads::Store;

use crate::machine::{MachineSpec, Raw, compile, is_by_hand, start_by_hand};

/// The machine kind `raw`.
pub static KIND: &dyn Kind = &RawKind;

const NAME: &str = "raw";

struct RawKind;

impl Kind for RawKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> Option<&'static str> {
        Some(include_str!("../../../machines/raw.toml"))
    }

    fn example(&self) -> &'static str {
        "raw-1"
    }

    fn find(&self, _: &str) -> Result<Option<Arc<dyn Configured>>> {
        Ok(None)
    }

    fn configure(&self, name: &str, description: Description) -> Result<Arc<dyn Configured>> {
        Ok(Arc::new(MachineSpec::build(name, &description).map_err(Error::new)?))
    }
}

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
        let refusal = |refused: Refused| Refusal {
            offload: refused.offload,
            step: refused.step,
            line: None,
            message: refused.message,
        };
        refused.into_iter().map(refusal).collect()
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
        let compiled = compile(self, &program.optimised, &store).map_err(first)?;
        Ok(vec![("engine.rasm".to_owned(), compiled.text)])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns the first refusal as an error.
pub(crate) fn first(refused: Vec<Refused>) -> Error {
    let message = refused.into_iter().next().map(|first| first.message).unwrap_or_default();
    Error::new(message).with_help("check --on with this machine names everything that has no place")
}
