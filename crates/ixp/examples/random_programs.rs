//! Counts the random programs of the fuzzer that fit the chips, and prints why the others do not.
//!
//!     cargo run -p wireloom-ixp --example random_programs -- [--keep FOLDER] [MACHINE...]
//!
//! With `--keep`, writes the programs to a folder, for `wireloom check --on`.

use std::collections::BTreeMap;

use wireloom_fuzz::campaign::case_for_all;
use wireloom_ixp::Spec;
use wireloom_machine::{Configured, Program};

/// The seeds of the programs.
const SEEDS: std::ops::Range<u64> = 100..172;

fn main() {
    let mut machines: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = machines.iter().position(|argument| argument == "--keep") {
        machines.remove(at);
        let folder = std::path::PathBuf::from(machines.remove(at));
        for seed in SEEDS {
            let file = folder.join(format!("{seed}.loom"));
            std::fs::write(file, case_for_all(seed).0.program.text()).expect("the folder is there");
        }
    }
    if machines.is_empty() {
        machines = ["ixp1200", "ixp2400"].map(str::to_owned).into();
    }
    for name in machines {
        let machine = Spec::installed(&name).unwrap_or_else(|why| panic!("{why}"));
        let mut refused: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for seed in SEEDS {
            let Ok(compiled) = case_for_all(seed).1 else { continue };
            let program = Program { lowered: compiled.plain, optimised: compiled.optimised };
            let why = machine.refusals(&program);
            if !why.is_empty() {
                refused.insert(seed, why.into_iter().map(|refusal| refusal.message).collect());
            }
        }
        println!("{name}: {} of {} random programs are refused", refused.len(), SEEDS.count());
        for (seed, why) in refused {
            println!("  {seed}: {}", why.join("; "));
        }
    }
}
