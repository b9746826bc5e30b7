//! `trie`: longest-prefix match as a walk of a trie in QDR SRAM, with a table of values on the
//! chip. [`wireloom_codegen_hardware::pipelined`] generates the walk.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::pipelined::{Control, Lookup, MemoryPort};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Binary, Expr, Item, Type};
use wireloom_codegen_hardware::tables::{MemoryShape, TrieImage, Write, key};
use wireloom_offloads::{EntryKey, Store, Update};

use super::direct::OUTSIDE;
use super::entries::instance;
use super::interface::{Realisation, Updater};
use super::wiring::{answer_nets, controlled, read_latency, unread};
use crate::control::write::ControlWrite;
use crate::description::NpSpec;
use crate::processor::contents::{BURST, Contents, leaves, leaves_of, packed};
use crate::processor::image::hex;
use crate::processor::services::memory_side;
use crate::processor::wires::vector;
use crate::processor::{Channel, Image, NpError, Plan, Service, channel_latency, rig};
use crate::simulation::Operation;

pub(super) struct Trie;

impl Realisation for Trie {
    fn name(&self) -> &'static str {
        "trie"
    }

    fn about(&self) -> &'static str {
        "trie in QDR SRAM"
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "lpm"
    }

    fn only_in_pipe(&self) -> Option<&'static str> {
        Some(OUTSIDE)
    }

    fn lookup_key_bits(&self, service: &Service) -> Option<u32> {
        Some(service.request_bits as u32)
    }

    fn channels(
        &self,
        service: &Service,
        lookups: &[Lookup],
        machine: &NpSpec,
    ) -> Result<Vec<Channel>, String> {
        let key_bits = service.request_bits as u32;
        let lookup =
            lookups.iter().find(|l| l.shape.key_bits == key_bits).expect("each trie has a lookup");
        channels(service, lookup, machine)
    }

    fn items(&self, plan: &Plan, service: &Service, _tag_bits: usize, target: usize) -> Vec<Item> {
        items(plan, service, target)
    }

    // The tables of a lookup may have wider entries. The plan considers them separately.
    fn control_bits(&self, service: &Service) -> usize {
        service.value_bits().max(72)
    }

    fn targets(&self, plan: &Plan, service: &Service) -> usize {
        let lookup = plan.lookup(service);
        lookup.tables.len() + lookup.channels().count()
    }

    fn contents(&self, plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        targets(plan, service)
            .into_iter()
            .map(|contents| (service.offload.clone(), contents))
            .collect()
    }

    fn is_outside(&self, contents: &Contents) -> bool {
        contents.address == BURST
    }

    fn spans_memory(&self) -> bool {
        true
    }

    fn images(&self, plan: &Plan, service: &Service, store: &Store) -> Result<Vec<Image>, NpError> {
        images(plan, service, store)
    }

    fn updater(
        &self,
        _plan: &Plan,
        service: &Service,
        store: &Store,
    ) -> Result<Option<Box<dyn Updater>>, String> {
        let Some((config, instance)) = instance(store, &service.offload) else { return Ok(None) };
        let image = TrieImage::of_instance(config, instance, service.rule.values as u32);
        Ok(Some(Box::new(Prefixes(image.map_err(|error| error.to_string())?))))
    }
}

/// An updater of a trie.
struct Prefixes(TrieImage);

impl Updater for Prefixes {
    fn plan(&mut self, plan: &Plan, update: &Update) -> Result<Vec<Operation>, String> {
        let EntryKey::Prefix { bits, length } = &update.key else { return Ok(Vec::new()) };
        let key = key(bits);
        let writes = match &update.value {
            Some(value) => self.0.insert(key, *length, value),
            None => self.0.remove(key, *length),
        };
        let mut operations = Vec::new();
        for write in writes.map_err(|error| error.to_string())? {
            if write == Write::Barrier {
                operations.extend(plan.lookup_cycles(&update.offload).map(Operation::Rest));
            }
            let writes = plan.control_writes(&update.offload, &write);
            operations.extend(writes.into_iter().map(Operation::from));
        }
        Ok(operations)
    }
}

impl Plan {
    /// Returns the control port writes that carry out a write of a trie's image in every pipe
    /// ([`TrieImage::insert`](wireloom_codegen_hardware::tables::TrieImage::insert)). The result
    /// is empty if the offload is not a trie. It is also empty for a barrier, at which the caller
    /// must wait for [`lookup_cycles`](Self::lookup_cycles).
    pub fn control_writes(&self, offload: &str, write: &Write) -> Vec<ControlWrite> {
        let Some(service) = trie(self, offload) else { return Vec::new() };
        let Some((offset, address, value)) = access(self, service, write) else {
            return Vec::new();
        };
        self.in_every_pipe(service, offset, address, value)
    }

    /// Returns the core cycles after which every lookup that is under way in a trie now has ended,
    /// or `None` if the offload is not a trie.
    pub fn lookup_cycles(&self, offload: &str) -> Option<u64> {
        trie(self, offload).map(|service| latency(self, service).into())
    }
}

fn trie<'a>(plan: &'a Plan, offload: &str) -> Option<&'a Service> {
    let is_trie = |service: &&Service| service.rule.realisation.name() == Trie.name();
    plan.services.iter().filter(is_trie).find(|service| service.offload == offload)
}

/// Returns the memory channels of a lookup.
fn channels(service: &Service, lookup: &Lookup, machine: &NpSpec) -> Result<Vec<Channel>, String> {
    let slots = machine.clock.memory_ratio;
    let mut channels = Vec::new();
    for (shape, port) in lookup.channels() {
        let words = shape.entries as usize;
        let used = port.slots.len();
        if used > slots {
            return Err(format!(
                "`{}` reads memory `{}` {used} times a cycle, but it does {slots}: set `clock.memory_ratio`",
                lookup.shape.engine, port.name
            ));
        }
        if words > machine.memory.mega_words << 20 {
            let needed = words >> 20;
            return Err(format!(
                "its trie is laid out for parts of {needed} million words: set `memory.mega_words`"
            ));
        }
        channels.push(Channel {
            name: format!("{}_{}", service.name, port.name),
            service: service.name.clone(),
            slots,
            used,
            word_bits: shape.width as usize,
            words,
        });
    }
    Ok(channels)
}

/// Returns the contents of the control targets, in order.
fn targets(plan: &Plan, service: &Service) -> Vec<Contents> {
    let lookup = plan.lookup(service);
    let table = |table: &Control| {
        let memory = lookup.pipeline.memories.iter().find(|memory| memory.name == table.name);
        let (Some(memory), Some(entries)) = (memory, table.entries) else {
            let value = packed(leaves("value", service.config.value.as_ref()));
            return Contents::new(
                &table.name,
                "number of a value",
                service.rule.values as u64,
                value,
            );
        };
        let entry = packed(leaves("entry", Some(&memory.layout)));
        Contents::new(&format!("memory `{}`", memory.name), "entry", entries.into(), entry)
    };
    let channel = |((shape, port), channel): ((&MemoryShape, &MemoryPort), &Channel)| {
        let entry = |number| leaves_of(&format!("entry[{number}]"), Some(&port.layout));
        let burst = packed((0..shape.burst).rev().flat_map(entry));
        Contents::new(&format!("memory `{}`", port.name), BURST, (channel.words / 2) as u64, burst)
    };
    let channels = plan.channels.iter().filter(|c| c.service == service.name);
    lookup.tables.iter().map(table).chain(lookup.channels().zip(channels).map(channel)).collect()
}

/// Returns the control target of a write, relative to the service's first target, its address and
/// its value; `None` for a barrier.
fn access<'a>(plan: &Plan, service: &Service, write: &'a Write) -> Option<(usize, u32, &'a Bits)> {
    let lookup = plan.lookup(service);
    let channels = lookup.channels().count();
    match write {
        Write::Value { number, value } => Some((0, *number, value)),
        Write::Burst { memory, address, data } if *memory < channels => {
            Some((lookup.tables.len() + memory, *address, data))
        }
        // The on-chip memories follow the values.
        Write::Burst { memory, address, data } => Some((1 + memory - channels, *address, data)),
        Write::Barrier => None,
    }
}

/// Returns the core cycles from a request to its reply.
fn latency(plan: &Plan, service: &Service) -> u32 {
    plan.lookup(service).latency(channel_latency(&plan.machine, plan.machine.memory.latency))
}

/// Returns the service with its channels.
fn items(plan: &Plan, service: &Service, target: usize) -> Vec<Item> {
    let s = &service.name;
    let lookup = plan.lookup(service);
    let here = |what: &str| Expr::name(format!("{s}_{what}"));
    let mut items = answer_nets(plan, s);
    let mut instance = clocked(&lookup.module.name, format!("i_{s}"))
        .parameter("TagBits", int(plan.pipe_tag_bits()))
        .parameter("ValueBits", int(service.value_bits()))
        .parameter("Values", int(service.rule.values))
        .parameter("CtlTarget", Expr::number(8, target as u64))
        .parameter("Image", plan.image(&service.offload));
    for (end, net) in [
        ("request_valid_i", "in_valid"),
        ("request_ready_o", "in_ready"),
        ("request_tag_i", "in_tag"),
        ("request_data_i", "in_data"),
        ("reply_valid_o", "out_valid"),
        ("reply_tag_o", "out_tag"),
        ("reply_data_o", "out_data"),
    ] {
        instance = instance.port(end, here(net));
    }
    let mut dones = vec![Expr::name(format!("{s}_tables_done"))];
    let mut answers = vec![Expr::name(format!("{s}_tables_answer"))];
    items.extend(answer_nets(plan, &format!("{s}_tables")));
    let channels = plan.channels.iter().filter(|c| &c.service == s);
    for (index, ((_, port), channel)) in lookup.channels().zip(channels).enumerate() {
        let net = |what: &str| format!("{}_{what}", channel.name);
        let (used, slots) = (channel.used, channel.slots);
        for (what, width, is_output) in [
            ("read_valid", 1, true),
            ("read_address", channel.address_bits(), true),
            ("read_data", channel.data_bits(), false),
        ] {
            items.extend([
                vector(net(what), slots * width),
                vector(net(&format!("user_{what}")), used * width),
            ]);
            let user = name(net(&format!("user_{what}")));
            let end = if is_output { "o" } else { "i" };
            instance = instance.port(format!("{}_{what}_{end}", port.name), user.clone());
            items.push(match (is_output, used == slots) {
                (true, true) => Item::assign(net(what), user),
                (true, false) => Item::assign(
                    net(what),
                    Expr::Concat(vec![Expr::number(((slots - used) * width) as u32, 0), user]),
                ),
                (false, true) => Item::assign(net(&format!("user_{what}")), name(net(what))),
                (false, false) => Item::assign(
                    net(&format!("user_{what}")),
                    name(net(what)).part(Expr::int(0), int(used * width)),
                ),
            });
            if !is_output && used < slots {
                items.push(unread(&net(what), used * width, (slots - used) * width));
            }
        }
        items.push(Item::net(net("hold"), Type::Bit));
        instance = instance
            .parameter(port.parameter.clone(), read_latency(plan))
            .port(format!("{}_hold_i", port.name), name(net("hold")));
        items.extend(answer_nets(plan, &channel.name));
        let number = target + lookup.tables.len() + index;
        let memory = memory_side(plan, channel)
            .parameter("CtlTarget", Expr::number(8, number as u64))
            .port("read_valid_i", name(net("read_valid")))
            .port("read_address_i", name(net("read_address")))
            .port("read_data_o", name(net("read_data")))
            .port("write_valid_i", Expr::Zeros)
            .port("write_address_i", Expr::Zeros)
            .port("write_data_i", Expr::Zeros)
            .port("hold_o", name(net("hold")));
        items.push(Item::Instance(controlled(memory, plan, &channel.name)));
        items.push(Item::assign(format!("{}_reads_o", channel.name), name(net("read_valid"))));
        dones.push(name(net("done")));
        answers.push(name(net("answer")));
    }
    items.push(Item::Instance(controlled(instance, plan, &format!("{s}_tables"))));
    let any = |parts: Vec<Expr>| Expr::chain(Binary::Or, parts, Expr::Zeros);
    items.extend([
        Item::assign(format!("{s}_done"), any(dones)),
        Item::assign(format!("{s}_answer"), any(answers)),
    ]);
    items
}

/// Returns the contents of a lookup's memories and tables.
fn images(plan: &Plan, service: &Service, store: &Store) -> Result<Vec<Image>, NpError> {
    let Some((_, instance)) = instance(store, &service.offload) else { return Ok(Vec::new()) };
    let lookup = plan.lookup(service);
    let image = TrieImage::of_instance(&service.config, instance, service.rule.values as u32)
        .map_err(|error| service.refusal(&plan.machine, error.to_string()))?;
    let values = image.values().iter().fold(String::new(), |text, value| text + &hex(value) + "\n");
    let mut images = vec![Image { name: format!("{}_values", service.offload), text: values }];
    for (index, (memory, port)) in
        image.memories().iter().zip(&lookup.pipeline.memories).enumerate()
    {
        let name = format!("{}_{}", service.name, port.name);
        let channel = plan.channels.iter().find(|channel| plan.rig && channel.name == name);
        let text = if let Some(channel) = channel {
            rig::trie_image(plan, service, channel, memory, index == 0)?
        } else {
            let mut text = Vec::new();
            memory.write_hex(&mut text).expect("memory can be written to");
            String::from_utf8(text).expect("hexadecimal digits")
        };
        images.push(Image { name, text });
    }
    Ok(images)
}
