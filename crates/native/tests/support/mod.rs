//! Golden and native side by side.

#![allow(dead_code, reason = "each test uses a part")]

pub mod random;

use wireloom_ir::{Execute, Golden, Output, Program, Verdict, print, store, verify};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Row, Store};

/// An [`Output`] with bytes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub sequence: u64,
    pub arrival_ns: u64,
    pub ingress: u16,
    pub verdict: Verdict,
    pub bytes: Vec<u8>,
}

/// What tests build with: quick, and strict about the C.
pub fn options() -> BuildOptions {
    let mut flags: Vec<String> = ["-O1", "-Wall", "-Wextra", "-Werror"].map(str::to_owned).into();
    if let Ok(more) = std::env::var("WIRELOOM_NATIVE_CFLAGS") {
        flags.extend(more.split_whitespace().map(str::to_owned));
    }
    BuildOptions { flags, ..BuildOptions::default() }
}

/// All outputs of a machine for these packets, given in two lots so that numbering goes on.
pub fn outputs(machine: &mut dyn Execute, packets: &[Packet]) -> Vec<Sent> {
    let mut sent = Vec::new();
    let (first, second) = packets.split_at(packets.len() / 3);
    for lot in [first, second] {
        machine.execute(lot, &mut |output: Output<'_>| {
            sent.push(Sent {
                sequence: output.sequence,
                arrival_ns: output.arrival_ns,
                ingress: output.ingress,
                verdict: output.verdict,
                bytes: output.bytes.to_vec(),
            });
        });
    }
    sent
}

/// The state of every offload, by path.
pub fn rows(store: &Store) -> Vec<(String, Vec<Row>)> {
    store
        .paths()
        .into_iter()
        .map(|path| {
            let slot = store.find(&path).expect("a path of the store");
            let Content::Kind { instance, .. } = &slot.content else { unreachable!("paths name kinds") };
            (path, instance.rows())
        })
        .collect()
}

/// Asserts that native does what golden does, outputs and state, for each program. `load` fills the tables.
pub fn agree(programs: &[Program], packets: &[Packet], load: &dyn Fn(&mut Store)) {
    for program in programs {
        if let Err(problems) = verify(program) {
            panic!("{}\n{}", problems[0], print(program));
        }
    }
    let libraries = Library::build_many(programs, &options()).unwrap_or_else(|e| panic!("{e}"));
    for (program, library) in programs.iter().zip(libraries) {
        let stores = [(), ()].map(|()| {
            let mut store = store(program).expect("offloads of a verified program");
            load(&mut store);
            store
        });
        let [for_golden, for_native] = stores;
        let mut golden = Golden::new(program.clone(), for_golden);
        let mut native = Native::new(library, for_native);
        let expected = outputs(&mut golden, packets);
        let got = outputs(&mut native, packets);
        for (expected, got) in expected.iter().zip(&got) {
            assert_eq!(got, expected, "native (left) against golden:\n{}", print(program));
        }
        assert_eq!(got.len(), expected.len(), "number of outputs:\n{}", print(program));
        assert_eq!(rows(native.store()), rows(golden.store()), "state:\n{}", print(program));
    }
}
