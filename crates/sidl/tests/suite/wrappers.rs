//! Generated code, compiled by its real compilers, and calls between the sides.

use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_install::tools;
use wireloom_sidl::host::{CallError, LocalBroker, Serve};
use wireloom_sidl::{Interfaces, generate, read};

/// `interfaces/lookup.rs` as users of this crate include it. A test compares it with the
/// generator's output.
#[allow(dead_code)]
mod lookup {
    include!("../interfaces/lookup.rs");
}
use lookup::{Lookup, LookupClient, LookupServer, Range, Route};

fn interfaces() -> Interfaces {
    read("lookup.sidl", include_str!("../interfaces/lookup.sidl"))
        .unwrap_or_else(|refused| panic!("{refused}"))
}

/// Checks that a file of `interfaces` equals the generated text. With WIRELOOM_WRITE_INTERFACES=1
/// it writes the file first.
fn holds(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interfaces").join(file);
    if std::env::var_os("WIRELOOM_WRITE_INTERFACES").is_some() {
        std::fs::write(&path, text).expect("the tests' folder can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} is out of date: run this test with WIRELOOM_WRITE_INTERFACES=1",
        path.display()
    );
}

#[test]
fn what_is_generated_is_what_is_kept() {
    let interfaces = interfaces();
    holds("lookup.rs", &generate::rust(&interfaces));
    holds("lookup.h", &generate::c(&interfaces));
    for (file, text) in generate::systemverilog(&interfaces) {
        holds(&file, &text);
    }
}

/// Replies with values that show that every argument has arrived.
#[derive(Default)]
struct Table {
    learnt: Vec<(u32, u8, [u8; 6], [Range; 2])>,
}

const ROUTE: Route = Route { next_hop: 0x1234_5678, kind: 9, mac: [1, 2, 3, 4, 5, 0xf6] };

impl Lookup for Table {
    fn search(&mut self, address: u32) -> Route {
        Route { next_hop: address + self.learnt.len() as u32, ..ROUTE }
    }

    fn find(&mut self, key: u64) -> (bool, Route, [u16; 3]) {
        (key > 1 << 40, ROUTE, [key as u16, (key >> 16) as u16, (key >> 32) as u16])
    }

    fn learn(&mut self, address: u32, length: u8, mac: [u8; 6], ranges: [Range; 2]) {
        self.learnt.push((address, length, mac, ranges));
    }

    fn clear(&mut self) {
        self.learnt.clear();
    }

    fn balance(&mut self, a: i8, b: i32, up: bool) -> i64 {
        let sum = i64::from(a) * i64::from(b);
        if up { sum } else { -sum }
    }
}

#[test]
fn calls_reach_an_object_and_come_back() {
    let mut broker = LocalBroker::default();
    broker.add(lookup::SERVICE_sources, LookupServer(Table::default()));
    let mut sources = LookupClient { transport: &mut broker, service: lookup::SERVICE_sources };
    let range = |low, high| Range { low, high };
    sources
        .learn(7, 24, [1, 2, 3, 4, 5, 6], [range(-1, 1), range(i16::MIN, i16::MAX)])
        .expect("a server");
    assert_eq!(sources.search(100).expect("a server").next_hop, 101);
    let found = sources.find(0x0123_4567_89ab_cdef);
    assert_eq!(found, Ok((true, ROUTE, [0xcdef, 0x89ab, 0x4567])));
    assert_eq!(sources.balance(-128, i32::MIN, true), Ok(1 << 38));
    assert_eq!(sources.balance(5, 7, false), Ok(-35));
    sources.clear().expect("a server");
    assert_eq!(sources.search(100).map(|route| route.next_hop), Ok(100));

    let mut nobody = LookupClient { transport: &mut broker, service: lookup::SERVICE_destinations };
    assert_eq!(nobody.search(1), Err(CallError::NoService(lookup::SERVICE_destinations)));
}

#[test]
fn servers_take_turns() {
    let mut broker = LocalBroker::default();
    broker.add(0, LookupServer(Table::default()));
    broker.add(0, LookupServer(Table::default()));
    let mut client = LookupClient { transport: &mut broker, service: 0 };
    client.learn(0, 0, [0; 6], [Range { low: 0, high: 0 }; 2]).expect("a server");
    let answers: Vec<u32> = (0..4).map(|_| client.search(0).expect("a server").next_hop).collect();
    assert_eq!(answers, [0, 1, 0, 1]);
}

#[test]
fn requests_that_are_none_are_refused() {
    let mut server = LookupServer(Table::default());
    assert_eq!(server.serve(0, &[1, 2]), Err(CallError::Length { wanted: 1, found: 2 }));
    assert_eq!(server.serve(9, &[]), Err(CallError::NoMethod(9)));
    assert!(server.0.learnt.is_empty());
}

/// Compiles C files and returns the path of the program.
fn compiled(compiler: &str, flags: &[&str], sources: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interfaces");
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lookup-{compiler}"));
    let result = Command::new(compiler)
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-I"])
        .arg(&folder)
        .args(flags)
        .args(sources.iter().map(|source| folder.join(source)))
        .arg("-o")
        .arg(&output)
        .output()
        .unwrap_or_else(|error| {
            panic!("'{compiler}' cannot be started ({error}): run `make tools`")
        });
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    output
}

#[test]
fn both_cross_compilers_take_the_c() {
    compiled(
        "arm-none-eabi-gcc",
        &["-march=armv4", "-marm", "-ffreestanding", "-c"],
        &["loopback.c"],
    );
    compiled(
        "riscv64-unknown-elf-gcc",
        &["-march=rv32im", "-mabi=ilp32", "-ffreestanding", "-c"],
        &["loopback.c"],
    );
}

#[test]
fn c_and_rust_write_the_same_messages() {
    // The program makes the calls of `calls_reach_an_object_and_come_back`. It prints each message:
    // method, then request and reply.
    let program = compiled("cc", &[], &["loopback.c", "main.c"]);
    let output = Command::new(program).output().expect("the program runs");
    assert!(
        output.status.success(),
        "the program found a wrong reply: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    let text = String::from_utf8(output.stdout).expect("digits");
    let mut server = LookupServer(Table::default());
    let mut calls = 0;
    for line in text.lines() {
        let words = |part: &str| -> Vec<u32> {
            part.split_whitespace()
                .map(|word| u32::from_str_radix(word, 16).expect("a word"))
                .collect()
        };
        let (request, reply) = line.split_once(':').expect("request: reply");
        let request = words(request);
        assert_eq!(server.serve(request[0], &request[1..]), Ok(words(reply)), "{line}");
        calls += 1;
    }
    assert_eq!(calls, 7);
}

#[test]
fn a_hardware_element_gets_its_requests_and_replies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interfaces");
    let verilator = || tools::verilator().unwrap_or_else(|message| panic!("{message}"));
    for module in ["Lookup_server", "Output_server"] {
        let mut lint = verilator();
        // The file holds the package as well as the module.
        lint.args(["--lint-only", "-Wall", "-Wno-DECLFILENAME"])
            .arg(folder.join(module).with_extension("sv"));
        passes(&mut lint);
    }
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lookup_tb");
    let mut bench = verilator();
    bench
        .args(["--binary", "--timing", "-CFLAGS", "-O0", "--top-module", "lookup_tb", "--Mdir"])
        .arg(&build);
    passes(bench.arg(folder.join("Lookup_server.sv")).arg(folder.join("lookup_tb.sv")));
    let told = passes(
        Command::new(build.join("Vlookup_tb"))
            .args(["+verilator+seed+1", "+verilator+rand+reset+2"]),
    );
    assert!(told.contains("passed"), "{told}");
}

/// Runs a command that must succeed, and returns its output.
fn passes(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {told}");
    told
}
