//! Programs in the Linux kernel: programs that `check` accepts can be loaded, and agree with
//! golden.

#![cfg(target_os = "linux")]

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use wireloom_fuzz::campaign::case_of;
use wireloom_fuzz::generate::Uses;
use wireloom_fuzz::input::Input;
use wireloom_lang::{check_source, render};
use wireloom_machine::{Configured, Contender, Options, Program, Wanted, golden};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::kinds::exact;
use wireloom_offloads::{Content, Store};
use wireloom_testkit::counts_of_golden;

/// Returns the machine, if this computer has all that it needs.
fn machine() -> Option<Arc<dyn Configured>> {
    let machine = wireloom_xdp::KIND.find("xdp").expect("no description").expect("its own name");
    let program = compiled("engine e() { step s { finish; } }");
    match machine.try_out(&program, &|_| ()) {
        Err(error) if error.needs_tool => {
            eprintln!("warning: not tested: {}", error.message);
            None
        }
        tried => {
            tried.unwrap_or_else(|error| panic!("{}", error.message));
            Some(machine)
        }
    }
}

fn compiled(text: &str) -> Program {
    let checked = check_source("kernel.loom", text, &Default::default());
    let errors = || render(&checked.diagnostics, &checked.sources, false);
    Program::new(checked.program.as_ref().unwrap_or_else(|| panic!("{}\n{text}", errors())))
}

fn empty(program: &Program) -> Store {
    wireloom_ir::store(&program.optimised).expect("a store")
}

fn frames(packets: &[Packet]) -> Vec<Frame<'_>> {
    packets.iter().map(Packet::frame).collect()
}

/// Compares the machine with golden: packets, verdicts and state. The error is the difference.
fn agrees(
    machine: &Arc<dyn Configured>,
    program: &Program,
    store: &Store,
    packets: &[Packet],
) -> Result<(), String> {
    let options = Options::default();
    let contender = Contender::new(Arc::clone(machine), program, store, &options, &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    let worked = contender
        .offer(&program.optimised, &frames(packets), &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .and_then(|()| contender.compare_state(&|_| ()));
    worked.unwrap_or_else(|error| panic!("{}", error.message));
    contender.difference.map_or(Ok(()), |difference| Err(format!("{difference:?}")))
}

/// A random program that fits the kernel, and packets for it.
struct Case {
    program: Program,
    input: Input,
    text: String,
}

impl Case {
    fn of(seed: u64) -> Self {
        let kinds = vec!["lpm", "exact", "array", "counter", "clock", "random"];
        let (case, compiled) =
            case_of(seed, Uses { kinds, engines: false, copies: false, in_software: false });
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let program = Program { lowered: compiled.plain, optimised: compiled.optimised };
        Self { program, input: case.input, text: case.program.text() }
    }

    fn store(&self) -> Store {
        let mut store = empty(&self.program);
        self.input.load(&mut store);
        store
    }
}

#[test]
fn counts_in_the_kernel_are_those_of_golden() {
    let Some(machine) = machine() else { return };
    let mut counted = 0;
    for case in (100..106).map(Case::of) {
        let started = machine.start(&case.program, case.store(), &Options::default(), &|_| ());
        let Ok(mut running) = started else { continue };
        running.offer(&frames(&case.input.packets), &mut |_| ()).expect("packets are executed");
        let counts = running.counts().expect("it counts");
        let program = &case.program.optimised;
        let expected = counts_of_golden(program, case.store(), &case.input.packets, &counts);
        assert_eq!(counts, expected, "{}", case.text);
        counted += 1;
    }
    assert!(counted > 3, "{counted} programs are supported");
}

#[test]
fn what_check_accepts_does_in_the_kernel_what_it_does_on_golden() {
    accepted_programs_run(200..208);
}

#[test]
#[ignore = "compiles and verifies many programs: make test-all"]
fn more_that_check_accepts_does_in_the_kernel_what_it_does_on_golden() {
    accepted_programs_run(208..700);
}

/// Runs the programs of these seeds that `check` accepts. It tries out all programs without
/// refusals, and rejects few of them, each with its step.
fn accepted_programs_run(seeds: Range<u64>) {
    let Some(machine) = machine() else { return };
    let count = seeds.end - seeds.start;
    let (mut agreed, mut too_much) = (0, Vec::new());
    for seed in seeds {
        let case = Case::of(seed);
        if !machine.refusals(&case.program).is_empty() {
            continue;
        }
        match machine.try_out(&case.program, &|_| ()) {
            Ok(()) => {
                let agrees = agrees(&machine, &case.program, &case.store(), &case.input.packets);
                agrees.unwrap_or_else(|why| panic!("{seed}: {why}\n{}", case.text));
                agreed += 1;
            }
            Err(error) => {
                assert!(error.step.is_some(), "{seed}: {}\n{}", error.message, case.text);
                too_much.push(format!("{seed}: {}", error.message));
            }
        }
    }
    assert!(agreed as u64 * 2 > count, "{agreed} of {count} agreed");
    assert!(too_much.len() * 20 <= agreed, "{}", too_much.join("\n"));
}

/// The verifier follows the loop that removes expired entries, for any table.
#[test]
fn tables_of_every_size_and_age_load() {
    let Some(machine) = machine() else { return };
    for method in ["insert", "accumulate"] {
        let tables = [1, 3, 64, 4096]
            .into_iter()
            .flat_map(|size| [1, 9_000, 1_000_000, 60_000_000_000u64].map(|age| (size, age)));
        let (mut offloads, mut steps) = (String::new(), String::new());
        for (at, (size, age)) in tables.enumerate() {
            offloads += &format!("offload t{at} : exact<u8, u32, size = {size}, age = {age}>;\n");
            steps += &format!(
                "step s{at} {{ auto r = t{at}.{method}(ask.key[3:0], (u32)ask.value);\n\
                 ask.sum = ask.sum * 3 + r.value; next s{}; }}\n",
                at + 1
            );
        }
        let text = format!(
            "header Ask {{ u32 dst; u8 key; u24 value; u32 sum; }};\nengine tables() {{\n\
             {offloads}Ask ask @ 0;\n{steps}step s16 {{ packet.egress = 1; finish; }} }}\n"
        );
        hundred_packets_agree(&machine, &text);
    }
}

/// The compiler runs out of registers, and loads more than it stored.
#[test]
fn a_spilled_flag_is_the_flag_that_was_stored() {
    accepted_programs_run(546..547);
}

/// The compiler takes `x << n | x` for a product, and calls a library for one of 128 bits.
#[test]
fn values_beside_themselves_are_no_products() {
    let Some(machine) = machine() else { return };
    let expressions = [
        "concat(x, x)",
        "concat(x, x[7:0], x[7:0])",
        "concat(x[39:0], x[39:0], x[39:0])",
        "concat(x[0], (u126)0, x[0])",
        "((u128)x << 64) + (u128)x",
        "((u128)x << 64) - (u128)x",
        "((u128)x << 3) + ((u128)x << 63) + (u128)x",
        "concat(x, x, x, x)[140:13]",
    ];
    let steps: String = (0..)
        .zip(expressions)
        .map(|(at, value)| format!("ask.sum = (ask.sum ^ (u128)({value})) + {at};\n"))
        .collect();
    let text = format!(
        "header Ask {{ u64 x; u128 sum; }};\nengine e() {{ Ask ask @ 0;\n\
         step s {{ u64 x = ask.x;\n{steps} packet.egress = 0; finish; }} }}\n"
    );
    hundred_packets_agree(&machine, &text);
}

/// Fails unless a program does with a hundred packets in the kernel what it does on golden.
fn hundred_packets_agree(machine: &Arc<dyn Configured>, text: &str) {
    let program = compiled(text);
    assert_eq!(machine.refusals(&program), []);
    let packets: Vec<Packet> = (0..100u32)
        .map(|number| Packet {
            ingress: 0,
            arrival_ns: u64::from(number) * 500,
            bytes: (0..60 + number % 5 * 35).map(|at| (number * 7 + at * 29) as u8).collect(),
        })
        .collect();
    agrees(machine, &program, &empty(&program), &packets).unwrap_or_else(|why| panic!("{why}"));
}

/// The values of many wide operations do not fit the stack. Only the compiler can detect this.
#[test]
fn a_step_that_the_compiler_refuses_is_named() {
    let Some(machine) = machine() else { return };
    let program = compiled(include_str!("../wide.loom"));
    assert_eq!(machine.refusals(&program), []);
    let error = machine.try_out(&program, &|_| ()).expect_err("it does not fit the stack");
    assert_eq!(error.step.as_deref(), Some("go"), "{}", error.message);
    assert!(
        error.message.contains("step `go`") && error.message.contains("512 bytes"),
        "{}",
        error.message
    );
}

/// Expired entries stay in the kernel's map until a packet meets them.
#[test]
fn entries_that_have_expired_are_in_no_report_and_no_snapshot() {
    let Some(machine) = machine() else { return };
    let program = compiled(
        "header Ask { u8 key; };
         engine ages() {
             offload seen : exact<u8, u8, size = 64, age = 1000>;
             Ask ask @ 0;
             step s { seen.insert(ask.key, 7); packet.egress = 0; finish; }
         }",
    );
    let packet = |(key, arrival_ns)| Packet { ingress: 0, arrival_ns, bytes: vec![key; 64] };
    let times = [(1, 0), (2, 100), (3, 200), (4, 5_000), (5, 5_900), (6, 6_100)];
    let packets = times.map(packet);
    agrees(&machine, &program, &empty(&program), &packets).unwrap_or_else(|why| panic!("{why}"));
    let states = [golden::machine(), machine].map(|machine| {
        let started = machine.start(&program, empty(&program), &Options::default(), &|_| ());
        let mut running = started.unwrap_or_else(|error| panic!("{}", error.message));
        running.offer(&frames(&packets), &mut |_| ()).expect("packets are executed");
        running.finish(&mut |_| ()).expect("packets are executed");
        running.read_back(Wanted::All, &|_| ()).expect("the map is read");
        let reported = table(running.store());
        assert_eq!(table(running.snapshot().expect("a snapshot").store()), reported);
        reported
    });
    assert_eq!(states[0], states[1]);
    assert_eq!(states[0].ageing.len(), 2, "{:?}", states[0]);
}

/// Returns the entries of the table `seen`.
fn table(store: &Store) -> exact::State {
    let Content::Kind { instance, .. } = &store.find("seen").expect("a table").content else {
        panic!("it is an engine")
    };
    let instance: &dyn Any = instance.as_ref();
    instance.downcast_ref::<exact::Exact>().expect("an exact table").state()
}
