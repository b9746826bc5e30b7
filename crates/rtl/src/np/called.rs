//! Engines that packets call: each a pipeline ([`crate::pipelined`]) in front of its tables on the chip.

use std::collections::BTreeMap;

use wireloom_ir::{EngineId, OffloadTarget, Program};
use wireloom_offloads::Config;

use super::memory_map::{Contents, leaves, packed};
use super::plan::{Plan, Service};
use super::services::{answer_nets, controlled};
use super::wires::{element, vector};
use crate::machine::ENGINE_KIND;
use crate::pipelined::lookup::TABLE_LATENCY;
use crate::pipelined::{MemoryPort, Pipeline, pipeline};
use crate::sv::short::{clocked, int, name};
use crate::sv::{Binary, Expr, Instance, Item, Type, Unary};

/// An engine that packets call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Its name in the source.
    pub engine: String,
    /// What it becomes.
    pub pipeline: Pipeline,
    /// The paths of its tables below the offload, in the order of the pipeline's memories.
    pub tables: Vec<String>,
}

impl Called {
    /// Core cycles from a request to its reply.
    pub fn latency(&self) -> u32 {
        self.pipeline.latency(&vec![TABLE_LATENCY; self.pipeline.memories.len()])
    }
}

/// An engine that is called as `offload`.
///
/// # Errors
/// Why it cannot be a pipeline.
pub(super) fn called(program: &Program, engine: EngineId, offload: &str) -> Result<Called, String> {
    let pipeline = pipeline(program, engine).map_err(|refusal| refusal.to_string())?;
    if pipeline.request_bits == 0 {
        return Err("it takes no arguments, so that there is nothing to ask it".to_owned());
    }
    let body = &program.engines[engine.index()];
    let ports = crate::core::offload::ports(program, engine);
    let path = |memory: &MemoryPort| {
        let port = ports.iter().find(|port| port.name == memory.name).expect("memories stand behind ports");
        format!("{offload}.{}", body.offloads[port.offload.index()].name)
    };
    let tables = pipeline.memories.iter().map(path).collect();
    Ok(Called { engine: body.name.clone(), pipeline, tables })
}

/// What stands for the declaration of an offload that is an engine.
pub(super) fn config(target: &OffloadTarget) -> Config {
    match target {
        OffloadTarget::Kind(config) => config.clone(),
        OffloadTarget::Engine(_) => {
            Config { kind: ENGINE_KIND.to_owned(), key: None, value: None, params: BTreeMap::new() }
        }
    }
}

/// What the control targets hold, in order.
pub(super) fn targets(called: &Called) -> Vec<Contents> {
    let table = |memory: &MemoryPort| {
        Contents::new("elements", "index", memory.size, packed(leaves("value", Some(&memory.layout))))
    };
    called.pipeline.memories.iter().map(table).collect()
}

/// The pipeline and its tables, whose control targets count from `target`.
pub(super) fn items(plan: &Plan, service: &Service, called: &Called, target: usize) -> Vec<Item> {
    let s = &service.name;
    let here = |what: &str| Expr::name(format!("{s}_{what}"));
    let mut items = Vec::new();
    let mut walk = clocked(&called.pipeline.module.name, format!("u_{s}"))
        .parameter("TagBits", int(plan.pipe_tag_bits()));
    let (mut holds, mut dones, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for (index, memory) in called.pipeline.memories.iter().enumerate() {
        let net = |what: &str| format!("{s}_{}_{what}", memory.name);
        let slots = memory.slots.len();
        walk = walk.parameter(memory.parameter.clone(), int(TABLE_LATENCY));
        for (what, width, end) in [
            ("read_valid", slots, "o"),
            ("read_address", slots * memory.address_bits as usize, "o"),
            ("read_data", slots * memory.data_bits as usize, "i"),
        ] {
            items.push(vector(net(what), width));
            walk = walk.port(format!("{}_{what}_{end}", memory.name), name(net(what)));
        }
        items.push(vector(net("hold"), slots));
        holds.push(name(net("hold")).unary(Unary::AnyOf));
        items.extend(answer_nets(plan, &net("table")));
        dones.push(name(net("table_done")));
        answers.push(name(net("table_answer")));
        // A copy for each step that reads: the control plane writes all of them at once, and reads the first.
        for slot in 0..slots {
            let table = table(memory, &net("table"), plan.image(&called.tables[index]), target + index, slot)
                .port("read_valid_i", name(net("read_valid")).index(int(slot)))
                .port("read_address_i", element(net("read_address"), int(slot), memory.address_bits as usize))
                .port("read_data_o", element(net("read_data"), int(slot), memory.data_bits as usize))
                .port("hold_o", name(net("hold")).index(int(slot)));
            items.push(Item::Instance(match slot {
                0 => controlled(table, plan, &net("table")),
                _ => table
                    .parameter("CtlBits", int(plan.control_bits))
                    .port("ctl_valid_i", name("here_valid").and(name("ctl_write_i")))
                    .port("ctl_write_i", name("ctl_write_i"))
                    .port("ctl_target_i", name("here_target"))
                    .port("ctl_address_i", name("ctl_address_i"))
                    .port("ctl_data_i", name("ctl_data_i"))
                    .open("ctl_done_o")
                    .open("ctl_data_o"),
            }));
        }
    }
    let any = |parts: Vec<Expr>| Expr::chain(Binary::Or, parts, Expr::number(1, 0));
    items.extend([
        Item::net(format!("{s}_taken"), Type::Bit),
        Item::assign(format!("{s}_in_ready"), any(holds).not()),
        Item::Instance(
            walk.port("request_valid_i", here("in_valid").and(here("in_ready")))
                .port("request_ready_o", here("taken"))
                .port("request_tag_i", here("in_tag"))
                .port("request_data_i", here("in_data"))
                .port("reply_valid_o", here("out_valid"))
                .port("reply_tag_o", here("out_tag"))
                .port("reply_data_o", here("out_data")),
        ),
        Item::comment("The pipeline takes every request."),
        Item::value(format!("unused_{s}"), Type::Bit, here("taken")),
    ]);
    if !called.tables.is_empty() {
        items.extend(answer_nets(plan, s));
        items.extend([
            Item::assign(format!("{s}_done"), any(dones)),
            Item::assign(format!("{s}_answer"), Expr::chain(Binary::Or, answers, Expr::Zeros)),
        ]);
    }
    items
}

/// A copy of a table, without the ports that differ.
fn table(memory: &MemoryPort, instance: &str, image: Expr, target: usize, copy: usize) -> Instance {
    clocked("wl_read_table", format!("u_{instance}{copy}"))
        .parameter("Width", int(memory.data_bits))
        .parameter("Size", int(memory.size))
        .parameter("ReadLatency", int(TABLE_LATENCY))
        .parameter("CtlTarget", Expr::number(8, target as u64))
        .parameter("Image", image)
}
