//! Calls of offloads. If the kind has C code ([`kinds`](super::kinds)), that code writes the call.
//! All other calls go through the host's instance.

use wireloom_ir::{Engine, OffloadTarget, Op, OpKind};
use wireloom_offloads::{Config, Method, registry};

use super::call::{Call, Surroundings, env, slots};
use super::emitter::Emitter;
use super::kinds::{self, Access, SplitPhase};
use super::ops::Operand;
use super::tree::{Binary, Declaration, Expr, Stmt};
use super::types::{Class, Model};

/// Writes a call. `result` is the object for the reply, if the reply is used. `walk` is the state
/// of a search that has already begun.
pub fn call(
    around: &Surroundings<'_>,
    emitter: &mut Emitter<'_>,
    op: &Op,
    result: Option<&Expr>,
    walk: Option<Expr>,
) -> Vec<Stmt> {
    let OpKind::Call { offload, method, args } = &op.kind else { unreachable!("a call") };
    let target = &emitter.scope.engine.offloads[offload.index()].target;
    let (config, kind) = match target {
        OffloadTarget::Kind(config) => {
            (config, registry::kind(&config.kind).expect("a verified program"))
        }
        OffloadTarget::Engine(_) => {
            let function =
                around.functions[offload.index()].as_deref().expect("an engine's function");
            let slots = match around.slot_index[offload.index()] {
                0 => slots(),
                first => slots().binary(Binary::Add, Expr::number(first)),
            };
            let args: Vec<Expr> = args.iter().map(|a| emitter.operand(*a).c).collect();
            return vec![Stmt::set(
                result,
                Expr::call(function, [slots, env()].into_iter().chain(args)),
            )];
        }
    };
    let interface = &kind.methods[*method];
    if result.is_none() && !interface.state.has_effect() && !interface.writes_packet {
        return Vec::new();
    }
    let args: Vec<Operand> = args.iter().map(|a| emitter.kept_operand(*a)).collect();
    let width = interface.reply.width(config);
    let slot = around.slot(offload.index());
    let finds = around.counts && interface.tells_found();
    let unused = Expr::name("counted");
    let is_unused = finds && result.is_none();
    let result = if is_unused { Some(&unused) } else { result };
    let call = Call {
        around,
        config,
        method: interface,
        number: *method,
        args: &args,
        slot,
        result,
        walk,
        width,
    };
    let written = kinds::find(config).and_then(|kind| (kind.call)(&call));
    let mut body = written.unwrap_or_else(|| call.through_host());
    if around.counts {
        body.insert(0, Stmt::Expr(call.count(0).increment()));
    }
    if let (true, Some(reply)) = (finds, result) {
        body.push(Stmt::If(found(reply, width), vec![Stmt::Expr(call.count(1).increment())]));
    }
    if is_unused {
        let declared = Declaration::new(emitter.scope.model.c_type(width), "counted");
        body.insert(0, declared.into());
        body = vec![Stmt::Block(body)];
    }
    body
}

/// Returns the most significant bit of a reply.
pub fn found(reply: &Expr, width: u32) -> Expr {
    let top = width - 1;
    match Model::Bits64.class(width) {
        Class::Wide(_) => {
            let word = reply.clone().member("w").at(top / 64);
            word.binary(Binary::Shr, Expr::number(top % 64))
        }
        _ => reply.clone().binary(Binary::Shr, Expr::number(top)),
    }
}

/// Writes the prefetch of the first memory that a split-phase call will read. `walk` is the state
/// of a search.
pub fn fetch(
    around: &Surroundings<'_>,
    emitter: &mut Emitter<'_>,
    op: &Op,
    walk: Option<&Expr>,
) -> Stmt {
    let phases = split_phase(emitter.scope.engine, &op.kind).expect("a split-phase call");
    let access = access(around, emitter, op);
    let begun = phases.search().zip(walk).and_then(|(search, walk)| search.begin(&access, walk));
    begun.unwrap_or_else(|| phases.fetch(&access))
}

/// Writes how a search advances after the preceding fetches. `pause` counts from 0. `walk` is the
/// state of the search.
pub fn advance(
    around: &Surroundings<'_>,
    emitter: &mut Emitter<'_>,
    op: &Op,
    pause: usize,
    walk: &Expr,
) -> Option<Stmt> {
    let phases = split_phase(emitter.scope.engine, &op.kind).expect("a split-phase call");
    let search = phases.search().expect("a search");
    search.advance(&access(around, emitter, op), pause, walk)
}

/// Returns whether a call's search may need more accesses than it has pauses.
pub fn may_go_further(engine: &Engine, op: &Op) -> bool {
    let search = split_phase(engine, &op.kind).and_then(SplitPhase::search);
    search
        .zip(config(engine, &op.kind))
        .is_some_and(|(search, config)| search.may_go_further(config))
}

/// Writes the expression that says whether a search needs another access, and fetches that access.
pub fn further(around: &Surroundings<'_>, emitter: &mut Emitter<'_>, op: &Op, walk: &Expr) -> Expr {
    let phases = split_phase(emitter.scope.engine, &op.kind).expect("a split-phase call");
    let search = phases.search().expect("a search");
    search.further(&access(around, emitter, op), walk)
}

/// Returns the pointer in the state of a search that its first pause sets, if the search depends on
/// that pause.
pub fn begun(engine: &Engine, op: &Op, walk: &Expr) -> Option<Expr> {
    split_phase(engine, &op.kind)?.search()?.begun(walk)
}

/// Returns whether an operation is a call that may be made twice with the same reply. A search is
/// not: other threads may change its table meanwhile.
pub fn is_repeatable(engine: &Engine, kind: &OpKind) -> bool {
    config(engine, kind).is_some_and(|config| {
        let method = method(config, kind);
        let is_search = split_phase(engine, kind).and_then(SplitPhase::search).is_some();
        !method.state.has_effect() && !method.writes_packet && !is_search
    })
}

/// Returns how a call splits into a request and a reply. Returns `None` if splitting does not pay
/// off.
pub fn split_phase(engine: &Engine, kind: &OpKind) -> Option<&'static dyn SplitPhase> {
    let config = config(engine, kind)?;
    let phases = (kinds::find(config)?.split_phase)(config)?;
    phases.suits(method(config, kind)).then_some(phases)
}

/// Returns the number of pauses of a call's search. Returns 0 for other calls.
pub fn pauses(engine: &Engine, op: &Op) -> usize {
    let search = split_phase(engine, &op.kind).and_then(SplitPhase::search);
    search.zip(config(engine, &op.kind)).map_or(0, |(search, config)| search.pauses(config))
}

/// Returns the condition under which a call's search needs a pause. Returns `None` if it always
/// does. `slots` are the offloads' slots.
pub fn is_needed(
    engine: &Engine,
    op: &Op,
    pause: usize,
    slots: Expr,
    slot_index: &[usize],
) -> Option<Expr> {
    let OpKind::Call { offload, .. } = &op.kind else { return None };
    let search = split_phase(engine, &op.kind).and_then(SplitPhase::search)?;
    let slot = slots.at(slot_index[offload.index()]).address();
    search.is_needed(&slot, config(engine, &op.kind)?, pause)
}

/// Returns the configuration of the called offload, unless the offload is an engine.
fn config<'a>(engine: &'a Engine, kind: &OpKind) -> Option<&'a Config> {
    let OpKind::Call { offload, .. } = kind else { return None };
    match &engine.offloads[offload.index()].target {
        OffloadTarget::Kind(config) => Some(config),
        OffloadTarget::Engine(_) => None,
    }
}

/// Returns the method that a call names.
fn method(config: &Config, kind: &OpKind) -> &'static Method {
    let OpKind::Call { method, .. } = kind else { unreachable!("a call") };
    &registry::kind(&config.kind).expect("a verified program").methods[*method]
}

fn access<'a>(around: &Surroundings<'_>, emitter: &mut Emitter<'a>, op: &Op) -> Access<'a> {
    let OpKind::Call { offload, args, .. } = &op.kind else { unreachable!("a call") };
    let config =
        config(emitter.scope.engine, &op.kind).expect("calls of engines are not split-phase");
    let slot = around.slot(offload.index()).address();
    Access { slot, config, method: method(config, &op.kind), key: emitter.operand(args[0]) }
}
