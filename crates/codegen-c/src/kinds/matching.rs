//! `match` walks the host's automaton over the current packet. The host has no automaton if there
//! are too many patterns.

use super::kind::KindInC;
use crate::call::Call;
use crate::tree::{Expr, Stmt};
use crate::types::Model;

pub const KIND: KindInC = KindInC {
    name: "match",
    header: Some(("match.h", include_str!("../../runtime/match.h"))),
    call,
    ..KindInC::PLAIN
};

fn call(call: &Call<'_>) -> Option<Vec<Stmt>> {
    let (packet, _) = call.around.packet.clone()?;
    if call.method.name != "scan" {
        return None;
    }
    let width = call.config.value.as_ref()?.width();
    let words = |width| Expr::number(Model::Bits64.words(width));
    let arguments = vec![
        call.slot_address(),
        packet,
        call.arg(0),
        call.arg(1),
        words(width),
        Expr::number(width),
    ];
    let in_place = call.fill_before("wl_match_scan", arguments, vec![words(call.width)]);
    let has_automaton = || call.slot.clone().member("data");
    Some(vec![
        Stmt::If(has_automaton(), in_place),
        Stmt::If(has_automaton().not(), call.through_host()),
    ])
}
