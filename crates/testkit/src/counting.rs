//! Counts of the steps that golden's threads begin and of the offloads that they call, for
//! comparison with the counts of machines.

use wireloom_bits::Bits;
use wireloom_ir::{Golden, Moment, Observer, OffloadTarget, Op, OpKind, Program, Step};
use wireloom_machine::{Calls, Counts};
use wireloom_net::Packet;
use wireloom_offloads::{Config, Store, registry};

/// Executes packets on golden and returns the counts that a machine must report. `like` tells for
/// which methods the machine counts successful searches.
pub fn counts_of_golden(
    program: &Program,
    store: Store,
    packets: &[Packet],
    like: &Counts,
) -> Counts {
    let mut counting = Counting::new(program, store.paths(), like);
    let mut golden = Golden::new(program.clone(), store);
    for packet in packets {
        golden.observe(packet.frame(), &mut counting, &mut |_| ());
    }
    counting.counts
}

/// An observer that counts steps and calls of golden's threads.
struct Counting<'a> {
    program: &'a Program,
    paths: Vec<String>,
    /// The path of the executing engine, with a point at its end.
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

    /// Returns the path of the called offload, its kind unless it is an engine, and the method.
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
