//! Counts of steps and calls: those that golden's threads make.

mod support;

use std::path::Path;

use support::random::{packets, program};
use wireloom_bits::Bits;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;
use wireloom_ir::{
    Execute, Golden, Moment, Observer, OffloadTarget, Op, OpKind, Program, Step, store,
};
use wireloom_machine::{Calls, Counts, Source};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::Packet;
use wireloom_offloads::{Config, registry};

/// Counts what golden does.
struct Counting<'a> {
    program: &'a Program,
    paths: Vec<String>,
    /// The path of the engine that executes, with a point at its end.
    within: Vec<String>,
    counts: Counts,
}

impl<'a> Counting<'a> {
    fn new(program: &'a Program, paths: Vec<String>, like: &Counts) -> Self {
        let none = |calls: &Calls| Calls { all: 0, found: calls.found.map(|_| 0) };
        let calls = like.calls.iter().map(|methods| methods.iter().map(none).collect()).collect();
        let counts = Counts { steps: vec![0; like.steps.len()], calls };
        Self { program, paths, within: Vec::new(), counts }
    }

    fn op(&self, operation: u32, now: &Moment<'_>) -> Op {
        let step: &Step = &self.program.engines[now.engine.index()].steps[now.step.index()];
        let mut all = Vec::new();
        step.for_each_op(&mut |op| all.push(op));
        all[operation as usize].clone()
    }

    /// The offload that a call names: its path, and its kind unless it is an engine.
    fn called(&self, op: &Op, now: &Moment<'_>) -> Option<(String, Option<&'a Config>, usize)> {
        let OpKind::Call { offload, method, .. } = &op.kind else { return None };
        let offload = &self.program.engines[now.engine.index()].offloads[offload.index()];
        let within = self.within.last().map_or("", String::as_str);
        let config = match &offload.target {
            OffloadTarget::Kind(config) => Some(config),
            OffloadTarget::Engine(_) => None,
        };
        Some((format!("{within}{}", offload.name), config, *method))
    }

    fn calls(&mut self, path: &str, method: usize) -> &mut Calls {
        let index = self.paths.iter().position(|other| other == path).expect("a path");
        &mut self.counts.calls[index][method]
    }
}

impl Observer for Counting<'_> {
    fn step(&mut self, now: &Moment<'_>) {
        if now.engine == self.program.main {
            self.counts.steps[now.step.index()] += 1;
        }
    }

    fn before(&mut self, operation: u32, now: &Moment<'_>) {
        let op = self.op(operation, now);
        match self.called(&op, now) {
            Some((path, Some(_), method)) => self.calls(&path, method).all += 1,
            Some((path, None, _)) => self.within.push(format!("{path}.")),
            None => {}
        }
    }

    fn after(&mut self, operation: u32, now: &Moment<'_>) {
        let op = self.op(operation, now);
        let Some((path, config, method)) = self.called(&op, now) else { return };
        let Some(config) = config else {
            self.within.pop();
            return;
        };
        let kind = registry::kind(&config.kind).expect("a kind");
        let reply = op.results.first().map(|reply| now.value(*reply));
        let is_found = |reply: Bits| match kind.methods[method].tells_found() {
            true => reply.bit(reply.width() - 1),
            false => reply != *config.param("miss"),
        };
        if let Some(found) = &mut self.calls(&path, method).found {
            *found += u64::from(is_found(reply.expect("the reply of a search")));
        }
    }
}

fn check(programs: &[Program], packets: &[Packet], load: &dyn Fn(&mut wireloom_offloads::Store)) {
    let options = BuildOptions { counts: true, ..support::options() };
    let libraries = Library::build_many(programs, &options).unwrap_or_else(|e| panic!("{e}"));
    for (program, library) in programs.iter().zip(libraries) {
        let [for_golden, for_native] = [(), ()].map(|()| {
            let mut store = store(program).expect("offloads of a verified program");
            load(&mut store);
            store
        });
        let mut native = Native::new(library, for_native);
        native.execute(packets, &mut |_| ());
        let counts = native.counts().expect("it counts");
        let paths = native.store().paths();
        let mut counting = Counting::new(program, paths, &counts);
        let mut golden = Golden::new(program.clone(), for_golden);
        for packet in packets {
            golden.observe(packet.frame(), &mut counting, &mut |_| ());
        }
        assert_eq!(counts, counting.counts, "{}", wireloom_ir::print(program));
    }
}

#[test]
fn counts_of_random_engines_are_those_of_golden() {
    let programs: Vec<_> = (0..100)
        .map(|seed| {
            let mut program = program(seed);
            // Native leaves out calls whose replies nobody uses.
            for pass in ["evaluate", "dce"] {
                pipeline::run_pass(&mut program, pass, &PassOptions::default());
            }
            program
        })
        .collect();
    check(&programs, &packets(1, 150), &support::fill_tables);
}

#[test]
fn counts_of_programs_are_those_of_golden() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    for name in ["router", "nat", "flowcount", "url"] {
        let source = Source::of(root.join(format!("{name}.loom")));
        let program = source.compiled().unwrap_or_else(|e| panic!("{name}: {}", e.message));
        check(&[program.optimised], &packets(2, 400), &support::fill_tables);
    }
}

#[test]
fn a_machine_that_was_not_asked_to_count_has_no_counts() {
    let program = program(0);
    let library = Library::build(&program, &support::options()).expect("C");
    let native = Native::new(library, store(&program).expect("offloads"));
    assert_eq!(native.counts(), None);
}
