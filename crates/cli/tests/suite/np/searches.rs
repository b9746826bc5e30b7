//! Pattern search in packets.

use super::*;

/// Returns random packets of a few letters, with lengths near the lengths of a header window and of
/// beats.
fn letters(count: usize) -> Vec<u8> {
    drawn(9, count, |draw| {
        let lengths = [5, 7, 20, 60, 64, 65, 127, 128, 129, 140, 191, 192, 200, 900 + draw(600)];
        let length = lengths[draw(lengths.len() as u64) as usize];
        let mut bytes: Vec<u8> = (0..length).map(|_| b"abcdefgh"[draw(8) as usize]).collect();
        // The beginning of the range, its length, and the other operations.
        let command: Vec<u8> = (0..5).map(|_| draw(256) as u8).collect();
        let told = bytes.len().min(5);
        bytes[..told].copy_from_slice(&command[..told]);
        bytes[0] &= if draw(2) == 0 { 0xf8 } else { 0xff };
        bytes
    })
}

const TABLES: &[u8] = b"table patterns\n\"abc\" port=1\n\"abcdef\" port=2 weight=3\n\"bcd\" port=3\n\"hh\" port=4 weight=1\n\"gfedc\" port=5\n\"a\\x00\" port=6\n";

#[test]
#[ignore = "takes long: make test-all"]
fn packets_are_searched_for_patterns_before_they_are_changed() {
    let place = Workplace::new();
    place.write("searches.loom", include_bytes!("searches.loom"));
    place.write("searches.tables", TABLES);
    place.write("letters.pcap", &letters(1000));
    place.write(
        "searches.updates",
        b"at 300\ntable patterns\n\"de\" port=6\nremove \"abc\"\nat 600\n\"hh\" port=7\n\"abc\" port=2\nat 800\nremove \"de\"\n",
    );
    let verify =
        "verify searches.loom --on native,np-1-2-2 --tables searches.tables --in letters.pcap";
    place.wireloom(verify).status(0).says(&["1,000 outputs compared", "no difference"]);
    place
        .wireloom(&format!("{verify} --updates searches.updates"))
        .status(0)
        .says(&["no difference"]);
    place
        .wireloom(&format!("{verify} --updates searches.updates --idle 30 --stall 40"))
        .status(0)
        .says(&["no difference"]);
}

#[test]
fn patterns_change_while_packets_flow() {
    let place = Workplace::new();
    place.write("searches.loom", include_bytes!("searches.loom"));
    place.write("searches.tables", TABLES);
    place.write("letters.pcap", &letters(1000));
    place.write(
        "searches.updates",
        b"at 300\ntable patterns\n\"de\" port=6\nat 301\nremove \"abc\"\n",
    );
    let ran = place.wireloom(
        "run searches.loom --on np-1-2-2 --tables searches.tables --in letters.pcap --updates searches.updates --dump patterns --json -",
    );
    let report = report(&ran);
    let updates = report["simulation"]["updates"].as_array().expect("updates");
    assert_eq!(
        updates.iter().map(|update| update["packet"].clone()).collect::<Vec<_>>(),
        [300, 301]
    );
    assert!(
        updates.iter().all(|update| update["begun"].as_u64() < update["done"].as_u64()),
        "{updates:?}"
    );
}

#[test]
fn patterns_that_the_automaton_has_no_room_for_are_refused() {
    let place = Workplace::new();
    place.write("searches.loom", include_bytes!("searches.loom"));
    place.write("searches.tables", TABLES);
    place.write(
        "small.toml",
        b"extends = \"np\"\n[offload.patterns]\nrealisation = \"automaton\"\nplace = \"pipe\"\nstates = 8\n",
    );
    let build = "build searches.loom -o np --tables searches.tables";
    place.wireloom(&format!("{build} --on small.toml")).status(2).complains(&[
        "offload `patterns` cannot be had on machine small",
        "set `states` of [offload.match]",
    ]);
    place.write(
        "odd.toml",
        b"extends = \"np\"\n[offload.patterns]\nrealisation = \"automaton\"\nplace = \"pipe\"\nclasses = 7\n",
    );
    place.wireloom(&format!("{build} --on odd.toml")).status(2).complains(&["`classes` is 7"]);
    let late = String::from_utf8_lossy(include_bytes!("searches.loom"))
        .replace("kind = c.kind;", "kind = c.kind; seen.found = 1;");
    place.write("late.loom", late.as_bytes());
    place
        .wireloom("build late.loom --on np-1-1-1 -o np")
        .status(2)
        .complains(&["changed before it is searched", "search first"]);
}
