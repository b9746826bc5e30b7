//! Simulated multiprocessors, and wrappers for the objects on them.

use super::*;

#[test]
fn simulated_processors_do_what_golden_does() {
    let place = Workplace::new();
    for (name, set) in [("arm.toml", "armv4"), ("riscv.toml", "rv32im")] {
        let description = format!(
            "extends = \"mpsoc-oc48\"\nprocessors = 2\nthreads = 4\n[processor]\ninstruction_set = \"{set}\"\n"
        );
        place.write(name, description.as_bytes());
        let verified = place.wireloom(&format!("verify hub.loom --on {name} --in three.pcap --json r.json"));
        verified.status(0);
        let report: serde_json::Value = serde_json::from_slice(&place.read("r.json")).expect("JSON");
        let text = report.to_string();
        assert!(text.contains("instructions_a_packet"), "{text}");
    }
    let buffered = place.wireloom("run hub.loom --on mpsoc-oc48 --in three.pcap --buffer 9");
    buffered.status(2).complains(&["--buffer", "simulated hardware", "mpsoc-oc48"]);
}

#[test]
fn sidl_writes_wrappers_and_refuses_what_is_no_interface() {
    let place = Workplace::new();
    place.write("lookup.sidl", b"interface Lookup { u32 search(u32 address); };\nservice routes : Lookup;\n");
    place.wireloom("sidl lookup.sidl -o wrappers").status(0).says(&[
        "lookup.h",
        "lookup.rs",
        "Lookup_server.sv",
    ]);
    let header = String::from_utf8(place.read("wrappers/lookup.h")).expect("text");
    assert!(header.contains("Lookup_search") && header.contains("SERVICE_routes"), "{header}");
    place.write("wrong.sidl", b"interface Lookup { u32 search(u33 address); };\n");
    place.wireloom("sidl wrong.sidl -o other").status(2).complains(&[
        "wrong.sidl:1:",
        "no type `u33`",
        "types are",
    ]);
    place.wireloom("sidl nowhere.sidl -o other").status(2).complains(&["nowhere.sidl"]);
    assert!(!place.path("other").exists(), "nothing is written");
}
