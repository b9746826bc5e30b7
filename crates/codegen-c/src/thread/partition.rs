//! Partitions an engine into parts: it decides which steps of the main engine a thread executes
//! before it hands the packet over (the StepNP paper, sections 5.1 and 5.3: the processing graph is
//! cut).

use wireloom_ir::{Engine, OffloadTarget, Op, OpKind, Program, Step};

use super::super::plan::successors;
use super::Refused;
use super::elements::{Caller, Elements};
use super::message::words;

/// The maximum number of parts of an engine. The parts use the first services of the object request
/// broker.
pub const PARTS: usize = 16;

/// The cuts of an engine. Each part is a sequence of its steps, in program order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The first step of each part, in order. The first part begins with step 0.
    begins: Vec<usize>,
}

impl Partition {
    /// Returns a single part: each thread executes all steps of a packet.
    pub fn whole() -> Self {
        Self { begins: vec![0] }
    }

    /// Cuts before the steps with these names, in any order.
    ///
    /// # Errors
    /// If there is no such step, if a step is named twice or is the first one, or if there are more
    /// than [`PARTS`] parts.
    pub fn at(program: &Program, names: &[impl AsRef<str>]) -> Result<Self, Refused> {
        let engine = &program.engines[program.main.index()];
        let mut begins = vec![0];
        for name in names.iter().map(AsRef::as_ref) {
            let step = engine.steps.iter().position(|step| step.name == name).ok_or_else(|| {
                let all: Vec<&str> =
                    engine.steps[1..].iter().map(|step| step.name.as_str()).collect();
                let steps = all.join(", ");
                let why = format!("has no step `{name}` to be cut at; it has {steps}");
                Refused::engine(engine, &why)
            })?;
            if begins.contains(&step) {
                let why = if step == 0 {
                    "a cut at the first step: a part begins with it anyway"
                } else {
                    "a cut that is named twice"
                };
                return Err(Refused::step(engine, &engine.steps[step], why));
            }
            begins.push(step);
        }
        begins.sort_unstable();
        Self { begins }.checked(engine)
    }

    /// Cuts the engine into `parts` parts and minimises the largest [`work`](Self::work) of a part.
    ///
    /// # Errors
    /// If `parts` is 0, exceeds [`PARTS`] or exceeds the number of steps.
    pub fn balanced(program: &Program, elements: &Elements, parts: usize) -> Result<Self, Refused> {
        let main = Caller { program, id: program.main, elements };
        let engine = main.engine();
        let steps = engine.steps.len();
        if parts == 0 || parts > steps {
            let why = format!(
                "has {steps} steps, which cannot be cut into {parts} parts; a part has one or more"
            );
            return Err(Refused::engine(engine, &why));
        }
        let sums: Vec<u64> = std::iter::once(0)
            .chain(engine.steps.iter().scan(0, |sum, step| {
                *sum += work_of_step(&main, step);
                Some(*sum)
            }))
            .collect();
        // Indexed by the number of leading steps: the largest work of a part, and the first step of
        // the last part.
        let mut best: Vec<(u64, usize)> = sums.iter().map(|sum| (*sum, 0)).collect();
        let mut begins_of_last = Vec::new();
        for part in 1..parts {
            let before = best.clone();
            for end in part + 1..=steps {
                let most = |begin: usize| (before[begin].0.max(sums[end] - sums[begin]), begin);
                best[end] = (part..end).map(most).min().expect("there is a place to cut");
            }
            begins_of_last.push(best.iter().map(|(_, begin)| *begin).collect::<Vec<_>>());
        }
        let mut begins = vec![0; parts];
        let mut end = steps;
        for (part, begin_of_last) in begins_of_last.iter().enumerate().rev() {
            end = begin_of_last[end];
            begins[part + 1] = end;
        }
        Self { begins }.checked(engine)
    }

    fn checked(self, engine: &Engine) -> Result<Self, Refused> {
        let parts = self.parts();
        if parts > PARTS {
            let why =
                format!("is cut into {parts} parts; the broker serves {PARTS}: name fewer cuts");
            return Err(Refused::engine(engine, &why));
        }
        // The first part receives the packets that arrive.
        for part in 1..parts {
            if self.entries(engine, part).is_empty() {
                let first = &engine.steps[self.begins[part]];
                let why = "no other part continues with the part that begins here: cut elsewhere";
                return Err(Refused::step(engine, first, why));
            }
        }
        Ok(self)
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.begins.len()
    }

    /// Returns the steps of a part.
    pub fn steps(&self, engine: &Engine, part: usize) -> std::ops::Range<usize> {
        self.begins[part]..self.begins.get(part + 1).copied().unwrap_or(engine.steps.len())
    }

    /// Returns the names of the first steps of the parts.
    pub fn names(&self, program: &Program) -> Vec<String> {
        let steps = &program.engines[program.main.index()].steps;
        self.begins.iter().map(|begin| steps[*begin].name.clone()).collect()
    }

    /// Returns whether packets can return from a part to an earlier one.
    pub fn goes_back(&self, engine: &Engine) -> bool {
        let goes_back =
            |from: usize| successors(&engine.steps[from]).any(|to| self.part(to) < self.part(from));
        (0..engine.steps.len()).any(goes_back)
    }

    /// Returns the part that contains a step.
    pub fn part(&self, step: usize) -> usize {
        self.begins.partition_point(|begin| *begin <= step) - 1
    }

    /// Returns the work of each part for a packet that executes all of its steps: approximately the
    /// number of instructions of a 32-bit processor.
    pub fn work(&self, program: &Program, elements: &Elements) -> Vec<u64> {
        let main = Caller { program, id: program.main, elements };
        let engine = main.engine();
        let of_part = |part| {
            engine.steps[self.steps(engine, part)]
                .iter()
                .map(|step| work_of_step(&main, step))
                .sum()
        };
        (0..self.parts()).map(of_part).collect()
    }

    /// Returns the steps of a part at which packets are handed over to it, in order.
    pub(super) fn entries(&self, engine: &Engine, part: usize) -> Vec<usize> {
        let own = self.steps(engine, part);
        let outside = engine.steps.iter().enumerate().filter(|(step, _)| !own.contains(step));
        let mut entries: Vec<usize> = outside
            .flat_map(|(_, step)| successors(step))
            .filter(|step| own.contains(step))
            .collect();
        entries.sort_unstable();
        entries.dedup();
        entries
    }
}

fn work_of_step(caller: &Caller<'_>, step: &Step) -> u64 {
    step.ops().map(|op| work_of(caller, step, op)).sum()
}

fn work_of(caller: &Caller<'_>, step: &Step, op: &Op) -> u64 {
    let words_of = |width: u32| u64::from(words(width));
    let result =
        || op.results.first().map_or(0, |value| words_of(step.values[value.index()].width));
    match &op.kind {
        OpKind::Const(_)
        | OpKind::Extend(_)
        | OpKind::ReadContext(_)
        | OpKind::WriteContext(..) => 0,
        OpKind::ReadMeta(_) => 1,
        OpKind::WriteMeta(..) | OpKind::Exit(_) => 2,
        OpKind::ReadPacket { .. } => 2 * result(),
        OpKind::WritePacket { value, .. } => 2 * words_of(step.values[value.index()].width),
        // A header's bytes are moved one by one.
        OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => 40,
        OpKind::Call { offload, args, .. } => {
            match caller.engine().offloads[offload.index()].target {
                OffloadTarget::Engine(id)
                    if !caller.elements.contains(caller.id, offload.index()) =>
                {
                    let called = Caller { id, ..*caller };
                    called.engine().steps.iter().map(|step| work_of_step(&called, step)).sum()
                }
                _ => {
                    let words = args.iter().map(|arg| words_of(step.values[arg.index()].width));
                    2 + words.sum::<u64>() + result()
                }
            }
        }
        _ => result(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_ir::builder::{EngineBuilder, program_of};
    use wireloom_ir::{BinaryOp, Exit, StepId};

    /// Builds a program of four steps in sequence, with the given numbers of additions.
    fn program(additions: [usize; 4]) -> Program {
        let mut engine = EngineBuilder::packet("chain");
        for (index, count) in additions.into_iter().enumerate() {
            engine.regions(["a", "b", "c", "d"][index], |step| {
                step.next_region();
                step.next_region();
                let mut sum = step.constant(16, 1);
                for _ in 0..count {
                    sum = step.binary(BinaryOp::Add, sum, sum);
                }
                match index {
                    3 => step.exit(Exit::Finish),
                    _ => step.exit(Exit::Next(StepId(index as u32 + 1))),
                }
            });
        }
        program_of(engine)
    }

    #[test]
    fn parts_have_about_the_same_work() {
        for (additions, parts, begins) in [
            ([10, 10, 10, 10], 2, vec![0, 2]),
            ([30, 10, 10, 10], 2, vec![0, 1]),
            ([10, 10, 10, 30], 3, vec![0, 1, 3]),
            ([10, 10, 10, 10], 4, vec![0, 1, 2, 3]),
            ([10, 10, 10, 10], 1, vec![0]),
        ] {
            let partition = Partition::balanced(&program(additions), &Elements::none(), parts)
                .expect("it can be cut");
            assert_eq!(partition.begins, begins, "{additions:?}");
        }
        let program = program([30, 10, 10, 10]);
        assert_eq!(
            Partition::balanced(&program, &Elements::none(), 2)
                .map(|cut| cut.work(&program, &Elements::none())),
            Ok(vec![32, 36])
        );
    }

    #[test]
    fn cuts_are_named_in_any_order() {
        let program = program([1; 4]);
        let engine = &program.engines[0];
        let partition = Partition::at(&program, &["d", "b"]).expect("steps of the engine");
        assert_eq!(
            (0..3).map(|part| partition.steps(engine, part)).collect::<Vec<_>>(),
            [0..1, 1..3, 3..4]
        );
        assert_eq!([0, 1, 2, 3].map(|step| partition.part(step)), [0, 1, 1, 2]);
        assert_eq!(
            [0, 1, 2].map(|part| partition.entries(engine, part)),
            [vec![], vec![1], vec![3]]
        );
    }

    #[test]
    fn what_cannot_be_cut_is_refused_in_a_sentence() {
        let program = program([1; 4]);
        let refused = |names: &[&str]| Partition::at(&program, names).expect_err("no such cuts");
        let message = |names: &[&str]| refused(names).message;
        assert_eq!(message(&["x"]), "engine `chain` has no step `x` to be cut at; it has b, c, d");
        assert_eq!(
            message(&["a"]),
            "engine `chain`, step `a`: a cut at the first step: a part begins with it anyway"
        );
        assert_eq!(refused(&["a"]).step.as_deref(), Some("a"));
        assert_eq!(message(&["c", "c"]), "engine `chain`, step `c`: a cut that is named twice");
        let why = Partition::balanced(&program, &Elements::none(), 5).expect_err("four steps");
        assert_eq!(
            why.message,
            "engine `chain` has 4 steps, which cannot be cut into 5 parts; a part has one or more"
        );
    }
}
