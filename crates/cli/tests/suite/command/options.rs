//! Options without effect are rejected, with the option's name.

use super::*;

#[test]
fn options_of_simulations_want_a_machine_that_is_simulated() {
    let place = Workplace::new();
    for option in
        ["--rate 10", "--rate max", "--buffer 64", "--idle 0", "--stall 5", "--waves w.fst"]
    {
        let name = option.split(' ').next().expect("a word");
        for command in ["run hub.loom --on golden", "run hub.loom", "verify hub.loom --on native"] {
            let ran = place.wireloom(&format!("{command} --in three.pcap --json r.json {option}"));
            ran.status(2).complains(&[name, "has no effect on", "leave out"]);
        }
    }
    assert_eq!(place.files(), INPUTS);
}

#[test]
fn golden_is_not_compared_with_itself() {
    let ran = Workplace::new().wireloom("verify hub.loom --in three.pcap --on native,golden");
    ran.status(2).complains(&["machines are compared with it"]);
}

#[test]
fn a_run_of_which_nothing_counts_is_refused() {
    let place = Workplace::new();
    let ran = place.wireloom("run hub.loom --in three.pcap --on mpsoc-oc48 --warm 3 --json r.json");
    ran.status(2).complains(&["--warm 3: 3 packets got through", "none counts"]);
    assert_eq!(place.files(), INPUTS);
    place.wireloom("run hub.loom --in three.pcap --on mpsoc-oc48 --warm 2").status(0);
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
        place
            .wireloom(&format!("build hub.loom {words} -o made"))
            .status(2)
            .complains(&[complaint]);
        assert_eq!(place.files(), INPUTS, "{words}");
    }
}

#[test]
fn a_benchmark_takes_samples_of_machines_that_it_has() {
    let place = Workplace::new();
    for (words, complaints) in [
        ("check --runs 0", &["--runs"][..]),
        ("check --on np-2-2-4", &["check has no machine to choose"]),
        ("np-storage --on np-2-2-4", &["np-storage has no machine to choose"]),
        ("np-threads --on np-2-2-4", &["does not have 'np-2-2-4'", "np-8-2-1, np-8-2-2"]),
        ("np-area --on np-1-1-1", &["does not have 'np-1-1-1'", "np-8-4-1"]),
        ("np-rig --on np-1-1-1", &["np-rig, np-rig-small, np-rig-pipeline"]),
        ("np-virtual --on 9.9.9", &["8.1.1, 1.8.1"]),
        ("np-arbitration --on np-1-1-1 --on np-2-2-4", &["give --on once"]),
        ("np-million --on native", &["no network processor is called 'native'"]),
        ("all --on np-16-6-4", &["check has no machine to choose"]),
    ] {
        place.wireloom(&format!("bench {words}")).status(2).complains(complaints);
    }
}

#[test]
fn errors_name_what_is_accepted_where_they_arise() {
    let place = Workplace::new();
    for words in
        ["np search hub.loom --in three.pcap --rate 1 --like native", "np rig hub.loom --on native"]
    {
        let ran = place.wireloom(words);
        ran.status(2).complains(&["no network processor is called 'native'", "np-C-E-T"]);
        assert!(!ran.err.contains("golden"), "{}", ran.err);
    }
    place.wireloom("explain hub.loom --ports 0,1").status(2).complains(&["each at least 1"]);
}

#[test]
fn benchmarks_that_fail_do_not_stop_the_others_and_end_with_status_1() {
    let place = Workplace::new();
    // Only the router is available: no tables, no data.
    let programs = repository().join("programs").canonicalize().expect("programs/");
    std::os::unix::fs::symlink(programs, place.path("programs")).expect("a link");
    let ran = place.wireloom("bench golden-ipv4 check --runs 1 --json bench.json");
    ran.status(1).says(&["check"]).complains(&["golden-ipv4: cannot be measured", "make data"]);
    let report: serde_json::Value =
        serde_json::from_slice(&place.read("bench.json")).expect("JSON");
    assert_eq!(report["failed"][0]["name"], "golden-ipv4");
    assert_eq!(report["measurements"][0]["name"], "check");
    place.wireloom("bench golden-ipv4 --runs 1").status(2).complains(&["make data"]);
}
