//! Random programs of the fuzzer.

use std::sync::Arc;

use wireloom_fuzz::campaign::case_for_all;
use wireloom_machine::{Configured, Contender, Options, Program, Registry};
use wireloom_net::{Frame, Packet};

static REGISTRY: Registry = Registry::new(&[wireloom_raw::KIND]);

fn machine(name: &str) -> Arc<dyn Configured> {
    REGISTRY.find(name).unwrap_or_else(|error| panic!("{}", error.message))
}

/// Runs the program of a seed. Returns the reason if the machine refuses it.
fn agrees(machine: &Arc<dyn Configured>, seed: u64) -> Result<(), String> {
    let (case, compiled) = case_for_all(seed);
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

/// Runs programs of seeds. At most one in `one_in` may be refused.
fn all_agree(name: &str, seeds: std::ops::Range<u64>, one_in: usize) {
    all_agree_on(&machine(name), seeds, one_in);
}

fn all_agree_on(machine: &Arc<dyn Configured>, seeds: std::ops::Range<u64>, one_in: usize) {
    let all = seeds.clone().count();
    let refused: Vec<String> = seeds
        .filter_map(|seed| agrees(machine, seed).err().map(|why| format!("{seed}: {why}")))
        .collect();
    let is_refusal = |why: &String| {
        [
            "not fit",
            "on several tiles",
            "owner does not support",
            "`mapping.state_owner`",
            "`mapping.rest`",
            "`mapping.cards`",
            "only keys of up to",
        ]
        .iter()
        .any(|key| why.contains(key))
    };
    assert_eq!(refused.iter().find(|why| !is_refusal(why)), None);
    assert!(one_in * refused.len() < all, "of {all} were refused\n{}", refused.join("\n"));
}

#[test]
fn random_programs_do_on_a_tile_what_they_do_on_golden() {
    all_agree("raw-1", 100..110, 8);
}

#[test]
fn random_programs_do_on_three_tiles_what_they_do_on_golden() {
    all_agree("raw-3", 30..40, 8);
}

#[test]
fn random_programs_do_over_the_general_network_what_they_do_on_golden() {
    let mapping = "[mapping]\nlinks = \"general\"\noutputs = \"egress\"\nchains = [[[0, 0], [1, 0], [2, 0]]]\n\
                   replicas = [1, 1, 1]\n";
    let machine = super::mapping::machine(mapping).unwrap_or_else(|error| panic!("{error}"));
    all_agree_on(&machine, 50..54, 3);
}

#[test]
fn random_programs_do_on_chains_that_share_a_line_card_what_they_do_on_golden() {
    // State has an owner. Programs that park a packet, or continue after sending one, are refused.
    let mapping = "[mapping]\noutputs = \"egress\"\ncards = [0]\nstate_owner = [3, 3]\nchains = [[[0, 0], [1, 0], [2, 0]], \
                   [[0, 1], [1, 1], [2, 1]], [[0, 2], [1, 2], [2, 2]]]\n";
    let machine = super::mapping::machine(mapping).unwrap_or_else(|error| panic!("{error}"));
    all_agree_on(&machine, 304..310, 2);
}

#[test]
fn random_programs_with_state_do_on_all_tiles_what_they_do_on_golden() {
    // Programs that park packets are refused there.
    all_agree("raw-rows", 76..84, 2);
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn more_random_programs_do_on_tiles_what_they_do_on_golden() {
    for (name, seeds, one_in) in
        [("raw-1", 110..160, 8), ("raw-3", 40..75, 8), ("raw-rows", 400..440, 2)]
    {
        all_agree(name, seeds, one_in);
    }
}

#[test]
fn random_programs_do_with_heads_of_packets_what_they_do_with_all_of_them() {
    // The heads are as long as the programs reach. Programs that keep, append or search packets are
    // refused.
    let rest = "[mapping.rest]\nkeep = \"card\"\nwords = 1\npackets = 3\n";
    let streams = "[mapping.rest]\nkeep = \"memory\"\nwords = 1\npackets = 3\nmemories = [[0, 2]]\n\
                   network = \"static\"\nprotocol = \"stream\"\n";
    for (mapping, rest, seeds) in [
        ("[mapping]\nchains = [[[0, 0]]]\n", rest, 203..205),
        ("[mapping]\nchains = [[[0, 0], [1, 0], [2, 0]]]\n", rest, 230..232),
        ("[mapping]\nchains = [[[0, 0], [1, 0], [2, 0]]]\n", streams, 234..237),
    ] {
        let machine = super::mapping::machine(&format!("{mapping}{rest}"));
        all_agree_on(&machine.unwrap_or_else(|error| panic!("{error}")), seeds, 1);
    }
}
