//! Hardware processing elements that hold pipelined engines (the paper, section 3.5): what a machine file says of them, and how long they take.

use serde::{Deserialize, Serialize};
use wireloom_ir::{EngineId, Program};
use wireloom_rtl::pipelined::pipeline;
use wireloom_sim::spec::{megahertz, nanoseconds, within};
use wireloom_sim::{Clock, SpecError, Time};

use super::spec::{ObjectSpec, Spec};

/// An engine that is called, or a service of an application, in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ElementSpec {
    /// Its clock; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// From the begin of a call to that of the next one: a cycle or more; if nothing is said, a cycle. In machine files `interval_ns`.
    #[serde(default, rename = "interval_ns", skip_serializing_if = "Option::is_none", with = "interval")]
    pub interval: Option<Time>,
    /// Of an application's service: for how many calls it has room, 1 to 1,024. It offers itself to the broker so often, and again when a call has entered the
    /// pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u32>,
}

/// A time in nanoseconds that may be missing.
mod interval {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Time>, D::Error> {
        nanoseconds::deserialize(from).map(Some)
    }

    pub(super) fn serialize<S: Serializer>(interval: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
        match interval {
            Some(interval) => nanoseconds::serialize(interval, to),
            None => to.serialize_none(),
        }
    }
}

impl ElementSpec {
    /// Refuses what a pipeline cannot do.
    ///
    /// # Errors
    /// If calls come faster than its cycles.
    pub fn check(&self) -> Result<(), SpecError> {
        if let Some(places) = self.places {
            within("places", places, 1..=1024)?;
        }
        let cycle = self.clock.cycles(1);
        match self.interval {
            Some(interval) if interval < cycle => {
                let problem = format!("is {interval}; a pipeline takes a call in a cycle, {cycle}, at best");
                Err(SpecError::new("interval_ns", problem))
            }
            _ => Ok(()),
        }
    }

    /// The times of an engine: it answers after the depth of its pipeline, in which a step is a slot, with the latencies of the memories that a
    /// step reads. The machine file has these by their names or kinds, as if they stood outside.
    ///
    /// # Errors
    /// A sentence, if the engine cannot be a pipeline, or a memory has no latency.
    pub(super) fn times(
        &self,
        spec: &Spec,
        program: &Program,
        engine: EngineId,
    ) -> Result<ObjectSpec, String> {
        let cycle = self.clock.cycles(1);
        let pipeline = pipeline(program, engine).map_err(|refusal| refusal.to_string())?;
        let cycles = |name: &str| {
            let memory = spec
                .object(name, "array")
                .ok_or_else(|| format!("`object.array` is missing: `{name}` has no latency"));
            memory.map(|memory| memory.latency.0.div_ceil(cycle.0) as u32)
        };
        let memories: Vec<u32> =
            pipeline.memories.iter().map(|memory| cycles(&memory.name)).collect::<Result<_, _>>()?;
        Ok(ObjectSpec {
            latency: self.clock.cycles(u64::from(pipeline.latency(&memories))),
            interval: self.interval.unwrap_or(cycle),
            ports: 1,
        })
    }
}

impl Spec {
    /// The element that holds an engine, which stands at the end of a path of offloads.
    pub(super) fn element(&self, path: &str, engine: &str) -> Option<&ElementSpec> {
        let offload = path.rsplit('.').next().unwrap_or(path);
        self.element.get(offload).or_else(|| self.element.get(engine))
    }
}
