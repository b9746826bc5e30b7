//! `table`: an array in block RAM whose elements packets read and change.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::{OffloadPort, PortMethod};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item};
use wireloom_offloads::{Config, EntryKey, Store};

use super::entries::instance;
use super::entries::{array_entry, read_elements, table_image};
use super::interface::Realisation;
use super::wiring::{Ends, answer_nets, controlled, cuts, on_bus};
use crate::control::bus::{ControlBus, ControlError};
use crate::description::Place;
use crate::processor::contents::{Contents, leaves, packed};
use crate::processor::services::first_target;
use crate::processor::wires::{bit, bits, element};
use crate::processor::{Image, NpError, Plan, Service};

/// An array in block RAM.
pub(super) struct Table;

impl Realisation for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn about(&self) -> &'static str {
        "table in block RAM"
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "array"
    }

    fn stands_in_engines(&self) -> bool {
        true
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        let target = Expr::number(8, target as u64);
        on_bus(plan, service, table(plan, service, tag_bits, target, &Ends::behind_tree(service)))
    }

    fn in_engine(&self, plan: &Plan, service: &Service) -> Vec<Item> {
        let s = &service.name;
        let i = || name("i");
        let thread_bits = bits(plan.machine.threads) as usize;
        let here = |what: &str| name(format!("{s}_{what}"));
        let ends = Ends {
            request_valid: here("ask_valid"),
            request_ready: here("ask_ready"),
            request_tag: here("ask_thread"),
            request_data: here("ask_data"),
            reply_valid: here("told_valid"),
            reply_tag: here("told_thread"),
            reply_data: here("told_data"),
        };
        let target = int(first_target(plan, service, Place::Cluster)).add(i()).cast(int(8));
        let mut items = answer_nets(plan, s);
        let table = table(plan, service, thread_bits, target, &ends);
        items.push(Item::Instance(controlled(table, plan, s)));
        items.push(Item::Assign {
            target: bit(format!("{s}_dones"), i()),
            value: name(format!("{s}_done")),
            comment: None,
        });
        items.push(Item::Assign {
            target: element(format!("{s}_answers"), i(), plan.control_bits),
            value: name(format!("{s}_answer")),
            comment: None,
        });
        items
    }

    fn control_bits(&self, service: &Service) -> usize {
        service.value_bits()
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        vec![(service.offload.clone(), elements(service))]
    }

    fn images(
        &self,
        _plan: &Plan,
        service: &Service,
        store: &Store,
    ) -> Result<Vec<Image>, NpError> {
        let rows = instance(store, &service.offload).map(|(_, instance)| instance.rows());
        Ok(rows.map(|rows| table_image(&service.offload, &rows)).into_iter().collect())
    }

    fn needs_one_copy(&self, port: &OffloadPort) -> bool {
        port.methods.iter().any(|method| method.name != "read")
    }

    fn is_changed(&self, service: &Service) -> bool {
        self.needs_one_copy(&service.port)
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

    fn read_back(
        &self,
        service: &Service,
        targets: &[u8],
        indices: &[u64],
        bus: &mut dyn ControlBus,
        instance: &mut dyn wireloom_offloads::Instance,
    ) -> Result<(), ControlError> {
        read_elements(service.value_bits() as u32, targets, indices, bus, instance)
    }
}

/// Returns the elements of an array as the contents of a control target.
pub(super) fn elements(service: &Service) -> Contents {
    let value = packed(leaves("value", service.config.value.as_ref()));
    Contents::new("elements", "index", service.elements() as u64, value)
}

/// Returns the number of a method of `array` in `wl_pkg`.
fn table_method(method: &str) -> u64 {
    match method {
        "read" => 0,
        "write" => 1,
        "add" => 2,
        "fetch_add" => 3,
        "exchange" => 4,
        _ => 5,
    }
}

/// Returns a table in block RAM, connected to the nets or ports of its requests and replies.
fn table(plan: &Plan, service: &Service, tag_bits: usize, target: Expr, ends: &Ends) -> Instance {
    let methods = &service.port.methods;
    let method = |m: &PortMethod| Expr::number(3, table_method(&m.name));
    let table = clocked("wl_table", format!("i_{}", service.name))
        .parameter("Width", int(service.value_bits()))
        .parameter("Size", int(service.elements()))
        .parameter("MethodCount", int(methods.len()))
        .parameter("Methods", Expr::Concat(methods.iter().rev().map(method).collect()))
        .parameter("Cuts", Expr::Number(cuts(service)))
        .parameter(
            "IndexBits",
            int(methods
                .first()
                .and_then(|m| m.arguments.first())
                .map_or(32, |bits| *bits as usize)),
        )
        .parameter("TagBits", int(tag_bits))
        .parameter("CtlTarget", target)
        .parameter("Image", plan.image(&service.offload));
    let table = table
        .port("request_valid_i", ends.request_valid.clone())
        .port("request_ready_o", ends.request_ready.clone())
        .port("request_tag_i", ends.request_tag.clone())
        .port("request_data_i", ends.request_data.clone());
    let answers = methods.iter().any(|method| method.reply > 0);
    if service.reply_bits > 0 {
        let table = table
            .port("reply_valid_o", ends.reply_valid.clone())
            .port("reply_tag_o", ends.reply_tag.clone());
        // If no method returns data, the reply only tells a packet that its request has been served
        // in order.
        if answers {
            table.port("reply_data_o", ends.reply_data.clone())
        } else {
            table.open("reply_data_o")
        }
    } else {
        table.open("reply_valid_o").open("reply_tag_o").open("reply_data_o")
    }
}
