//! Merges calls that never happen together into one call: one port, one request.
//!
//! ```text
//! %1:u8 = call routes.search(%a) when %g         %k:u32 = select %h, %b, %a
//! %2:u8 = call routes.search(%b) when %h    =>   %o:u1 = or %g, %h
//!                                                %r:u8 = call routes.search(%k) when %o
//!                                                %1:u8 = select %g, %r, 0
//!                                                %2:u8 = select %h, %r, 0
//! ```
//!
//! A call that does not happen has an all-zero reply. Hence the selects, most of which folding
//! removes.

use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Op, OpKind, Step, Value, ValueInfo};

use super::schedule::Schedule;

/// Merges calls of one method of one offload in one part. The schedule ensures that their guards
/// exclude each other. Afterwards definitions precede uses only region by region, no longer in the
/// order of the operations.
pub(super) fn merge(step: &mut Step, ops: &mut Vec<Op>, schedule: &mut Schedule) {
    let mut groups: BTreeMap<(u32, u32, usize), Vec<usize>> = BTreeMap::new();
    for (index, op) in ops.iter().enumerate() {
        if let OpKind::Call { offload, method, .. } = op.kind {
            groups.entry((schedule.time[index], offload.0, method)).or_default().push(index);
        }
    }
    groups.retain(|_, members| members.len() > 1);
    if groups.is_empty() {
        return;
    }
    // The replacements of each operation, with their times.
    let mut instead: BTreeMap<usize, Vec<(Op, u32)>> = BTreeMap::new();
    for ((time, _, _), members) in groups {
        merge_group(step, ops, &members, time, schedule, &mut instead);
    }
    let old = std::mem::take(ops);
    let (times, untils, causes) = (
        std::mem::take(&mut schedule.time),
        std::mem::take(&mut schedule.until),
        std::mem::take(&mut schedule.cause),
    );
    for (index, op) in old.into_iter().enumerate() {
        let new = instead.remove(&index).unwrap_or_else(|| vec![(op, times[index])]);
        for (op, time) in new {
            ops.push(op);
            schedule.time.push(time);
            schedule.until.push(untils[index]);
            schedule.cause.push(causes[index]);
        }
    }
}

fn merge_group(
    step: &mut Step,
    ops: &[Op],
    members: &[usize],
    time: u32,
    schedule: &mut Schedule,
    instead: &mut BTreeMap<usize, Vec<(Op, u32)>>,
) {
    let last = *members.last().expect("a group has members");
    let loc = ops[last].loc;
    let mut before = Vec::new();
    let mut new = |step: &mut Step, width, kind, list: &mut Vec<(Op, u32)>, time| {
        let value = Value(step.values.len() as u32);
        step.values.push(ValueInfo { width, name: None });
        schedule.value_time.push(time);
        list.push((Op { kind, results: vec![value], guard: None, loc }, time));
        value
    };
    let args_of = |index: usize| match &ops[index].kind {
        OpKind::Call { args, .. } => args.clone(),
        _ => unreachable!("groups contain only calls"),
    };
    let guard_of =
        |index: usize| ops[index].guard.expect("calls that exclude each other have guards");
    let (first, rest) = members.split_first().expect("a group has members");
    let mut args = args_of(*first);
    let mut guard = guard_of(*first);
    for &member in rest {
        let own = guard_of(member);
        for (arg, other) in args.iter_mut().zip(args_of(member)) {
            if *arg != other {
                let width = step.values[arg.index()].width;
                *arg = new(step, width, OpKind::Select(own, other, *arg), &mut before, time);
            }
        }
        guard = new(step, 1, OpKind::Binary(BinaryOp::Or, guard, own), &mut before, time);
    }
    let OpKind::Call { offload, method, .. } = ops[last].kind else {
        unreachable!("groups contain only calls")
    };
    let mut results = Vec::new();
    if let [result] = ops[last].results[..] {
        let value = Value(step.values.len() as u32);
        step.values.push(step.values[result.index()].clone());
        schedule.value_time.push(time + 1);
        results.push(value);
    }
    let call = Op {
        kind: OpKind::Call { offload, method, args },
        results: results.clone(),
        guard: Some(guard),
        loc,
    };
    for &member in members {
        let mut list = Vec::new();
        if let (Some(reply), [result]) = (results.first(), &ops[member].results[..]) {
            let value = Value(step.values.len() as u32);
            let width = step.values[result.index()].width;
            step.values.push(ValueInfo { width, name: None });
            schedule.value_time.push(0);
            let zero = Op {
                kind: OpKind::Const(Bits::zero(width)),
                results: vec![value],
                guard: None,
                loc,
            };
            list.push((zero, 0));
            let kind = OpKind::Select(guard_of(member), *reply, value);
            list.push((
                Op { kind, results: vec![*result], guard: None, loc: ops[member].loc },
                time + 1,
            ));
        }
        instead.insert(member, list);
    }
    before.push((call, time));
    let list = instead.get_mut(&last).expect("inserted just now");
    before.append(list);
    *list = before;
}
