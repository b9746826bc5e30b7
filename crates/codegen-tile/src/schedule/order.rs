//! Orders the instructions of a run, between which nothing jumps in.
//!
//! This is list scheduling: of the instructions whose operands are ready, the one with the longest
//! path of latencies to the end of the run comes first.

use std::collections::{HashMap, HashSet};

use wireloom_isa::raw::Register as Name;
use wireloom_isa::raw::tile::{Op, Slot, Timing};

use super::super::code::{Instruction, Register, ZERO};

/// The cycles from an instruction to the first one that can use its result, by latency class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// The cycles of a load.
    pub load: u32,
    /// The cycles of a multiplication.
    pub multiply: u32,
    /// The cycles of a division.
    pub divide: u32,
}

impl Latencies {
    fn of(&self, op: Op) -> u64 {
        u64::from(match op.row().timing {
            Timing::Alu => 1,
            Timing::Load => self.load,
            Timing::Multiply => self.multiply,
            Timing::Divide => self.divide,
        })
    }
}

/// An operand or result of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Datum {
    Of(Register),
    /// HI and LO.
    Product,
}

fn is_network(register: Register) -> bool {
    matches!(register, Register::Machine(number) if Name(number).network().is_some())
}

/// Returns the data that an instruction reads, except words of networks.
fn read(instruction: &Instruction) -> Vec<Datum> {
    let own = instruction.read().into_iter().flatten();
    let own = own.filter(|register| *register != ZERO && !is_network(*register));
    let uses = matches!(instruction.op, Op::Mfhi | Op::Mflo | Op::Mthi | Op::Mtlo);
    own.map(Datum::Of).chain(uses.then_some(Datum::Product)).collect()
}

/// Returns the datum that an instruction writes.
fn written(instruction: &Instruction) -> Option<Datum> {
    let product = [Op::Mult, Op::Multu, Op::Div, Op::Divu, Op::Mthi, Op::Mtlo];
    if product.contains(&instruction.op) {
        return Some(Datum::Product);
    }
    let plain = |register: &Register| *register != ZERO && !is_network(*register);
    instruction.written().filter(plain).map(Datum::Of)
}

fn uses_network(instruction: &Instruction) -> bool {
    let all = instruction.read().into_iter().chain([instruction.written()]);
    all.flatten().any(is_network)
}

/// Whether an instruction is a test that leaves the fast way for the label `restart`.
pub fn is_test(instruction: &Instruction, restart: &str) -> bool {
    !restart.is_empty()
        && instruction.label == restart
        && matches!(instruction.op, Op::Beq | Op::Bne)
}

/// Whether an instruction can be moved at all.
pub fn is_movable(instruction: &Instruction) -> bool {
    let slots = instruction.op.row().slots;
    let leaves = slots.iter().any(|slot| matches!(slot, Slot::Branch | Slot::Jump | Slot::Sr));
    let is_special = matches!(
        instruction.op,
        Op::Jr | Op::Jalr | Op::Halt | Op::Intoff | Op::Inton | Op::Eret | Op::Wbinv
    );
    !leaves && !is_special
}

/// The cycle in which each datum is ready.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    now: u64,
    ready: HashMap<Datum, u64>,
}

impl Clock {
    fn operands(&self, instruction: &Instruction) -> u64 {
        let ready = read(instruction).into_iter().filter_map(|datum| self.ready.get(&datum));
        // The unit of HI and LO executes one operation at a time.
        let unit = written(instruction).filter(|datum| *datum == Datum::Product);
        let unit = unit.and_then(|datum| self.ready.get(&datum));
        ready.chain(unit).copied().max().unwrap_or(0)
    }

    /// Executes an instruction. Returns the cycles that it waits for operands.
    pub fn execute(&mut self, instruction: &Instruction, latencies: &Latencies) -> u64 {
        let at = self.now.max(self.operands(instruction));
        let waits = at - self.now;
        if let Some(datum) = written(instruction) {
            self.ready.insert(datum, at + latencies.of(instruction.op));
        }
        self.now = at + 1;
        waits
    }
}

/// The live values during a run.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The current number of live values, and its limit.
    pub count: usize,
    pub limit: usize,
    /// The values that are live already, and the values that are used after the run.
    pub open: HashSet<u32>,
    pub after: HashSet<u32>,
    /// The number of remaining instructions of the run that use each value.
    pub left: HashMap<u32, usize>,
}

/// Returns the values that an instruction reads or writes.
pub fn values(instruction: &Instruction) -> HashSet<u32> {
    let all = instruction.read().into_iter().chain([instruction.written()]).flatten();
    let value = |register| match register {
        Register::Value(value) => Some(value),
        Register::Machine(_) => None,
    };
    all.filter_map(value).collect()
}

impl Live {
    fn is_last(&self, value: u32) -> bool {
        !self.after.contains(&value) && self.left.get(&value) == Some(&1)
    }

    /// Returns the change in the number of live values by an instruction.
    fn change(&self, instruction: &Instruction) -> isize {
        let change = |value: &u32| {
            isize::from(!self.open.contains(value)) - isize::from(self.is_last(*value))
        };
        values(instruction).iter().map(change).sum()
    }

    fn execute(&mut self, instruction: &Instruction) {
        self.count = self.count.saturating_add_signed(self.change(instruction));
        for value in values(instruction) {
            self.open.insert(value);
            *self.left.entry(value).or_insert(1) -= 1;
        }
    }
}

/// A load or store.
struct Access {
    at: usize,
    is_store: bool,
    base: Register,
    bytes: std::ops::Range<i32>,
}

impl Access {
    fn new(at: usize, instruction: &Instruction) -> Option<Self> {
        let size = match instruction.op {
            Op::Lb | Op::Lbu | Op::Sb => 1,
            Op::Lh | Op::Lhu | Op::Sh => 2,
            Op::Lw | Op::Sw => 4,
            _ => return None,
        };
        let is_store = matches!(instruction.op, Op::Sb | Op::Sh | Op::Sw);
        let (base, first) = (instruction.rs.unwrap_or(ZERO), instruction.immediate);
        Some(Self { at, is_store, base, bytes: first..first + size })
    }

    /// Whether two accesses must stay in order. If their base changes in between, the change keeps
    /// them in order.
    fn meets(&self, other: &Self) -> bool {
        let is_apart = self.base == other.base
            && (self.bytes.end <= other.bytes.start || other.bytes.end <= self.bytes.start);
        (self.is_store || other.is_store) && !is_apart
    }
}

/// The dependences between the instructions of a run.
struct Graph {
    /// For each instruction, the instructions that wait for it, and the cycles.
    after: Vec<Vec<(usize, u64)>>,
    /// The number of instructions for which each instruction waits.
    waits: Vec<usize>,
}

impl Graph {
    fn before(&mut self, first: usize, second: usize, cycles: u64) {
        self.after[first].push((second, cycles));
        self.waits[second] += 1;
    }

    /// Branches to the label `restart` are tests. Their target begins again from memory, so only
    /// instructions with effects keep their side of a test. Other branches end the run.
    fn new(run: &[&Instruction], restart: &str, latencies: &Latencies) -> Self {
        let count = run.len();
        let mut graph = Self { after: vec![Vec::new(); count], waits: vec![0; count] };
        let mut made: HashMap<Datum, usize> = HashMap::new();
        let mut used: HashMap<Datum, Vec<usize>> = HashMap::new();
        let mut accesses: Vec<Access> = Vec::new();
        let (mut networks, mut tests): (Option<usize>, Option<usize>) = (None, None);
        let mut effects: Vec<usize> = Vec::new();
        for (at, instruction) in run.iter().enumerate() {
            for datum in read(instruction) {
                if let Some(from) = made.get(&datum) {
                    graph.before(*from, at, latencies.of(run[*from].op));
                }
                used.entry(datum).or_default().push(at);
            }
            if let Some(datum) = written(instruction) {
                // A second operation of the unit of HI and LO waits for the first one.
                let cycles = |from: usize| match datum {
                    Datum::Product => latencies.of(run[from].op),
                    Datum::Of(_) => 0,
                };
                let before = used.remove(&datum).unwrap_or_default();
                before.into_iter().filter(|user| *user != at).for_each(|user| {
                    graph.before(user, at, 0);
                });
                if let Some(from) = made.insert(datum, at) {
                    graph.before(from, at, cycles(from));
                }
            }
            let is_test = is_test(instruction, restart);
            let is_end = !is_movable(instruction) && !is_test;
            let is_network = uses_network(instruction);
            let access = Access::new(at, instruction);
            if let Some(access) = &access {
                let met = accesses.iter().filter(|other| access.meets(other));
                met.for_each(|other| graph.before(other.at, at, 0));
            }
            if is_network {
                accesses.iter().for_each(|other| graph.before(other.at, at, 0));
            }
            if is_network || access.is_some() || is_test {
                networks.into_iter().for_each(|other| graph.before(other, at, 0));
            }
            let is_own = matches!(instruction.written(), Some(Register::Machine(_)));
            let is_effect = is_network || is_own || access.as_ref().is_some_and(|one| one.is_store);
            if is_effect || is_test {
                tests.into_iter().for_each(|test| graph.before(test, at, 0));
            }
            if is_test {
                effects.drain(..).for_each(|effect| graph.before(effect, at, 0));
                tests = Some(at);
            }
            if is_end {
                (0..at).for_each(|other| graph.before(other, at, 0));
            }
            if is_effect {
                effects.push(at);
            }
            if is_network {
                networks = Some(at);
            }
            accesses.extend(access);
        }
        graph
    }

    /// Returns the longest path in cycles from each instruction to the end of the run.
    fn heights(&self) -> Vec<u64> {
        let mut heights = vec![0; self.after.len()];
        for at in (0..heights.len()).rev() {
            let over = self.after[at].iter().map(|(next, cycles)| heights[*next] + cycles);
            heights[at] = over.max().unwrap_or(0);
        }
        heights
    }
}

/// Returns the order of the instructions of a run, chosen for few cycles within the limit of live
/// values.
pub fn order(
    run: &[&Instruction],
    restart: &str,
    latencies: &Latencies,
    clock: &mut Clock,
    live: &mut Live,
) -> Vec<usize> {
    let mut graph = Graph::new(run, restart, latencies);
    let heights = graph.heights();
    live.left.clear();
    for value in run.iter().flat_map(|instruction| values(instruction)) {
        *live.left.entry(value).or_default() += 1;
    }
    let mut ready: Vec<usize> = (0..run.len()).filter(|at| graph.waits[*at] == 0).collect();
    let mut ordered = Vec::with_capacity(run.len());
    while !ready.is_empty() {
        let is_scarce =
            live.count >= live.limit && ready.iter().any(|at| live.change(run[*at]) <= 0);
        let allowed = ready.iter().filter(|at| !is_scarce || live.change(run[**at]) <= 0);
        let rank = |at: &&usize| {
            let waits = clock.operands(run[**at]).saturating_sub(clock.now);
            (waits, std::cmp::Reverse(heights[**at]), **at)
        };
        let Some(next) = allowed.min_by_key(rank).copied() else { break };
        ready.retain(|at| *at != next);
        clock.execute(run[next], latencies);
        live.execute(run[next]);
        ordered.push(next);
        for (after, _) in std::mem::take(&mut graph.after[next]) {
            graph.waits[after] -= 1;
            if graph.waits[after] == 0 {
                ready.push(after);
            }
        }
    }
    ordered
}
