//! Runs a program in every way whose results must agree, and finds where two of them differ.
//!
//! The reference is the golden model on the program as lowered. It is compared with the golden
//! model on the optimised program, with native code of that program, and with the golden model on
//! the program optimised for hardware with few header ports.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::analysis::ports::misfit;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_ir::{Execute, Golden, Output, Program, TIMERS, Verdict, store, verify};
use wireloom_lang::{Options, Severity, check_source, render};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_offloads::{Content, StateRow, Store};

use crate::calls::Calls;
use crate::input::Input;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// A description for the user.
    pub details: String,
}

/// The kind of a failure. Shrinking preserves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The checker refuses a well-typed program. The field lists the error codes.
    Refused(Vec<&'static str>),
    /// A part of Wireloom panics. The field names the part.
    Panic(&'static str),
    /// The IR does not verify after lowering or optimisation, or has no store.
    Malformed(&'static str),
    /// Native code does not build.
    Build,
    /// Two ways of running the program differ. The field names the one that differs from the
    /// reference.
    Differs(&'static str),
}

impl FailureKind {
    /// Whether the failure occurs only when native code is built and run.
    pub fn is_native(&self) -> bool {
        matches!(
            self,
            Self::Build
                | Self::Differs("native")
                | Self::Panic("native generator" | "native runtime")
        )
    }
}

impl Failure {
    fn new(kind: FailureKind, details: impl Into<String>) -> Self {
        Self { kind, details: details.into() }
    }
}

/// The configurations of header ports for which programs are compiled.
const HEADER_PORTS: [HeaderPorts; 3] = [
    HeaderPorts { reads: 1, writes: 1, bytes: 16 },
    HeaderPorts { reads: 2, writes: 1, bytes: 16 },
    HeaderPorts { reads: 2, writes: 2, bytes: 5 },
];

/// A program in all forms that are executed.
pub struct Compiled {
    /// The program as lowered.
    pub plain: Program,
    /// The program after the default passes.
    pub optimised: Program,
    /// The program after the default passes for hardware, for different header ports.
    pub hardware: Vec<Program>,
}

/// Compiles a source text.
///
/// # Errors
/// If a well-typed program cannot be compiled.
pub fn compile(source: &str) -> Result<Compiled, Failure> {
    let checked = guarded("checker", || check_source("fuzz.loom", source, &Options::default()))?;
    let Some(hir) = &checked.program else {
        let errors: Vec<_> =
            checked.diagnostics.iter().filter(|d| d.severity == Severity::Error).cloned().collect();
        let codes = errors.iter().map(|d| d.code).collect();
        return Err(Failure::new(
            FailureKind::Refused(codes),
            render(&errors, &checked.sources, false),
        ));
    };
    let plain = guarded("lowering", || lower(hir))?;
    well_formed(&plain, "lowering")?;
    let mut optimised = plain.clone();
    guarded("optimiser", || pipeline::optimise(&mut optimised, &PassOptions::default()))?;
    well_formed(&optimised, "optimiser")?;
    let mut hardware = Vec::new();
    for header in HEADER_PORTS {
        let mut program = plain.clone();
        let options = PassOptions::hardware(header);
        guarded("optimiser for hardware", || pipeline::optimise(&mut program, &options))?;
        well_formed(&program, "optimiser for hardware")?;
        if let Some(why) = program.engines.iter().find_map(|engine| misfit(engine, &header)) {
            return Err(Failure::new(FailureKind::Malformed("header ports"), why));
        }
        hardware.push(program);
    }
    Ok(Compiled { plain, optimised, hardware })
}

fn well_formed(program: &Program, after: &'static str) -> Result<(), Failure> {
    verify(program).map_err(|problems| {
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        Failure::new(FailureKind::Malformed(after), problems.join("\n"))
    })
}

fn guarded<T>(what: &'static str, run: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Failure::new(FailureKind::Panic(what), text.unwrap_or_default())
    })
}

/// The output of a machine for an input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The sequence number, arrival time, ingress port, verdict and bytes of each packet that left.
    sent: Vec<(u64, u64, u16, Verdict, Vec<u8>)>,
    /// The path and the rows of each offload.
    rows: Vec<(String, Vec<StateRow>)>,
}

impl Outcome {
    /// Returns the number of packets that timers sent, dropped or handed to the control processor.
    pub fn of_timers(&self) -> usize {
        self.sent.iter().filter(|(sequence, ..)| *sequence >= TIMERS).count()
    }

    fn note(&mut self, o: Output<'_>) {
        self.sent.push((o.sequence, o.arrival_ns, o.ingress, o.verdict, o.bytes.to_vec()));
    }

    fn end(mut self, store: &Store) -> Self {
        let rows = store.paths().into_iter().filter_map(|path| {
            let Content::Kind { instance, .. } = &store.find(&path)?.content else { return None };
            Some((path, instance.rows()))
        });
        self.rows = rows.collect();
        self
    }
}

fn outcome<M: Execute>(
    mut machine: M,
    input: &Input,
    of: impl Fn(&M) -> &Store,
    change: impl Fn(&mut M) -> &mut Store,
) -> Outcome {
    let outcome = RefCell::new(Outcome::default());
    let note = |o: Output<'_>| outcome.borrow_mut().note(o);
    input.replay(
        &mut machine,
        |machine, packets| machine.execute(packets, &mut { note }),
        |machine, apply| apply(change(machine)),
        |machine, time_ns| machine.advance_to(time_ns, &mut { note }),
    );
    outcome.into_inner().end(of(&machine))
}

fn loaded(program: &Program, input: &Input) -> Result<Store, Failure> {
    let mut store = store(program)
        .map_err(|refused| Failure::new(FailureKind::Malformed("store"), format!("{refused:?}")))?;
    input.load(&mut store);
    Ok(store)
}

fn golden(program: &Program, input: &Input) -> Result<Outcome, Failure> {
    let store = loaded(program, input)?;
    guarded("golden model", || {
        let golden = Golden::new(program.clone(), store);
        outcome(golden, input, Golden::store, Golden::store_mut)
    })
}

/// Runs a program that is optimised for hardware, and checks what hardware relies on.
fn golden_of_hardware(program: &Program, input: &Input) -> Result<Outcome, Failure> {
    let store = loaded(program, input)?;
    let (outcome, twice) = guarded("golden model", || {
        let mut machine = Golden::new(program.clone(), store);
        let (outcome, mut calls) = (RefCell::new(Outcome::default()), Calls::new(program));
        let note = |o: Output<'_>| outcome.borrow_mut().note(o);
        input.replay(
            &mut machine,
            |machine, packets| {
                for packet in packets {
                    machine.observe(packet.frame(), &mut calls, &mut { note });
                }
            },
            |machine, apply| apply(machine.store_mut()),
            |machine, time_ns| machine.advance_to(time_ns, &mut { note }),
        );
        (outcome.into_inner().end(machine.store()), calls.twice)
    })?;
    let failed = |details| Failure::new(FailureKind::Malformed("calls"), details);
    twice.map_or(Ok(outcome), |details| Err(failed(details)))
}

/// Runs a program on the golden model before and after optimisation.
///
/// # Errors
/// If the two differ, or if one of them fails.
pub fn reference(compiled: &Compiled, input: &Input) -> Result<Outcome, Failure> {
    let reference = golden(&compiled.plain, input)?;
    differ("optimised", &reference, &golden(&compiled.optimised, input)?)?;
    for program in &compiled.hardware {
        differ("optimised for hardware", &reference, &golden_of_hardware(program, input)?)?;
    }
    Ok(reference)
}

fn differ(what: &'static str, expected: &Outcome, got: &Outcome) -> Result<(), Failure> {
    if expected == got {
        return Ok(());
    }
    let mut details = String::new();
    let longest = expected.sent.len().max(got.sent.len());
    if let Some(at) = (0..longest).find(|i| expected.sent.get(*i) != got.sent.get(*i)) {
        let _ = writeln!(details, "output {at}");
        let _ = writeln!(details, "  expected {:?}", expected.sent.get(at));
        let _ = writeln!(details, "  got      {:?}", got.sent.get(at));
    }
    for (expected, got) in expected.rows.iter().zip(&got.rows).filter(|(a, b)| a != b) {
        let _ = writeln!(details, "rows\n  expected {expected:?}\n  got      {got:?}");
    }
    Err(Failure::new(FailureKind::Differs(what), details))
}

/// Returns the build options for native code. They are the user's options, for this processor and
/// thus with vector code, with two changes. `-O1` compiles fast, since many programs run briefly.
/// Poisoned memory makes bytes of earlier packets visible.
fn build_options() -> BuildOptions {
    let mut options = BuildOptions::default();
    options.flags.extend(["-O1", "-DWL_POISON"].map(str::to_owned));
    options
}

/// Runs programs in all ways and returns their outcomes in order. The native code of all programs
/// is built together. `begin` is called with the index of each program before it runs.
pub fn run_batch(
    batch: &[(Result<Compiled, Failure>, Input)],
    begin: impl Fn(usize),
) -> Vec<Result<(), Failure>> {
    let good: Vec<&Program> =
        batch.iter().filter_map(|(c, _)| c.as_ref().ok()).map(|c| &c.optimised).collect();
    let programs: Vec<Program> = good.into_iter().cloned().collect();
    // If the programs do not build together, each is built alone to find the failing ones.
    let together = build(&programs).ok();
    let mut built = together.into_iter().flatten();
    batch
        .iter()
        .enumerate()
        .map(|(index, (compiled, input))| {
            begin(index);
            let compiled = compiled.as_ref().map_err(Clone::clone)?;
            let library = match built.next() {
                Some(library) => library,
                None => build(std::slice::from_ref(&compiled.optimised))?.remove(0),
            };
            let expected = reference(compiled, input)?;
            let store = loaded(&compiled.optimised, input)?;
            let native = guarded("native runtime", || {
                outcome(Native::new(library, store), input, Native::store, Native::store_mut)
            })?;
            differ("native", &expected, &native)
        })
        .collect()
}

fn build(programs: &[Program]) -> Result<Vec<Library>, Failure> {
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    guarded("native generator", || Library::build_many(programs, &build_options()))?
        .map_err(|error| Failure::new(FailureKind::Build, error.to_string()))
}

/// Compiles and runs one program in all ways. Native code is included only if `with_native` is set.
///
/// # Errors
/// If the program fails.
pub fn run(source: &str, input: &Input, with_native: bool) -> Result<(), Failure> {
    let compiled = compile(source)?;
    if with_native {
        return run_batch(&[(Ok(compiled), input.clone())], |_| ()).remove(0);
    }
    reference(&compiled, input).map(|_| ())
}
