//! The size of a lowered program. It bounds the time and the memory of all later phases.
//!
//! The checker bounds the result of inlining and unrolling the source text. But a statement can
//! become few operations or many, and an operation little C or much, depending on its context. So
//! the operations are weighed here. The weights were fitted to the processor time of whole builds
//! for the machine `native`, of some sixty kinds of programs at the largest size that the checker
//! accepts (`cargo run --release -p wireloom-native --example build_times`).

use wireloom_ir::{Exit, Offload, OpKind, Program, Step, Value};

/// The largest total weight of the steps of a program.
pub const MOST: u64 = 1 << 16;

/// The weight of a step itself, without its operations.
const STEP: u64 = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The index of the engine whose step is the largest of the program.
    pub engine: usize,
    /// The index of the largest step.
    pub step: usize,
    /// The weight of that step.
    pub largest: u64,
    /// The weight of all steps.
    pub whole: u64,
}

/// Weighs a lowered program, in operations on 64 bits.
///
/// # Errors
/// If it is too large.
pub fn check(program: &Program) -> Result<(), TooLarge> {
    let mut found = TooLarge { engine: 0, step: 0, largest: 0, whole: 0 };
    for (engine, lowered) in program.engines.iter().enumerate() {
        for (step, code) in lowered.steps.iter().enumerate() {
            let weight = weight(&lowered.offloads, code);
            found.whole += weight;
            if weight > found.largest {
                found = TooLarge { engine, step, largest: weight, ..found };
            }
        }
    }
    if found.whole > MOST { Err(found) } else { Ok(()) }
}

/// Returns the weight of a step of an engine with these offloads.
fn weight(offloads: &[Offload], step: &Step) -> u64 {
    let width = |value: Value| step.values[value.index()].width;
    let mut weight = STEP;
    step.for_each_op(|op| {
        let mut widest = op.results.iter().map(|value| width(*value)).max().unwrap_or(0);
        op.kind.for_each_operand(|value| widest = widest.max(width(value)));
        let own = match &op.kind {
            OpKind::Const(_) => 0,
            OpKind::Concat(parts) => 2 * parts.len() as u64,
            // A choice for each result, and the conditions of the operations inside.
            OpKind::If { .. } => 2 + op.results.len() as u64,
            OpKind::ReadPacket { .. } => 2,
            OpKind::WritePacket { .. } => 5,
            OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => 3,
            // The thread stores the values needed later, and restores them afterwards.
            OpKind::Call { offload, method, .. }
                if !offloads[offload.index()].is_function(*method) =>
            {
                28
            }
            OpKind::Call { .. } | OpKind::Evaluate { .. } => 4,
            OpKind::Exit(Exit::Emit(..)) => 25,
            OpKind::Exit(_) => 18,
            _ => 1,
        };
        weight += own + if widest > 64 { 2 } else { 0 };
    });
    weight
}

#[cfg(test)]
mod tests {
    use wireloom_ir::Program;

    use super::{check, weight};

    fn lowered(source: &str) -> Program {
        let source = format!("header H {{ u32 a; u512 wide; }}; {source}");
        let checked = wireloom_lang::check_source("size.loom", &source, &Default::default());
        let refused = || wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
        crate::lower(checked.program.as_ref().unwrap_or_else(|| panic!("{}", refused())))
    }

    /// Returns the weight of a round of a loop with this body.
    fn round(body: &str) -> u64 {
        let step = |count: u32| {
            let program = lowered(&format!(
                "engine e() {{
                     offload t : lpm<u32, u32, miss = 0>; offload f : hash<u32>;
                     step s {{
                         H h @ 0; u32 x = h.a;
                         for (u16 i = 5; i < {}; i++) {{ {body} }}
                         h.a = x; finish;
                     }}
                 }}",
                5 + count
            ));
            let engine = &program.engines[0];
            weight(&engine.offloads, &engine.steps[0])
        };
        step(20) - step(19)
    }

    #[test]
    fn what_takes_much_code_weighs_much() {
        for (body, expected) in [
            ("x = (x ^ i) + (x >> 5);", 3),
            // The condition, and the choice of the variable.
            ("if (x == i) x = 1;", 1 + 3),
            // The rest of the loop depends on a flag, which the first `if` changes.
            ("if (x == i) finish;", 1 + 18 + 3 + 3),
            ("x = f.crc32(x ^ i);", 1 + 4),
            ("x = t.search(x ^ i);", 1 + 28),
            ("h.a = h.a ^ i;", 2 + 1 + 5),
            ("packet.pop(i);", 3),
            // A read, slices, and the concatenation, all of wide values, and the write.
            ("h.wide = concat(h.wide[63:8], h.wide[511:56]);", 2 * 4 + 2 * 3 + (4 + 2) + (5 + 2)),
        ] {
            assert_eq!(round(body), expected, "{body}");
        }
    }

    #[test]
    fn engines_are_weighed_together() {
        let engine = |name: &str, rounds: u32| {
            format!(
                "engine {name}(u32 x) -> u32 {{
                     offload t : lpm<u32, u32, miss = 0>;
                     step s {{ u32 y = x; for (u16 i = 0; i < {rounds}; i++) y = t.search(y ^ i);
                               finish(y); }}
                 }} "
            )
        };
        let main = "engine e() { offload a : engine first; offload b : engine second;
                    step s { H h @ 0; h.a = a.call(h.a) + b.call(h.a); finish; } }";
        let program = |one, two| lowered(&(engine("first", one) + &engine("second", two) + main));
        assert_eq!(check(&program(1000, 1000)), Ok(()));
        let refused = check(&program(1000, 1300)).expect_err("1,300 and 1,000 calls");
        assert_eq!((refused.engine, refused.step), (1, 0));
    }
}
