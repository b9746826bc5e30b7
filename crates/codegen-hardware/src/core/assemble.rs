//! Combines the steps of an engine: each output of the core is selected by the step that runs.

use wireloom_bits::Bits;
use wireloom_compile::analysis::liveness::Liveness;
use wireloom_ir::{BinaryOp, ContextId, Engine, EngineKind, MAX_BACKWARD_JUMPS, StepId};

use super::RUNAWAY;
use super::facts;
use super::graph::{Graph, Input, Node};
use super::layout::{self, Layout};
use super::packet::{ReadWord, is_early};
use super::port::OffloadPort;
use super::select::{Case, case, choose};
use super::step_logic::{ExitKind, StepLogic, Writes};

/// `wl_pkg::EXIT_*`.
pub mod exit_code {
    /// Continues at the next step.
    pub const NEXT: u64 = 0;
    /// Sends the packet.
    pub const FINISH: u64 = 1;
    /// Sends a copy and continues.
    pub const EMIT: u64 = 2;
    /// Drops the packet.
    pub const DROP: u64 = 3;
    /// Hands the packet to the control processor.
    pub const TO_CPU: u64 = 4;
    /// Ends the thread.
    pub const DONE: u64 = 5;
    /// Returns from a called engine.
    pub const REPLY: u64 = 6;
    /// Hands a copy to the control processor and continues.
    pub const COPY_TO_CPU: u64 = 7;
}

/// The outputs of the core and of the address module.
pub struct Outputs {
    /// The byte offset of each word to read, 17 bits.
    pub offsets: Vec<Node>,
    /// Whether each port has a request.
    pub request_valid: Vec<Node>,
    /// The data of each port's request.
    pub request_data: Vec<Node>,
    /// Whether the slot is the step's last.
    pub commit: Node,
    pub step: Node,
    pub state: Node,
    pub writes: Vec<WriteOutput>,
    /// Whether bytes are cleared.
    pub clear_valid: Node,
    /// The physical address of the first cleared byte, 8 bits.
    pub clear_address: Node,
    /// The number of cleared bytes, 9 bits.
    pub clear_count: Node,
    /// `wl_pkg::EXIT_*`.
    pub exit: Node,
    /// The reason for the exit, 24 bits.
    pub reason: Node,
    /// The bytes that leave (`wl_pkg::piece_t`), if some copy has only some of the packet's.
    pub piece: Option<Node>,
}

/// A word to write.
pub struct WriteOutput {
    /// Whether any byte is written.
    pub valid: Node,
    /// The physical address of the first byte, 8 bits.
    pub address: Node,
    /// Bit `k`: whether byte `k` is written.
    pub strobe: Node,
    /// The data, byte 0 most significant.
    pub data: Node,
}

pub struct Assembly<'a> {
    pub engine: &'a Engine,
    pub layout: &'a Layout,
    pub ports: &'a [OffloadPort],
    /// The logic of each step.
    pub steps: &'a [StepLogic],
    /// A bit for each step, which is set if the step runs. One more bit belongs to the step that
    /// ends runaway threads, if there is one.
    pub active: Vec<Node>,
}

impl<'a> Assembly<'a> {
    /// Creates the assembly of an engine whose steps have been lowered.
    pub fn new(
        graph: &mut Graph,
        engine: &'a Engine,
        layout: &'a Layout,
        ports: &'a [OffloadPort],
        steps: &'a [StepLogic],
    ) -> Self {
        let number = graph.input(Input::Step, layout.step_bits);
        let count = steps.len() as u64 + u64::from(layout.runaway_step.is_some());
        let active = (0..count)
            .map(|index| {
                if count == 1 {
                    return graph.bit(true);
                }
                let index = graph.number(layout.step_bits, index);
                graph.binary(BinaryOp::Eq, number, index)
            })
            .collect();
        Self { engine, layout, ports, steps, active }
    }

    /// Builds all outputs.
    ///
    /// # Errors
    /// If a step reads its packet at an offset that depends on a read of the same step. The error
    /// is the index of the step.
    pub fn outputs(&self, graph: &mut Graph) -> Result<Outputs, usize> {
        let offsets = self.offsets(graph)?;
        let (request_valid, request_data) = self.requests(graph);
        let (clear_valid, clear_address, clear_count) = self.clear(graph);
        Ok(Outputs {
            offsets,
            commit: self.commit(graph, &request_valid),
            request_valid,
            request_data,
            step: self.next_step(graph),
            state: self.state(graph),
            writes: self.writes(graph),
            clear_valid,
            clear_address,
            clear_count,
            exit: self.exit(graph),
            reason: self.reason(graph),
            piece: self.piece(graph),
        })
    }

    fn offsets(&self, graph: &mut Graph) -> Result<Vec<Node>, usize> {
        let words: Vec<Vec<ReadWord>> =
            self.steps.iter().map(|s| s.hand.words().collect()).collect();
        let ports = words.iter().map(Vec::len).max().unwrap_or(0);
        let mut offsets = Vec::new();
        for port in 0..ports {
            let (mut roots, mut distances) = (Vec::new(), Vec::new());
            for (step, words) in words.iter().enumerate() {
                let Some(word) = words.get(port) else { continue };
                let root = match word.root {
                    Some(root) if is_early(graph, root) => graph.resize(root, 17),
                    Some(_) => return Err(step),
                    None => graph.number(17, 0),
                };
                let distance = super::packet::wrapped(graph, 17, word.offset);
                roots.extend(case(self.active[step], vec![(self.active[step], root)]));
                distances.extend(case(self.active[step], vec![(self.active[step], distance)]));
            }
            let root = choose(graph, &roots).expect("a step uses the port");
            let distance = choose(graph, &distances).expect("a step uses the port");
            offsets.push(graph.binary(BinaryOp::Add, root, distance));
        }
        Ok(offsets)
    }

    fn requests(&self, graph: &mut Graph) -> (Vec<Node>, Vec<Node>) {
        let (mut valid, mut data) = (Vec::new(), Vec::new());
        for (number, port) in self.ports.iter().enumerate() {
            let (mut terms, mut cases) = (Vec::new(), Vec::new());
            for (step, active) in self.steps.iter().zip(&self.active) {
                for (_, condition, request) in
                    step.requests.iter().filter(|(port, ..)| *port == number)
                {
                    terms.push(graph.and(*active, *condition));
                    cases.extend(case(*active, vec![(*active, *request)]));
                }
            }
            valid.push(graph.any(terms));
            let request = choose(graph, &cases).expect("a port is used");
            graph.set_name(request, &format!("request_{}", port.name));
            data.push(request);
        }
        (valid, data)
    }

    /// Returns whether the slot is the step's last one: it has the replies or waits for none.
    fn commit(&self, graph: &mut Graph, valid: &[Node]) -> Node {
        let waits: Vec<Node> = self
            .ports
            .iter()
            .zip(valid)
            .filter(|(port, _)| port.reply_bits > 0)
            .map(|(_, valid)| *valid)
            .collect();
        if waits.is_empty() {
            return graph.bit(true);
        }
        let phase = graph.input(Input::Phase, 1);
        let waits = graph.any(waits);
        let free = graph.not(waits);
        graph.or(phase, free)
    }

    /// Returns the code of the active exit. Each bit is computed from the exits that set it.
    fn coded(
        &self,
        graph: &mut Graph,
        width: u32,
        code: impl Fn(&mut Graph, &ExitKind) -> Option<Node>,
        runaway: Option<Bits>,
    ) -> Node {
        let mut cases = Vec::new();
        for (step, active) in self.steps.iter().zip(&self.active) {
            let alternatives: Vec<(Node, Node)> = step
                .exits
                .iter()
                .filter_map(|exit| Some((exit.condition, code(graph, &exit.kind)?)))
                .collect();
            cases.extend(case(*active, alternatives));
        }
        if let (Some(runaway), Some(step)) = (runaway, self.layout.runaway_step) {
            let active = self.active[step as usize];
            let value = graph.constant(runaway);
            cases.extend(case(active, vec![(active, value)]));
        }
        let mut bits = Vec::new();
        for bit in (0..width).rev() {
            let mut terms = Vec::new();
            let mut cared = Vec::new();
            for case in &cases {
                let otherwise = graph.slice(case.otherwise, bit, 1);
                let (mut ones, mut zeros, mut others) = (Vec::new(), Vec::new(), Vec::new());
                for (condition, value) in &case.when {
                    let value = graph.slice(*value, bit, 1);
                    if graph.is_bit(value, true) {
                        ones.push(*condition);
                    } else if graph.is_bit(value, false) {
                        zeros.push(*condition);
                    } else {
                        others.push((*condition, value));
                    }
                }
                let rest = if graph.is_bit(otherwise, true) && others.is_empty() {
                    let any = graph.any(zeros);
                    graph.not(any)
                } else if graph.is_bit(otherwise, false) && others.is_empty() {
                    graph.any(ones)
                } else {
                    let with_ones = ones.iter().fold(otherwise, |rest, c| graph.or(*c, rest));
                    let zero = graph.bit(false);
                    let with_zeros =
                        zeros.iter().fold(with_ones, |rest, c| graph.select(*c, zero, rest));
                    others.iter().fold(with_zeros, |rest, (c, v)| graph.select(*c, *v, rest))
                };
                cared.push(rest);
                terms.push(graph.and(case.active, rest));
            }
            let same = cared.first().copied().filter(|first| cared.iter().all(|c| c == first));
            bits.push(match same {
                Some(same) => same,
                None => graph.any(terms),
            });
        }
        graph.concat(bits)
    }

    fn exit(&self, graph: &mut Graph) -> Node {
        let runaway = if self.layout.has_packet { exit_code::DROP } else { exit_code::REPLY };
        let code = |graph: &mut Graph, kind: &ExitKind| {
            let code = match kind {
                ExitKind::Next(_) => exit_code::NEXT,
                ExitKind::Emit(_, None, _) => exit_code::EMIT,
                ExitKind::Emit(_, Some(_), _) => exit_code::COPY_TO_CPU,
                ExitKind::Finish => exit_code::FINISH,
                ExitKind::Drop(_) => exit_code::DROP,
                ExitKind::ToCpu(_) => exit_code::TO_CPU,
                ExitKind::Done => exit_code::DONE,
                ExitKind::Reply(_) => exit_code::REPLY,
            };
            Some(graph.number(3, code))
        };
        self.coded(graph, 3, code, Some(Bits::new(3, u128::from(runaway))))
    }

    fn reason(&self, graph: &mut Graph) -> Node {
        let code = |_: &mut Graph, kind: &ExitKind| match kind {
            ExitKind::Drop(reason)
            | ExitKind::ToCpu(reason)
            | ExitKind::Emit(_, Some(reason), _) => Some(*reason),
            _ => None,
        };
        self.coded(graph, 24, code, Some(Bits::new(24, u128::from(RUNAWAY))))
    }

    /// Returns the bytes that leave, unless all copies are whole packets.
    fn piece(&self, graph: &mut Graph) -> Option<Node> {
        let mut exits = self.steps.iter().flat_map(|step| &step.exits);
        exits.find(|exit| matches!(exit.kind, ExitKind::Emit(.., Some(_))))?;
        let mut cases = Vec::new();
        for (step, active) in self.steps.iter().zip(&self.active) {
            let mut alternatives = Vec::new();
            for exit in &step.exits {
                let extent = match exit.kind {
                    ExitKind::Emit(.., extent) => extent,
                    ExitKind::Finish | ExitKind::ToCpu(_) => None,
                    // No byte leaves.
                    _ => continue,
                };
                alternatives.push((exit.condition, step.hand.piece(graph, extent)));
            }
            cases.extend(case(*active, alternatives));
        }
        choose(graph, &cases)
    }

    fn next_step(&self, graph: &mut Graph) -> Node {
        let width = self.layout.step_bits;
        let code = |graph: &mut Graph, kind: &ExitKind| match kind {
            ExitKind::Next(step) | ExitKind::Emit(step, ..) => {
                Some(graph.number(width, *step as u64))
            }
            _ => None,
        };
        let next = self.coded(graph, width, code, None);
        let Some(runaway) = self.layout.runaway_step else { return next };
        let jumps = self.backward_jumps(graph);
        let most = graph.number(16, u64::from(MAX_BACKWARD_JUMPS));
        let worn_out = graph.binary(BinaryOp::Eq, jumps, most);
        let back = self.jumps_back(graph);
        let runs_away = graph.and(back, worn_out);
        let runaway = graph.number(width, u64::from(runaway));
        graph.select(runs_away, runaway, next)
    }

    fn backward_jumps(&self, graph: &mut Graph) -> Node {
        let low = self.layout.backward_jumps.expect("threads can run away");
        let state = graph.input(Input::State, self.layout.state_bits);
        let node = graph.slice(state, low, 16);
        graph.set_name(node, "backward_jumps");
        node
    }

    /// Returns whether the slot's step continues at itself or an earlier step.
    fn jumps_back(&self, graph: &mut Graph) -> Node {
        let mut terms = Vec::new();
        for (index, (step, active)) in self.steps.iter().zip(&self.active).enumerate() {
            let back: Vec<Node> = step
                .exits
                .iter()
                .filter(|exit| match exit.kind {
                    ExitKind::Next(to) | ExitKind::Emit(to, ..) => {
                        Layout::is_backward(index, StepId(to as u32))
                    }
                    _ => false,
                })
                .map(|exit| exit.condition)
                .collect();
            let any = graph.any(back);
            terms.push(graph.and(*active, any));
        }
        graph.any(terms)
    }

    fn state(&self, graph: &mut Graph) -> Node {
        let state = graph.input(Input::State, self.layout.state_bits);
        let live = Liveness::of(self.engine);
        // The fields of the state that each step changes, by exit.
        let mut cuts = vec![0, self.layout.state_bits];
        let mut fields: Vec<Vec<Vec<Field>>> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let mut of_exits = Vec::new();
            for exit in &step.exits {
                let set = self.at_exit(graph, &live, index, step, exit.condition, &exit.kind);
                cuts.extend(set.iter().flat_map(|f| [f.low, f.low + graph.width(f.value)]));
                of_exits.push(set);
            }
            fields.push(of_exits);
        }
        cuts.sort_unstable();
        cuts.dedup();
        let mut parts = Vec::new();
        for range in cuts.windows(2).rev() {
            let [low, end] = [range[0], range[1]];
            let mut cases = Vec::new();
            for ((step, of_exits), active) in self.steps.iter().zip(&fields).zip(&self.active) {
                let mut alternatives = Vec::new();
                for (exit, set) in step.exits.iter().zip(of_exits) {
                    let field =
                        set.iter().find(|f| f.low <= low && end <= f.low + graph.width(f.value));
                    if let Some(field) = field {
                        let value = graph.slice(field.value, low - field.low, end - low);
                        alternatives.push((exit.condition, value));
                    }
                }
                // The most common value becomes the default.
                let common = alternatives.iter().map(|(_, v)| *v).max_by_key(|v| {
                    (alternatives.iter().filter(|(_, other)| other == v).count(), *v)
                });
                if let Some(common) = common {
                    let when = alternatives.iter().filter(|(_, v)| *v != common).copied().collect();
                    cases.push(Case { active: *active, when, otherwise: common });
                }
            }
            if let (Some(step), EngineKind::Call { reply, .. }) =
                (self.layout.runaway_step, &self.engine.kind)
                && end <= *reply
            {
                let zero = graph.constant(Bits::zero(end - low));
                let active = self.active[step as usize];
                cases.push(Case { active, when: Vec::new(), otherwise: zero });
            }
            let value = choose(graph, &cases);
            parts.push(match value {
                Some(value) => value,
                None => graph.slice(state, low, end - low),
            });
        }
        graph.concat(parts)
    }

    /// Returns the state after a step that ends by an exit.
    fn at_exit(
        &self,
        graph: &mut Graph,
        live: &Liveness,
        index: usize,
        step: &StepLogic,
        condition: Node,
        kind: &ExitKind,
    ) -> Vec<Field> {
        let state = graph.input(Input::State, self.layout.state_bits);
        let next = match kind {
            ExitKind::Next(step) | ExitKind::Emit(step, ..) => Some(*step),
            _ => None,
        };
        let mut fields = Vec::new();
        // Nothing of a dropped packet is kept.
        let has_packet =
            self.layout.has_packet && !matches!(kind, ExitKind::Drop(_) | ExitKind::Done);
        if has_packet {
            let front = step.hand.front(graph);
            let window = step.hand.window(graph);
            let length = step.hand.length(graph);
            let old = graph.slice(state, layout::EGRESS, 16);
            let egress = written(graph, condition, &step.egress, old);
            fields.extend([
                Field { low: layout::FRONT, value: front },
                Field { low: layout::WINDOW, value: window },
                Field { low: layout::LENGTH, value: length },
                Field { low: layout::EGRESS, value: egress },
            ]);
        }
        if let ExitKind::Reply(value) = kind {
            fields.push(Field { low: 0, value: *value });
        }
        let Some(next) = next else { return fields };
        for (number, var) in self.engine.context.iter().enumerate() {
            let id = ContextId(number as u32);
            if !live.kept_in[next].contains(id) && !live.live_in[next].contains(id) {
                continue;
            }
            let old = graph.slice(state, self.layout.context[number], var.width);
            let none = Writes::new();
            let value = written(graph, condition, step.context.get(&id).unwrap_or(&none), old);
            fields.push(Field { low: self.layout.context[number], value });
        }
        if let Some(low) = self.layout.backward_jumps {
            let jumps = self.backward_jumps(graph);
            let one = graph.number(16, 1);
            let back = Layout::is_backward(index, StepId(next as u32));
            let value = if back { graph.binary(BinaryOp::Add, jumps, one) } else { jumps };
            fields.push(Field { low, value });
        }
        fields
    }

    fn writes(&self, graph: &mut Graph) -> Vec<WriteOutput> {
        let ports = self.steps.iter().map(|s| s.hand.writes().len()).max().unwrap_or(0);
        let zero = graph.bit(false);
        (0..ports)
            .map(|port| {
                let uses: Vec<(Node, _)> = self
                    .steps
                    .iter()
                    .zip(&self.active)
                    .filter_map(|(step, active)| Some((*active, step.hand.writes().get(port)?)))
                    .collect();
                let mut bases = Vec::new();
                let mut distances = Vec::new();
                for (active, word) in &uses {
                    let base = match word.root {
                        Some(root) => {
                            let root = graph.resize(root, 8);
                            graph.binary(BinaryOp::Add, word.front, root)
                        }
                        None => word.front,
                    };
                    let distance = super::packet::wrapped(graph, 8, word.offset);
                    bases.extend(case(*active, vec![(*active, base)]));
                    distances.extend(case(*active, vec![(*active, distance)]));
                }
                let base = choose(graph, &bases).expect("a step uses the port");
                let distance = choose(graph, &distances).expect("a step uses the port");
                let address = graph.binary(BinaryOp::Add, base, distance);
                let (mut strobes, mut data) = (Vec::new(), Vec::new());
                for byte in 0..self.layout.header_bytes as usize {
                    let (mut terms, mut cases) = (Vec::new(), Vec::new());
                    for (active, word) in &uses {
                        if let Some(Some((strobe, value))) = word.bytes.get(byte) {
                            terms.push(graph.and(*active, *strobe));
                            cases.extend(case(*active, vec![(*active, *value)]));
                        }
                    }
                    strobes.push(graph.any(terms));
                    let value = choose(graph, &cases);
                    data.push(match value {
                        Some(value) => value,
                        None => graph.number(8, 0),
                    });
                }
                let valid = graph.any(strobes.iter().copied());
                strobes.reverse();
                let strobe = graph.concat(strobes);
                let data = graph.concat(data);
                let valid = if graph.is_bit(valid, false) { zero } else { valid };
                WriteOutput { valid, address, strobe, data }
            })
            .collect()
    }

    fn clear(&self, graph: &mut Graph) -> (Node, Node, Node) {
        let (mut terms, mut addresses, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for (step, active) in self.steps.iter().zip(&self.active) {
            if let Some(clear) = step.hand.clear() {
                terms.push(graph.and(*active, clear.valid));
                addresses.extend(case(*active, vec![(*active, clear.address)]));
                counts.extend(case(*active, vec![(*active, clear.count)]));
            }
        }
        let valid = graph.any(terms);
        let address = choose(graph, &addresses).unwrap_or_else(|| graph.number(8, 0));
        let count = choose(graph, &counts).unwrap_or_else(|| graph.number(9, 0));
        (valid, address, count)
    }
}

/// A field of the state: its lowest bit and its value.
struct Field {
    low: u32,
    value: Node,
}

/// Returns the value after writes in program order, given that a condition holds.
fn written(graph: &mut Graph, condition: Node, writes: &Writes, old: Node) -> Node {
    let verdicts: Vec<Option<bool>> = {
        let facts = facts::given(graph, condition);
        writes.iter().map(|(guard, _)| facts.bit(*guard)).collect()
    };
    writes.iter().zip(verdicts).fold(old, |now, ((guard, value), verdict)| match verdict {
        Some(true) => *value,
        Some(false) => now,
        None => graph.select(*guard, *value, now),
    })
}
