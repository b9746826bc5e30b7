//! Computes in the engine how a call changes the header window. Hardware that stores the window in
//! the engine and the payload elsewhere then sends requests only for the payload.
//!
//! The added operations change nothing, whichever machine serves the call. They repeat the
//! computation of a machine that sees the whole packet. A machine that sees only the payload may
//! return zero for the window.
//!
//! ```text
//!                                            %3:u32 = packet.read %1 + 0   (zero outside)
//! %2:u32 = call bytes.read(%1)         =>    %4:u32 = call bytes.read(%1)
//!                                            %2:u32 = or %3, %4
//!
//!                                            %5:u1 = call bytes.write(%1, %2, %3)
//! %5:u1 = call bytes.write(%1, %2, %3) =>    packet.write %1 + 0, %2[31:24] when %5 and 0 < %3
//!                                            packet.write %1 + 8, %2[23:16] when ...
//!
//! %4:u16 = call sums.sum(%1, %2, %3)   =>    %4:u16 = the rest, starting from the window's sum
//! ```
//!
//! If an odd number of bytes is in the window, the sum of the rest is requested with its bytes
//! swapped, and swapped back (RFC 1071 section 2, B).
//!
//! The pass runs only for machines with header ports, and before steps are split into regions,
//! since a request region may not write. Code with `if` stays unchanged.

use wireloom_ir::{BinaryOp, Block, Code, Engine, Meta, OffloadTarget, Op, OpKind, Program, Value};
use wireloom_net::packet;
use wireloom_offloads::registry;

use super::PassOptions;
use super::sequence::Sequence;
use crate::analysis::depth::WINDOW_BYTES;

/// Maximum bytes of a header window at arrival, and after insertions (docs/language.md).
const WINDOW: [u32; 2] = [packet::WINDOW as u32, WINDOW_BYTES];
/// Bytes that are summed at once.
const CHUNK: u32 = 16;
/// Bits of a sum of window bytes and its initial value: 129 numbers of 16 bits.
const SUM_BITS: u32 = 24;

/// Runs over every step.
pub fn run(program: &mut Program, options: &PassOptions) {
    if options.header.is_none() {
        return;
    }
    for engine in &mut program.engines {
        let calls = calls(engine);
        let most = longest_window(engine);
        for step in &mut engine.steps {
            if let Code::Sequential(block) = &mut step.code {
                let out = Sequence { values: &mut step.values, ops: Vec::new(), loc: step.loc };
                Window { out, calls: &calls, most }.block(block);
            }
        }
    }
}

/// A method that this pass extends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Read,
    Write,
    Sum,
}

/// Returns for each method of each offload whether the pass extends it, and as which method.
fn calls(engine: &Engine) -> Vec<Vec<Option<Method>>> {
    let of = |target: &OffloadTarget| {
        let OffloadTarget::Kind(config) = target else { return Vec::new() };
        let methods = registry::kind(&config.kind).map_or(&[][..], |kind| kind.methods);
        let method = |name: &str| match (config.kind.as_str(), name) {
            ("payload", "read") => Some(Method::Read),
            ("payload", "write") => Some(Method::Write),
            ("checksum", "sum") => Some(Method::Sum),
            _ => None,
        };
        methods.iter().map(|m| method(m.name)).collect()
    };
    engine.offloads.iter().map(|offload| of(&offload.target)).collect()
}

/// Returns the maximum bytes of a header window in an engine.
pub(super) fn longest_window(engine: &Engine) -> u32 {
    let mut grows = false;
    for step in &engine.steps {
        step.for_each_op(|op| {
            grows |= matches!(op.kind, OpKind::Insert { .. } | OpKind::Reset { .. })
        });
    }
    WINDOW[usize::from(grows)]
}

struct Window<'a> {
    out: Sequence<'a>,
    calls: &'a [Vec<Option<Method>>],
    /// Maximum bytes of the window.
    most: u32,
}

impl Window<'_> {
    fn block(&mut self, block: &mut Block) {
        for op in std::mem::take(&mut block.ops) {
            let OpKind::Call { offload, method, args } = &op.kind else {
                self.out.ops.push(op);
                continue;
            };
            let args = args.clone();
            self.out.loc = op.loc;
            match self.calls[offload.index()].get(*method).copied().flatten() {
                Some(Method::Read) => self.read(&op, &args),
                Some(Method::Write) => self.write(op, &args),
                Some(Method::Sum) => self.sum(&op, &args),
                None => self.out.ops.push(op),
            }
        }
        block.ops = std::mem::take(&mut self.out.ops);
    }

    /// Emits a call whose reply goes into a new value. Returns that value.
    fn call(&mut self, op: &Op, args: Vec<Value>, width: u32) -> Value {
        let OpKind::Call { offload, method, .. } = op.kind else {
            unreachable!("the operation is a call")
        };
        let reply = self.out.new_value(width);
        self.out.effect(OpKind::Call { offload, method, args }, vec![reply], op.guard);
        reply
    }

    fn read(&mut self, op: &Op, args: &[Value]) {
        let result = op.results[0];
        let width = self.out.width(result);
        let mut field = self.out.op(width, OpKind::ReadPacket { base: args[0], bit: 0 });
        // The reply of a call that does not happen is zero.
        if let Some(guard) = op.guard {
            let zero = self.out.number(width, 0);
            field = self.out.select(guard, field, zero);
        }
        let reply = self.call(op, args.to_vec(), width);
        self.out.effect(OpKind::Binary(BinaryOp::Or, field, reply), vec![result], None);
    }

    fn write(&mut self, op: Op, args: &[Value]) {
        let [offset, data, count] = args[..] else {
            unreachable!("verified calls have their arguments")
        };
        let done = op.results[0];
        self.out.ops.push(op);
        self.out.write_bytes(data, (offset, 0), (0, count), done);
    }

    fn sum(&mut self, op: &Op, args: &[Value]) {
        let result = op.results[0];
        let [offset, length, initial] = args[..] else {
            unreachable!("verified calls have their arguments")
        };
        let out = &mut self.out;
        // Number of bytes of the range that lie in the window.
        let window = out.op(16, OpKind::ReadMeta(Meta::Window));
        let left = out.binary(BinaryOp::Sub, window, offset);
        let is_behind = out.binary(BinaryOp::Ule, window, offset);
        let zero = out.number(16, 0);
        let left = out.select(is_behind, zero, left);
        let is_short = out.binary(BinaryOp::Ult, length, left);
        let inside = out.select(is_short, length, left);

        let mut sum = out.extend(initial, SUM_BITS);
        for chunk in 0..self.most / CHUNK {
            let part = self.chunk(offset, inside, chunk);
            sum = self.out.binary(BinaryOp::Add, sum, part);
        }
        let folded = self.fold(sum);
        let folded = self.fold(folded);
        let begun = self.out.slice(folded, 0, 16);

        let odd = self.out.slice(inside, 0, 1);
        let begun = self.swapped(odd, begun);
        let behind = self.out.binary(BinaryOp::Add, offset, inside);
        let rest = self.out.binary(BinaryOp::Sub, length, inside);
        let reply = self.call(op, vec![behind, rest, begun], 16);
        let last = self.swapped(odd, reply);
        // Keep the source's name for the reply.
        self.out.effect(OpKind::Slice(last, 0), vec![result], None);
    }

    /// Returns the sum of the words of some bytes of the range, as far as they are in the window.
    fn chunk(&mut self, offset: Value, inside: Value, chunk: u32) -> Value {
        let out = &mut self.out;
        let field = out.op(8 * CHUNK, OpKind::ReadPacket { base: offset, bit: 8 * CHUNK * chunk });
        let mut sum = None;
        for word in 0..CHUNK / 2 {
            let mut bytes = Vec::new();
            for byte in 2 * word..2 * word + 2 {
                let place = out.number(16, chunk * CHUNK + byte);
                let counts = out.binary(BinaryOp::Ult, place, inside);
                let value = out.slice(field, 8 * (CHUNK - 1 - byte), 8);
                let zero = out.number(8, 0);
                bytes.push(out.select(counts, value, zero));
            }
            let value = out.op(16, OpKind::Concat(bytes));
            let value = out.extend(value, SUM_BITS);
            sum = Some(match sum {
                Some(sum) => out.binary(BinaryOp::Add, sum, value),
                None => value,
            });
        }
        sum.expect("a chunk has words")
    }

    /// Adds the carries of a ones'-complement sum to the sum.
    fn fold(&mut self, sum: Value) -> Value {
        let carries = self.out.slice(sum, 16, SUM_BITS - 16);
        let carries = self.out.extend(carries, SUM_BITS);
        let low = self.out.slice(sum, 0, 16);
        let low = self.out.extend(low, SUM_BITS);
        self.out.binary(BinaryOp::Add, low, carries)
    }

    /// Returns a word, with its bytes swapped if a condition is 1.
    fn swapped(&mut self, condition: Value, word: Value) -> Value {
        let (high, low) = (self.out.slice(word, 8, 8), self.out.slice(word, 0, 8));
        let swapped = self.out.op(16, OpKind::Concat(vec![low, high]));
        self.out.select(condition, swapped, word)
    }
}
