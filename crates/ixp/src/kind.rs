//! The machine kind `ixp`.

use std::any::Any;
use std::sync::Arc;

use wireloom_description::Description;
use wireloom_machine::{
    Capabilities, Configured, Error, Kind, Knob, Machine, Options, Program, Refusal, Result,
};
use wireloom_offloads::Store;

use crate::Spec;

/// The machine kind `ixp`.
pub static KIND: &dyn Kind = &IxpKind;

const NAME: &str = "ixp";

struct IxpKind;

impl Kind for IxpKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> Option<&'static str> {
        Some(include_str!("../../../machines/ixp1200.toml"))
    }

    fn example(&self) -> &'static str {
        "ixp1200"
    }

    fn find(&self, _: &str) -> Result<Option<Arc<dyn Configured>>> {
        Ok(None)
    }

    fn configure(&self, name: &str, description: Description) -> Result<Arc<dyn Configured>> {
        Ok(Arc::new(Spec::build(name, description).map_err(Error::new)?))
    }
}

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
            energy: false,
            updates_in_flight: false,
            loses: true,
            translates: false,
        }
    }

    fn knobs(&self) -> &'static [Knob] {
        &[Knob::Seed]
    }

    /// Engines in Loom C have no compiler for microengines yet: the first step and all offloads
    /// are refused.
    fn refusals(&self, program: &Program) -> Vec<Refusal> {
        let engine = &program.lowered.engines[program.lowered.main.index()];
        let step = engine.steps.first().map(|step| step.name.clone());
        let why = "no compiler from Loom C to microcode exists yet; hand-written microcode runs";
        let refused = |offload: Option<String>, message| Refusal {
            offload,
            step: step.clone(),
            line: None,
            message,
        };
        let name = step.clone().unwrap_or_default();
        let mut refusals =
            vec![refused(None, format!("step `{name}` has no place on {}: {why}", self.name))];
        refusals.extend(engine.offloads.iter().map(|offload| {
            let message =
                format!("offload `{}` has no place on {}: {why}", offload.name, self.name);
            refused(Some(offload.name.clone()), message)
        }));
        refusals
    }

    fn start(
        &self,
        program: &Program,
        _: Store,
        _: &Options,
        _: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>> {
        let refusals = self.refusals(program).into_iter();
        let message = refusals.map(|refusal| refusal.message).next().unwrap_or_default();
        Err(Error::new(message))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
