//! The output folder of `build`.

use serde_json::{Value, json};

use super::*;

fn map(place: &Workplace) -> Value {
    serde_json::from_slice(&place.read("np/memory_map.json")).expect("JSON")
}

/// Returns the targets of an offload; the statistics for an offload without one.
fn targets<'a>(map: &'a Value, offload: &str) -> Vec<&'a Value> {
    let targets = map["targets"].as_array().expect("a list").iter();
    targets.filter(|target| target["offload"].as_str().unwrap_or_default() == offload).collect()
}

#[test]
fn the_memory_map_has_registers_targets_and_the_fields_of_their_entries() {
    let place = Workplace::new();
    place.write(
        "map.loom",
        b"header H { u32 a; };\n\
          struct Hop { u16 port; bool known; };\n\
          struct Flow { u48 mac; u8 class; };\n\
          engine map() {\n\
              offload routes : lpm<u32, Hop>;\n\
              offload flows : exact<u32, Flow, size = 64>;\n\
              offload seen : counter<size = 16>;\n\
              H h @ 0;\n\
              step ask {\n\
                  Hop hop = routes.search(h.a);\n\
                  seen.count(packet.ingress, packet.length);\n\
                  packet.egress = hop.port;\n\
                  next look;\n\
              }\n\
              step look { if (flows.lookup(h.a).found) packet.egress = 1; finish; }\n\
          }\n",
    );
    place.wireloom("build map.loom --on np-1-1-2 -o np").status(0);
    let map = map(&place);
    let register = |name: &str| {
        let mut registers = map["registers"].as_array().expect("a list").iter();
        registers.find(|register| register["name"] == name).expect("a register").clone()
    };
    assert_eq!(
        (&register("COMMAND")["address"], &register("COMMAND")["access"]),
        (&json!(24), &json!("wo"))
    );
    assert_eq!(
        (&register("DATA")["address"], &register("DATA")["count"]),
        (&json!(256), &json!(4))
    );
    let field = |name: &str, offset: u32, bits: u32| json!({ "name": name, "offset": offset, "bits": bits });

    let statistics = targets(&map, "")[0];
    assert_eq!((&statistics["number"], &statistics["holds"]), (&json!(0), &json!("statistics")));
    assert_eq!(statistics["entries"][0], "packets sent on lane 0");
    let [values, memory] = targets(&map, "routes")[..] else { panic!("{map}") };
    assert_eq!(values["fields"], json!([field("port", 1, 16), field("known", 0, 1)]));
    assert_eq!(
        (&values["bits"], &values["words"], &values["addresses"]),
        (&json!(17), &json!(1), &json!(16384))
    );
    assert_eq!(
        (&memory["address"], &memory["bits"], &memory["words"]),
        (&json!("burst"), &json!(36), &json!(2))
    );
    assert_eq!(memory["fields"][0], field("entry[1].leaf", 35, 1));
    assert_eq!(memory["fields"][3], field("entry[0].next", 0, 17));
    let flows = targets(&map, "flows")[0];
    let entry = [field("key", 56, 32), field("value.mac", 8, 48), field("value.class", 0, 8)];
    assert_eq!(flows["fields"], json!([&[field("remove", 88, 1)], &entry[..]].concat()));
    let flags = [field("used", 90, 1), field("live", 89, 1), field("static", 88, 1)];
    assert_eq!(flows["read"], json!([&flags[..], &entry[..]].concat()));
    let seen = targets(&map, "seen")[0];
    assert_eq!(seen["fields"], json!([field("packets", 64, 64), field("bytes", 0, 64)]));

    let readme = String::from_utf8(place.read("np/README.md")).expect("text");
    for line in [
        "| 0x018 | COMMAND | wo |",
        "| 0x100 to 0x10c | DATA | rw |",
        "| `routes`: values | pipe 0 | number of a value, below 16384 | 17 (1) | `port` 16:1, `known` 0 |",
        "| `map_engine` | 1 |",
        "| header windows of an engine, in LUT RAM | 32 | 128 | 1 | 4 |",
        "| `routes`: values | 16384 | 17 | 1 | 272 |",
        "| `flows`: entries | 64 | 91 | 1 | 6 |",
        "given again with `--area`",
    ] {
        assert!(readme.contains(line), "{line}\n{readme}");
    }
}

#[test]
fn a_folder_has_the_files_of_its_last_build_and_the_users_own() {
    let place = Workplace::new();
    place.write("other.loom", b"engine other() { step only { packet.egress = 1; finish; } }\n");
    place.wireloom("build hub.loom --on np-1-1-2 --tables hub.tables -o np").status(0);
    place.write("np/rtl/mine.sv", b"mine");
    let before = place.read("np/README.md");
    // A refused build changes nothing.
    place.wireloom("build hub.loom --on np-1-1-2 --tables other.loom -o np").status(2);
    place.wireloom("build hub.loom --on np-1-1-2 --in none.pcap -o np").status(2);
    assert_eq!(place.read("np/README.md"), before);
    // Nothing of the first program remains.
    place.wireloom("build other.loom --on np-1-1-1 -o np").status(0);
    for gone in ["rtl/hub_engine.sv", "images/ports.hex", "images"] {
        assert!(!place.path("np").join(gone).exists(), "{gone}");
    }
    assert!(!place.read("np/rtl/other_engine.sv").is_empty());
    assert_eq!(place.read("np/rtl/mine.sv"), b"mine");
    // C replaces it; a user's own file is in the way.
    place.wireloom("build hub.loom --on native -o np").status(0);
    assert!(!place.path("np/np.f").exists());
    std::fs::create_dir(place.path("own")).expect("it is new");
    place.write("own/README.md", b"mine");
    place
        .wireloom("build hub.loom --on np-1-1-2 -o own")
        .status(2)
        .complains(&["own/README.md", "-o"]);
    assert_eq!(std::fs::read_dir(place.path("own")).expect("a folder").count(), 1);
    assert_eq!(place.read("own/README.md"), b"mine");
}

#[test]
fn an_area_is_of_a_family_or_a_part() {
    let place = Workplace::new();
    let built = place.wireloom("build hub.loom --on np-1-1-1 --area=xc9 -o np");
    built.status(2).complains(&["--area", "xc9", "neither a family", "XC7VH870T"]);
    assert!(!place.path("np").exists());
}

#[test]
fn memory_channels_and_their_pins_are_told() {
    let place = Workplace::new();
    place.write(
        "routes.loom",
        b"header H { u32 a; };\n\
          engine routes() {\n\
              offload routes : lpm<u32, u16>;\n\
              H h @ 0;\n\
              step only { packet.egress = routes.search(h.a); finish; }\n\
          }\n",
    );
    let built = place.wireloom("build routes.loom --on np-1-1-1 -o np");
    built.status(0).says(&["1 memory channel, 65 pins of the FPGA to their chips\n"]);
    let channels: Value = serde_json::from_slice(&place.read("np/channels.json")).expect("JSON");
    assert_eq!((&channels["channels"], &channels["pins"]), (&json!(1), &json!(65)));
    let channel = &channels["of_lane"][0];
    assert_eq!((&channel["offload"], &channel["reads"]), (&json!("routes"), &json!(3)));
    // A program without such tables has no channels.
    place.write("other.loom", b"engine other() { step only { packet.egress = 1; finish; } }\n");
    place.wireloom("build other.loom --on np-1-1-1 -o np").status(0);
    assert!(!place.path("np/channels.json").exists());
}

#[test]
fn sections_for_no_offload_are_warned_of() {
    let place = Workplace::new();
    let section = |name: &str| {
        let text = "extends = \"np\"\nclusters = 1\nengines = 1\n[offload.NAME]\nrealisation = \"table\"\nplace = \"pipe\"\n";
        place.write("a b.toml", text.replace("NAME", name).as_bytes());
        let built = std::process::Command::new(env!("CARGO_BIN_EXE_wireloom"))
            .args(["build", "hub.loom", "--on", "a b.toml", "-o", "np"])
            .current_dir(place.path("."))
            .output();
        Ran::from(built.expect("the command starts"))
    };
    section("prots")
        .status(0)
        .complains(&["warning: machine a b: [offload.prots]", "did you mean `ports`?"]);
    section("labels_of_mine").status(0).complains(&[
        "[offload.labels_of_mine]",
        "`ports`",
        "`array`",
    ]);
    assert_eq!(section("ports").status(0).err, "");
    let core = String::from_utf8(place.read("np/np.core")).expect("text");
    assert!(core.contains("name: \"wireloom:np:hub_a_b:0.1.0\""), "{core}");
}

#[test]
fn generated_text_has_lines_of_a_hundred_columns() {
    let place = Workplace::new();
    place.wireloom("build hub.loom --on np-1-1-1 -o np").status(0);
    let long = |text: &str| -> Vec<String> {
        let is_long = |line: &&str| line.chars().count() > 100 && !line.starts_with(['|', ' ']);
        text.lines().filter(is_long).map(str::to_owned).collect()
    };
    let read = |name: &str| String::from_utf8(place.read(name)).expect("text");
    assert_eq!(long(&read("np/README.md")), Vec::<String>::new());
    for name in [
        "harness.cpp",
        "follow.h",
        "layout.h",
        "line.h",
        "lanes.h",
        "ports.h",
        "routers.h",
        "main.cpp",
    ] {
        let text = read(&format!("np/sim/{name}"));
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}");
    }
}
