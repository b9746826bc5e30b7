//! The owner of state that packets change. This tile makes the calls of offloads with such state
//! for all other tiles, in packet order.
//!
//! The caches of tiles are not coherent, so a single tile makes the calls of such an offload.
//! Another tile sends a request over the general network: the number of the call, the number of the
//! packet, its arrival time if the program needs it, and the arguments. The tile then waits for the
//! reply. A request with call 0 ends a packet. The state owner serves packets in the order of their
//! numbers: it makes all calls of one packet before any call of the next, and keeps requests that
//! arrive early. So state changes as on golden (state_owner.s).
//!
//! The protocol is free of deadlocks. A tile has one request in flight and takes each reply at
//! once, and the machine proves that its mapping has no cycle of messages that wait for each other.
//! A packet whose turn it is depends on no later packet, since tiles pass on earlier packets.

use std::fmt::Write;

use wireloom_codegen::refused::Refused;
use wireloom_codegen::steps::first_user;
use wireloom_ir::{Program, Value, ValueInfo};
use wireloom_isa::raw::tile::Op as Do;

use super::aligned::Aligned;
use super::allocate;
use super::calls;
use super::code::{Code, FRONT, Operand};
use super::frame::{self, FRAME_BYTES};
use super::layout::Layout;
use super::lower::Lower;
use super::needs::Needs;
use super::requests::{self, OwnerCall};
use super::routines;
use super::schedule::{Latencies, schedule};
use super::words::{self, Words};

/// The number of lists of waiting requests.
const LISTS: u32 = 64;
/// The bytes of a kept request.
const SLOT: u32 = 128;
/// The offset, in a state owner's frame, of the number of the packet whose turn it is.
pub const TURN: u32 = frame::SEQUENCE;
/// Offsets in a kept request: of the header, and of the words after the packet's number.
const HEADER: i32 = 4;
const ARGUMENTS: i32 = 16;

/// Returns the bytes that a state owner needs for requests on a chip with `rows` rows.
pub fn room(rows: u32) -> u32 {
    4 * LISTS + SLOT * 32 * rows
}

/// Returns the program of a state owner. `tile` is its number among the tiles with frames, and
/// `kept` the address of the memory for requests ([`room`]), which is 0 at the start.
///
/// # Errors
/// The refusals, if calls do not fit.
pub fn generate_state_owner(
    program: &Program,
    layout: &Layout<'_>,
    tile: u32,
    kept: u32,
    latencies: Latencies,
) -> Result<String, Vec<Refused>> {
    let base = tile * FRAME_BYTES;
    let mut text = format!(
        "# The state owner, written by Wireloom from the step IR.\n        li $sp, {base}\n{}",
        include_str!("state_owner.s")
            .replace("OWNER_SLOTS", &(kept + 4 * LISTS).to_string())
            .replace("OWNER_LISTS", &kept.to_string())
            .replace("OWNER_TURN", &TURN.to_string())
    );
    let calls = requests::all(layout);
    for number in 1..=calls.len() {
        let _ = writeln!(text, "        j owner_call{number}");
    }
    let main = &program.engines[program.main.index()];
    let has_arrival = Needs::of(program, main).arrival;
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

/// Returns the code that makes a call on a state owner, and the routines that the code needs.
fn answer(
    program: &Program,
    layout: &Layout<'_>,
    tile: u32,
    number: usize,
    call: &OwnerCall,
    (has_arrival, latencies): (bool, Latencies),
) -> Result<(String, Vec<&'static str>), Refused> {
    let instance = layout.instances[call.instance].of_tile(tile);
    let engine = instance.engine;
    let name = &engine.offloads[call.offload.index()].name;
    let mut step = engine.steps[0].clone();
    step.name = first_user(engine, call.offload.index()).unwrap_or_else(|| step.name.clone());
    step.values = call.args.iter().map(|width| ValueInfo { width: *width, name: None }).collect();
    let aligned = Aligned::of(engine, |_| true);
    let code = Code::new(&format!("h{number}"));
    let mut lower = Lower::new(program, layout, tile, &instance, &step, &aligned, code);
    lower.code.comment(&format!("offload `{name}` of `{}`", engine.name));
    lower.code.place(&format!("owner_call{number}"));
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
    code.jump("owner_begin");
    code.clean();
    schedule(code, "", &latencies);
    let spills = lower.base + lower.views;
    let (text, slots) = allocate::write(&lower.code, spills);
    if spills + 4 * slots > frame::MOST {
        let message =
            format!("the values of a call of `{name}` do not fit its state owner's frame");
        return Err(lower.refuse(Some(name), message));
    }
    Ok((text, lower.code.routines))
}
