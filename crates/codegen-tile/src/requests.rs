//! The calls that the state owner makes for other tiles, and the requests for them
//! ([`state_owner`]).
//!
//! [`state_owner`]: super::state owner

use wireloom_codegen::refused::Refused;
use wireloom_ir::{OffloadId, OffloadTarget, OpKind, Step, Value};
use wireloom_isa::raw::tile::Op as Do;

use super::code::{Code, FRAME, NOTHING, Operand, Register, ZERO};
use super::frame;
use super::kinds::{changes_shared_state, find};
use super::layout::{Instance, Layout};
use super::lower::Lower;
use super::needs::Needs;
use super::reach::StateOwner;
use super::words::{self, Words};

/// The register of the general network.
const GENERAL: Register = Register::Machine(25);
/// The maximum number of words of a request or a reply.
const MOST_WORDS: usize = 30;

/// A method of an offload that a state owner calls.
pub struct OwnerCall {
    /// The index of the engine among the instances of the layout.
    pub instance: usize,
    pub offload: OffloadId,
    pub method: usize,
    /// The widths of the arguments and of the reply.
    pub args: Vec<u32>,
    pub reply: u32,
}

/// Whether calls of an engine change its offload, and all tiles share the state.
fn is_changed(instance: &Instance<'_>, offload: OffloadId) -> bool {
    let OffloadTarget::Kind(config) = &instance.engine.offloads[offload.index()].target else {
        return false;
    };
    instance.engine.steps.iter().flat_map(Step::ops).any(|op| match &op.kind {
        OpKind::Call { offload: called, method, .. } => {
            *called == offload && changes_shared_state(config, *method)
        }
        _ => false,
    })
}

/// Returns the calls that a state owner makes. Their numbers begin with 1.
pub fn all(layout: &Layout<'_>) -> Vec<OwnerCall> {
    let mut all: Vec<OwnerCall> = Vec::new();
    for (number, instance) in layout.instances.iter().enumerate() {
        for step in &instance.engine.steps {
            for op in step.ops() {
                let OpKind::Call { offload, method, args } = &op.kind else { continue };
                let is_same = |call: &OwnerCall| {
                    (call.instance, call.offload, call.method) == (number, *offload, *method)
                };
                if !is_changed(instance, *offload) || all.iter().any(is_same) {
                    continue;
                }
                let width = |value: &Value| step.values[value.index()].width;
                all.push(OwnerCall {
                    instance: number,
                    offload: *offload,
                    method: *method,
                    args: args.iter().map(width).collect(),
                    reply: op.results.first().map_or(0, width),
                });
            }
        }
    }
    all
}

impl Lower<'_> {
    /// Sends a call to the state owner if the offload has its state there. Returns the reply.
    ///
    /// # Errors
    /// If the call does not fit a message, or if the kind refuses a owner.
    pub fn ask(
        &mut self,
        offload: OffloadId,
        method: usize,
        args: &[Value],
        width: u32,
    ) -> Result<Option<Option<Words>>, Refused> {
        let Some(owner) = self.state_owner.filter(|_| is_changed(self.instance, offload)) else {
            return Ok(None);
        };
        let called = &self.instance.engine.offloads[offload.index()];
        if let OffloadTarget::Kind(config) = &called.target
            && let Some(why) = find(config).and_then(|kind| kind.refuses_state_owner())
        {
            let message = format!("offload `{}` {why}", called.name);
            return Err(self.refuse(Some(&called.name.clone()), message));
        }
        let is_it = |call: &OwnerCall| {
            let instance = &self.layout.instances[call.instance];
            instance.label == self.instance.label
                && (call.offload, call.method) == (offload, method)
        };
        let number = all(self.layout).iter().position(is_it).expect("all calls have a number");
        let mut given = self.request(1 + number as u32);
        given.extend(args.iter().flat_map(|arg| self.get(*arg)));
        let replies = words::count(width) * usize::from(width > 0);
        if given.len().max(replies) > MOST_WORDS {
            let message = format!(
                "a call of offload `{}` takes {} words and its reply {replies}, and a message to \
                 the owner of its state has {MOST_WORDS}",
                called.name,
                given.len()
            );
            return Err(self.refuse(Some(&called.name.clone()), message));
        }
        self.send(owner, &given);
        for word in 0..=replies {
            let at = frame::WORK as i32 + 4 * word as i32;
            self.code.memory(Do::Sw, GENERAL, FRAME, at);
        }
        // The first word is the header.
        Ok(Some((width > 0).then(|| self.load(frame::WORK + 4, replies))))
    }

    /// Tells the state owner that the packet makes no more calls, and waits for the packet's turn.
    pub fn over(&mut self) {
        let Some(owner) = self.state_owner else { return };
        let sequence = self.load(frame::SEQUENCE, 1)[0];
        self.send(owner, &[NOTHING, sequence]);
        self.code.memory(Do::Sw, GENERAL, FRAME, frame::WORK as i32);
    }

    /// Returns the words of a request before the arguments.
    fn request(&mut self, call: u32) -> Words {
        let sequence = self.load(frame::SEQUENCE, 1)[0];
        let main = &self.program.engines[self.program.main.index()];
        let arrival = if Needs::of(self.program, main).arrival { 2 } else { 0 };
        let arrival = self.load(frame::ARRIVAL, arrival);
        [vec![Operand::Number(call), sequence], arrival].concat()
    }

    fn send(&mut self, owner: StateOwner, words: &[Operand]) {
        self.code.give(Operand::Number(owner.header | (words.len() as u32) << 24));
        words.iter().for_each(|word| self.code.give(*word));
    }
}

impl Code {
    /// Writes a word to the general network.
    pub fn give(&mut self, word: Operand) {
        let word = self.in_register(word);
        self.three(Do::Addu, GENERAL, word, ZERO);
    }
}
