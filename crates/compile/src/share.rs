//! Makes one program serve several virtual routers. Each packet carries its router's number, and
//! every table has a part for each router.
//!
//! The upper byte of a port is then a router's number, and the lower byte one of the router's own
//! 256 ports. The program reads the router's own port. Packets that it sends carry the router's
//! number. The tables of all routers become one table with the number in every key:
//!
//! ```text
//! %2:u16 = meta.read ingress                      %7:u16 = meta.read ingress
//!                                                 %8:u8 = slice %7 from 0
//!                                                 %2:u16 = extend %8
//! %3:u64 = call routes.search(%1)           =>    %9:u4 = slice %7 from 8
//!                                                 %10:u36 = concat(%9, %1)
//!                                                 %3:u64 = call routes.search(%10)
//! finish                                          (the number goes into the egress port)
//!                                                 finish
//! ```
//!
//! The key of an `lpm` begins with four bits of the number, so that a prefix of one router never
//! matches an address of another. The index of an `array` or a `counter` ends with the number, in
//! as many bits as the routers need, so that an index out of range stays out of range.
//! [`Sharing::load`] copies a router's own tables into its part.

use wireloom_bits::Bits;
use wireloom_ir::{
    BinaryOp, Block, Code, Exit, Loc, Meta, Offload, OffloadTarget, Op, OpKind, Program, Value,
    ValueInfo,
};
use wireloom_offloads::registry::MOST_ENTRIES;
use wireloom_offloads::{Config, Content, Entry, EntryKey, Layout, StateRow, Store};

/// Lowest bit of the router's number in a port. The bits below it are the router's own port.
pub const PORT_BITS: u32 = 8;
/// Number of bits of the router's number in the key of an `lpm`.
pub const PREFIX_BITS: u32 = 4;
/// Maximum number of routers that can share a program.
pub const MOST_ROUTERS: usize = 1 << PREFIX_BITS;

/// A sentence that says why a program cannot be shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotShareable(pub String);

/// How tables are divided among routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Number of bits of the router's number after an index.
    index_bits: u32,
}

impl Sharing {
    /// Divides tables among `routers` routers.
    ///
    /// # Errors
    /// If there are no routers, or more than can share a program.
    pub fn new(routers: usize) -> Result<Self, NotShareable> {
        if !(1..=MOST_ROUTERS).contains(&routers) {
            return Err(NotShareable(format!(
                "{routers} virtual routers cannot share a processor: 1 to {MOST_ROUTERS} can"
            )));
        }
        Ok(Self { index_bits: routers.next_power_of_two().trailing_zeros() })
    }

    /// Makes the main engine of a lowered program serve all routers.
    ///
    /// # Errors
    /// If the engine has an offload that routers cannot share.
    ///
    /// # Panics
    /// If the program is already optimised.
    pub fn share(self, program: &mut Program) -> Result<(), NotShareable> {
        let engine = &mut program.engines[program.main.index()];
        let kinds = engine.offloads.iter_mut().map(|offload| self.offload(offload));
        let kinds: Vec<Division> = kinds.collect::<Result<_, _>>()?;
        for step in &mut engine.steps {
            let Code::Sequential(block) = &mut step.code else {
                panic!("{} was optimised", step.name)
            };
            let mut writer = Writer { sharing: self, kinds: &kinds, values: &mut step.values };
            writer.block(block);
        }
        Ok(())
    }

    /// Makes room for every router in an offload.
    fn offload(self, offload: &mut Offload) -> Result<Division, NotShareable> {
        let refuse = |why: &str| {
            Err(NotShareable(format!("virtual routers cannot share `{}`: {why}", offload.name)))
        };
        let OffloadTarget::Kind(config) = &mut offload.target else {
            return refuse("it is an engine, which does not know whose packet a call is for");
        };
        match config.kind.as_str() {
            "lpm" => {
                let own = config.key.as_ref().map_or(0, Layout::width);
                config.key = Some(Layout::scalar(PREFIX_BITS + own));
                Ok(Division::Prefix)
            }
            "array" | "counter" => {
                let size = config.param("size").low_u64() << self.index_bits;
                if size > MOST_ENTRIES {
                    return refuse(
                        "all its parts together have more elements than an offload can have",
                    );
                }
                config.params.insert("size".to_owned(), Bits::new(32, u128::from(size)));
                Ok(Division::Index)
            }
            "hash" | "crc" | "checksum" | "payload" | "clock" => Ok(Division::Alike),
            "random" => refuse(
                "its numbers depend on how many packets came before, including those of other routers",
            ),
            "exact" | "park" => refuse("one router could take all the room that it has"),
            kind => refuse(&format!("dividing a `{kind}` is not supported")),
        }
    }

    /// Copies the tables of one router into its part of the shared tables.
    ///
    /// # Errors
    /// A sentence, if there is no room for them.
    ///
    /// # Panics
    /// If the stores do not belong to the program alone and to the same program shared.
    pub fn load(
        self,
        shared: &mut Store,
        router: usize,
        alone: &Store,
    ) -> Result<(), NotShareable> {
        for (slot, own) in shared.slots.iter_mut().zip(&alone.slots) {
            let (Content::Kind { instance, config }, Content::Kind { instance: own, .. }) =
                (&mut slot.content, &own.content)
            else {
                panic!("`{}` was refused before", slot.name)
            };
            if kind_of(config) == Division::Alike {
                continue;
            }
            instance.begin_load();
            let loaded: Result<(), _> =
                own.rows().into_iter().try_for_each(|row| instance.load(self.entry(router, row)));
            loaded
                .and_then(|()| instance.end_load())
                .map_err(|refused| NotShareable(format!("`{}`: {}", slot.name, refused.0)))?;
        }
        Ok(())
    }

    /// Converts a row of a router's table to an entry of the shared table.
    fn entry(self, router: usize, row: StateRow) -> Entry {
        let tag = |width| Bits::new(width, router as u128);
        let key = match row.key {
            EntryKey::Prefix { bits, length } => EntryKey::Prefix {
                bits: tag(PREFIX_BITS).concat(&bits),
                length: PREFIX_BITS + length,
            },
            EntryKey::Index(index) => EntryKey::Index(index << self.index_bits | router as u64),
            other => other,
        };
        let fields = row.fields.into_iter().map(|(_, bits)| bits);
        let value =
            fields.reduce(|high, low| high.concat(&low)).expect("a row of a table has fields");
        Entry { key, value }
    }
}

/// How an offload is divided among routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    /// The number goes before the key.
    Prefix,
    /// The number goes after the index.
    Index,
    /// The offload keeps no state of earlier packets, so all routers share it.
    Alike,
}

fn kind_of(config: &Config) -> Division {
    match config.kind.as_str() {
        "lpm" => Division::Prefix,
        "array" | "counter" => Division::Index,
        _ => Division::Alike,
    }
}

/// Rewrites a step.
struct Writer<'a> {
    sharing: Sharing,
    kinds: &'a [Division],
    values: &'a mut Vec<ValueInfo>,
}

impl Writer<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.ops.len());
        for mut op in std::mem::take(&mut block.ops) {
            match &mut op.kind {
                OpKind::If { then, otherwise, .. } => {
                    self.block(&mut then.0);
                    self.block(&mut otherwise.0);
                }
                OpKind::ReadMeta(meta @ (Meta::Ingress | Meta::Egress)) => {
                    let own = self.own_port(*meta, op.loc, &mut out);
                    op.kind = OpKind::Extend(own);
                }
                OpKind::Call { offload, args, .. } => match self.kinds[offload.index()] {
                    Division::Prefix => args[0] = self.prefixed(args[0], op.loc, &mut out),
                    Division::Index => args[0] = self.indexed(args[0], op.loc, &mut out),
                    Division::Alike => {}
                },
                OpKind::Exit(Exit::Finish | Exit::Emit(..) | Exit::ToCpu(..)) => {
                    let number = self.number(PORT_BITS, op.loc, &mut out);
                    let own = self.own_port(Meta::Egress, op.loc, &mut out);
                    let port = self.value(16, OpKind::Concat(vec![number, own]), op.loc, &mut out);
                    let kind = OpKind::WriteMeta(Meta::Egress, port);
                    out.push(Op { kind, results: Vec::new(), guard: op.guard, loc: op.loc });
                }
                _ => {}
            }
            out.push(op);
        }
        block.ops = out;
    }

    fn value(&mut self, width: u32, kind: OpKind, loc: Loc, out: &mut Vec<Op>) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        out.push(Op { kind, results: vec![value], guard: None, loc });
        value
    }

    /// Returns the lowest bits of the number of the packet's router.
    fn number(&mut self, bits: u32, loc: Loc, out: &mut Vec<Op>) -> Value {
        let ingress = self.value(16, OpKind::ReadMeta(Meta::Ingress), loc, out);
        self.value(bits, OpKind::Slice(ingress, PORT_BITS), loc, out)
    }

    /// Returns the router's own number of a port.
    fn own_port(&mut self, meta: Meta, loc: Loc, out: &mut Vec<Op>) -> Value {
        let port = self.value(16, OpKind::ReadMeta(meta), loc, out);
        self.value(PORT_BITS, OpKind::Slice(port, 0), loc, out)
    }

    fn prefixed(&mut self, key: Value, loc: Loc, out: &mut Vec<Op>) -> Value {
        let number = self.number(PREFIX_BITS, loc, out);
        let width = PREFIX_BITS + self.values[key.0 as usize].width;
        self.value(width, OpKind::Concat(vec![number, key]), loc, out)
    }

    /// Converts an index to the router's part. An index out of range of the part is out of range of
    /// the whole.
    fn indexed(&mut self, index: Value, loc: Loc, out: &mut Vec<Op>) -> Value {
        let bits = self.sharing.index_bits;
        if bits == 0 {
            return index;
        }
        let number = self.number(bits, loc, out);
        let high = self.value(bits, OpKind::Slice(index, 32 - bits), loc, out);
        let none = self.value(bits, OpKind::Const(Bits::zero(bits)), loc, out);
        let reaches = self.value(1, OpKind::Binary(BinaryOp::Eq, high, none), loc, out);
        let low = self.value(32 - bits, OpKind::Slice(index, 0), loc, out);
        let joined = self.value(32, OpKind::Concat(vec![low, number]), loc, out);
        let far = self.value(32, OpKind::Const(Bits::ones(32)), loc, out);
        self.value(32, OpKind::Select(reaches, joined, far), loc, out)
    }
}
