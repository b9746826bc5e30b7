//! Checks that random programs, and programs that once failed, have the same results on every
//! machine, and that the fuzzer detects differences.

use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_fuzz::campaign::{self, Campaign, case};
use wireloom_fuzz::compare::{Compiled, Failure, FailureKind, compile, run, run_batch};
use wireloom_fuzz::crash;
use wireloom_fuzz::input::Input;
use wireloom_fuzz::regression;
use wireloom_fuzz::shrink::shrink;
use wireloom_ir::{BinaryOp, OpKind, Program, UnaryOp};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions")
}

/// The number of random programs in `make test`, and the further ones in `make test-all`.
const PROGRAMS: u64 = 80;
const MANY_PROGRAMS: u64 = 10_000;

#[test]
fn random_programs_agree_on_every_machine() {
    agree(0, PROGRAMS / 2);
}

#[test]
fn more_random_programs_agree_on_every_machine() {
    agree(PROGRAMS / 2, PROGRAMS / 2);
}

/// Divides the further programs among tests, each of which takes minutes.
macro_rules! parts {
    ($($name:ident)*) => {
        const PARTS: [&str; 10] = [$(stringify!($name)),*];
        $(
            #[test]
            #[ignore = "takes minutes: make test-all"]
            fn $name() {
                let part = PARTS.iter().position(|name| *name == stringify!($name));
                let programs = MANY_PROGRAMS / PARTS.len() as u64;
                agree(PROGRAMS + part.expect("a part") as u64 * programs, programs);
            }
        )*
    };
}

parts! {
    many_programs_agree_1 many_programs_agree_2 many_programs_agree_3 many_programs_agree_4
    many_programs_agree_5 many_programs_agree_6 many_programs_agree_7 many_programs_agree_8
    many_programs_agree_9 many_programs_agree_10
}

#[test]
fn the_readme_says_how_many_programs_are_tried() {
    let readme = std::fs::read_to_string(folder().join("../../../../README.md")).expect("a page");
    let thousands = format!("{},{:03}", MANY_PROGRAMS / 1000, MANY_PROGRAMS % 1000);
    let said = format!("{PROGRAMS} in `make test`, {thousands} in `make test-all`");
    assert!(readme.contains(&said), "README.md does not say \"{said}\"");
}

/// Runs `programs` programs from the seed `seed` on.
fn agree(seed: u64, programs: u64) {
    let campaign = Campaign { seed, programs, until: None, keep: &folder(), progress: &|_| {} };
    let (done, found) = campaign::run(&campaign);
    if let Some(found) = found {
        let (name, failure) = (found.name, found.failure);
        panic!("tests/regressions/{name}.loom: {:?}\n{}", failure.kind, failure.details);
    }
    assert_eq!(done, programs);
}

#[test]
fn programs_that_once_failed_do_not() {
    let entries = std::fs::read_dir(folder()).expect("the folder is there");
    let mut programs: Vec<_> =
        entries.map(|entry| entry.expect("it can be listed").path()).collect();
    programs.retain(|path| path.extension().is_some_and(|e| e == "loom"));
    programs.sort();
    for path in programs {
        let (source, input) = regression::load(&path).unwrap_or_else(|why| panic!("{why}"));
        if let Err(failure) = run(&source, &input, true) {
            panic!("{}: {:?}\n{}", path.display(), failure.kind, failure.details);
        }
    }
}

#[test]
fn a_seed_gives_the_same_case_every_time() {
    for seed in 0..20 {
        let ((a, _), (b, _)) = (case(seed), case(seed));
        assert_eq!((a.program.text(), &a.input), (b.program.text(), &b.input));
    }
    assert_ne!(case(1).0.program.text(), case(2).0.program.text());
}

#[test]
fn a_structure_wider_than_a_number_is_no_cast_of_one() {
    let (made, compiled) = case(9_300_059);
    assert!(compiled.is_ok(), "{}", made.program.text());
}

/// Replaces the program's operator number `at` by another one. Returns `false` if there is none.
fn break_operator(program: &mut Program, mut at: usize) -> bool {
    let mut done = false;
    let steps = program.engines.iter_mut().flat_map(|e| &mut e.steps);
    for block in steps.flat_map(|s| s.code.blocks_mut()) {
        block.for_each_op_mut(&mut |op| {
            let (OpKind::Binary(..) | OpKind::Unary(..)) = &op.kind else { return };
            if at == 0 && !done {
                done = true;
                match &mut op.kind {
                    OpKind::Binary(binary, ..) => *binary = other_binary(*binary),
                    OpKind::Unary(unary, _) => {
                        *unary = match *unary {
                            UnaryOp::Not => UnaryOp::Neg,
                            UnaryOp::Neg => UnaryOp::Not,
                            UnaryOp::Popcount => UnaryOp::Clz,
                            UnaryOp::Clz => UnaryOp::Popcount,
                        };
                    }
                    _ => {}
                }
            }
            at = at.saturating_sub(1);
        });
    }
    done
}

/// Returns another operator with operands and results of the same widths.
fn other_binary(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Add => BinaryOp::Sub,
        BinaryOp::Sub | BinaryOp::Mul => BinaryOp::Add,
        BinaryOp::Udiv => BinaryOp::Urem,
        BinaryOp::Urem => BinaryOp::Udiv,
        BinaryOp::And => BinaryOp::Or,
        BinaryOp::Or => BinaryOp::Xor,
        BinaryOp::Xor => BinaryOp::And,
        BinaryOp::Shl => BinaryOp::Lshr,
        BinaryOp::Lshr => BinaryOp::Shl,
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        BinaryOp::Ult => BinaryOp::Ule,
        BinaryOp::Ule => BinaryOp::Ult,
        BinaryOp::Umin => BinaryOp::Umax,
        BinaryOp::Umax => BinaryOp::Umin,
    }
}

/// Tests the sensitivity of the fuzzer. Each mutant has a single wrong operator that optimisation
/// could produce. With one program and two draws of packets each, the fuzzer detects a good part of
/// them. The others are not observable: the result is equal, or unused on every packet's path.
#[test]
fn wrong_operators_are_found() {
    let (mut found, mut tried) = (0, 0);
    for seed in 0..40 {
        let (case, compiled) = case(seed);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        for at in [0, 3, 9, 20] {
            let mut optimised = compiled.optimised.clone();
            if !break_operator(&mut optimised, at) {
                break;
            }
            let broken =
                Compiled { plain: compiled.plain.clone(), optimised, hardware: Vec::new() };
            tried += 1;
            let others = Input::random(&broken.plain, seed + 1_000);
            let differs = |input| match wireloom_fuzz::compare::reference(&broken, input) {
                Err(Failure { kind: FailureKind::Differs("optimised"), .. }) => true,
                Err(failure) => panic!("{:?}", failure.kind),
                Ok(_) => false,
            };
            found += u32::from(differs(&case.input) || differs(&others));
        }
    }
    assert!(tried > 100 && found * 4 > tried, "{found} of {tried}");
}

/// The logs contain what they are to find: timers that run, and changes by the control plane.
#[test]
fn timers_run_in_random_programs() {
    let (mut with_timers, mut changed) = (0, 0);
    for seed in 0..40 {
        let (case, compiled) = case(seed);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let outcome = wireloom_fuzz::compare::reference(&compiled, &case.input);
        let outcome = outcome.unwrap_or_else(|failure| panic!("{}", failure.details));
        with_timers += usize::from(outcome.of_timers() > 0);
        changed += usize::from(case.input.events.len() > 1);
    }
    assert!(with_timers >= 4 && changed > 20, "{with_timers} with timers, {changed} changed");
}

#[test]
fn what_keeps_one_program_from_running_does_not_keep_others() {
    let (case, compiled) = case(0);
    let refused =
        compile("engine e() { step s { nonsense; } }").map(|_| unreachable!("it is refused"));
    let batch = [(refused, case.input.clone()), (compiled, case.input)];
    let results = run_batch(&batch, |_| ());
    assert!(matches!(&results[0], Err(Failure { kind: FailureKind::Refused(_), .. })));
    assert_eq!(results[1], Ok(()));
}

#[test]
fn a_crash_names_its_seed() {
    const CRASHES: &str = "WIRELOOM_FUZZ_CRASHES";
    if std::env::var_os(CRASHES).is_some() {
        crash::name_seeds();
        crash::works_on(1_234_567);
        std::process::abort();
    }
    let test = ["--exact", "fuzz::a_crash_names_its_seed", "--nocapture"];
    let mut itself = Command::new(std::env::current_exe().expect("a file"));
    let output = itself.args(test).env(CRASHES, "1").output().expect("it can be run");
    assert_eq!(output.status.code(), None, "a signal ends it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("native code crashed in the program of seed 1234567"), "{said}");
}

/// Shrinks an artificial failure: the program inserts bytes and one of the packets contains 0xff.
#[test]
fn failing_programs_become_small() {
    let fails = |case: &wireloom_fuzz::shrink::Case| {
        let text = case.program.text();
        let compiled = compile(&text);
        let packet = case.input.packets.iter().any(|p| p.bytes.contains(&0xff));
        if compiled.is_ok() && text.contains("packet.insert(") && packet {
            return Err(Failure { kind: FailureKind::Build, details: String::new() });
        }
        Ok(())
    };
    let case =
        (0..).map(|seed| case(seed).0).find(|case| fails(case).is_err()).expect("there are many");
    let before = case.program.text().lines().count();
    let failure = fails(&case).expect_err("it was chosen so");
    let (small, _) = shrink(case, failure, 3_000, fails);
    let text = small.program.text();
    assert!(text.lines().count() <= 12, "{before} lines became\n{text}");
    assert_eq!(small.input.packets.len(), 1, "one packet is enough");
    assert!(small.input.entries.is_empty(), "no entry is needed");
}
