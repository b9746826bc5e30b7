//! Random engines in the form of regions, and random packets, each named by a seed.

use wireloom_ir::builder::{EngineBuilder, ProgramBuilder, StepBuilder, config};
use wireloom_ir::{
    BinaryOp, ContextId, Copied, EngineId, Exit, Meta, OffloadId, Program, ReasonSetId, StepId,
    UnaryOp, Value,
};
use wireloom_net::Packet;
use wireloom_offloads::{Config, registry};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Returns a value of `width` bits made of another one: any part of it, or the value with zeros
    /// in front.
    pub fn fitted(&mut self, step: &mut StepBuilder<'_>, from: Value, width: u32) -> Value {
        let had = step.width(from);
        if had > width {
            let lo = self.below((had - width + 1) as usize) as u32;
            step.slice(from, lo, width)
        } else if had < width {
            step.extend(from, width)
        } else {
            from
        }
    }

    fn number(&mut self, width: u32) -> u128 {
        let random = u128::from(self.next()) << 64 | u128::from(self.next());
        let small = u128::from(self.next() % 8);
        let power = 1u128 << (self.next() % u64::from(width.min(128)));
        self.of(&[random, small, power, power.wrapping_sub(1), u128::MAX])
    }
}

const WIDTHS: &[u32] =
    &[1, 1, 3, 7, 8, 9, 16, 16, 20, 32, 32, 33, 48, 63, 64, 65, 100, 128, 129, 192, 200, 512, 1024];
const OPS: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Udiv,
    BinaryOp::Urem,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Lshr,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Ult,
    BinaryOp::Ule,
];
const METAS: &[Meta] = &[Meta::Ingress, Meta::Egress, Meta::Length, Meta::Window, Meta::Arrival];

/// Returns a random offload configuration, with keys and values of every class of width.
fn configs(random: &mut Random) -> Config {
    let key = random.of(&[1, 5, 16, 17, 32, 40, 64, 100, 128, 130, 260]);
    let value = random.of(&[1, 8, 16, 40, 64, 90, 128, 200, 1024]);
    let two: &[(&str, u32)] = &[("a", 7), ("b", 70), ("c", 13)];
    // The size is large enough for prefetches, or so small that the table is soon full.
    let size = if random.chance(3) { 700 } else { 1 + random.below(9) as u64 };
    match random.below(14) {
        0 | 1 => config("array", &[], &[("", value)], &[("size", size)]),
        2 => config("array", &[], two, &[("size", size)]),
        3 => config("counter", &[], &[], &[("size", size)]),
        4 => config("exact", &[("", key)], two, &[("size", size), ("age", random.of(&[0, 5000]))]),
        5 => config("lpm", &[("", key)], &[("", value)], &[("miss", 1)]),
        6 => config("hash", &[("", key)], &[], &[]),
        7 => config("checksum", &[], &[], &[]),
        8 => config("payload", &[], &[("", 8 * (1 + value / 16))], &[]),
        9 => config("clock", &[], &[], &[]),
        10 => config("random", &[], &[], &[]),
        11 => {
            let more: [(&str, u64); 3] = random.of(&[
                [("cbs", 300), ("ebs", 200), ("rates", 1)],
                [("cbs", 300), ("pbs", 700), ("rates", 2)],
            ]);
            let both = [("size", size), ("cir", 1 << 20), ("pir", 1 << 21)];
            config("meter", &[], &[], &[&both[..], &more[..]].concat())
        }
        12 => config("match", &[], &[("", value)], &[]),
        _ => config("park", &[("", key.min(5))], &[], &[("size", size)]),
    }
}

/// Whether a called engine, which has no packet, may use the kind.
fn needs_no_packet(config: &Config) -> bool {
    let kind = registry::kind(&config.kind).expect("a kind of the registry");
    kind.methods.iter().all(|m| !m.reads_packet && !m.writes_packet)
}

struct Draft<'a> {
    random: &'a mut Random,
    context: Vec<(ContextId, u32)>,
    offloads: Vec<(OffloadId, Option<Config>, Vec<u32>)>,
    /// The variable that counts backward jumps.
    turns: ContextId,
    packet: bool,
    reasons: ReasonSetId,
}

/// Returns a random program.
pub fn program(seed: u64) -> Program {
    let random = &mut Random(seed);
    let mut builder = ProgramBuilder::new();
    let reasons = builder.reasons("Reason", &["A", "B", "C"]);
    let mut callees: Vec<(EngineId, Vec<u32>, u32)> = Vec::new();
    for number in 0..random.below(3) {
        let params: Vec<u32> = (0..random.below(3)).map(|_| random.of(WIDTHS)).collect();
        let names: Vec<String> = (0..params.len()).map(|i| format!("arg{i}")).collect();
        let list: Vec<(&str, u32)> =
            names.iter().map(String::as_str).zip(params.iter().copied()).collect();
        let reply = random.of(WIDTHS);
        let engine = EngineBuilder::called(&format!("callee{number}"), &list, reply);
        let context = (0..).map(ContextId).zip(params.iter().copied()).collect();
        let id = builder.engine(steps(random, engine, context, &callees, Some(reply), reasons));
        callees.push((id, params, reply));
    }
    let engine = EngineBuilder::packet("main engine");
    let engine = steps(random, engine, Vec::new(), &callees, None, reasons);
    builder.engine(engine);
    builder.build()
}

fn steps(
    random: &mut Random,
    mut engine: EngineBuilder,
    mut context: Vec<(ContextId, u32)>,
    callees: &[(EngineId, Vec<u32>, u32)],
    reply: Option<u32>,
    reasons: ReasonSetId,
) -> EngineBuilder {
    for index in 0..1 + random.below(6) {
        let width = random.of(WIDTHS);
        context.push((engine.context(&format!("c.{index}"), width), width));
    }
    let turns = engine.context("turns", 8);
    let mut offloads = Vec::new();
    for index in 0..random.below(4) {
        if !callees.is_empty() && random.chance(3) {
            let (id, params, reply) = &callees[random.below(callees.len())];
            let offload = engine.engine_offload(&format!("o{index}"), *id, *reply);
            offloads.push((offload, None, params.clone()));
            continue;
        }
        let config = configs(random);
        if reply.is_none() || needs_no_packet(&config) {
            let offload = engine.offload(&format!("o{index}"), config.clone());
            offloads.push((offload, Some(config), Vec::new()));
        }
    }
    let mut draft = Draft { random, context, offloads, turns, packet: reply.is_none(), reasons };
    let count = 1 + draft.random.below(5);
    for index in 0..count {
        engine.regions(&format!("step {index}"), |step| draft.step(step, index, count, reply));
    }
    engine
}

impl Draft<'_> {
    fn step(&mut self, step: &mut StepBuilder<'_>, index: usize, count: usize, reply: Option<u32>) {
        let mut pool = Vec::new();
        for _ in 0..self.random.below(8) {
            self.pure(step, &mut pool);
        }
        let mut replies = Vec::new();
        for _ in 0..self.random.below(4) {
            self.call(step, &mut pool, &mut replies);
            self.pure(step, &mut pool);
        }
        step.next_region();
        pool.extend(replies);
        for _ in 0..self.random.below(14) {
            if self.random.chance(2) {
                self.pure(step, &mut pool);
            } else {
                self.edit(step, &mut pool);
            }
        }
        let turns = step.read(self.turns);
        let one = step.constant(8, 1);
        let more = step.binary(BinaryOp::Add, turns, one);
        step.write(self.turns, more);
        step.next_region();
        let most = step.constant(8, 6);
        let may_return = step.binary(BinaryOp::Ult, turns, most);
        let first = self.value(step, &mut pool, 1);
        let second = self.value(step, &mut pool, 1);
        let not_first = step.unary(UnaryOp::Not, first);
        let not_second = step.unary(UnaryOp::Not, second);
        let backward = step.binary(BinaryOp::And, first, may_return);
        let stays = step.unary(UnaryOp::Not, may_return);
        let ended = step.binary(BinaryOp::And, first, stays);
        let forward = step.binary(BinaryOp::And, not_first, second);
        let last = step.binary(BinaryOp::And, not_first, not_second);
        for guard in [backward, ended, forward, last] {
            let back = StepId(self.random.below(index + 1) as u32);
            let ahead = index + 1 + self.random.below(count - index);
            let exit = if guard == backward {
                Exit::Next(back)
            } else if guard == forward && ahead < count {
                let to = StepId(ahead as u32);
                if self.packet && self.random.chance(3) {
                    Exit::Emit(to, self.copied(step, &mut pool))
                } else {
                    Exit::Next(to)
                }
            } else {
                self.end(step, &mut pool, reply)
            };
            step.when(guard).exit(exit);
        }
    }

    /// Returns what a copy is made of: the whole packet for its port, or some of its bytes, or for
    /// the control processor.
    fn copied(&mut self, step: &mut StepBuilder<'_>, pool: &mut Vec<Value>) -> Copied {
        let mut extent = |me: &mut Self| {
            let value = me.value(step, pool, 16);
            let most = step.constant(16, 0x1ff);
            step.binary(BinaryOp::And, value, most)
        };
        let bytes = self.random.chance(2).then(|| (extent(self), extent(self)));
        let cpu = self.random.chance(3).then(|| (self.value(step, pool, 16), self.reasons));
        Copied { bytes, cpu }
    }

    fn end(
        &mut self,
        step: &mut StepBuilder<'_>,
        pool: &mut Vec<Value>,
        reply: Option<u32>,
    ) -> Exit {
        if let Some(width) = reply {
            return Exit::Reply(self.value(step, pool, width));
        }
        let reason = self.value(step, pool, 16);
        match self.random.below(6) {
            0 => Exit::Drop(reason, self.reasons),
            1 => Exit::ToCpu(reason, self.reasons),
            2 => Exit::Done,
            _ => Exit::Finish,
        }
    }

    /// Returns a value of this width: an existing one, or one made of others.
    fn value(&mut self, step: &mut StepBuilder<'_>, pool: &mut Vec<Value>, width: u32) -> Value {
        let fitting: Vec<Value> =
            pool.iter().copied().filter(|v| step.width(*v) == width).collect();
        if !fitting.is_empty() && !self.random.chance(4) {
            return fitting[self.random.below(fitting.len())];
        }
        if pool.is_empty() || self.random.chance(3) {
            let number = self.random.number(width);
            return step.constant(width, number);
        }
        let from = pool[self.random.below(pool.len())];
        let value = self.random.fitted(step, from, width);
        pool.push(value);
        value
    }

    /// Returns an offset that is mostly in range.
    fn offset(&mut self, step: &mut StepBuilder<'_>, pool: &mut Vec<Value>) -> Value {
        match self.random.below(8) {
            0 => self.value(step, pool, 16),
            1 => {
                let edge =
                    self.random.of(&[0, 1, 63, 64, 100, 127, 128, 129, 200, 255, 256, 257, 65_535]);
                step.constant(16, edge)
            }
            2 => {
                let any = self.value(step, pool, 16);
                let mask = step.constant(16, 63);
                step.binary(BinaryOp::And, any, mask)
            }
            _ => {
                let at = self.random.below(70) as u128;
                step.constant(16, at)
            }
        }
    }

    fn pure(&mut self, step: &mut StepBuilder<'_>, pool: &mut Vec<Value>) {
        let width = self.random.of(WIDTHS);
        let value = match self.random.below(if self.packet { 12 } else { 8 }) {
            0 | 1 => {
                let op = self.random.of(OPS);
                let a = self.value(step, pool, width);
                let count = self.random.of(WIDTHS);
                let b = match op {
                    BinaryOp::Shl | BinaryOp::Lshr if self.random.chance(2) => {
                        let most = u128::from(width) + 2;
                        let count = self.random.next() as u128 % most;
                        step.constant(11, count)
                    }
                    BinaryOp::Shl | BinaryOp::Lshr => self.value(step, pool, count),
                    _ => self.value(step, pool, width),
                };
                step.binary(op, a, b)
            }
            2 => {
                let a = self.value(step, pool, width);
                let op = self.random.of(&[UnaryOp::Not, UnaryOp::Neg]);
                step.unary(op, a)
            }
            3 => {
                let c = self.value(step, pool, 1);
                let (a, b) = (self.value(step, pool, width), self.value(step, pool, width));
                step.select(c, a, b)
            }
            4 => {
                let parts: Vec<Value> = (0..1 + self.random.below(4))
                    .map(|_| {
                        let width = self.random.of(WIDTHS);
                        self.value(step, pool, width)
                    })
                    .collect();
                step.concat(&parts)
            }
            5 => {
                let number = self.random.number(width);
                step.constant(width, number)
            }
            6 | 7 => {
                let (var, _) = self.context[self.random.below(self.context.len())];
                step.read(var)
            }
            8 => {
                let meta = self.random.of(METAS);
                step.meta(meta)
            }
            _ => {
                let base = self.offset(step, pool);
                let bit = self.random.of(&[0, 0, 0, 8, 3, 13, 40, 97, 1000]);
                step.read_packet(base, bit, width)
            }
        };
        pool.push(value);
    }

    fn call(
        &mut self,
        step: &mut StepBuilder<'_>,
        pool: &mut Vec<Value>,
        replies: &mut Vec<Value>,
    ) {
        if self.offloads.is_empty() {
            return;
        }
        let (offload, config, params) =
            self.offloads[self.random.below(self.offloads.len())].clone();
        let (name, widths) = match &config {
            None => ("call", params),
            Some(config) => {
                let methods = registry::kind(&config.kind).expect("a kind").methods;
                let method = &methods[self.random.below(methods.len())];
                (method.name, method.args.iter().map(|(_, ty)| ty.width(config)).collect())
            }
        };
        let args: Vec<Value> = widths
            .iter()
            .map(|width| match width {
                16 => self.offset(step, pool),
                // Indices, mostly in range.
                32 if self.random.chance(2) => {
                    let index = self.random.below(10) as u128;
                    step.constant(32, index)
                }
                width => self.value(step, pool, *width),
            })
            .collect();
        if self.random.chance(2) {
            let guard = self.value(step, pool, 1);
            step.when(guard);
        }
        replies.extend(step.call(offload, name, &args));
    }

    fn edit(&mut self, step: &mut StepBuilder<'_>, pool: &mut Vec<Value>) {
        let guard = self.random.chance(2).then(|| self.value(step, pool, 1));
        let width = self.random.of(WIDTHS);
        let kind = self.random.below(if self.packet { 9 } else { 2 });
        let guarded = |step: &mut StepBuilder<'_>| {
            if let Some(guard) = guard {
                step.when(guard);
            }
        };
        match kind {
            0 | 1 => {
                let (var, width) = self.context[self.random.below(self.context.len())];
                let value = self.value(step, pool, width);
                guarded(step);
                step.write(var, value);
            }
            2 => {
                let value = self.value(step, pool, 16);
                guarded(step);
                step.set_egress(value);
            }
            3 => {
                let (offset, count) = (self.offset(step, pool), self.offset(step, pool));
                guarded(step);
                let done = step.insert(offset, count);
                pool.push(done);
            }
            4 => {
                let (offset, count) = (self.offset(step, pool), self.offset(step, pool));
                guarded(step);
                let done = step.remove(offset, count);
                pool.push(done);
            }
            5 if self.random.chance(3) => {
                let count = self.offset(step, pool);
                guarded(step);
                let done = step.reset(count);
                pool.push(done);
            }
            _ => {
                let base = self.offset(step, pool);
                let bit = self.random.of(&[0, 0, 0, 8, 3, 13, 40, 97, 1000]);
                let value = self.value(step, pool, width);
                guarded(step);
                step.write_packet(base, bit, value);
            }
        }
    }
}

/// Returns random packets of all interesting lengths.
pub fn packets(seed: u64, count: usize) -> Vec<Packet> {
    let random = &mut Random(seed);
    (0..count)
        .map(|index| {
            let length = match random.below(12) {
                0 => random.of(&[0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 257]),
                1 => random.below(2000),
                2 if random.chance(20) => random.of(&[65_400, 65_535]),
                _ => random.below(140),
            };
            Packet {
                ingress: random.below(8) as u16,
                arrival_ns: index as u64 * 1000,
                bytes: (0..length)
                    .map(|_| random.next() as u8 & random.of(&[0xff, 0x03, 0xff]))
                    .collect(),
            }
        })
        .collect()
}
