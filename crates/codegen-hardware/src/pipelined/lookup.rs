//! Longest-prefix match as a service: the pipeline of a trie, the value table after it, and the
//! control plane's access to both.

use super::accelerators::accelerator;
use super::pipeline::{MemoryPort, Pipeline, camel, pipeline};
use crate::sv::short::{clocked, int, name, vector};
use crate::sv::{Binary, Expr, Instance, Item, Module, Parameter, Port, Type};
use crate::tables::{MemoryShape, Shape, VALUE_BITS};

/// The latency in cycles of reading a table on the chip (`wl_read_table`).
pub const TABLE_LATENCY: u32 = 2;

/// A lookup service. It is generated once for each trie; the properties that differ between tables
/// are parameters of the module.
#[derive(Clone, Debug)]
pub struct Lookup {
    pub shape: Shape,
    pub pipeline: Pipeline,
    /// The service, a module called `ENGINE_lookup`: see [`lookup`].
    pub module: Module,
    /// The tables on the chip. Their control targets are numbered from `CtlTarget` on, in this
    /// order.
    pub tables: Vec<Control>,
}

/// A table on the chip that the control plane writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// The name of the contents: `values`, or the name of the memory. Its image in simulation is
    /// `+wl_image_<Image>_<name>`.
    pub name: String,
    /// The number of entries; `None` for `values`, whose number is the parameter `Values`.
    pub entries: Option<u32>,
    /// The number of bits of an entry; `None` for `values`, whose width is the parameter
    /// `ValueBits`.
    pub width: Option<u32>,
}

impl Lookup {
    /// The memories outside the chip with their ports. Each needs a `wl_memory_channel` with at
    /// least as many slots as the port.
    pub fn channels(&self) -> impl Iterator<Item = (&MemoryShape, &MemoryPort)> {
        let all = self.shape.memories.iter().zip(&self.pipeline.memories);
        all.filter(|(shape, _)| is_outside(shape))
    }

    /// Returns the cycles from a request to its reply, given the latency of each channel in cycles.
    pub fn latency(&self, channel: u32) -> u32 {
        let memories = self.shape.memories.iter();
        let latencies: Vec<u32> = memories
            .map(|memory| if is_outside(memory) { channel } else { TABLE_LATENCY })
            .collect();
        self.pipeline.latency(&latencies) + TABLE_LATENCY
    }
}

fn is_outside(memory: &MemoryShape) -> bool {
    memory.burst > 1
}

/// Builds the lookup service of a trie. The names of the modules begin with `label`.
///
/// The service has the ports of every service. For each memory M outside the chip it also has
/// `M_read_valid_o`, `M_read_address_o` (of bursts) and `M_read_data_i`, with one part for each
/// slot, and `M_hold_i`. The parameters are `TagBits`, `ValueBits`, `Values` (elements of the value
/// table), `MLatency` for each of these memories, `CtlBits`, `CtlTarget` (the control target of the
/// first of [`Lookup::tables`]; the others follow), `Patience` and `Image`.
///
/// # Errors
/// If the accelerator's source cannot be read, or cannot become a pipeline.
pub fn lookup(shape: &Shape, label: &str) -> Result<Lookup, String> {
    let mut accelerator = accelerator(shape.engine)?;
    accelerator.program.engines[accelerator.engine.index()].name.insert_str(0, label);
    let pipeline = pipeline(&accelerator.program, accelerator.engine)
        .map_err(|refusal| refusal.to_string())?;
    let fits =
        shape.memories.iter().map(|memory| (memory.name, u64::from(memory.entries), memory.width));
    let has = pipeline.memories.iter().map(|port| (port.name.as_str(), port.size, port.data_bits));
    if !fits.eq(has) || pipeline.request_bits != shape.key_bits || pipeline.reply_bits != VALUE_BITS
    {
        return Err(format!(
            "programs/accelerators/{}.loom: its memories, key or reply are not those that the \
             tables are laid out for",
            shape.engine
        ));
    }
    let mut tables = vec![Control { name: "values".into(), entries: None, width: None }];
    tables.extend(shape.memories.iter().filter(|memory| !is_outside(memory)).map(|memory| {
        Control {
            name: memory.name.into(),
            entries: Some(memory.entries),
            width: Some(memory.width),
        }
    }));
    let module = Generator { shape, label, pipeline: &pipeline, tables: &tables }.module();
    Ok(Lookup { shape: *shape, pipeline, module, tables })
}

struct Generator<'a> {
    shape: &'a Shape,
    /// The prefix of the module's name.
    label: &'a str,
    pipeline: &'a Pipeline,
    tables: &'a [Control],
}

impl Generator<'_> {
    fn module(&self) -> Module {
        let shape = self.shape;
        let widths: Vec<String> = shape.strides().iter().map(ToString::to_string).collect();
        let mut doc = format!(
            "Longest-prefix match of {}-bit keys as a service: a pipeline that walks a trie with \
             levels of\n{} bits, and a table of the values.\n\
             Contract\n  \
             Data: the reply is the value of the longest prefix that matches, or element 0 of the \
             value table\n  if none does. A lookup sees the table as it was at one moment of the \
             lookup, if the control plane\n  writes in the order of \
             crates/codegen-hardware/src/tables.\n  \
             Throughput: one request in each cycle in which no memory requests a pause \
             (`M_hold_i`).\n  \
             Latency: constant.\n  Order: replies come in the order of the requests.\n\
             Control targets, from `CtlTarget` on: ",
            shape.key_bits,
            widths.join(", ")
        );
        let targets: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
        doc += &format!(
            "{}. The memories of the trie have their own, in their channels.\nGenerated.",
            targets.join(", ")
        );
        let mut module = Module::new(format!("{}{}_lookup", self.label, shape.engine), &doc);
        self.interface(&mut module);
        module.items = self.items();
        module
    }

    fn channels(&self) -> impl Iterator<Item = (&MemoryShape, &MemoryPort)> {
        self.shape
            .memories
            .iter()
            .zip(&self.pipeline.memories)
            .filter(|(shape, _)| is_outside(shape))
    }

    fn on_chip(&self) -> impl Iterator<Item = (&MemoryShape, &MemoryPort)> {
        self.shape
            .memories
            .iter()
            .zip(&self.pipeline.memories)
            .filter(|(shape, _)| !is_outside(shape))
    }

    fn interface(&self, module: &mut Module) {
        module.parameters.extend([
            Parameter::number("TagBits", 8, "bits of a request's tag"),
            Parameter::number("ValueBits", 32, "bits of a value"),
            Parameter::number("Values", 1024, "elements of the value table; at most 131,072"),
        ]);
        for (_, port) in self.channels() {
            let doc = format!("cycles from a read of `{}` to its data", port.name);
            module.parameters.push(Parameter::number(port.parameter.clone(), 8, doc));
        }
        let target = Parameter {
            name: "CtlTarget".into(),
            ty: vector(8),
            default: Expr::number(8, 0),
            doc: "number of the value table on the control bus; the other tables' follow".into(),
        };
        let image = Parameter {
            name: "Image".into(),
            ty: Type::Named(String::new()),
            default: Expr::Text(String::new()),
            doc: "name of the contents in simulation".into(),
        };
        module.parameters.extend([
            Parameter::number("CtlBits", 320, "bits of the control bus' data"),
            target,
            Parameter::number(
                "Patience",
                16,
                "cycles that a control read waits before it asks for an idle one",
            ),
            image,
        ]);
        let tag = || Type::vector(name("TagBits"));
        let control = || Type::vector(name("CtlBits"));
        module.ports.extend([
            Port::input("clk_i", Type::Bit, ""),
            Port::input("rst_i", Type::Bit, ""),
            Port::input("request_valid_i", Type::Bit, ""),
            Port::output("request_ready_o", Type::Bit, ""),
            Port::input("request_tag_i", tag(), ""),
            Port::input("request_data_i", vector(self.shape.key_bits), "the key"),
            Port::output("reply_valid_o", Type::Bit, ""),
            Port::output("reply_tag_o", tag(), ""),
            Port::output("reply_data_o", Type::vector(name("ValueBits")), "the value"),
        ]);
        for (shape, port) in self.channels() {
            let slots = port.slots.len() as u32;
            let of = |what: &str| format!("{}_{what}", port.name);
            module.ports.extend([
                Port::output(
                    of("read_valid_o"),
                    vector(slots),
                    format!("slots of: {}", port.slots.join(", ")),
                ),
                Port::output(
                    of("read_address_o"),
                    vector(slots * burst_address_bits(shape, port)),
                    "of bursts",
                ),
                Port::input(
                    of("read_data_i"),
                    vector(slots * shape.burst * shape.width),
                    "the first entry below",
                ),
                Port::input(of("hold_i"), Type::Bit, "take no new requests"),
            ]);
        }
        module.ports.extend([
            Port::input("ctl_valid_i", Type::Bit, "held until `ctl_done_o`"),
            Port::input("ctl_write_i", Type::Bit, ""),
            Port::input("ctl_target_i", vector(8), ""),
            Port::input("ctl_address_i", vector(32), "of an entry"),
            Port::input("ctl_data_i", control(), "the entry, in the lowest bits"),
            Port::output("ctl_done_o", Type::Bit, "a pulse"),
            Port::output("ctl_data_o", control(), "the entry that was read, zero unless done"),
        ]);
    }

    fn items(&self) -> Vec<Item> {
        let tables = self.tables.len() as u32;
        let holds = self.channels().map(|(_, port)| name(format!("{}_hold_i", port.name)));
        let holds = std::iter::once(name("hold").unary(crate::sv::Unary::AnyOf)).chain(holds);
        let mut items = vec![
            Item::net("hold", vector(tables)),
            Item::assign("request_ready_o", Expr::chain(Binary::Or, holds, Expr::Zeros).not()),
            Item::Blank,
            Item::comment("The walk through the trie."),
            Item::net("taken", Type::Bit),
            Item::net("found_valid", Type::Bit),
            Item::net("found_tag", Type::vector(name("TagBits"))),
            Item::net("found_data", vector(VALUE_BITS)),
        ];
        let mut walk =
            clocked(&self.pipeline.module.name, "i_pipeline").parameter("TagBits", name("TagBits"));
        for (shape, port) in self.shape.memories.iter().zip(&self.pipeline.memories) {
            let latency =
                if is_outside(shape) { name(port.parameter.clone()) } else { int(TABLE_LATENCY) };
            walk = walk.parameter(port.parameter.clone(), latency);
        }
        walk = walk
            .port("request_valid_i", name("request_valid_i").and(name("request_ready_o")))
            .port("request_ready_o", name("taken"))
            .port("request_tag_i", name("request_tag_i"))
            .port("request_data_i", name("request_data_i"))
            .port("reply_valid_o", name("found_valid"))
            .port("reply_tag_o", name("found_tag"))
            .port("reply_data_o", name("found_data"));
        for port in &self.pipeline.memories {
            let slots = port.slots.len() as u32;
            for (what, width, end) in [
                ("read_valid", slots, "o"),
                ("read_address", slots * port.address_bits, "o"),
                ("read_data", slots * port.data_bits, "i"),
            ] {
                let net = format!("{}_{what}", port.name);
                items.push(Item::net(net.clone(), vector(width)));
                walk = walk.port(format!("{net}_{end}"), name(net));
            }
        }
        items.push(Item::Instance(walk));
        for (shape, port) in self.channels() {
            items.extend(bursts(shape, port));
        }
        items.extend([
            Item::Blank,
            Item::comment("The tables on the chip, and their replies to the control plane."),
            Item::net("done", vector(tables)),
            Item::net("answer", Type::vector(int(tables).mul(name("CtlBits")))),
        ]);
        for (index, (shape, port)) in self.on_chip().enumerate() {
            let of = |what: &str| name(format!("{}_{what}", port.name));
            let table = self.table(
                index as u32 + 1,
                int(shape.width),
                int(shape.entries),
                port.name.as_str(),
            );
            items.push(Item::Instance(
                table
                    .port("read_valid_i", of("read_valid"))
                    .port("read_address_i", of("read_address"))
                    .port("read_data_o", of("read_data")),
            ));
        }
        items.extend(self.values());
        let answer = |table: u32| {
            let low = if table == 0 { int(0) } else { int(table).mul(name("CtlBits")) };
            name("answer").part(low, name("CtlBits"))
        };
        items.extend([
            Item::assign("ctl_done_o", name("done").unary(crate::sv::Unary::AnyOf)),
            Item::assign(
                "ctl_data_o",
                Expr::chain(Binary::Or, (0..tables).map(answer), Expr::Zeros),
            ),
        ]);
        items
    }

    /// Returns a table on the chip without its read port.
    fn table(&self, number: u32, width: Expr, size: Expr, table: &str) -> Instance {
        let target = match number {
            0 => name("CtlTarget"),
            _ => name("CtlTarget").add(Expr::number(8, u64::from(number))),
        };
        let low = if number == 0 { int(0) } else { int(number).mul(name("CtlBits")) };
        clocked("wl_read_table", format!("i_{table}"))
            .parameter("Width", width)
            .parameter("Size", size)
            .parameter("ReadLatency", int(TABLE_LATENCY))
            .parameter("CtlBits", name("CtlBits"))
            .parameter("CtlTarget", target)
            .parameter("Patience", name("Patience"))
            .parameter("Image", Expr::Concat(vec![name("Image"), Expr::Text(format!("_{table}"))]))
            .port("hold_o", name("hold").index(int(number)))
            .port("ctl_valid_i", name("ctl_valid_i"))
            .port("ctl_write_i", name("ctl_write_i"))
            .port("ctl_target_i", name("ctl_target_i"))
            .port("ctl_address_i", name("ctl_address_i"))
            .port("ctl_data_i", name("ctl_data_i"))
            .port("ctl_done_o", name("done").index(int(number)))
            .port("ctl_data_o", name("answer").part(low, name("CtlBits")))
    }

    /// Returns the value table, whose output is the reply.
    fn values(&self) -> Vec<Item> {
        let index_bits = Expr::call("wl_pkg::bits", vec![name("Values")]);
        let table = self
            .table(0, name("ValueBits"), name("Values"), "values")
            .port("read_valid_i", name("found_valid"))
            .port("read_address_i", name("found_index"))
            .port("read_data_o", name("reply_data_o"));
        let delay = |what: &str, width: Expr| {
            clocked("wl_delay", format!("i_{what}"))
                .parameter("Width", width)
                .parameter("Cycles", int(TABLE_LATENCY))
                .port("data_i", name(format!("found_{what}")))
                .port("data_o", name(format!("reply_{what}_o")))
        };
        vec![
            Item::Refuse {
                label: "g_illegal_values".into(),
                condition: name("Values").greater(int(1 << VALUE_BITS)),
                message: format!("{}_lookup: Values must be at most 131072", self.shape.engine),
            },
            Item::net("found_index", Type::vector(index_bits.clone())),
            Item::assign("found_index", name("found_data").part(int(0), index_bits)),
            Item::Instance(table),
            Item::Instance(delay("valid", int(1)).parameter("Reset", Expr::number(1, 1))),
            Item::Instance(delay("tag", name("TagBits"))),
            Item::Blank,
            Item::comment(
                "The pipeline takes every request. The index of a value may have more bits than \
                 the table needs.",
            ),
            Item::value(
                "unused",
                Type::Bit,
                Expr::Concat(vec![name("taken"), name("found_data")])
                    .unary(crate::sv::Unary::Parity),
            ),
        ]
    }
}

fn burst_address_bits(shape: &MemoryShape, port: &MemoryPort) -> u32 {
    port.address_bits - shape.burst.trailing_zeros()
}

/// Selects entries from bursts by the lowest bits of an address.
fn bursts(shape: &MemoryShape, port: &MemoryPort) -> Vec<Item> {
    let of = |what: &str| format!("{}_{what}", port.name);
    let slots = port.slots.len() as u32;
    let (low, width) = (shape.burst.trailing_zeros(), shape.width);
    let high = port.address_bits - low;
    let mut items = vec![
        Item::Blank,
        Item::comment(&format!(
            "Bursts of `{}`: the lowest bit of an address chooses the entry.",
            port.name
        )),
        Item::assign(of("read_valid_o"), name(of("read_valid"))),
    ];
    let slices = (0..slots)
        .rev()
        .map(|slot| name(of("read_address")).bits(slot * port.address_bits + low, high));
    items.push(Item::assign(of("read_address_o"), Expr::Concat(slices.collect())));
    let choices =
        (0..slots).rev().map(|slot| name(of("read_address")).bits(slot * port.address_bits, low));
    items.extend([
        Item::net(of("choice"), vector(slots * low)),
        Item::Instance(
            clocked("wl_delay", format!("i_{}_choice", port.name))
                .parameter("Width", int(slots * low))
                .parameter("Cycles", name(port.parameter.clone()))
                .port("data_i", Expr::Concat(choices.collect()))
                .port("data_o", name(of("choice"))),
        ),
    ]);
    let entries = (0..slots).rev().map(|slot| {
        let entry =
            |index: u32| name(of("read_data_i")).bits((slot * shape.burst + index) * width, width);
        let choice = |index: u32| {
            name(of("choice")).bits(slot * low, low).equal(Expr::number(low, u64::from(index)))
        };
        (1..shape.burst).fold(entry(0), |other, index| choice(index).choose(entry(index), other))
    });
    items.push(Item::assign(of("read_data"), Expr::Concat(entries.collect())));
    assert_eq!(camel(&port.name) + "Latency", port.parameter);
    items
}
