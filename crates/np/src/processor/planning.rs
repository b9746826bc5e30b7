//! Planning: from the offloads of an engine to the services, lookups and memory channels of a
//! machine.

use std::collections::BTreeMap;

use wireloom_ir::{Offload, OffloadTarget, Program};
use wireloom_offloads::{Config, registry};

use super::called::{Called, called};
use super::channels::requests;
use super::counted_reasons;
use super::error::NpError;
use super::pipe::BODY_BEATS;
use super::plan::{Channel, Plan, Service};
use crate::description::{ENGINE_KIND, LANE_BYTES, NpSpec, Place, ShellKind};
use wireloom_codegen_hardware::core::port::PLACE_BITS;
use wireloom_codegen_hardware::core::{MAX_LENGTH, OffloadPort, WINDOW_LOADED};
use wireloom_codegen_hardware::engine::EngineModule;
use wireloom_codegen_hardware::pipelined::{Lookup, lookup};
use wireloom_codegen_hardware::tables::Shape;

impl Plan {
    /// Maps the offloads of an engine to the services of a machine.
    ///
    /// # Errors
    /// If the machine cannot provide one of the offloads.
    pub fn new(
        program: &Program,
        machine: &NpSpec,
        engine: &EngineModule,
        label: &str,
    ) -> Result<Self, NpError> {
        let source = &program.engines[program.main.index()];
        let mut services = Vec::new();
        for port in &engine.core.ports {
            services.push(service(program, port, machine)?);
        }
        let lookups = lookups(&services, machine, label)?;
        let own = |called: &Called| {
            lookups.iter().any(|lookup| lookup.pipeline.module.name == called.pipeline.module.name)
        };
        if let Some(service) =
            services.iter().find(|service| service.called.as_ref().is_some_and(own))
        {
            let why =
                "its engine has the name of one that this machine brings along: give it another";
            return Err(service.refusal(machine, why.to_owned()));
        }
        let has_engine_time = has_engine_time(program, machine)?;
        let layout = &engine.core.layout;
        let mut plan = Self {
            machine: machine.clone(),
            engine: source.name.clone(),
            engine_module: engine.name.clone(),
            data_bytes: LANE_BYTES,
            user_bits: 16 + if layout.arrival.is_some() { 64 } else { 0 },
            sequence_bits: layout.sequence_bits as usize,
            has_engine_time,
            numbers_apart: layout.is_apart,
            place_bits: layout.place.map_or(0, |_| PLACE_BITS as usize),
            appended: engine.core.bodies.appended as usize,
            holds_copies: engine.core.bodies.after_copies,
            skip_bits: if engine.core.pieces { PLACE_BITS as usize } else { 0 },
            info_bits: layout.info_bits as usize,
            lookups,
            channels: Vec::new(),
            reasons: counted_reasons::of_program(program),
            control_bits: 64,
            rig: false,
            label: label.to_owned(),
            services,
        };
        check_body_buffer(&plan)?;
        plan.channels = channels(&plan.services, &plan.lookups, machine)?;
        plan.channels.iter_mut().for_each(|channel| channel.name.insert_str(0, label));
        let tables =
            plan.lookups.iter().flat_map(|lookup| &lookup.tables).filter_map(|table| table.width);
        let widest = plan
            .services
            .iter()
            .map(|service| service.rule.realisation.control_bits(service))
            .chain(tables.map(|w| w as usize))
            .max();
        let widest = widest.unwrap_or(0);
        plan.control_bits = widest.max(64).next_multiple_of(32);
        let targets = plan.machine.lanes() * plan.targets_a_pipe() + 1;
        if targets > 256 {
            let message = format!(
                "its control plane would have {targets} targets, more than the 256 that a target's number of 8 bits can tell apart: \
                 give it fewer clusters, engines or lanes, or stand tables in the pipe, where there is one of each (`place` of [offload.NAME])"
            );
            return Err(NpError::Illegal { machine: machine.name.clone(), message });
        }
        Ok(plan)
    }
}

/// Checks that the longest packet has room in the body buffer, with what a thread may write behind
/// it.
fn check_body_buffer(plan: &Plan) -> Result<(), NpError> {
    let ahead = plan.beats_ahead();
    let window = if ahead > 0 { 0 } else { WINDOW_LOADED };
    let body = (MAX_LENGTH - window) as usize;
    let most = (BODY_BEATS - 1 - ahead) * plan.data_bytes - body.next_multiple_of(plan.data_bytes);
    if plan.appended <= most {
        return Ok(());
    }
    let writer = plan.services.iter().find(|service| service.writes_bodies());
    let why = format!(
        "threads write up to {} bytes behind the bytes of their packets, and the body buffer has \
         room for {most}: append fewer, or keep shorter packets (`longest`)",
        plan.appended,
    );
    Err(writer.expect("something writes them").refusal(&plan.machine, why))
}

/// Returns whether times of the engine end at ticks.
///
/// # Errors
/// If they do, and the machine does not have all packets on one wide lane.
fn has_engine_time(program: &Program, machine: &NpSpec) -> Result<bool, NpError> {
    let main = &program.engines[program.main.index()];
    let ticks = |offload: &&Offload| config(&offload.target).has_ticks();
    let Some(offload) = main.offloads.iter().find(ticks) else { return Ok(false) };
    let refuse = |why: &str| {
        let (offload, machine) = (offload.name.clone(), machine.name.clone());
        Err(NpError::Offload { offload, machine, why: why.to_owned() })
    };
    if machine.ports.are_narrow() {
        return refuse(
            "times that end at ticks need wide lanes, since timers come over a lane: leave out [ports]",
        );
    }
    if machine.lanes() > 1 {
        return refuse("times that end at ticks need all packets on one lane: set `lanes = 1`");
    }
    Ok(true)
}

/// Returns the service of an offload if the machine's rule suits it.
fn service(program: &Program, port: &OffloadPort, machine: &NpSpec) -> Result<Service, NpError> {
    let source = &program.engines[program.main.index()];
    let Offload { name, target, .. } = &source.offloads[port.offload.index()];
    let refuse = |why: String| NpError::Offload {
        offload: name.clone(),
        machine: machine.name.clone(),
        why,
    };
    let config = config(target);
    let kind = config.kind.as_str();
    let Some(rule) = machine.rule(name, kind) else {
        return Err(refuse(format!(
            "its description says nothing of `{kind}`: add `[offload.{kind}]`"
        )));
    };
    let called = match target {
        OffloadTarget::Engine(engine) => Some(called(program, *engine, name).map_err(refuse)?),
        OffloadTarget::Kind(_) => None,
    };
    let realisation = rule.realisation;
    if !realisation.suits(kind, port) {
        let name = realisation.name();
        return Err(refuse(format!(
            "a `{kind}` that is used like this cannot be realised as \"{name}\""
        )));
    }
    if rule.place != Place::Pipe
        && let Some(reason) = realisation.only_in_pipe()
    {
        return Err(refuse(reason.to_owned()));
    }
    if machine.engine.shell == ShellKind::Pipelined
        && let Some(reason) = realisation.varies()
    {
        return Err(refuse(format!("{reason}, and a pipelined engine needs constant delays")));
    }
    realisation.check(&rule).map_err(refuse)?;
    let copies = rule.place != Place::Pipe || machine.lanes() > 1;
    if (port.ordered || realisation.needs_one_copy(port)) && copies {
        return Err(refuse(
            "packets change what others see, so there can be only one of it: set `place = \"pipe\"` and `lanes = 1`"
                .to_owned(),
        ));
    }
    Ok(Service {
        name: port.name.clone(),
        offload: name.clone(),
        index: port.offload.index(),
        rule,
        config: config.clone(),
        called,
        port: port.clone(),
        request_bits: port.request_bits as usize,
        reply_bits: port.reply_bits as usize,
        requests: requests(source, port.offload),
    })
}

/// Returns the declaration of an offload. For an engine it has no types and no parameters.
fn config(target: &OffloadTarget) -> Config {
    match target {
        OffloadTarget::Kind(config) => {
            Config { kind: registry::declared(&config.kind).to_owned(), ..config.clone() }
        }
        OffloadTarget::Engine(_) => {
            Config { kind: ENGINE_KIND.to_owned(), key: None, value: None, params: BTreeMap::new() }
        }
    }
}

/// Returns the lookup pipelines that services need: one for each key width. The names of their
/// modules begin with `label`.
///
/// # Errors
/// If no trie can be laid out for keys of such a width.
fn lookups(services: &[Service], machine: &NpSpec, label: &str) -> Result<Vec<Lookup>, NpError> {
    let mut lookups: Vec<Lookup> = Vec::new();
    for service in services {
        let Some(key_bits) = service.rule.realisation.lookup_key_bits(service) else { continue };
        let refuse = |why: String| service.refusal(machine, why);
        if lookups.iter().any(|lookup| lookup.shape.key_bits == key_bits) {
            continue;
        }
        let shape = Shape::for_key(key_bits).map_err(refuse)?;
        lookups.push(lookup(&shape, label).map_err(refuse)?);
    }
    Ok(lookups)
}

/// Returns the memory channels of a pipe.
fn channels(
    services: &[Service],
    lookups: &[Lookup],
    machine: &NpSpec,
) -> Result<Vec<Channel>, NpError> {
    let mut channels = Vec::new();
    for service in services {
        let of_service = service.rule.realisation.channels(service, lookups, machine);
        channels.extend(of_service.map_err(|why| service.refusal(machine, why))?);
    }
    Ok(channels)
}
