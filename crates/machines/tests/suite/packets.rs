//! Runs the packet tests of the programs, `programs/tests/*.packets`, on every machine of the
//! registry; and on golden and on single processors in forms of the program that no machine
//! executes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;
use wireloom_ir::{self as ir, Execute, Golden, Output};
use wireloom_isa::{Arm, Compiled, Riscv};
use wireloom_machine::software::{InSoftware, Software};
use wireloom_machine::{Configured, Machine, Options, Program};
use wireloom_machines::REGISTRY;
use wireloom_mpsoc::program::{BuildOptions, Elements, Functional, Partition, build};
use wireloom_net::Frame;
use wireloom_offloads::Store;
use wireloom_testkit::{TestFile, Tester};

/// Makes a test of each file, so that they run in parallel and fail by name.
macro_rules! files {
    ($($name:ident)*) => {
        $(#[test] fn $name() { run(stringify!($name)); })*

        /// On machines whose models take long to build, `make test` runs only `flowcount_on_hardware`,
        /// and `make test-all` runs all. The command's tests cover the router in hardware.
        mod every_file_on_hardware {
            $(#[test] #[ignore = "builds a model: make test-all"] fn $name() {
                super::on_hardware(stringify!($name));
            })*
        }

        mod every_further_file {
            $(#[test] #[ignore = "compiles many engines: make test-all"] fn $name() {
                if super::is_further(stringify!($name)) {
                    let tests = super::read(stringify!($name));
                    super::check(stringify!($name), &tests, super::in_software(&tests));
                }
            })*
        }

        #[test]
        fn every_file_is_run() {
            let mut there: Vec<String> = std::fs::read_dir(directory())
                .expect("programs/tests")
                .filter_map(|entry| {
                    let name = entry.expect("an entry of programs/tests").file_name();
                    Some(name.to_str()?.strip_suffix(".packets")?.to_owned())
                })
                .collect();
            there.sort();
            assert_eq!(there, [$(stringify!($name)),*]);
        }
    };
}

files! {
    balancer balancer_full balancer_long balancer_seconds figure2 firewall flowcount fragment ipv4
    ipv6 md4 mpls multipath nat nat_full nat_pool nat_seconds operators reassemble responder
    responder_limit router shaper switch switch_full switch_places switch_ports switch_storm
    syncookies tunnel_gre tunnel_gre_uniform tunnel_vxlan tunnel_vxlan_full tunnel_vxlan_inherit
    unchecked_source url urlswitch urlswitch_full
}

#[test]
fn flowcount_on_hardware() {
    on_hardware("flowcount");
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/tests")
}

/// The router with some protocols behaves like the engine of those protocols.
#[test]
#[ignore = "takes long: make test-all"]
fn virtual_routers_do_what_the_engines_of_their_protocols_do() {
    let all = ["ROUTE_IPV4", "ROUTE_IPV6", "ROUTE_MPLS"];
    for (name, routed) in
        [("router", &all[..]), ("ipv4", &all[..1]), ("ipv6", &all[1..2]), ("mpls", &all[2..])]
    {
        let mut tests = read(name);
        tests.program = directory().join("../virtual.loom");
        tests.sets.extend(
            all.map(|constant| (constant.to_owned(), routed.contains(&constant).to_string())),
        );
        check(name, &tests, in_software(&tests));
    }
}

/// Returns whether a machine is ready as soon as a program is compiled. Every file always runs on
/// such machines.
fn is_quick(machine: &dyn Configured) -> bool {
    !machine.capabilities().translates
}

fn run(name: &str) {
    let tests = read(name);
    check(
        name,
        &tests,
        if is_further(name) { on_this_computer(&tests) } else { in_software(&tests) },
    );
}

/// Whether a file has further tests of a program, mostly with other constants: its name continues
/// that of another file. `make test` runs it on golden and native only.
fn is_further(name: &str) -> bool {
    let begins = name.rsplit_once('_').map(|(begin, _)| begin);
    begins.is_some_and(|begin| directory().join(format!("{begin}.packets")).exists())
}

fn on_hardware(name: &str) {
    let tests = read(name);
    let program = compiled(&tests);
    let machines = examples().filter(|machine| !is_quick(machine.as_ref()));
    check(name, &tests, machines.filter_map(|machine| on(&machine, &tests, &program)).collect());
}

fn read(name: &str) -> TestFile {
    TestFile::read(&directory().join(format!("{name}.packets")))
        .unwrap_or_else(|problem| panic!("{problem}"))
}

fn compiled(tests: &TestFile) -> Program {
    tests.source().compiled().unwrap_or_else(|error| panic!("{}", error.message))
}

fn examples() -> impl Iterator<Item = Arc<dyn Configured>> {
    REGISTRY.kinds().map(|kind| REGISTRY.find(kind.example()).expect("the example of a kind"))
}

/// Starts a machine with the program and tables of a file, if it accepts the program.
fn on(
    machine: &Arc<dyn Configured>,
    tests: &TestFile,
    program: &Program,
) -> Option<(String, Tester)> {
    if !machine.refusals(program).is_empty() {
        return None;
    }
    let store = loaded(&program.optimised, tests);
    // The router runs long, and on a model as users get it.
    let is_short = !tests.program.ends_with("router.loom");
    let options = Options { is_short, ..Options::default() };
    let started = machine.start(program, store, &options, &|_| ());
    if let Err(error) = &started
        && error.needs_tool
        && machine.kind() == "xdp"
    {
        eprintln!("warning: not tested on {}: {}", machine.name(), error.message);
        return None;
    }
    let started = started.unwrap_or_else(|error| panic!("{}: {}", machine.name(), error.message));
    Some((machine.name().to_owned(), Tester::new(started, program.lowered.reasons.clone())))
}

/// Returns golden and native.
fn on_this_computer(tests: &TestFile) -> Vec<(String, Tester)> {
    let program = compiled(tests);
    let machines = ["golden", "native"].map(|name| REGISTRY.find(name).expect("a machine"));
    machines.iter().filter_map(|machine| on(machine, tests, &program)).collect()
}

/// Returns every machine in software, and machines outside the registry.
fn in_software(tests: &TestFile) -> Vec<(String, Tester)> {
    let program = compiled(tests);
    let quick = examples().filter(|machine| is_quick(machine.as_ref()));
    let mut machines: Vec<_> = quick.filter_map(|machine| on(&machine, tests, &program)).collect();
    let for_hardware = |reads, writes| {
        let mut lowered = program.lowered.clone();
        let header = Some(HeaderPorts::new(reads, writes));
        pipeline::optimise(&mut lowered, &PassOptions::for_ports(header));
        lowered
    };
    let for_threads = wireloom_mpsoc::for_threads(program.lowered.clone());
    let golden = |program: ir::Program| -> Box<dyn Machine> {
        let store = loaded(&program, tests);
        Box::new(InSoftware::new(Golden::new(program, store)))
    };
    let mut forms = vec![
        ("golden, as lowered", golden(program.lowered.clone())),
        ("golden, for hardware with one header port to read", golden(for_hardware(1, 1))),
        ("golden, for hardware with two header ports to read", golden(for_hardware(2, 1))),
    ];
    let mpsoc = REGISTRY.find("mpsoc").expect("a machine of the registry");
    if mpsoc.refusals(&program).is_empty() {
        forms.push(("a processor of mpsoc, ARMv4", processor::<Arm>(&for_threads, tests)));
        forms.push(("a processor of mpsoc, RV32IM", processor::<Riscv>(&for_threads, tests)));
    }
    let reasons = &program.lowered.reasons;
    machines.extend(
        forms.into_iter().map(|(name, form)| (name.to_owned(), Tester::new(form, reasons.clone()))),
    );
    machines
}

/// One thread of a processor, without timing.
struct OneProcessor<S: Compiled>(Functional<S>);

impl<S: Compiled> Execute for OneProcessor<S> {
    fn offer(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>)) {
        self.0.offer(frames, sink);
    }

    fn advance_to(&mut self, time_ns: u64, sink: &mut dyn FnMut(Output<'_>)) {
        self.0.advance_to(time_ns, sink);
    }

    fn next_timer(&self) -> Option<u64> {
        self.0.next_timer()
    }
}

impl<S: Compiled> Software for OneProcessor<S> {
    fn store(&self) -> &Store {
        self.0.store()
    }

    fn store_mut(&mut self) -> &mut Store {
        self.0.store_mut()
    }
}

/// Builds the program for one thread of a processor.
fn processor<S: Compiled + 'static>(program: &ir::Program, tests: &TestFile) -> Box<dyn Machine> {
    let (whole, none) = (Partition::whole(), Elements::none());
    let built = build(program, &whole, &none, &BuildOptions::new(S::MACHINE));
    let built = built.unwrap_or_else(|error| panic!("{error}"));
    let functional = Functional::new(&built, program, &none, loaded(program, tests));
    Box::new(InSoftware::new(OneProcessor::<S>(
        functional.unwrap_or_else(|error| panic!("{error}")),
    )))
}

fn loaded(program: &ir::Program, tests: &TestFile) -> Store {
    tests.store(program).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Tests with packets that the eight lines of ixp1200 cannot bring: on another port, without bytes,
/// or longer than a line card holds.
const NOT_ON_LINES: [&str; 4] = [
    "a port that is not in the table",
    "no bytes at all",
    "labels that no longer fit 65,535 bytes",
    "the longest packet that has room for its digest, and one byte more",
];

fn check(name: &str, tests: &TestFile, machines: Vec<(String, Tester)>) {
    let mut failures = Vec::new();
    for (on, mut machine) in machines {
        for (action, difference) in machine.failures(&tests.actions) {
            let (line, test) = (action.line, &action.test);
            if on == "ixp1200" && NOT_ON_LINES.contains(&test.as_str()) {
                continue;
            }
            failures.push(format!("{name}.packets:{line}: {test}: on {on}:\n{difference}"));
        }
    }
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}
