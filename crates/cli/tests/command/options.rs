//! Options that would change nothing where they stand are refused, with the option's name.

use super::*;

#[test]
fn options_of_simulations_want_a_machine_that_is_simulated() {
    let place = Workplace::new();
    for option in ["--rate 10", "--rate max", "--buffer 64", "--idle 0", "--stall 5", "--waves w.fst"] {
        let name = option.split(' ').next().expect("a word");
        for command in ["run hub.loom --on golden", "run hub.loom", "verify hub.loom --on native,golden"] {
            let ran = place.wireloom(&format!("{command} --in three.pcap --json r.json {option}"));
            ran.status(2).complains(&[name, "simulated", "leave out"]);
        }
    }
    assert_eq!(place.files(), INPUTS);
}

#[test]
fn options_of_the_test_bench_want_one() {
    let place = Workplace::new();
    for (words, complaint) in [
        ("--on native --packets 3", "--packets"),
        ("--on native --in three.pcap", "--in"),
        ("--on np-1-1-1 --rig --packets 3", "--packets"),
        ("--on np-1-1-1 --rig --in three.pcap", "--in"),
    ] {
        place.wireloom(&format!("build hub.loom {words} -o made")).status(2).complains(&[complaint]);
        assert_eq!(place.files(), INPUTS, "{words}");
    }
}

#[test]
fn errors_name_what_is_accepted_where_they_arise() {
    let place = Workplace::new();
    for words in ["search hub.loom --in three.pcap --rate 1 --like native", "rig hub.loom --on native"] {
        let ran = place.wireloom(words);
        ran.status(2).complains(&["no network processor is called 'native'", "np-C-E-T"]);
        assert!(!ran.err.contains("golden"), "{}", ran.err);
    }
    place.wireloom("explain hub.loom --ports 0,1").status(2).complains(&["each at least 1"]);
}
