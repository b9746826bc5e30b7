//! Checks that counts of steps and calls equal golden's.

use std::path::Path;

use crate::support;
use crate::support::random::{packets, program};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;
use wireloom_ir::{Execute, Program, store};
use wireloom_machine::Source;
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::Packet;
use wireloom_testkit::counts_of_golden;

fn check(programs: &[Program], packets: &[Packet], load: &dyn Fn(&mut wireloom_offloads::Store)) {
    let options = BuildOptions { counts: true, ..support::options() };
    let libraries = Library::build_many(programs, &options).unwrap_or_else(|e| panic!("{e}"));
    for (program, library) in programs.iter().zip(libraries) {
        let [for_golden, for_native] = [(), ()].map(|()| {
            let mut store = store(program).expect("offloads of a verified program");
            load(&mut store);
            store
        });
        let mut native = Native::new(library, for_native);
        native.execute(packets, &mut |_| ());
        let counts = native.counts().expect("it counts");
        let expected = counts_of_golden(program, for_golden, packets, &counts);
        assert_eq!(counts, expected, "{}", wireloom_ir::print(program));
    }
}

#[test]
fn counts_of_random_engines_are_those_of_golden() {
    let programs: Vec<_> = (0..40)
        .map(|seed| {
            let mut program = program(seed);
            // Native omits calls whose replies are unused.
            for pass in ["evaluate", "dce"] {
                pipeline::run_pass(&mut program, pass, &PassOptions::default());
            }
            program
        })
        .collect();
    check(&programs, &packets(1, 150), &support::fill_tables);
}

#[test]
fn counts_of_programs_are_those_of_golden() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    for name in ["router", "nat", "flowcount", "url"] {
        let source = Source::of(root.join(format!("{name}.loom")));
        let program = source.compiled().unwrap_or_else(|e| panic!("{name}: {}", e.message));
        check(&[program.optimised], &packets(2, 400), &support::fill_tables);
    }
}

#[test]
fn a_machine_that_was_not_asked_to_count_has_no_counts() {
    let program = program(0);
    let library = Library::build(&program, &support::options()).expect("C");
    let native = Native::new(library, store(&program).expect("offloads"));
    assert_eq!(native.counts(), None);
}
