//! Calls of offloads in a BPF program: on maps that the process shares, or computed by the program.
//! The files of [`kinds`] write them.

use wireloom_bits::Bits;
use wireloom_compile::analysis::order;
use wireloom_ir::{OffloadTarget, Op, OpKind, Program};
use wireloom_offloads::registry;

use super::super::call::{Call, Surroundings};
use super::super::calls::found;
use super::super::emitter::Emitter;
use super::super::kinds::{self, KernelCall};
use super::super::ops::Operand;
use super::super::tree::{Binary, Declaration, Expr, Stmt};
use super::super::types::{Class, Model};
use super::counted::Counted;
use super::map::Map;

/// The maps of an engine's offloads.
pub struct Maps {
    maps: Vec<Map>,
    needs_time: bool,
}

impl Maps {
    /// Returns the maps of the offloads of a program's engine.
    pub fn of(program: &Program) -> Self {
        let engine = &program.engines[program.main.index()];
        let changed = order::changed(program, program.main);
        let mut names = super::super::names::Names::default();
        let kinds = engine.offloads.iter().enumerate().filter_map(|(index, offload)| {
            let OffloadTarget::Kind(config) = &offload.target else { return None };
            let is_changed = changed.iter().any(|offload| offload.index() == index);
            let content = (kinds::in_kernel(config).map)(config, is_changed)?;
            let symbol = format!("wl_map_{}", names.give(&format!("of_{}", offload.name)));
            Some(Map { symbol, offload: index, content })
        });
        let maps = kinds.collect();
        let needs_time = engine.offloads.iter().any(|offload| {
            offload.kind().is_some_and(|kind| kind.methods.iter().any(|m| m.reads_arrival))
        });
        Self { maps, needs_time }
    }

    pub fn all(&self) -> &[Map] {
        &self.maps
    }

    /// Whether a method of an offload depends on the time.
    pub fn needs_time(&self) -> bool {
        self.needs_time
    }

    fn find(&self, offload: usize) -> Option<&Map> {
        self.maps.iter().find(|map| map.offload == offload)
    }
}

/// Writes a call, and counts it.
pub fn call(
    maps: &Maps,
    counted: &Counted,
    emitter: &mut Emitter<'_>,
    op: &Op,
    result: Option<&Expr>,
) -> Vec<Stmt> {
    let OpKind::Call { offload, method, args } = &op.kind else { unreachable!("a call") };
    let target = &emitter.scope.engine.offloads[offload.index()].target;
    let OffloadTarget::Kind(config) = target else { unreachable!("refused") };
    let kind = registry::kind(&config.kind).expect("a verified program");
    let interface = &kind.methods[*method];
    if result.is_none() && !interface.state.has_effect() && !interface.writes_packet {
        return Vec::new();
    }
    let args: Vec<Operand> = args.iter().map(|arg| emitter.kept_operand(*arg)).collect();
    let map = maps.find(offload.index());
    let slot = map.map_or_else(|| Expr::name("NULL"), |map| Expr::name(&map.symbol));
    let around = Surroundings {
        slot_index: &[],
        functions: &[],
        packet: Some((emitter.scope.packet.clone(), Expr::name("NULL"))),
        counts: false,
    };
    let finds = kind.counts_found(interface);
    let unused = Expr::name("counted");
    let is_unused = finds && result.is_none();
    let result = if is_unused { Some(&unused) } else { result };
    let call = Call {
        around: &around,
        config,
        method: interface,
        number: *method,
        args: &args,
        slot,
        result,
        walk: None,
        width: interface.reply.width(config),
    };
    let call = KernelCall { call, offload: offload.index(), map };
    let written = (kinds::in_kernel(config).call)(&call);
    let mut body = written.expect("other calls were refused");
    body.insert(0, Stmt::Expr(counted.calls(offload.index(), *method).increment()));
    if let (true, Some(reply)) = (finds, result) {
        let found = counted.found(offload.index(), *method).increment();
        body.push(Stmt::If(has_found(&call.call, reply), vec![Stmt::Expr(found)]));
    }
    if is_unused {
        let declared = Declaration::new(Model::Bits64.c_type(call.call.width), "counted");
        body.insert(0, declared.into());
        body = vec![Stmt::Block(body)];
    }
    body
}

/// Returns whether a reply reports an entry: by its most significant bit or, for a prefix table, by
/// a value other than the miss value.
fn has_found(call: &Call<'_>, reply: &Expr) -> Expr {
    if call.method.tells_found() {
        return found(reply, call.width);
    }
    let miss = call.config.param("miss");
    match Model::Bits64.class(call.width) {
        Class::Wide(n) => {
            let words = (0..n as usize).map(|word| {
                let own = reply.clone().member("w").at(word);
                own.binary(
                    Binary::NotEqual,
                    Model::Bits64.literal(&Bits::new(64, miss.word(word).into())),
                )
            });
            words.reduce(|a, b| a.binary(Binary::Or, b)).expect("a wide value has words")
        }
        _ => reply.clone().binary(Binary::NotEqual, Model::Bits64.literal(miss)),
    }
}
