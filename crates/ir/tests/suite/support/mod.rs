//! Random programs that verify, drawn from a tape of choices. A shorter tape of smaller numbers
//! gives a simpler program, so proptest shrinks the program by shrinking the tape.

use proptest::prelude::*;
use wireloom_bits::Bits;
use wireloom_ir::builder::config;
use wireloom_ir::*;
use wireloom_offloads::{ReplyType, registry};

/// Returns a strategy for programs that verify.
pub fn programs() -> impl Strategy<Value = Program> {
    prop::collection::vec(any::<u32>(), 0..400)
        .prop_map(|choices| Tape { choices, at: 0 }.program())
}

/// Names that need quotes, appear twice, are keywords, or look like another token.
const NAMES: [&str; 16] = [
    "x",
    "look",
    "look.1",
    "digest[2]",
    "step",
    "if",
    "u8",
    "call",
    "",
    "two words",
    "a\"b\\c\nd",
    "#3",
    "%1",
    "café",
    "a.b.c",
    "engine",
];

const FILES: [&str; 5] = ["router.loom", "include/ip v4.loom", "a:b.loom", "", "#1"];

const WIDTHS: [u32; 12] = [1, 2, 7, 8, 16, 32, 48, 64, 128, 129, 300, 1024];

struct Tape {
    choices: Vec<u32>,
    at: usize,
}

/// An engine that offloads may name: the widths of its parameters, and the width of its reply.
type Callee = (Vec<u32>, u32);

/// Values that are visible at a point in the code.
type Visible = Vec<Value>;

impl Tape {
    fn draw(&mut self, below: usize) -> usize {
        let choice = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        choice as usize % below
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.draw(one_in) == one_in - 1
    }

    fn name(&mut self) -> String {
        NAMES[self.draw(NAMES.len())].to_owned()
    }

    fn width(&mut self) -> u32 {
        WIDTHS[self.draw(WIDTHS.len())]
    }

    fn bits(&mut self, width: u32) -> Bits {
        let words: Vec<u64> = (0..width.div_ceil(64))
            .map(|_| (self.draw(1 << 31) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        if self.chance(3) {
            Bits::from_words(width, &words)
        } else {
            Bits::new(width, (words[0] % 3).into())
        }
    }

    fn loc(&mut self, files: usize) -> Loc {
        if files == 0 || self.chance(3) {
            return Loc::default();
        }
        Loc { file: self.draw(files) as u32, line: self.draw(2000) as u32 }
    }

    fn program(mut self) -> Program {
        let files: Vec<_> =
            (0..self.draw(4)).map(|_| FILES[self.draw(FILES.len())].to_owned()).collect();
        let reasons = (0..1 + self.draw(3))
            .map(|_| ReasonSet {
                name: self.name(),
                members: (0..self.draw(4))
                    .map(|_| (self.draw(70_000) as u64, self.name()))
                    .collect(),
            })
            .collect::<Vec<_>>();
        let mut engines: Vec<Engine> = Vec::new();
        let mut callees: Vec<Callee> = Vec::new();
        for _ in 0..self.draw(3) {
            let context: Vec<_> = (0..self.draw(4)).map(|_| self.context_var()).collect();
            let params: Vec<_> =
                (0..self.draw(context.len() + 1)).map(|i| ContextId(i as u32)).collect();
            let reply = self.width();
            let widths = params.iter().map(|p| context[p.index()].width).collect();
            let kind = EngineKind::Call { params, reply };
            engines.push(self.engine(kind, context, &callees, files.len(), reasons.len()));
            callees.push((widths, reply));
        }
        let context = (0..self.draw(4)).map(|_| self.context_var()).collect();
        engines.push(self.engine(
            EngineKind::Packet,
            context,
            &callees,
            files.len(),
            reasons.len(),
        ));
        let main = EngineId(engines.len() as u32 - 1);
        Program { files, reasons, engines, main }
    }

    fn context_var(&mut self) -> ContextVar {
        ContextVar { name: self.name(), width: self.width() }
    }

    fn context_array(&mut self) -> ContextArray {
        let count = [1, 2, 7, 300][self.draw(4)];
        ContextArray { name: self.name(), width: self.width(), count }
    }

    fn engine(
        &mut self,
        kind: EngineKind,
        context: Vec<ContextVar>,
        callees: &[Callee],
        files: usize,
        sets: usize,
    ) -> Engine {
        let arrays = (0..self.draw(3)).map(|_| self.context_array()).collect();
        let mut engine = Engine {
            name: self.name(),
            kind,
            context,
            arrays,
            offloads: Vec::new(),
            steps: Vec::new(),
        };
        for _ in 0..self.draw(4) {
            let target = if !callees.is_empty() && self.chance(3) {
                OffloadTarget::Engine(EngineId(self.draw(callees.len()) as u32))
            } else {
                OffloadTarget::Kind(self.config())
            };
            engine.offloads.push(Offload { name: self.name(), target });
        }
        let steps = 1 + self.draw(4);
        for _ in 0..steps {
            let mut code =
                Coder { tape: self, engine: &engine, callees, files, sets, steps, values: vec![] };
            let step = code.step();
            engine.steps.push(step);
        }
        engine
    }

    fn config(&mut self) -> wireloom_offloads::Config {
        let kind = &registry::KINDS[self.draw(registry::KINDS.len())];
        let mut fields = |has: bool| {
            let count = if has { 1 + self.draw(3) } else { 0 };
            let fields: Vec<_> =
                (0..count).map(|_| (self.name(), 8 * (1 + self.draw(9) as u32))).collect();
            if count == 1 { vec![(String::new(), fields[0].1)] } else { fields }
        };
        let (key, value) = (fields(kind.has_key), fields(kind.has_value));
        let key: Vec<_> = key.iter().map(|(n, w)| (n.as_str(), *w)).collect();
        let value: Vec<_> = value.iter().map(|(n, w)| (n.as_str(), *w)).collect();
        config(
            kind.name,
            &key,
            &value,
            &[("size", 1 + self.draw(99) as u64), ("bytes", 64), ("cir", 5), ("cbs", 9)],
        )
    }
}

struct Coder<'a> {
    tape: &'a mut Tape,
    engine: &'a Engine,
    callees: &'a [Callee],
    files: usize,
    sets: usize,
    /// The number of steps that the engine will have.
    steps: usize,
    values: Vec<ValueInfo>,
}

impl Coder<'_> {
    fn step(&mut self) -> Step {
        let name = self.tape.name();
        let loc = self.tape.loc(self.files);
        let split = if self.tape.chance(4) { Some(self.tape.name()) } else { None };
        let mut visible = Visible::new();
        let code = if self.tape.chance(2) {
            let mut request = Block::default();
            for _ in 0..self.tape.draw(6) {
                self.pure(&mut request, &mut visible);
            }
            // Arguments use only values defined before the first request, so no request depends on
            // a reply.
            let arguments = visible.clone();
            for _ in 0..self.tape.draw(3) {
                let replies = self.call(&mut request, &mut arguments.clone());
                visible.extend(replies);
            }
            let mut edit = Block::default();
            for _ in 0..self.tape.draw(6) {
                self.pure(&mut edit, &mut visible);
                self.write(&mut edit, &mut visible);
            }
            let mut jump = Block::default();
            let guards: Vec<_> =
                (0..self.tape.draw(3)).map(|_| self.constant(&mut jump, &mut visible, 1)).collect();
            if guards.is_empty() {
                self.exit(&mut jump, &mut visible, None);
            }
            for guard in guards {
                self.exit(&mut jump, &mut visible, Some(guard));
            }
            Code::Regions { request, edit, jump }
        } else {
            let mut block = Block::default();
            self.sequence(&mut block, &mut visible, 2);
            self.exit(&mut block, &mut visible, None);
            Code::Sequential(block)
        };
        if self.tape.chance(3) {
            self.value(5);
        }
        Step { name, loc, split, values: std::mem::take(&mut self.values), code }
    }

    fn sequence(&mut self, block: &mut Block, visible: &mut Visible, depth: usize) {
        for _ in 0..self.tape.draw(6) {
            match self.tape.draw(5) {
                0 | 1 => self.pure(block, visible),
                2 => self.write(block, visible),
                3 => {
                    let replies = self.call(block, visible);
                    visible.extend(replies);
                }
                _ if depth > 0 => self.choice(block, visible, depth - 1),
                _ => {
                    let guard = self.of_width(block, visible, 1);
                    self.exit(block, visible, Some(guard));
                }
            }
        }
    }

    fn choice(&mut self, block: &mut Block, visible: &mut Visible, depth: usize) {
        let condition = self.of_width(block, visible, 1);
        let widths: Vec<_> = (0..self.tape.draw(3)).map(|_| self.tape.width()).collect();
        let mut branch = || {
            let (mut inner, mut inside) = (Block::default(), visible.clone());
            self.sequence(&mut inner, &mut inside, depth);
            let yields =
                widths.iter().map(|w| self.of_width(&mut inner, &mut inside, *w)).collect();
            (inner, yields)
        };
        let (then, otherwise) = (branch(), branch());
        let results: Vec<_> = widths.iter().map(|w| self.value(*w)).collect();
        self.push(block, OpKind::If { condition, then, otherwise }, results.clone(), None);
        visible.extend(results);
    }

    fn value(&mut self, width: u32) -> Value {
        let name = if self.tape.chance(3) { Some(self.tape.name()) } else { None };
        self.values.push(ValueInfo { width, name });
        Value(self.values.len() as u32 - 1)
    }

    fn push(&mut self, block: &mut Block, kind: OpKind, results: Vec<Value>, guard: Option<Value>) {
        let loc = self.tape.loc(self.files);
        block.ops.push(Op { kind, results, guard, loc });
    }

    fn define(
        &mut self,
        block: &mut Block,
        visible: &mut Visible,
        kind: OpKind,
        width: u32,
    ) -> Value {
        let result = self.value(width);
        self.push(block, kind, vec![result], None);
        visible.push(result);
        result
    }

    fn constant(&mut self, block: &mut Block, visible: &mut Visible, width: u32) -> Value {
        let bits = self.tape.bits(width);
        self.define(block, visible, OpKind::Const(bits), width)
    }

    /// Returns a visible value of this width, and creates one if there is none.
    fn of_width(&mut self, block: &mut Block, visible: &mut Visible, width: u32) -> Value {
        let fitting: Vec<_> =
            visible.iter().copied().filter(|v| self.values[v.index()].width == width).collect();
        if fitting.is_empty() || self.tape.chance(4) {
            self.constant(block, visible, width)
        } else {
            fitting[self.tape.draw(fitting.len())]
        }
    }

    fn guard(&mut self, block: &mut Block, visible: &mut Visible) -> Option<Value> {
        if self.tape.chance(3) { Some(self.of_width(block, visible, 1)) } else { None }
    }

    fn pure(&mut self, block: &mut Block, visible: &mut Visible) {
        let width = self.tape.width();
        let packet = self.engine.kind == EngineKind::Packet;
        let (kind, width) = match self.tape.draw(10) {
            0 => (OpKind::Const(self.tape.bits(width)), width),
            1 => {
                let op = UnaryOp::ALL[self.tape.draw(2)];
                (OpKind::Unary(op, self.of_width(block, visible, width)), width)
            }
            2 => {
                let op = BinaryOp::ALL[self.tape.draw(BinaryOp::ALL.len())];
                let a = self.of_width(block, visible, width);
                let count = if op.is_shift() { self.tape.width() } else { width };
                let b = self.of_width(block, visible, count);
                (OpKind::Binary(op, a, b), if op.is_comparison() { 1 } else { width })
            }
            3 => {
                let c = self.of_width(block, visible, 1);
                let a = self.of_width(block, visible, width);
                (OpKind::Select(c, a, self.of_width(block, visible, width)), width)
            }
            4 => (OpKind::Extend(self.of_width(block, visible, width)), width + 3),
            5 => {
                let a = self.of_width(block, visible, width);
                let lo = self.tape.draw(width as usize) as u32;
                (OpKind::Slice(a, lo), 1 + self.tape.draw((width - lo) as usize) as u32)
            }
            6 => {
                let widths: Vec<_> =
                    (0..1 + self.tape.draw(3)).map(|_| self.tape.width()).collect();
                let parts = widths.iter().map(|w| self.of_width(block, visible, *w)).collect();
                (OpKind::Concat(parts), widths.iter().sum())
            }
            7 if packet => {
                let base = self.of_width(block, visible, 16);
                (OpKind::ReadPacket { base, bit: self.tape.draw(900) as u32 }, width)
            }
            8 if packet => {
                let meta = Meta::ALL[self.tape.draw(5)];
                (OpKind::ReadMeta(meta), meta.width())
            }
            9 if !self.engine.arrays.is_empty() => {
                let (array, index) = self.element(block, visible);
                (OpKind::ReadElement { array, index }, self.engine.arrays[array.index()].width)
            }
            _ if !self.engine.context.is_empty() => {
                let var = self.tape.draw(self.engine.context.len());
                (OpKind::ReadContext(ContextId(var as u32)), self.engine.context[var].width)
            }
            _ => (OpKind::Const(self.tape.bits(width)), width),
        };
        self.define(block, visible, kind, width);
    }

    /// Draws a context array of the engine, which must have one, and an index.
    fn element(&mut self, block: &mut Block, visible: &mut Visible) -> (ArrayId, Value) {
        let array = self.tape.draw(self.engine.arrays.len());
        let width = [1, 8, 32][self.tape.draw(3)];
        let index = self.of_width(block, visible, width);
        (ArrayId(array as u32), index)
    }

    fn write(&mut self, block: &mut Block, visible: &mut Visible) {
        let guard = self.guard(block, visible);
        if !self.engine.arrays.is_empty() && self.tape.chance(4) {
            let (array, index) = self.element(block, visible);
            let width = self.engine.arrays[array.index()].width;
            let value = self.of_width(block, visible, width);
            self.push(block, OpKind::WriteElement { array, index, value }, vec![], guard);
            return;
        }
        if self.engine.kind != EngineKind::Packet || self.tape.chance(3) {
            if !self.engine.context.is_empty() {
                let var = self.tape.draw(self.engine.context.len());
                let value = self.of_width(block, visible, self.engine.context[var].width);
                self.push(block, OpKind::WriteContext(ContextId(var as u32), value), vec![], guard);
            }
            return;
        }
        let a = self.of_width(block, visible, 16);
        let kind = match self.tape.draw(5) {
            0 => {
                let width = self.tape.width();
                let value = self.of_width(block, visible, width);
                let bit = self.tape.draw(900) as u32;
                self.push(block, OpKind::WritePacket { base: a, bit, value }, vec![], guard);
                return;
            }
            1 => {
                self.push(block, OpKind::WriteMeta(Meta::Egress, a), vec![], guard);
                return;
            }
            2 => OpKind::Insert { offset: a, count: self.of_width(block, visible, 16) },
            3 => OpKind::Remove { offset: a, count: self.of_width(block, visible, 16) },
            _ => OpKind::Reset { count: a },
        };
        let results = if self.tape.chance(2) { vec![self.value(1)] } else { vec![] };
        self.push(block, kind, results.clone(), guard);
        visible.extend(results);
    }

    /// Draws a call if the engine has an offload that it may call. The reply is not yet visible.
    fn call(&mut self, block: &mut Block, visible: &mut Visible) -> Vec<Value> {
        if self.engine.offloads.is_empty() {
            return vec![];
        }
        let offload = self.tape.draw(self.engine.offloads.len());
        let (method, widths, reply) = match &self.engine.offloads[offload].target {
            OffloadTarget::Engine(id) => {
                let (params, reply) = &self.callees[id.index()];
                (0, params.clone(), *reply)
            }
            OffloadTarget::Kind(config) => {
                let kind = registry::kind(&config.kind).expect("a kind of the registry");
                let index = self.tape.draw(kind.methods.len());
                let method = &kind.methods[index];
                if method.reads_packet && self.engine.kind != EngineKind::Packet {
                    return vec![];
                }
                let reply =
                    if method.reply == ReplyType::None { 0 } else { method.reply.width(config) };
                (index, method.args.iter().map(|(_, ty)| ty.width(config)).collect(), reply)
            }
        };
        let args = widths.iter().map(|w| self.of_width(block, visible, *w)).collect();
        let guard = self.guard(block, visible);
        let results = if reply == 0 { vec![] } else { vec![self.value(reply)] };
        let call = OpKind::Call { offload: OffloadId(offload as u32), method, args };
        self.push(block, call, results.clone(), guard);
        results
    }

    fn exit(&mut self, block: &mut Block, visible: &mut Visible, guard: Option<Value>) {
        let step = StepId(self.tape.draw(self.steps) as u32);
        let exit = match &self.engine.kind {
            EngineKind::Call { reply, .. } if self.tape.chance(2) => {
                Exit::Reply(self.of_width(block, visible, *reply))
            }
            EngineKind::Call { .. } => Exit::Next(step),
            EngineKind::Packet => {
                let set = ReasonSetId(self.tape.draw(self.sets) as u32);
                match self.tape.draw(6) {
                    0 => Exit::Finish,
                    1 => Exit::Next(step),
                    2 => {
                        let mut value = |me: &mut Self| me.of_width(block, visible, 16);
                        let bytes = self.tape.chance(3).then(|| (value(self), value(self)));
                        let cpu = self.tape.chance(3).then(|| (value(self), set));
                        Exit::Emit(step, Copied { bytes, cpu })
                    }
                    3 => Exit::Drop(self.of_width(block, visible, 16), set),
                    4 => Exit::ToCpu(self.of_width(block, visible, 16), set),
                    _ => Exit::Done,
                }
            }
        };
        self.push(block, OpKind::Exit(exit), vec![], guard);
    }
}
