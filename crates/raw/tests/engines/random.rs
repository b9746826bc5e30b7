//! Random programs of the fuzzer.

use std::sync::Arc;

use wireloom_fuzz::campaign::case;
use wireloom_machine::{Configured, Contender, Options, Program, Registry};
use wireloom_net::{Frame, Packet};

static REGISTRY: Registry = Registry::new(&[wireloom_raw::KIND]);

fn machine(name: &str) -> Arc<dyn Configured> {
    REGISTRY.find(name).unwrap_or_else(|error| panic!("{}", error.message))
}

/// Runs the program of a seed; says why if the machine refuses it.
fn agrees(machine: &Arc<dyn Configured>, seed: u64) -> Result<(), String> {
    let (case, compiled) = case(seed);
    let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
    let program = Program { lowered: compiled.plain, optimised: compiled.optimised };
    let mut store = wireloom_ir::store(&program.optimised).expect("a store");
    case.input.load(&mut store);
    let options = Options::default();
    let mut contender =
        match Contender::new(Arc::clone(machine), &program, &store, &options, &|_| ()) {
            Ok(contender) => contender,
            Err(error) => return Err(error.message),
        };
    let frames: Vec<Frame<'_>> = case.input.packets.iter().map(Packet::frame).collect();
    let worked = contender
        .offer(&program.optimised, &frames, &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .and_then(|()| contender.compare_state(&|_| ()));
    worked.unwrap_or_else(|error| panic!("{seed}: {}\n{}", error.message, case.program.text()));
    let difference = &contender.difference;
    assert!(difference.is_none(), "{seed}: {difference:?}\n{}", case.program.text());
    Ok(())
}

#[test]
fn random_programs_do_what_they_do_on_golden() {
    let machine = machine(&std::env::var("MACHINE").unwrap_or("raw-1".into()));
    let seeds = std::env::var("SEEDS").ok();
    let seeds = seeds.and_then(|seeds| {
        let (first, last) = seeds.split_once('-')?;
        Some(first.parse().ok()?..last.parse().ok()?)
    });
    let (mut agreed, mut refused) = (0, Vec::new());
    for seed in seeds.unwrap_or(0..60) {
        match agrees(&machine, seed) {
            Ok(()) => agreed += 1,
            Err(why) => refused.push(format!("{seed}: {why}")),
        }
    }
    let says_why = |why: &&String| why.contains("no place");
    assert_eq!(refused.iter().find(|why| !says_why(why)), None);
    eprintln!("{agreed} agreed, refused were\n{}", refused.join("\n"));
    assert!(agreed > 4, "{agreed} agreed, refused were\n{}", refused.join("\n"));
}
