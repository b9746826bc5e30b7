//! Converts calls of functions to operations, which need no request and split no step.
//!
//! ```text
//! %1:u32 = call crc.crc32(%0)               %1:u32 = eval crc.crc32(%0)
//! %2:u32 = call crc.crc32(%1)               %2:u32 = eval crc.crc32(%1)
//! %4:u32 = call crc.crc32(%2) when %3       %5:u32 = eval crc.crc32(%2)
//!                                     =>    %6:u32 = const 0
//!                                           %4:u32 = select %3, %5, %6
//! ```
//!
//! A method is a function if its reply depends only on its arguments and on the packet that began
//! the thread: `hash`, `clock` and `random`. If a service of the machine computes a kind
//! ([`PassOptions::served`]), its calls stay calls.

use wireloom_bits::Bits;
use wireloom_ir::{Block, Offload, Op, OpKind, Program, Value, ValueInfo};

use super::PassOptions;

/// Runs over every step.
pub fn run(program: &mut Program, options: &PassOptions) {
    for engine in &mut program.engines {
        for step in &mut engine.steps {
            let mut evaluate =
                Evaluate { offloads: &engine.offloads, options, values: &mut step.values };
            for block in step.code.blocks_mut() {
                evaluate.block(block);
            }
        }
    }
}

struct Evaluate<'a> {
    offloads: &'a [Offload],
    options: &'a PassOptions,
    values: &'a mut Vec<ValueInfo>,
}

impl Evaluate<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.ops.len());
        for mut op in std::mem::take(&mut block.ops) {
            if let OpKind::If { then, otherwise, .. } = &mut op.kind {
                self.block(&mut then.0);
                self.block(&mut otherwise.0);
            }
            match (&mut op.kind, &op.results[..]) {
                (OpKind::Call { offload, method, args }, [result])
                    if self.is_function(offload.index(), *method) =>
                {
                    let (offload, method, args) = (*offload, *method, std::mem::take(args));
                    let result = *result;
                    op.kind = OpKind::Evaluate { offload, method, args };
                    self.evaluated(op, result, &mut out);
                }
                _ => out.push(op),
            }
        }
        block.ops = out;
    }

    fn is_function(&self, offload: usize, method: usize) -> bool {
        let offload = &self.offloads[offload];
        offload.kind().is_some_and(|kind| !self.options.served.contains(&kind.name))
            && offload.is_function(method)
    }

    /// Adds the operation. The result of a call that does not happen is zero.
    fn evaluated(&mut self, mut op: Op, result: Value, out: &mut Vec<Op>) {
        let (Some(guard), loc) = (op.guard.take(), op.loc) else { return out.push(op) };
        let width = self.values[result.index()].width;
        let [value, zero] = [(); 2].map(|()| {
            self.values.push(ValueInfo { width, name: None });
            Value(self.values.len() as u32 - 1)
        });
        op.results = vec![value];
        out.push(op);
        let pure = |kind, result| Op { kind, results: vec![result], guard: None, loc };
        out.push(pure(OpKind::Const(Bits::zero(width)), zero));
        out.push(pure(OpKind::Select(guard, value, zero), result));
    }
}
