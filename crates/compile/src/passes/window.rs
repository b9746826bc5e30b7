//! Computes in the engine what a call makes of the header window, so that hardware which keeps the window in the engine and the bytes
//! behind it elsewhere asks there for these alone.
//!
//! What is added changes nothing, whoever answers the call: it says again what a machine that sees the whole packet says, and a
//! machine that sees only what lies behind the window may answer zero for what lies in it.
//!
//! ```text
//!                                            %3:u32 = packet.read %1 + 0          (zero outside the window)
//! %2:u32 = call bytes.read(%1)         =>    %4:u32 = call bytes.read(%1)
//!                                            %2:u32 = or %3, %4
//!
//!                                            %5:u1 = call bytes.write(%1, %2, %3)
//! %5:u1 = call bytes.write(%1, %2, %3) =>    packet.write %1 + 0, %2[31:24] when %5 and 0 < %3
//!                                            packet.write %1 + 8, %2[23:16] when %5 and 1 < %3      (and so on)
//!
//! %4:u16 = call sums.sum(%1, %2, %3)   =>    %4:u16 = the sum of the rest, begun with that of what lies in the window
//! ```
//!
//! The sum of the rest is asked for with its bytes swapped, and swapped back, if an odd number of bytes is in the window (RFC 1071
//! section 2, B).
//!
//! Only for machines with header ports, and before steps are parted into regions, since that of requests may not write; code with `if`
//! stays as it is.

use wireloom_bits::Bits;
use wireloom_ir::{
    BinaryOp, Block, Code, Engine, Meta, OffloadTarget, Op, OpKind, Program, Value, ValueInfo,
};
use wireloom_offloads::registry;

use super::PassOptions;

/// Bytes that a header window has at most when a packet comes, and when bytes have been inserted (docs/language.md).
const WINDOW: [u32; 2] = [128, 256];
/// Bytes that are summed at once.
const CHUNK: u32 = 16;
/// Bits of a sum of window bytes and what it begins with: 129 numbers of 16 bits.
const SUM_BITS: u32 = 24;

/// Over every step.
pub fn run(program: &mut Program, options: &PassOptions) {
    if options.header.is_none() {
        return;
    }
    for engine in &mut program.engines {
        let calls = calls(engine);
        let most = WINDOW[usize::from(grows(engine))];
        for step in &mut engine.steps {
            if let Code::Sequential(block) = &mut step.code {
                let mut window = Window { values: &mut step.values, calls: &calls, most, out: Vec::new() };
                window.block(block);
            }
        }
    }
}

/// A method that is added to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Read,
    Write,
    Sum,
}

/// For each offload and method of it, whether it is one of them.
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

/// Whether a window may become longer than it came.
fn grows(engine: &Engine) -> bool {
    let mut grows = false;
    for step in &engine.steps {
        step.for_each_op(|op| grows |= matches!(op.kind, OpKind::Insert { .. } | OpKind::Reset { .. }));
    }
    grows
}

struct Window<'a> {
    values: &'a mut Vec<ValueInfo>,
    calls: &'a [Vec<Option<Method>>],
    /// Bytes that the window has at most.
    most: u32,
    out: Vec<Op>,
}

impl Window<'_> {
    fn block(&mut self, block: &mut Block) {
        for op in std::mem::take(&mut block.ops) {
            let OpKind::Call { offload, method, args } = &op.kind else {
                self.out.push(op);
                continue;
            };
            let args = args.clone();
            match self.calls[offload.index()].get(*method).copied().flatten() {
                Some(Method::Read) => self.read(op, &args),
                Some(Method::Write) => self.write(op, &args),
                Some(Method::Sum) => self.sum(op, &args),
                None => self.out.push(op),
            }
        }
        block.ops = std::mem::take(&mut self.out);
    }

    fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    fn new_value(&mut self, width: u32) -> Value {
        self.values.push(ValueInfo { width, name: None });
        Value((self.values.len() - 1) as u32)
    }

    fn op(&mut self, like: &Op, width: u32, kind: OpKind) -> Value {
        let value = self.new_value(width);
        self.out.push(Op { kind, results: vec![value], guard: None, loc: like.loc });
        value
    }

    fn number(&mut self, like: &Op, width: u32, number: u32) -> Value {
        self.op(like, width, OpKind::Const(Bits::new(width, u128::from(number))))
    }

    fn binary(&mut self, like: &Op, op: BinaryOp, a: Value, b: Value) -> Value {
        let width = match op {
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Ult | BinaryOp::Ule => 1,
            _ => self.width(a),
        };
        self.op(like, width, OpKind::Binary(op, a, b))
    }

    fn slice(&mut self, like: &Op, value: Value, low: u32, width: u32) -> Value {
        self.op(like, width, OpKind::Slice(value, low))
    }

    fn select(&mut self, like: &Op, condition: Value, a: Value, b: Value) -> Value {
        let width = self.width(a);
        self.op(like, width, OpKind::Select(condition, a, b))
    }

    /// A call with a value in place of its reply.
    fn call(&mut self, op: &Op, args: Vec<Value>, width: u32) -> Value {
        let OpKind::Call { offload, method, .. } = op.kind else { unreachable!("only calls come here") };
        let reply = self.new_value(width);
        self.out.push(Op {
            kind: OpKind::Call { offload, method, args },
            results: vec![reply],
            ..op.clone()
        });
        reply
    }

    fn read(&mut self, op: Op, args: &[Value]) {
        let result = op.results[0];
        let width = self.width(result);
        let mut field = self.op(&op, width, OpKind::ReadPacket { base: args[0], bit: 0 });
        // The reply of a call that does not happen is zero.
        if let Some(guard) = op.guard {
            let zero = self.number(&op, width, 0);
            field = self.select(&op, guard, field, zero);
        }
        let reply = self.call(&op, args.to_vec(), width);
        self.out.push(Op {
            kind: OpKind::Binary(BinaryOp::Or, field, reply),
            results: vec![result],
            guard: None,
            loc: op.loc,
        });
    }

    fn write(&mut self, op: Op, args: &[Value]) {
        let [offset, data, count] = args[..] else { unreachable!("verified calls have their arguments") };
        let (done, loc) = (op.results[0], op.loc);
        self.out.push(op.clone());
        let bytes = self.width(data) / 8;
        for byte in 0..bytes {
            let number = self.number(&op, 16, byte);
            let counts = self.binary(&op, BinaryOp::Ult, number, count);
            let guard = self.binary(&op, BinaryOp::And, done, counts);
            let value = self.slice(&op, data, 8 * (bytes - 1 - byte), 8);
            self.out.push(Op {
                kind: OpKind::WritePacket { base: offset, bit: 8 * byte, value },
                results: Vec::new(),
                guard: Some(guard),
                loc,
            });
        }
    }

    fn sum(&mut self, op: Op, args: &[Value]) {
        let result = op.results[0];
        let [offset, length, initial] = args[..] else { unreachable!("verified calls have their arguments") };
        // How many bytes of the range lie in the window.
        let window = self.op(&op, 16, OpKind::ReadMeta(Meta::Window));
        let left = self.binary(&op, BinaryOp::Sub, window, offset);
        let is_behind = self.binary(&op, BinaryOp::Ule, window, offset);
        let zero = self.number(&op, 16, 0);
        let left = self.select(&op, is_behind, zero, left);
        let is_short = self.binary(&op, BinaryOp::Ult, length, left);
        let inside = self.select(&op, is_short, length, left);

        let mut sum = self.op(&op, SUM_BITS, OpKind::Extend(initial));
        for chunk in 0..self.most / CHUNK {
            let part = self.chunk(&op, offset, inside, chunk);
            sum = self.binary(&op, BinaryOp::Add, sum, part);
        }
        let folded = self.fold(&op, sum);
        let folded = self.fold(&op, folded);
        let begun = self.slice(&op, folded, 0, 16);

        let odd = self.slice(&op, inside, 0, 1);
        let begun = self.swapped(&op, odd, begun);
        let behind = self.binary(&op, BinaryOp::Add, offset, inside);
        let rest = self.binary(&op, BinaryOp::Sub, length, inside);
        let reply = self.call(&op, vec![behind, rest, begun], 16);
        let last = self.swapped(&op, odd, reply);
        // A name for what the source called the reply.
        self.out.push(Op { kind: OpKind::Slice(last, 0), results: vec![result], guard: None, loc: op.loc });
    }

    /// The sum of the words of some bytes of the range, as far as they are in the window.
    fn chunk(&mut self, op: &Op, offset: Value, inside: Value, chunk: u32) -> Value {
        let field = OpKind::ReadPacket { base: offset, bit: 8 * CHUNK * chunk };
        let field = self.op(op, 8 * CHUNK, field);
        let mut sum = None;
        for word in 0..CHUNK / 2 {
            let mut bytes = Vec::new();
            for byte in 2 * word..2 * word + 2 {
                let place = self.number(op, 16, chunk * CHUNK + byte);
                let counts = self.binary(op, BinaryOp::Ult, place, inside);
                let value = self.slice(op, field, 8 * (CHUNK - 1 - byte), 8);
                let zero = self.number(op, 8, 0);
                bytes.push(self.select(op, counts, value, zero));
            }
            let value = self.op(op, 16, OpKind::Concat(bytes));
            let value = self.op(op, SUM_BITS, OpKind::Extend(value));
            sum = Some(match sum {
                Some(sum) => self.binary(op, BinaryOp::Add, sum, value),
                None => value,
            });
        }
        sum.expect("a chunk has words")
    }

    /// The carries of a ones'-complement sum added to it.
    fn fold(&mut self, op: &Op, sum: Value) -> Value {
        let carries = self.slice(op, sum, 16, SUM_BITS - 16);
        let carries = self.op(op, SUM_BITS, OpKind::Extend(carries));
        let low = self.slice(op, sum, 0, 16);
        let low = self.op(op, SUM_BITS, OpKind::Extend(low));
        self.binary(op, BinaryOp::Add, low, carries)
    }

    /// A word, its bytes exchanged if a condition holds.
    fn swapped(&mut self, op: &Op, condition: Value, word: Value) -> Value {
        let (high, low) = (self.slice(op, word, 8, 8), self.slice(op, word, 0, 8));
        let swapped = self.op(op, 16, OpKind::Concat(vec![low, high]));
        self.select(op, condition, swapped, word)
    }
}
