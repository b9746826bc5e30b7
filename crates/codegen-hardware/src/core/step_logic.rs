//! The logic of one step, as lowering leaves it.

use std::collections::HashMap;

use wireloom_ir::ContextId;

use super::graph::Node;
use super::packet::Hand;

/// Writes in program order: condition and value.
pub type Writes = Vec<(Node, Node)>;

pub struct StepLogic {
    /// The calls, at most one for each port: port, condition and data.
    pub requests: Vec<(usize, Node, Node)>,
    /// The exits of the step. Their conditions exclude each other.
    pub exits: Vec<ExitLogic>,
    /// Writes of context variables.
    pub context: HashMap<ContextId, Writes>,
    /// Writes of the egress port.
    pub egress: Writes,
    pub hand: Hand,
}

pub struct ExitLogic {
    pub condition: Node,
    pub kind: ExitKind,
}

/// The bytes of a packet that a copy has: as many of them as the packet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The offset of the first byte, 16 bits.
    pub offset: Node,
    /// The number of bytes, 16 bits.
    pub count: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// Continues at a step.
    Next(usize),
    /// Sends a copy and continues: to the control processor if there is a reason (24 bits).
    Emit(usize, Option<Node>, Option<Extent>),
    /// Sends the packet.
    Finish,
    /// Drops the packet, for a reason of 24 bits.
    Drop(Node),
    /// Hands the packet to the control processor, for a reason of 24 bits.
    ToCpu(Node),
    /// Ends the thread.
    Done,
    /// Returns a value from a called engine.
    Reply(Node),
}
