//! Fills defer slots (`.optimise`): moves instructions before a branch into the slots after it.
//!
//! ```text
//! alu[x, x, +, 1]          br[next], defer[1]
//! br[next]                 alu[x, x, +, 1]
//! ```
//!
//! An instruction moves if the branch does not depend on it: it does not set the condition codes of
//! a conditional branch, and does not write a register that a branch or a command reads. An
//! instruction stays if it depends on the one before it, by an indirect shift or a CSR.

use std::collections::HashSet;

use wireloom_isa::microengine::table::Form;
use wireloom_isa::microengine::{Condition, Destination, Shift, Source, Version, Wait};

use crate::statement::Item;

/// Fills defer slots. `entered` has the addresses of labels.
pub fn fill(version: Version, items: &mut [Item], entered: &HashSet<u16>) {
    for at in 1..items.len() {
        let most = slots(version, &items[at]);
        let mut count = 0;
        while count < most && can_move(items, at, count + 1, entered) {
            count += 1;
        }
        if count > 0 {
            items[at - count..=at].rotate_right(1);
            items[at - count].parts.defer = count as u8;
        }
    }
}

/// The number of slots that can be filled after an instruction.
fn slots(version: Version, item: &Item) -> usize {
    let is_ready = item.raw.is_none() && item.parts.defer == 0;
    let waits = match item.form {
        Form::Command(..) => item.completion.is_some_and(|(_, swaps)| swaps),
        Form::Arbitrate => item.parts.wait != Wait::Kill,
        form => form.class().is_some(),
    };
    let most = version.row(item.form).map_or(0, |row| row.most_deferred());
    if is_ready && waits { most.into() } else { 0 }
}

/// Whether the instruction `back` places before the branch at `at` can move after it, if the
/// instructions between them do.
fn can_move(items: &[Item], at: usize, back: usize, entered: &HashSet<u16>) -> bool {
    let Some(place) = at.checked_sub(back) else { return false };
    let (moved, branch) = (&items[place], &items[at]);
    // A jump to a label between them would reach the branch without the instruction.
    let is_entered = entered.contains(&((place + 1) as u16));
    // The instruction is in the slot of another branch, or must follow a `local_csr_rd`.
    let is_bound = (1..=3.min(place)).any(|before| {
        let other = &items[place - before];
        usize::from(other.parts.defer) >= before || before == 1 && other.form == Form::LocalCsrRead
    });
    !is_entered && !is_bound && is_plain(moved) && !depends(branch, moved)
}

/// Whether an instruction only computes from registers.
fn is_plain(item: &Item) -> bool {
    let is_indirect = matches!(item.parts.shift, Shift::LeftIndirect | Shift::RightIndirect);
    let computes = match item.form {
        Form::DoubleShift => item.parts.amount.is_some(),
        Form::Alu
        | Form::AluShift
        | Form::Immediate
        | Form::LoadAddress
        | Form::ImmediateByte(_)
        | Form::ImmediateWord(_)
        | Form::LoadField { .. } => true,
        _ => false,
    };
    computes && !is_indirect && item.raw.is_none() && item.nodes[0].is_some()
}

/// Whether a branch or command depends on the result of an earlier instruction.
fn depends(branch: &Item, moved: &Item) -> bool {
    let sets_codes = matches!(moved.form, Form::Alu | Form::AluShift | Form::DoubleShift);
    let reads_codes = matches!(branch.form, Form::Branch(condition)
        if condition != Condition::Always);
    let reads = branch.nodes[1..].contains(&moved.nodes[0]);
    // The unit can fill the transfer register before the moved instruction reads it.
    let is_transfer = |source| matches!(source, Source::Transfer(..));
    let is_filled = matches!(branch.form, Form::Command(..) | Form::Arbitrate)
        && (is_transfer(moved.parts.a) || is_transfer(moved.parts.b));
    // A register by its number can also have a name.
    let is_numbered = |item: &Item| {
        item.parts.a.bank().is_some()
            || item.parts.b.bank().is_some()
            || item.parts.destination != Destination::None
    };
    sets_codes && reads_codes || reads || is_filled || branch.parts.indirect || is_numbered(branch)
}
