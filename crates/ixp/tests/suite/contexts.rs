//! Checks two contexts that use a unit at once against a model without time.

use std::collections::BTreeSet;

use wireloom_isa::microengine::{Image, Version};
use wireloom_ixp::engine::State;
use wireloom_ixp::{Options, Processor, Program, Spec};
use wireloom_sim::Stop;

use super::assembled::assembled;

/// An operation that takes effect atomically.
pub struct Step<S> {
    /// The instructions, which leave a result in `x`. They can use the registers `a`, `b`, `x`,
    /// `$r` and `$s`, `SWAP` to wait for a command, and `ADDRESS(word)` for the address of a word.
    text: String,
    /// The effect in the model. Returns the result.
    does: Box<dyn Fn(&mut S) -> u32>,
}

pub fn step<S>(text: String, does: impl Fn(&mut S) -> u32 + 'static) -> Step<S> {
    Step { text, does: Box::new(does) }
}

/// The placement of the two contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In two engines.
    Engines,
    /// In one engine.
    Contexts,
}

/// A test case for a unit.
pub struct Case<S> {
    version: Version,
    start: S,
    /// Changes the machine's description.
    pub spec: fn(&mut Spec),
    /// Sets the initial state of the unit.
    pub begin: fn(&mut Processor),
    /// The steps of each context.
    pub steps: [Vec<Step<S>>; 2],
    /// Whether the contexts take turns, the first context first. Then only one order is right.
    pub in_turn: bool,
    /// Returns the final state of the machine, and of the model.
    pub left: fn(&Processor) -> Vec<u32>,
    pub expected: fn(&S) -> Vec<u32>,
}

impl<S: Clone> Case<S> {
    pub fn new(version: Version, start: S) -> Self {
        Self {
            version,
            start,
            spec: |_| {},
            begin: |_| {},
            steps: [Vec::new(), Vec::new()],
            in_turn: false,
            left: |_| Vec::new(),
            expected: |_| Vec::new(),
        }
    }

    /// The results and final states of all interleavings of the steps that keep the order of each
    /// context.
    fn outcomes(&self) -> BTreeSet<Vec<u32>> {
        let mut outcomes = BTreeSet::new();
        let counts = [self.steps[0].len(), self.steps[1].len()];
        let results = [vec![0; counts[0]], vec![0; counts[1]]];
        let mut open = vec![(self.start.clone(), [0, 0], results)];
        while let Some((state, done, results)) = open.pop() {
            if done == counts {
                outcomes.insert([results.concat(), (self.expected)(&state)].concat());
            }
            for context in 0..2 {
                let is_late = self.in_turn && (done[0] > done[1]) != (context == 1);
                let Some(step) = self.steps[context].get(done[context]).filter(|_| !is_late) else {
                    continue;
                };
                let (mut state, mut done, mut results) = (state.clone(), done, results.clone());
                results[context][done[context]] = (step.does)(&mut state);
                done[context] += 1;
                open.push((state, done, results));
            }
        }
        outcomes
    }

    /// The program. Each context first lets the other one run this number of times.
    fn image(&self, delays: [u32; 2]) -> Image {
        let mut text = match self.version {
            Version::One => ".version 1\n#define SWAP ctx_swap\n".to_owned(),
            Version::Two => ".version 2\n.sig done turn\n#define SWAP ctx_swap[done]\n".to_owned(),
        };
        text += ".reg a b x $r $s\n br=ctx[1, second#]\n";
        for (context, steps) in self.steps.iter().enumerate() {
            if context == 1 {
                text += "second#:\n";
            }
            text += &" ctx_arb[voluntary]\n nop\n".repeat(delays[context] as usize);
            for (number, step) in steps.iter().enumerate() {
                let place = self.address(result(context) + number);
                text +=
                    &self.addressed(&step.text.replace("found#", &format!("f{context}{number}#")));
                text += &format!(
                    "\n immed[a, {place}]\n alu[$r, --, B, x]\n scratch[write, $r, a, 0, 1], SWAP\n"
                );
            }
            text += " nop\n nop\n nop\n ctx_arb[kill]\n nop\n nop\n nop\n";
        }
        assembled(&text)
    }

    fn address(&self, word: usize) -> usize {
        if self.version == Version::One { word } else { 4 * word }
    }

    /// The text with each `ADDRESS(word)` replaced by a number.
    fn addressed(&self, text: &str) -> String {
        let mut parts = text.split("ADDRESS(");
        let mut result = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (word, rest) = part.split_once(')').expect("a bracket");
            result += &self.address(word.parse().expect("a word")).to_string();
            result += rest;
        }
        result
    }

    fn machine(&self, place: Place, delays: [u32; 2]) -> Processor {
        let mut spec = Spec::base();
        spec.engine.version = self.version;
        (self.spec)(&mut spec);
        let program = Program::load(self.image(delays), 2048).expect("it loads");
        let programs = match place {
            Place::Engines => vec![(program.clone(), 0b01), (program, 0b10)],
            Place::Contexts => vec![(program, 0b11)],
        };
        let mut machine = small(&mut spec, programs);
        (self.begin)(&mut machine);
        machine
    }
}

/// The address of a context's results in the scratchpad, in words.
fn result(context: usize) -> usize {
    512 + 16 * context
}

/// A machine with little memory, since the test creates many of them.
fn small(spec: &mut Spec, programs: Vec<(Program, u8)>) -> Processor {
    spec.sram.bytes = 1 << 14;
    spec.sdram.bytes = 1 << 14;
    Processor::new(spec, programs, &Options::default()).expect("a machine")
}

/// Compares a case with its model for every delay of one context against the other. Returns the
/// number of different outcomes.
pub fn hold<S: Clone>(case: &Case<S>, place: Place) -> usize {
    let expected = case.outcomes();
    let mut found = BTreeSet::new();
    let mut check = |mut machine: Processor, delay: String| {
        let stop = machine.run_cycles(20_000).expect("it runs");
        let threads = machine.chip.engines.iter().flat_map(|engine| engine.contexts());
        let waits = threads.filter(|context| context.state != State::Stopped).count();
        assert_eq!((stop, waits), (Stop::Silent, 0), "{delay}: contexts wait");
        let words = machine.chip.scratch.words();
        let results =
            [0, 1].map(|at| words[result(at)..result(at) + case.steps[at].len()].to_vec());
        let outcome = [results.concat(), (case.left)(&machine)].concat();
        assert!(expected.contains(&outcome), "{delay}: {outcome:x?} is the outcome of no order");
        found.insert(outcome);
    };
    match place {
        Place::Engines => {
            // Instead of a delay in the program, the clock of one engine starts later.
            let machine = case.machine(place, [0, 0]);
            let clock = machine.chip.spec.engine.clock;
            for (late, delay) in (0..2).flat_map(|late| (0..120).map(move |delay| (late, delay))) {
                let mut machine = machine.clone();
                machine.gate_engine(late);
                machine.ungate_engine(late, clock.cycles(delay));
                check(machine, format!("engine {late} by {delay}"));
            }
        }
        Place::Contexts => {
            for (late, delay) in
                (0..2).flat_map(|late| (0..30).step_by(2).map(move |delay| (late, delay)))
            {
                let mut delays = [0, 0];
                delays[late] = delay;
                check(case.machine(place, delays), format!("context {late} by {delay}"));
            }
        }
    }
    found.len()
}

/// A machine whose engines run the contexts in the mask; all contexts increment one word of SRAM
/// under a lock.
pub fn counted(engines: usize, mask: u8, times: u32) -> Processor {
    let text = format!(
        ".reg a n x $r
             immed[a, 500]
             immed[n, {times}]
         again#:
             sram[read_lock, $r, a, 0, 1], ctx_swap
             alu[x, --, B, $r]
             alu[$r, x, +, 1]
             sram[write_unlock, $r, a, 0, 1], ctx_swap
             alu[n, n, -, 1]
             br>0[again#]
             nop
             nop
             nop
             ctx_arb[kill]
             nop
             nop
             nop"
    );
    let program = Program::load(assembled(&text), 2048).expect("it loads");
    let mut machine = small(&mut Spec::base(), vec![(program, mask); engines]);
    let stop = machine.run_cycles(1_000_000).expect("it runs");
    assert_eq!(stop, Stop::Silent);
    machine
}

/// Two contexts. The first releases a lock after a delay and ends. The second waits for the lock
/// and then writes 1 to the word.
pub fn waited(place: Place, delay: u32) -> Processor {
    let text = format!(
        ".reg a $r
             immed[a, 100]
             br=ctx[1, second#]
             sram[read_lock, $r, a, 0, 1], ctx_swap
             ctx_arb[voluntary]
             {}
             sram[unlock, --, a, 0]
             br[end#]
         second#:
             nop
             nop
             sram[read_lock, $r, a, 0, 1], ctx_swap
             alu[$r, --, B, 1]
             sram[write_unlock, $r, a, 0, 1], ctx_swap
         end#:
             nop
             nop
             nop
             ctx_arb[kill]
             nop
             nop
             nop",
        "nop\n".repeat(delay as usize)
    );
    let program = Program::load(assembled(&text), 2048).expect("it loads");
    let programs = match place {
        Place::Engines => vec![(program.clone(), 0b01), (program, 0b10)],
        Place::Contexts => vec![(program, 0b11)],
    };
    let mut machine = small(&mut Spec::base(), programs);
    assert_eq!(machine.run_cycles(10_000), Ok(Stop::Silent));
    machine
}
