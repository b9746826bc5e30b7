//! An engine on a machine, and what a test wants of it.

use std::fmt::Write;

use wireloom_bits::Bits;
use wireloom_compile::passes::{HeaderPorts, PassOptions};
use wireloom_compile::{lower, pipeline};
use wireloom_ir::{self as ir, Execute, Golden, Reason, Verdict};
use wireloom_isa::{Arm, InstructionSet, Riscv};
use wireloom_machines::mpsoc::program::{self, Elements, Functional, Partition};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::Packet;
use wireloom_net::tables::TableFile;
use wireloom_offloads::{Content, EntryKey, Layout, Store, load_tables};

use crate::file::{ActionKind, Expected, TestFile};

/// An engine on a machine.
pub struct Machine {
    /// Which, for messages.
    pub name: &'static str,
    engine: Engine,
    reasons: Vec<ir::ReasonSet>,
}

enum Engine {
    Golden(Box<Golden>),
    Native(Box<Native>),
    Arm(Box<Functional<Arm>>),
    Riscv(Box<Functional<Riscv>>),
}

impl Machine {
    /// The engine of a file on every machine, tables loaded.
    ///
    /// # Panics
    /// If the program, a table or the C compiler fails.
    pub fn all(tests: &TestFile) -> Vec<Self> {
        let options = wireloom_lang::Options { sets: tests.sets.clone(), ..Default::default() };
        let checked = wireloom_lang::check(&tests.program, &options);
        let messages = wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
        assert!(checked.diagnostics.is_empty(), "{messages}");
        let lowered = lower(&checked.program.expect("a program without diagnostics is there"));
        let mut optimised = lowered.clone();
        pipeline::optimise(&mut optimised, &PassOptions::default());

        let for_hardware = |reads, writes| {
            let mut program = lowered.clone();
            let header = Some(HeaderPorts::new(reads, writes));
            pipeline::optimise(&mut program, &PassOptions { header });
            program
        };

        let golden = |program: &ir::Program| {
            Engine::Golden(Box::new(Golden::new(program.clone(), loaded(program, tests))))
        };
        let library = Library::build(&optimised, &BuildOptions::default()).expect("C that compiles");
        let native = Engine::Native(Box::new(Native::new(library, loaded(&optimised, tests))));
        let arm = Engine::Arm(Box::new(processor(&optimised, tests)));
        let riscv = Engine::Riscv(Box::new(processor(&optimised, tests)));
        let reasons = lowered.reasons.clone();
        [
            ("golden, as lowered", golden(&lowered)),
            ("golden, optimised", golden(&optimised)),
            ("golden, for hardware with one header port to read", golden(&for_hardware(1, 1))),
            ("golden, for hardware with two header ports to read", golden(&for_hardware(2, 1))),
            ("native", native),
            ("a processor of mpsoc, ARMv4", arm),
            ("a processor of mpsoc, RV32IM", riscv),
        ]
        .map(|(name, engine)| Self { name, engine, reasons: reasons.clone() })
        .into()
    }

    /// Does what the test says.
    ///
    /// # Errors
    /// What was wanted and what came.
    pub fn act(&mut self, action: &ActionKind) -> Result<(), String> {
        match action {
            ActionKind::Send(packet, expected) => {
                let got = self.send(packet);
                if got == *expected { Ok(()) } else { Err(difference(expected, &got)) }
            }
            ActionKind::Table { offload, key, fields } => self.look(offload, key, fields),
        }
    }

    fn send(&mut self, packet: &Packet) -> Vec<Expected> {
        let (mut got, reasons) = (Vec::new(), &self.reasons);
        let mut sink = |output: ir::Output<'_>| {
            got.push(match output.verdict {
                Verdict::Sent { port } => Expected::Sent(port, output.bytes.to_vec()),
                Verdict::ToCpu(reason) => Expected::Cpu(reason_name(reason, reasons)),
                Verdict::Dropped(reason) => Expected::Dropped(reason_name(reason, reasons)),
            });
        };
        let packets = std::slice::from_ref(packet);
        match &mut self.engine {
            Engine::Golden(machine) => machine.execute(packets, &mut sink),
            Engine::Native(machine) => machine.execute(packets, &mut sink),
            Engine::Arm(machine) => machine.execute(packets, &mut sink),
            Engine::Riscv(machine) => machine.execute(packets, &mut sink),
        }
        got
    }

    fn look(&self, offload: &str, key: &[(String, u128)], fields: &[(String, u128)]) -> Result<(), String> {
        let store = match &self.engine {
            Engine::Golden(machine) => machine.store(),
            Engine::Native(machine) => machine.store(),
            Engine::Arm(machine) => machine.store(),
            Engine::Riscv(machine) => machine.store(),
        };
        let slot = store.find(offload).ok_or(format!("there is no offload `{offload}`"))?;
        let Content::Kind { config, instance } = &slot.content else {
            return Err(format!("`{offload}` is an engine"));
        };
        let key = match &config.key {
            Some(layout) => EntryKey::Exact(packed(layout, key)?),
            None => EntryKey::Index(key[0].1 as u64),
        };
        let rows = instance.rows();
        let row = rows.iter().find(|row| row.key == key).ok_or_else(|| {
            let there: Vec<_> = rows.iter().map(|row| format!("{:?}", row.key)).collect();
            format!("{offload} has no entry {key:?}; there are:\n{}", there.join("\n"))
        })?;
        for (name, wanted) in fields {
            let got = row.fields.iter().find(|(n, _)| n == name).and_then(|(_, value)| value.to_u128());
            if got != Some(*wanted) {
                return Err(format!("{name} of {offload} {key:?}: expected {wanted}, got {got:?}"));
            }
        }
        Ok(())
    }
}

/// The program on one thread of a processor.
fn processor<S: InstructionSet>(program: &ir::Program, tests: &TestFile) -> Functional<S> {
    let (whole, none) = (Partition::whole(), Elements::none());
    let built = program::build(program, &whole, &none, &program::BuildOptions::new(S::MACHINE));
    let built = built.unwrap_or_else(|error| panic!("{error}"));
    Functional::new(&built, program, &none, loaded(program, tests)).unwrap_or_else(|error| panic!("{error}"))
}

fn loaded(program: &ir::Program, tests: &TestFile) -> Store {
    let mut store = ir::store(program).unwrap_or_else(|refused| panic!("{}", refused.0));
    if let Some(path) = &tests.tables {
        let file = TableFile::open(path).unwrap_or_else(|problem| panic!("{problem}"));
        load_tables(&mut store, &file).unwrap_or_else(|problem| panic!("{problem}"));
    }
    store
}

/// A key from its fields, each of which must be given.
fn packed(layout: &Layout, fields: &[(String, u128)]) -> Result<Bits, String> {
    let mut bits: Option<Bits> = None;
    for (name, width) in &layout.fields {
        let (_, value) =
            fields.iter().find(|(n, _)| n == name).ok_or(format!("field `{name}` of the key is missing"))?;
        let field = Bits::new(*width, *value);
        bits = Some(bits.map_or(field.clone(), |front| front.concat(&field)));
    }
    bits.ok_or("an empty key".to_owned())
}

fn reason_name(reason: Reason, sets: &[ir::ReasonSet]) -> String {
    match reason {
        Reason::Program(set, value) => sets[set.index()]
            .members
            .iter()
            .find(|(v, _)| *v == u64::from(value))
            .map_or(format!("reason {value}"), |(_, name)| name.clone()),
        Reason::Runaway => "runaway".to_owned(),
    }
}

fn difference(expected: &[Expected], got: &[Expected]) -> String {
    let mut out = String::new();
    for (what, list) in [("expected", expected), ("got", got)] {
        if list.is_empty() {
            let _ = writeln!(out, "  {what} nothing");
        }
        for one in list {
            let _ = match one {
                Expected::Sent(port, bytes) => writeln!(out, "  {what} on port {port}: {}", hex(bytes)),
                Expected::Cpu(reason) => writeln!(out, "  {what} to the cpu: {reason}"),
                Expected::Dropped(reason) => writeln!(out, "  {what} a drop: {reason}"),
            };
        }
    }
    if let ([Expected::Sent(_, a)], [Expected::Sent(_, b)]) = (expected, got) {
        let first = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
        let _ = writeln!(out, "  lengths {} and {}, first difference at byte {first}", a.len(), b.len());
    }
    out
}

/// At most the first 160 bytes, in fours.
fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    for word in bytes[..bytes.len().min(160)].chunks(4) {
        for byte in word {
            let _ = write!(out, "{byte:02x}");
        }
        out.push(' ');
    }
    if bytes.len() > 160 {
        out.push_str("...");
    }
    out
}
