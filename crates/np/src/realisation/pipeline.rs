//! `pipeline`: an engine that packets call, built as a pipeline
//! ([`wireloom_codegen_hardware::pipelined`]) with its tables in block RAM.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::pipelined::MemoryPort;
use wireloom_codegen_hardware::pipelined::lookup::TABLE_LATENCY;
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Binary, Expr, Instance, Item, Type, Unary};
use wireloom_offloads::{Config, EntryKey, Store};

use super::entries::instance;
use super::entries::{array_entry, table_image};
use super::interface::Realisation;
use super::wiring::{answer_nets, controlled};
use crate::description::ENGINE_KIND;
use crate::processor::contents::{Contents, leaves, packed};
use crate::processor::wires::{element, vector};
use crate::processor::{Called, Image, NpError, Plan, Service};

/// An engine that packets call.
pub(super) struct Pipeline;

impl Realisation for Pipeline {
    fn name(&self) -> &'static str {
        "pipeline"
    }

    fn about(&self) -> &'static str {
        "a pipeline, its tables in block RAM"
    }

    fn describe(&self, service: &Service) -> String {
        let called = called_by(service);
        format!("engine `{}`: {}, {} cycles", called.engine, self.about(), called.latency())
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == ENGINE_KIND
    }

    fn only_in_pipe(&self) -> Option<&'static str> {
        Some("an engine that packets call belongs to the pipe: set `place = \"pipe\"`")
    }

    fn items(&self, plan: &Plan, service: &Service, _tag_bits: usize, target: usize) -> Vec<Item> {
        items(plan, service, called_by(service), target)
    }

    fn control_bits(&self, service: &Service) -> usize {
        let memories = &called_by(service).pipeline.memories;
        memories.iter().map(|memory| memory.data_bits as usize).max().unwrap_or(0)
    }

    fn targets(&self, _plan: &Plan, service: &Service) -> usize {
        called_by(service).tables.len()
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        let called = called_by(service);
        called.tables.iter().cloned().zip(targets(called)).collect()
    }

    fn images(
        &self,
        _plan: &Plan,
        service: &Service,
        store: &Store,
    ) -> Result<Vec<Image>, NpError> {
        let image = |path: &String| Some(table_image(path, &instance(store, path)?.1.rows()));
        Ok(called_by(service).tables.iter().filter_map(image).collect())
    }

    fn entry(
        &self,
        path: &str,
        config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        array_entry(path, config, key, value)
    }
}

fn called_by(service: &Service) -> &Called {
    service.called.as_ref().expect("only engines are realised as pipelines")
}

/// Returns the contents of the control targets, in order.
fn targets(called: &Called) -> Vec<Contents> {
    let table = |memory: &MemoryPort| {
        Contents::new(
            "elements",
            "index",
            memory.size,
            packed(leaves("value", Some(&memory.layout))),
        )
    };
    called.pipeline.memories.iter().map(table).collect()
}

/// Returns the pipeline and its tables. Their control targets count from `target`.
fn items(plan: &Plan, service: &Service, called: &Called, target: usize) -> Vec<Item> {
    let s = &service.name;
    let here = |what: &str| Expr::name(format!("{s}_{what}"));
    let mut items = Vec::new();
    let mut walk = clocked(&called.pipeline.module.name, format!("i_{s}"))
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
        // Each step that reads has its own copy of the table. The control plane writes all copies
        // at once and reads the first one.
        for slot in 0..slots {
            let table = table(
                memory,
                &net("table"),
                plan.image(&called.tables[index]),
                target + index,
                slot,
            )
            .port("read_valid_i", name(net("read_valid")).index(int(slot)))
            .port(
                "read_address_i",
                element(net("read_address"), int(slot), memory.address_bits as usize),
            )
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

/// Returns a copy of a table without the ports that differ between copies.
fn table(memory: &MemoryPort, instance: &str, image: Expr, target: usize, copy: usize) -> Instance {
    clocked("wl_read_table", format!("i_{instance}{copy}"))
        .parameter("Width", int(memory.data_bits))
        .parameter("Size", int(memory.size))
        .parameter("ReadLatency", int(TABLE_LATENCY))
        .parameter("CtlTarget", Expr::number(8, target as u64))
        .parameter("Image", image)
}
