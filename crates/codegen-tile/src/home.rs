//! The home of state that packets change. This tile makes the calls of offloads with such state for
//! all other tiles, in packet order.
//!
//! The caches of tiles are not coherent, so a single tile makes the calls of such an offload.
//! Another tile sends a request over the general network: the number of the call, the number of the
//! packet, its arrival time if the program needs it, and the arguments. The tile then waits for the
//! reply. Each packet ends with call 0. The home makes all calls of a packet before those of the
//! next packet, in the order of the packets' numbers, and keeps early requests. So state changes as
//! on golden (home.s).
//!
//! The protocol is free of deadlocks. A tile has one request in flight and takes each reply at
//! once, and the machine proves that its mapping has no cycle of messages that wait for each other.
//! A packet whose turn it is depends on no later packet, since tiles pass on earlier packets.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use wireloom_codegen::refused::Refused;
use wireloom_codegen::steps::{first_user, ops};
use wireloom_ir::{OffloadId, OffloadTarget, OpKind, Program, Value, ValueInfo};
use wireloom_isa::raw::tile::Op as Do;

use super::aligned::Aligned;
use super::allocate;
use super::calls;
use super::code::{Code, FRAME, FRONT, NOTHING, Operand, Register, ZERO};
use super::kinds;
use super::layout::{Instance, Layout};
use super::lower::Lower;
use super::schedule::{Latencies, schedule};
use super::words::{self, Words};
use super::{frame, needs, routines};

/// The register of the general network.
const GENERAL: Register = Register::Machine(25);
/// The maximum number of words of a request or a reply.
const MOST_WORDS: usize = 30;
/// The number of lists of waiting requests.
const LISTS: u32 = 64;
/// The bytes of a kept request.
const SLOT: u32 = 128;
/// The offset in the frame of a home of the number of the packet whose turn it is.
pub const TURN: u32 = frame::SEQUENCE;
/// Offsets in a kept request: of the header, and of the words after the packet's number.
const HEADER: i32 = 4;
const ARGUMENTS: i32 = 16;

/// The home, as another tile sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// The header of messages from this tile to it, without a length.
    pub header: u32,
}

/// Returns the bytes that a home needs for requests on a chip with `rows` rows.
pub fn room(rows: u32) -> u32 {
    4 * LISTS + SLOT * 32 * rows
}

/// A method of an offload that a home calls.
struct HomeCall {
    /// The index of the engine among the instances of the layout.
    instance: usize,
    offload: OffloadId,
    method: usize,
    /// The widths of the arguments and of the reply.
    args: Vec<u32>,
    reply: u32,
}

/// Whether calls of an engine change its offload, and all tiles share the state.
fn is_changed(instance: &Instance<'_>, offload: OffloadId) -> bool {
    let OffloadTarget::Kind(config) = &instance.engine.offloads[offload.index()].target else {
        return false;
    };
    instance.engine.steps.iter().flat_map(ops).any(|op| match &op.kind {
        OpKind::Call { offload: called, method, .. } => {
            *called == offload && kinds::changes_shared_state(config, *method)
        }
        _ => false,
    })
}

/// Returns the calls that a home makes. Their numbers begin with 1.
fn all(layout: &Layout<'_>) -> Vec<HomeCall> {
    let mut all: Vec<HomeCall> = Vec::new();
    for (number, instance) in layout.instances.iter().enumerate() {
        for step in &instance.engine.steps {
            for op in ops(step) {
                let OpKind::Call { offload, method, args } = &op.kind else { continue };
                let is_same = |call: &HomeCall| {
                    (call.instance, call.offload, call.method) == (number, *offload, *method)
                };
                if !is_changed(instance, *offload) || all.iter().any(is_same) {
                    continue;
                }
                let width = |value: &Value| step.values[value.index()].width;
                all.push(HomeCall {
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
    /// Sends a call to the home if the offload has its state there. Returns the reply.
    ///
    /// # Errors
    /// If the call does not fit a message, or if the kind refuses a home.
    pub fn ask(
        &mut self,
        offload: OffloadId,
        method: usize,
        args: &[Value],
        width: u32,
    ) -> Result<Option<Option<Words>>, Refused> {
        let Some(home) = self.home.filter(|_| is_changed(self.instance, offload)) else {
            return Ok(None);
        };
        let called = &self.instance.engine.offloads[offload.index()];
        if let OffloadTarget::Kind(config) = &called.target
            && let Some(why) = kinds::find(config).and_then(|kind| kind.refuses_home())
        {
            let message = format!("offload `{}` {why}", called.name);
            return Err(self.refuse(Some(&called.name.clone()), message));
        }
        let is_it = |call: &HomeCall| {
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
                 the home of its state has {MOST_WORDS}",
                called.name,
                given.len()
            );
            return Err(self.refuse(Some(&called.name.clone()), message));
        }
        self.send(home, &given);
        for word in 0..=replies {
            let at = frame::WORK as i32 + 4 * word as i32;
            self.code.memory(Do::Sw, GENERAL, FRAME, at);
        }
        // The first word is the header.
        Ok(Some((width > 0).then(|| self.load(frame::WORK + 4, replies))))
    }

    /// Tells the home that the packet makes no more calls, and waits for the packet's turn.
    pub fn over(&mut self) {
        let Some(home) = self.home else { return };
        let sequence = self.load(frame::SEQUENCE, 1)[0];
        self.send(home, &[NOTHING, sequence]);
        self.code.memory(Do::Sw, GENERAL, FRAME, frame::WORK as i32);
    }

    /// Returns the words of a request before the arguments.
    fn request(&mut self, call: u32) -> Words {
        let sequence = self.load(frame::SEQUENCE, 1)[0];
        let main = &self.program.engines[self.program.main.index()];
        let arrival = if needs(self.program, main).arrival { 2 } else { 0 };
        let arrival = self.load(frame::ARRIVAL, arrival);
        [vec![Operand::Number(call), sequence], arrival].concat()
    }

    fn send(&mut self, home: Home, words: &[Operand]) {
        self.code.give(Operand::Number(home.header | (words.len() as u32) << 24));
        words.iter().for_each(|word| self.code.give(*word));
    }
}

impl Code {
    /// Writes a word to the general network.
    fn give(&mut self, word: Operand) {
        let word = self.in_register(word);
        self.three(Do::Addu, GENERAL, word, ZERO);
    }
}

/// Returns the program of a home. `tile` is its number among the tiles with frames, and `kept` the
/// address of the memory for requests ([`room`]), which is 0 at the start.
///
/// # Errors
/// The refusals, if calls do not fit.
pub fn generate_home(
    program: &Program,
    layout: &Layout<'_>,
    tile: u32,
    kept: u32,
    latencies: Latencies,
) -> Result<String, Vec<Refused>> {
    let base = tile * super::FRAME_BYTES;
    let mut text = format!(
        "# The home of state, written by Wireloom from the step IR.\n        li $sp, {base}\n{}",
        include_str!("home.s")
            .replace("HOME_SLOTS", &(kept + 4 * LISTS).to_string())
            .replace("HOME_LISTS", &kept.to_string())
            .replace("HOME_TURN", &TURN.to_string())
    );
    let calls = all(layout);
    for number in 1..=calls.len() {
        let _ = writeln!(text, "        j home_call{number}");
    }
    let main = &program.engines[program.main.index()];
    let has_arrival = needs(program, main).arrival;
    let (mut needed, mut refused) = (Vec::new(), Vec::new());
    for (number, call) in calls.iter().enumerate() {
        match answer(program, layout, tile, 1 + number, call, (has_arrival, latencies)) {
            Ok((body, routines)) => {
                text += &body;
                needed.extend(routines);
            }
            Err(why) => refused.push(why),
        }
    }
    text += &routines::needed(base, &needed);
    if refused.is_empty() { Ok(text) } else { Err(refused) }
}

/// Returns the code that makes a call on a home, and the routines that the code needs.
fn answer(
    program: &Program,
    layout: &Layout<'_>,
    tile: u32,
    number: usize,
    call: &HomeCall,
    (has_arrival, latencies): (bool, Latencies),
) -> Result<(String, Vec<&'static str>), Refused> {
    let instance = layout.instances[call.instance].of_tile(tile);
    let engine = instance.engine;
    let name = &engine.offloads[call.offload.index()].name;
    let mut step = engine.steps[0].clone();
    step.name = first_user(engine, call.offload.index()).unwrap_or_else(|| step.name.clone());
    step.values = call.args.iter().map(|width| ValueInfo { width: *width, name: None }).collect();
    let aligned = Aligned::of(engine, |_| true);
    let mut lower = Lower {
        program,
        layout,
        tile,
        instance: &instance,
        stages: None,
        home: None,
        step: &step,
        number: 0,
        code: Code::new(&format!("h{number}")),
        values: HashMap::new(),
        ops: Vec::new(),
        at: 0,
        aligned: &aligned,
        facts: HashMap::new(),
        implied: HashSet::new(),
        has_tests: false,
        front: None,
        view: None,
        window: HashMap::new(),
        leave: None,
        base: layout.end,
        views: 0,
    };
    lower.code.comment(&format!("offload `{name}` of `{}`", engine.name));
    lower.code.place(&format!("home_call{number}"));
    let mut at = ARGUMENTS;
    let mut take = |lower: &mut Lower<'_>, count: usize| -> Words {
        let first = at;
        at += 4 * count as i32;
        (0..count as i32).map(|word| lower.code.load(FRONT, first + 4 * word).into()).collect()
    };
    if has_arrival {
        let arrival = take(&mut lower, 2);
        lower.store(frame::ARRIVAL, &arrival);
    }
    let args: Vec<Value> = (0..call.args.len() as u32).map(Value).collect();
    for (arg, width) in args.iter().zip(&call.args) {
        let words = take(&mut lower, words::count(*width));
        lower.values.insert(*arg, words);
    }
    let reply = calls::call(&mut lower, call.offload, call.method, &args, call.reply)?;
    let reply = reply.filter(|_| call.reply > 0).unwrap_or_default();
    let code = &mut lower.code;
    let header = code.load(FRONT, HEADER);
    let origin = code.shift(Do::Srl, header.into(), 10);
    let origin = code.two(Do::And, origin, Operand::Number(0x3ff));
    let header = code.two(Do::Or, origin, Operand::Number((reply.len() as u32) << 24));
    code.give(header);
    reply.iter().for_each(|word| code.give(*word));
    code.jump("home_begin");
    code.clean();
    schedule(code, "", &latencies);
    let spills = lower.base + lower.views;
    let (text, slots) = allocate::write(&lower.code, spills);
    if spills + 4 * slots > frame::MOST {
        let message = format!("the values of a call of `{name}` have no place in its home's frame");
        return Err(lower.refuse(Some(name), message));
    }
    Ok((text, lower.code.routines))
}
