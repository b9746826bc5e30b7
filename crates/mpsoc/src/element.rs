//! Hardware processing elements that hold pipelined engines (the paper, section 3.5): their
//! description in machine files, and their timing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wireloom_codegen_hardware::pipelined::pipeline;
use wireloom_ir::{EngineId, Program};
use wireloom_sim::spec::{megahertz, nanoseconds, within};
use wireloom_sim::{Clock, SpecError, Time};

/// A called engine, or a service of an application, in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ElementSpec {
    /// The clock frequency; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// The time from the start of a call to the start of the next: a cycle or more. The default is
    /// one cycle. In machine files `interval_ns`.
    #[serde(
        default,
        rename = "interval_ns",
        skip_serializing_if = "Option::is_none",
        with = "interval"
    )]
    pub interval: Option<Time>,
    /// For a service of an application: the number of calls that the element holds, 1 to 1,024. It
    /// offers itself to the broker that many times, and again when a call has entered the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u32>,
}

/// The timing of a hardware element that serves calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectSpec {
    /// The time from the start of a call to its reply; in machine files `latency_ns`.
    #[serde(rename = "latency_ns", with = "nanoseconds")]
    pub latency: Time,
    /// The time between the starts of two calls at the same port; in machine files `interval_ns`.
    #[serde(rename = "interval_ns", with = "nanoseconds")]
    pub interval: Time,
    /// The number of calls that can begin in parallel, 1 to 64.
    pub ports: u32,
}

impl ObjectSpec {
    /// Returns the timing of the object of that name and kind: by name, else by kind, else `any`.
    pub fn of<'a>(all: &'a BTreeMap<String, Self>, name: &str, kind: &str) -> Option<&'a Self> {
        [name, kind, "any"].iter().find_map(|key| all.get(*key))
    }
}

/// The maximum number of cycles of a memory inside a pipeline, the same as for memories outside.
const MOST_CYCLES: u32 = 1 << 16;

/// Serialises an optional time in nanoseconds.
mod interval {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Time>, D::Error> {
        nanoseconds::deserialize(from).map(Some)
    }

    pub(super) fn serialize<S: Serializer>(
        interval: &Option<Time>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match interval {
            Some(interval) => nanoseconds::serialize(interval, to),
            None => to.serialize_none(),
        }
    }
}

impl ElementSpec {
    /// Checks that a pipeline can have this specification.
    ///
    /// # Errors
    /// The interval is shorter than a cycle.
    pub fn check(&self) -> Result<(), SpecError> {
        if let Some(places) = self.places {
            within("places", places, 1..=1024)?;
        }
        let cycle = self.clock.cycles(1);
        match self.interval {
            Some(interval) if interval < cycle => {
                let problem =
                    format!("is {interval}; a pipeline takes a call in a cycle, {cycle}, at best");
                Err(SpecError::new("interval_ns", problem))
            }
            _ => Ok(()),
        }
    }

    /// The timing of an engine: it replies after the depth of its pipeline. A step takes one slot
    /// plus the latencies of the memories that it reads. The machine file gives these latencies by
    /// the memories' names or kinds, as for memories outside.
    ///
    /// # Errors
    /// A sentence, if the engine cannot be pipelined, or a memory has no latency.
    pub(super) fn times(
        &self,
        objects: &BTreeMap<String, ObjectSpec>,
        program: &Program,
        engine: EngineId,
    ) -> Result<ObjectSpec, String> {
        let cycle = self.clock.cycles(1);
        let pipeline = pipeline(program, engine).map_err(|refusal| refusal.to_string())?;
        let cycles = |name: &str| {
            let memory = ObjectSpec::of(objects, name, "array")
                .ok_or_else(|| format!("`object.array` is missing: `{name}` has no latency"));
            let cycles = memory?.latency.0.div_ceil(cycle.0);
            u32::try_from(cycles).ok().filter(|cycles| *cycles <= MOST_CYCLES).ok_or_else(|| {
                format!(
                    "`{name}` takes {cycles} cycles of {cycle}; a memory of a pipeline can take {MOST_CYCLES}"
                )
            })
        };
        let memories: Vec<u32> = pipeline
            .memories
            .iter()
            .map(|memory| cycles(&memory.name))
            .collect::<Result<_, _>>()?;
        Ok(ObjectSpec {
            latency: self.clock.cycles(u64::from(pipeline.latency(&memories))),
            interval: self.interval.unwrap_or(cycle),
            ports: 1,
        })
    }
}
