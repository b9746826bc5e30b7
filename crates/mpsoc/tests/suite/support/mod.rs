//! Comparison of golden with a program of the chip's processors.

pub mod engine;

use std::cell::RefCell;
use std::path::PathBuf;

use wireloom_compile::lower;
use wireloom_fuzz::input::Input;
use wireloom_ir::{Execute, Golden, Output, Program, Verdict, print, store};
use wireloom_isa::program::Architecture;
use wireloom_isa::{Arm, Compiled, Riscv};
use wireloom_mpsoc::BuildError;
use wireloom_mpsoc::program::{BuildOptions, Elements, Functional, Partition, build};
use wireloom_net::tables::TableFile;
use wireloom_net::{Packet, traffic};
use wireloom_offloads::{Content, StateRow, Store, load_tables};

/// A file of the folder `programs`.
pub fn programs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name)
}

/// A program of the folder `programs`, compiled for software machines.
pub fn compiled(name: &str) -> Program {
    optimised(&wireloom_lang::check(&programs(name), &wireloom_lang::Options::default()))
}

/// Compiles a source text for software machines; `file` is its name in messages.
pub fn compiled_text(file: &str, text: &str) -> Program {
    optimised(&wireloom_lang::check_source(file, text, &wireloom_lang::Options::default()))
}

fn optimised(checked: &wireloom_lang::Checked) -> Program {
    let messages = wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
    let lowered = lower(checked.program.as_ref().unwrap_or_else(|| panic!("{messages}")));
    wireloom_mpsoc::for_threads(lowered)
}

/// All packets of a traffic specification.
pub fn generated(spec: &traffic::Spec) -> Vec<Packet> {
    let mut generator = traffic::Generator::new(spec).expect("a specification");
    let (mut packets, mut packet) = (Vec::new(), Packet::default());
    while generator.fill(&mut packet) {
        packets.push(packet.clone());
    }
    packets
}

/// Loads a table file of the folder `programs`.
pub fn load_file(store: &mut Store, name: &str) {
    let file = TableFile::open(&programs(name)).unwrap_or_else(|e| panic!("{e}"));
    load_tables(store, file).unwrap_or_else(|e| panic!("{e}"));
}

/// An output with its bytes: sequence, arrival, ingress, verdict, bytes.
pub type Sent = (u64, u64, u16, Verdict, Vec<u8>);

/// Adds an output to a list.
pub fn keep(sent: &mut Vec<Sent>, o: Output<'_>) {
    sent.push((o.sequence, o.arrival_ns, o.ingress, o.verdict, o.bytes.to_vec()));
}

/// Replays a log on a machine in software. Returns all outputs.
pub fn replayed<M: Execute>(
    log: &Input,
    machine: &mut M,
    store: impl Fn(&mut M) -> &mut Store,
) -> Vec<Sent> {
    let sent = RefCell::new(Vec::new());
    let sink = |output: Output<'_>| keep(&mut sent.borrow_mut(), output);
    log.replay(
        machine,
        |machine, packets| {
            let (first, second) = packets.split_at(packets.len() / 3);
            machine.execute(first, &mut { sink });
            machine.execute(second, &mut { sink });
        },
        |machine, change| change(store(machine)),
        |machine, time_ns| machine.advance_to(time_ns, &mut { sink }),
    );
    sent.into_inner()
}

pub fn rows(store: &Store) -> Vec<(String, Vec<StateRow>)> {
    let of = |path: String| {
        let Content::Kind { instance, .. } =
            &store.find(&path).expect("a path of the store").content
        else {
            unreachable!("paths name kinds")
        };
        let rows = instance.rows();
        (path, rows)
    };
    store.paths().into_iter().map(of).collect()
}

/// Asserts that a program with these cuts has the same outputs and state on an instruction set as
/// on golden. Returns the message if the program is rejected.
pub fn agree(
    program: &Program,
    partition: &Partition,
    elements: &Elements,
    packets: &[Packet],
    machine: Architecture,
    load: &dyn Fn(&mut Store),
) -> Result<(), String> {
    let log = Input { packets: packets.to_vec(), ..Input::default() };
    agree_on_log(program, partition, elements, &log, machine, load)
}

/// The same as [`agree`], for a log of packets, changes and times.
pub fn agree_on_log(
    program: &Program,
    partition: &Partition,
    elements: &Elements,
    log: &Input,
    machine: Architecture,
    load: &dyn Fn(&mut Store),
) -> Result<(), String> {
    match machine {
        Architecture::Arm => agree_on::<Arm>(program, partition, elements, log, load),
        Architecture::Riscv => agree_on::<Riscv>(program, partition, elements, log, load),
    }
}

fn agree_on<S: Compiled>(
    program: &Program,
    partition: &Partition,
    elements: &Elements,
    log: &Input,
    load: &dyn Fn(&mut Store),
) -> Result<(), String> {
    let built = match build(program, partition, elements, &BuildOptions::new(S::MACHINE)) {
        Ok(built) => built,
        Err(BuildError::Refused(why)) => return Err(why.message),
        Err(error) => panic!("{error}\n{}", print(program)),
    };
    let loaded = || {
        let mut store = store(program).expect("offloads of a verified program");
        load(&mut store);
        store
    };
    let mut golden = Golden::new(program.clone(), loaded());
    let mut functional = Functional::<S>::new(&built, program, elements, loaded())
        .expect("it was built for this set");
    let expected = replayed(log, &mut golden, |golden| golden.store_mut());
    let got = replayed(log, &mut functional, |machine| machine.store_mut());
    let place = built.path.display();
    for (expected, got) in expected.iter().zip(&got) {
        assert_eq!(got, expected, "{} (left) against golden: {place}\n{}", S::NAME, print(program));
    }
    assert_eq!(got.len(), expected.len(), "number of outputs: {place}");
    assert_eq!(rows(functional.store()), rows(golden.store()), "state: {place}");
    Ok(())
}
