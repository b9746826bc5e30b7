//! The memory that holds the header window at each point of a program, and its way to the frame.

use wireloom_codegen::steps::next_step;
use wireloom_ir::{Engine, Op, OpKind};

use super::kind::Kinds;
use super::lower::Lower;
use super::routines::TO_FRAME;
use super::spill_slots::Local;
use super::state::Home;
use super::step_facts::constant;
use super::window::in_frame;

/// Returns the memory of the window when packets enter each step.
pub fn homes(engine: &Engine, kinds: &Kinds, local: Local) -> Vec<Home> {
    let mut found: Vec<Option<Home>> = vec![None; engine.steps.len()];
    if !local.has_window {
        return vec![Home::Frame; found.len()];
    }
    let Some(first) = found.first_mut() else { return Vec::new() };
    *first = Some(Home::Local);
    let mut work = vec![0];
    while let Some(step) = work.pop() {
        let Some(mut home) = found[step] else { continue };
        let ops: Vec<_> = engine.steps[step].ops().collect();
        for op in &ops {
            home = after(engine, kinds, &ops, op, home);
            let Some(to) = next_step(op) else { continue };
            let known = &mut found[to];
            let both = known.map_or(home, |known| known.or(home));
            if *known != Some(both) {
                *known = Some(both);
                work.push(to);
            }
        }
    }
    found.into_iter().map(|home| home.unwrap_or(Home::Local)).collect()
}

/// Returns the memory of the window after an operation of a step.
pub fn after(engine: &Engine, kinds: &Kinds, ops: &[&Op], op: &Op, home: Home) -> Home {
    let moves = match &op.kind {
        OpKind::Insert { offset, .. } if constant(ops, *offset) == Some(0) => {
            return home.or(Home::Frame);
        }
        OpKind::Remove { offset, .. } => constant(ops, *offset) != Some(0),
        OpKind::Insert { .. } | OpKind::Reset { .. } => true,
        _ => reaches_packet(engine, kinds, op),
    };
    match (moves, op.guard) {
        (false, _) => home,
        (true, None) => Home::Frame,
        (true, Some(_)) => home.or(Home::Frame),
    }
}

/// Returns whether an operation calls a method that accesses bytes of the whole packet.
pub fn reaches_packet(engine: &Engine, kinds: &Kinds, op: &Op) -> bool {
    kinds.called(engine, op).is_some_and(|(kind, method)| kind.reaches_packet(method))
}

impl Lower<'_> {
    /// Moves the window to the frame, if it is not there. No register keeps its value.
    pub(super) fn move_to_frame(&mut self) {
        let code = &mut *self.code;
        let done = code.label();
        match self.state.home {
            Home::Frame => return,
            Home::Local => {}
            Home::Either => in_frame(code, done),
        }
        code.call(&TO_FRAME);
        code.place(done);
        self.state.home = Home::Frame;
    }

    /// Clears the bytes after the window, whose end was cut off.
    pub(super) fn clear_tail(&mut self) {
        let code = &mut *self.code;
        let (far, done) = (code.label(), code.label());
        match self.state.home {
            Home::Frame => return code.line("    clear_tail()"),
            Home::Local => return code.line("    clear_local_tail()"),
            Home::Either => {}
        }
        in_frame(code, far);
        code.line("    clear_local_tail()");
        code.branch("br", done);
        code.place(far);
        code.line("    clear_tail()");
        code.place(done);
    }
}
