//! Prints the graph as readable SystemVerilog.
//!
//! A node becomes a net if it has a name in the source, if several nodes use it, if it is
//! registered for a later stage, or if the expression around it would grow too long. Otherwise it
//! is written inside the expression that uses it.

use std::collections::{BTreeMap, HashMap};

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, UnaryOp};

use super::graph::{Graph, Input, Node, NodeKind};
use super::schedule::{Schedule, is_transparent};
use crate::sv::names::Scope;
use crate::sv::{Binary, Expr, Item, Statement, Type, Unary};

/// The maximum number of operands of an expression that is not broken into nets.
const LONGEST: usize = 8;

/// The names and expressions that the emitter needs.
pub struct Naming<'a> {
    /// The names of the steps, as legal identifiers.
    pub steps: &'a [String],
    /// The comment that introduces the logic of each step.
    pub comments: &'a [String],
    /// The expression of an input: a port or a part of one, and whether it is the whole port.
    pub input: &'a dyn Fn(Input) -> Expr,
    /// The text of a source location, for a comment.
    pub place: &'a dyn Fn(wireloom_ir::Loc) -> Option<String>,
}

/// Prints the logic of outputs.
pub struct Emitter<'a> {
    graph: &'a Graph,
    schedule: &'a Schedule,
    naming: &'a Naming<'a>,
    scope: Scope,
    /// The number of uses of each node; for a [`transparent`](is_transparent) one, in its own
    /// stage.
    uses: Vec<u32>,
    /// The latest stage for which each node is kept; its own stage if it is not registered.
    until: Vec<u32>,
    /// The name of each node that is a net, without the stage.
    names: HashMap<Node, String>,
    /// The bits of each net, input and register that are read.
    seen: HashMap<(Node, u32), Bits>,
    /// The size of the expression of each inlined node.
    sizes: HashMap<Node, usize>,
}

impl<'a> Emitter<'a> {
    /// Creates an emitter for outputs. All of them are in the schedule's last stage.
    pub fn new(
        graph: &'a Graph,
        schedule: &'a Schedule,
        naming: &'a Naming<'a>,
        scope: Scope,
        roots: &[Node],
    ) -> Self {
        let count = graph.nodes().count();
        let mut emitter = Self {
            graph,
            schedule,
            naming,
            scope,
            uses: vec![0; count],
            until: schedule.stages.clone(),
            names: HashMap::new(),
            seen: HashMap::new(),
            sizes: HashMap::new(),
        };
        emitter.demand(roots);
        emitter.name_nets();
        emitter
    }

    fn stage(&self, node: Node) -> u32 {
        self.schedule.stages[node.index()]
    }

    /// Finds the uses of each node.
    fn demand(&mut self, roots: &[Node]) {
        let mut done: HashMap<(Node, u32), ()> = HashMap::new();
        let mut work: Vec<(Node, u32)> = roots.iter().map(|r| (*r, self.schedule.last)).collect();
        for root in roots {
            let is_here = self.stage(*root) == self.schedule.last;
            if is_here || !is_transparent(self.graph.kind(*root)) {
                self.uses[root.index()] += 1;
            }
        }
        while let Some((node, stage)) = work.pop() {
            if done.insert((node, stage), ()).is_some() {
                continue;
            }
            let own = self.stage(node);
            if stage > own && !is_transparent(self.graph.kind(node)) {
                self.until[node.index()] = self.until[node.index()].max(stage);
                work.push((node, own));
                continue;
            }
            self.graph.for_each_operand(node, |operand| {
                let is_here = self.schedule.stages[operand.index()] == stage;
                if is_here || !is_transparent(self.graph.kind(operand)) {
                    self.uses[operand.index()] += 1;
                }
                work.push((operand, stage));
            });
        }
    }

    /// Decides which nodes are nets and gives them names.
    fn name_nets(&mut self) {
        let mut sliced = vec![false; self.uses.len()];
        for node in self.graph.nodes() {
            if let NodeKind::Slice(base, _) = self.graph.kind(node)
                && self.uses[node.index()] > 0
            {
                sliced[base.index()] = true;
            }
        }
        let used: Vec<Node> = self.graph.nodes().filter(|n| self.uses[n.index()] > 0).collect();
        for node in used {
            let kind = self.graph.kind(node);
            if matches!(kind, NodeKind::Const(_) | NodeKind::Input(_)) {
                if self.until[node.index()] > self.stage(node) {
                    let name = self.input_name(node);
                    self.names.insert(node, name);
                }
                continue;
            }
            let origin = self.graph.origin(node);
            let source_name = origin.and_then(|o| o.name.clone());
            let is_registered = self.until[node.index()] > self.stage(node);
            let shared = self.uses[node.index()] > 1
                && !matches!(kind, NodeKind::Slice(..))
                && !matches!(kind, NodeKind::Unary(UnaryOp::Not, a) if self.is_leaf(*a));
            let mut size = 0;
            self.graph.for_each_operand(node, |operand| size += self.size(operand));
            let is_net = source_name.is_some()
                || is_registered
                || shared
                || sliced[node.index()]
                || size > LONGEST && !matches!(kind, NodeKind::Slice(..));
            if is_net {
                let step = origin
                    .and_then(|o| self.naming.steps.get(o.step?))
                    .cloned()
                    .unwrap_or_default();
                let wanted = match source_name {
                    Some(name) if step.is_empty() => name,
                    Some(name) => format!("{step}_{name}"),
                    None if step.is_empty() => "chosen".into(),
                    None => format!("{step}_is"),
                };
                let wanted = if wanted.ends_with("_is") && self.graph.width(node) > 1 {
                    wanted.trim_end_matches("is").to_owned() + "value"
                } else {
                    wanted
                };
                let name = self.scope.unique(&wanted);
                self.names.insert(node, name);
            } else {
                self.sizes.insert(node, size.max(1));
            }
        }
    }

    fn input_name(&mut self, node: Node) -> String {
        let NodeKind::Input(input) = self.graph.kind(node) else {
            return self.scope.unique("constant");
        };
        let wanted = match input {
            Input::Step => "step".to_owned(),
            Input::Phase => "phase".to_owned(),
            Input::State => "state".to_owned(),
            Input::Info => "info".to_owned(),
            Input::Word(port) => format!("word_{port}"),
            Input::Reply(port) => format!("reply_{port}"),
        };
        self.scope.unique(&wanted)
    }

    fn is_leaf(&self, node: Node) -> bool {
        self.names.contains_key(&node)
            || matches!(
                self.graph.kind(node),
                NodeKind::Const(_) | NodeKind::Input(_) | NodeKind::Slice(..)
            )
    }

    fn size(&self, node: Node) -> usize {
        if self.is_leaf(node) { 1 } else { self.sizes.get(&node).copied().unwrap_or(1) }
    }

    /// Returns all items before the assignments of outputs: nets in order of stage and step, with
    /// registers between stages.
    pub fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        let order: Vec<Node> = self.graph.nodes().filter(|n| self.uses[n.index()] > 0).collect();
        let sections = self.sections();
        for stage in 0..=self.schedule.last {
            if stage > 0 {
                items.extend(self.registers(&order, stage));
            }
            let mut by_step: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
            for node in &order {
                let is_input =
                    matches!(self.graph.kind(*node), NodeKind::Input(_) | NodeKind::Const(_));
                if self.stage(*node) == stage && self.names.contains_key(node) && !is_input {
                    by_step.entry(sections[node.index()]).or_default().push(*node);
                }
            }
            for (step, nodes) in by_step {
                items.push(Item::Blank);
                items.push(match self.naming.comments.get(step) {
                    Some(comment) => Item::comment(comment),
                    None => Item::comment("Selected by the current step."),
                });
                for node in nodes {
                    let value = self.expression(node, stage);
                    let loc = self.graph.origin(node).map(|o| o.loc);
                    items.push(Item::Net {
                        name: self.names[&node].clone(),
                        ty: Type::bits(self.graph.width(node)),
                        value: Some(value),
                        comment: loc.and_then(|loc| (self.naming.place)(loc)),
                    });
                }
            }
        }
        items
    }

    /// Returns the step under which each node is printed: the step of its origin, but not before
    /// its operands. Nodes that combine steps follow the last step.
    fn sections(&self) -> Vec<usize> {
        let count = self.naming.steps.len();
        let mut sections = vec![0; self.uses.len()];
        for node in self.graph.nodes() {
            let mut section = self.graph.origin(node).and_then(|o| o.step).unwrap_or(count);
            if matches!(self.graph.kind(node), NodeKind::Input(_) | NodeKind::Const(_)) {
                section = 0;
            }
            self.graph
                .for_each_operand(node, |operand| section = section.max(sections[operand.index()]));
            sections[node.index()] = section;
        }
        sections
    }

    /// Writes the registers between a stage and the one before it.
    fn registers(&mut self, order: &[Node], stage: u32) -> Vec<Item> {
        let kept: Vec<Node> = order
            .iter()
            .filter(|n| self.stage(**n) < stage && self.until[n.index()] >= stage)
            .copied()
            .collect();
        let mut items =
            vec![Item::Blank, Item::comment(&format!("Registers before stage {stage}."))];
        let mut body = Vec::new();
        for node in kept {
            let before = self.reference(node, stage - 1);
            let name = self.register(node, stage);
            items.push(Item::net(name.clone(), Type::bits(self.graph.width(node))));
            body.push(Statement::assign(name, before));
        }
        items.push(Item::registers(body));
        items
    }

    fn register(&self, node: Node, stage: u32) -> String {
        format!("{}_r{stage}", self.names[&node])
    }

    /// Records that bits of a node are read in a stage.
    fn see(&mut self, node: Node, stage: u32, low: u32, width: u32) {
        let own = self.graph.width(node);
        let bits = Bits::ones(width).resize(own).shl(low);
        let seen = self.seen.entry((node, stage)).or_insert_with(|| Bits::zero(own));
        *seen = seen.or(&bits);
    }

    /// Returns the node's value as an operand in a stage.
    pub fn reference(&mut self, node: Node, stage: u32) -> Expr {
        self.part(node, stage, 0, self.graph.width(node))
    }

    /// Returns outputs of equal width, the first in the lowest bits, as one vector.
    pub fn vector(&mut self, nodes: &[Node], width: u32, count: u32) -> Expr {
        self.stacked(nodes, width * count)
    }

    /// Returns outputs as one vector, the first in the lowest bits, with zeros above them up to a
    /// width.
    pub fn stacked(&mut self, nodes: &[Node], width: u32) -> Expr {
        let own: u32 = nodes.iter().map(|n| self.graph.width(*n)).sum();
        let mut parts = Vec::new();
        if own < width {
            parts.push(Expr::Number(Bits::zero(width - own)));
        }
        let last = self.schedule.last;
        parts
            .extend(nodes.iter().rev().map(|node| self.reference(*node, last)).collect::<Vec<_>>());
        match parts.len() {
            1 => parts.swap_remove(0),
            _ => Expr::Concat(parts),
        }
    }

    /// Returns some bits of the node's value.
    fn part(&mut self, node: Node, stage: u32, low: u32, width: u32) -> Expr {
        let whole = width == self.graph.width(node);
        let own = self.stage(node);
        let base = match self.graph.kind(node) {
            NodeKind::Const(bits) => return Expr::Number(bits.slice(low, width)),
            NodeKind::Input(input) if stage == own => {
                self.see(node, stage, low, width);
                let base = (self.naming.input)(*input);
                return match base {
                    Expr::Slice(name, _, from) if !whole => {
                        let Expr::Int(from) = *from else {
                            unreachable!("slices of ports have constant bounds")
                        };
                        name.bits(from as u32 + low, width)
                    }
                    base if whole => base,
                    base => base.bits(low, width),
                };
            }
            kind if is_transparent(kind) && (stage > own || !self.names.contains_key(&node)) => {
                assert!(whole, "slices of what has no name are made of its parts");
                return self.expression(node, stage);
            }
            _ if stage > own => Expr::name(self.register(node, stage)),
            _ => match self.names.get(&node) {
                Some(name) => Expr::name(name.clone()),
                None => {
                    assert!(whole, "slices of what has no name are made of its parts");
                    return self.expression(node, stage);
                }
            },
        };
        self.see(node, stage, low, width);
        if whole { base } else { base.bits(low, width) }
    }

    /// Returns the expression that computes the node.
    fn expression(&mut self, node: Node, stage: u32) -> Expr {
        let width = self.graph.width(node);
        match self.graph.kind(node).clone() {
            NodeKind::Input(_) | NodeKind::Const(_) => self.reference(node, stage),
            NodeKind::Unary(op, a) => {
                let a = self.reference(a, stage);
                a.unary(match op {
                    UnaryOp::Not => Unary::Not,
                    UnaryOp::Neg => Unary::Negate,
                    UnaryOp::Popcount | UnaryOp::Clz => {
                        unreachable!("the graph counts by sums and choices")
                    }
                })
            }
            NodeKind::Binary(op, a, b) => self.binary(op, a, b, stage),
            NodeKind::Select(c, a, b) => {
                let (c, a, b) =
                    (self.reference(c, stage), self.reference(a, stage), self.reference(b, stage));
                c.choose(a, b)
            }
            NodeKind::Mask(bit, a) => {
                let (bit, a) = (self.reference(bit, stage), self.reference(a, stage));
                bit.replicate(Expr::int(u64::from(width))).and(a)
            }
            NodeKind::Slice(a, low) => self.part(a, stage, low, width),
            NodeKind::Concat(parts) => {
                Expr::Concat(parts.into_iter().map(|p| self.reference(p, stage)).collect())
            }
            NodeKind::Parity(a, mask) => {
                let a = self.reference(a, stage);
                a.and(Expr::Number(mask)).unary(Unary::Parity)
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: Node, b: Node, stage: u32) -> Expr {
        let width = self.graph.width(a);
        let (left, right) = (self.reference(a, stage), self.reference(b, stage));
        let operator = match op {
            BinaryOp::Add => Binary::Add,
            BinaryOp::Sub => Binary::Subtract,
            BinaryOp::Mul => Binary::Multiply,
            BinaryOp::And => Binary::And,
            BinaryOp::Or => Binary::Or,
            BinaryOp::Xor => Binary::Xor,
            BinaryOp::Shl => Binary::ShiftLeft,
            BinaryOp::Lshr => Binary::ShiftRight,
            BinaryOp::Eq => Binary::Equal,
            BinaryOp::Ne => Binary::Unequal,
            BinaryOp::Ult => Binary::Less,
            BinaryOp::Ule => Binary::LessOrEqual,
            // SystemVerilog leaves a division by zero undefined.
            BinaryOp::Udiv => {
                let zero = right.clone().equal(Expr::Number(Bits::zero(width)));
                let otherwise = Expr::Number(Bits::ones(width));
                return zero.choose(otherwise, left.binary(Binary::Divide, right));
            }
            BinaryOp::Urem => {
                let zero = right.clone().equal(Expr::Number(Bits::zero(width)));
                return zero.choose(left.clone(), left.binary(Binary::Modulo, right));
            }
            BinaryOp::Umin | BinaryOp::Umax => {
                unreachable!("the graph compares and chooses")
            }
        };
        left.binary(operator, right)
    }

    /// Returns an assignment to `unused` of everything that has unread bits, including these ports,
    /// so that linters accept it.
    pub fn unused(&mut self, ports: &[(Expr, Input)], others: &[&str]) -> Vec<Item> {
        let mut rest: Vec<Expr> = others.iter().map(|name| Expr::name(*name)).collect();
        let mut symbols: Vec<((Node, u32), Bits)> = self.seen.drain().collect();
        symbols.sort_by_key(|(key, _)| *key);
        let mut full = HashMap::new();
        for ((node, stage), bits) in symbols {
            if let NodeKind::Input(input) = self.graph.kind(node)
                && stage == self.stage(node)
            {
                full.insert(*input, bits.is_ones());
                continue;
            }
            if !bits.is_ones() {
                let name = if stage > self.stage(node) {
                    self.register(node, stage)
                } else {
                    self.names[&node].clone()
                };
                rest.push(Expr::name(name));
            }
        }
        rest.extend(
            ports
                .iter()
                .filter(|(_, input)| full.get(input) != Some(&true))
                .map(|(port, _)| port.clone()),
        );
        if rest.is_empty() {
            return Vec::new();
        }
        vec![
            Item::Blank,
            Item::comment("Some bits of these signals are not used."),
            Item::value("unused", Type::Bit, Expr::Concat(rest).unary(Unary::Parity)),
        ]
    }
}
