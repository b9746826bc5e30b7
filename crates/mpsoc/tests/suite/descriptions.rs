//! Machine descriptions with arbitrary numbers: each is rejected with the key, or gives a runnable
//! machine.

use crate::support::{compiled, generated};
use toml::Value;
use wireloom_description::Description;
use wireloom_ir::{Program, store};
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_net::traffic::Spec as Traffic;
use wireloom_sim::wait_graph::Patience;
use wireloom_sim::{Rng, Time};

/// Descriptions that state keys of all kinds.
const NETWORKS: [&str; 5] = [
    "",
    "[network]\nkind = \"bus\"\nclock_mhz = 500\nwidth_bytes = 8\narbitration_cycles = 1\nlatency_cycles = 1\nqueue_messages = 4",
    "[network]\nkind = \"crossbar\"\nclock_mhz = 500\nwidth_bytes = 8\nlatency_cycles = 4\nqueue_messages = 8",
    "[network]\nkind = \"ring\"\nclock_mhz = 500\nwidth_bytes = 8\nrouter_cycles = 2\nlink_cycles = 1\nqueue_messages = 2\nslots = 2\nboth_ways = true",
    "[network]\nkind = \"mesh\"\nclock_mhz = 500\nwidth_bytes = 8\nrouter_cycles = 2\nlink_cycles = 1\nqueue_messages = 2\nslots = 2\ncolumns = 5\nrows = 5",
];

/// The base description with a network; pace, partition and elements in all numeric forms.
fn table(network: &str) -> Value {
    let text = format!(
        "extends = \"mpsoc\"\n{network}\n[io.pace]\nload = 0.5\n[element.none]\nclock_mhz = 500\ninterval_ns = 2\nplaces = 4\n[partition]\nkind = \"within-packet\"\nparts = 2\nshares = [1, 1]"
    );
    Value::Table(Description::parse("any", &text).expect("TOML").table)
}

/// The paths of all numbers in a table; entries of lists are named by their index.
fn numbers(value: &Value, path: &[String], found: &mut Vec<Vec<String>>) {
    let below = |name: String| [path, &[name]].concat();
    match value {
        Value::Integer(_) | Value::Float(_) => found.push(path.to_vec()),
        Value::Table(table) => {
            table.iter().for_each(|(name, value)| numbers(value, &below(name.clone()), found))
        }
        Value::Array(list) => (0..)
            .zip(list)
            .for_each(|(place, value)| numbers(value, &below(i32::to_string(&place)), found)),
        _ => {}
    }
}

fn set(value: &mut Value, path: &[String], new: &Value) {
    match (path, value) {
        ([], value) => *value = new.clone(),
        ([name, path @ ..], Value::Table(table)) => {
            set(table.get_mut(name).expect("it is there"), path, new);
        }
        ([place, path @ ..], Value::Array(list)) => {
            set(&mut list[place.parse::<usize>().expect("a place")], path, new);
        }
        _ => unreachable!("only tables and lists have something below"),
    }
}

fn program() -> Program {
    compiled("../crates/mpsoc/tests/engines/marked.loom")
}

/// Builds the machine and runs some packets, if possible. Returns the rejection message, if not.
fn try_out(program: &Program, packets: &[Packet], table: Value) -> Result<(), String> {
    let Value::Table(table) = table else { unreachable!("a description is a table") };
    let mut spec = Spec::build("any", Description { table, own: Vec::new() })?;
    // The program is not cut, and has no candidate for an element.
    spec.partition = Spec::base().partition;
    spec.element.clear();
    let short = Time::nanoseconds(200_000);
    let options = Options { patience: Patience { idle: short, busy: short }, ..Options::default() };
    let offloads = store(program).expect("offloads of a verified program");
    let mut engine =
        MpsocEngine::new(&spec, program, offloads, options).map_err(|error| error.to_string())?;
    engine.offer(packets.to_vec());
    // A slow machine may be reported as stuck.
    let _ = engine.run(packets.len() as u64 / 2, &mut |_| {});
    serde_json::to_string(&engine.record()).expect("a record");
    Ok(())
}

fn values() -> Vec<Value> {
    let powers = [
        0,
        1,
        2,
        3,
        5,
        7,
        16,
        24,
        65,
        1025,
        1 << 20,
        1 << 30,
        i64::from(u32::MAX),
        1 << 32,
        i64::MAX,
    ];
    let broken = [0.0, 1e-300, 0.3, 1e9, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    powers
        .into_iter()
        .chain([-1, i64::MIN])
        .map(Value::Integer)
        .chain(broken.map(Value::Float))
        .collect()
}

#[test]
fn every_number_of_a_description_is_a_machine_or_refused_with_its_key() {
    let (program, packets) =
        (program(), generated(&Traffic { count: Some(12), ..Traffic::default() }));
    let (mut good, mut refused) = (0, 0);
    for (number, network) in NETWORKS.into_iter().enumerate() {
        let table = table(network);
        let mut paths = Vec::new();
        numbers(&table, &[], &mut paths);
        assert!(paths.len() > 60, "{paths:?}");
        // All keys with the first network; with the others, only the keys of the network.
        for path in paths.iter().filter(|path| number == 0 || path[0] == "network") {
            for value in values() {
                let mut changed = table.clone();
                set(&mut changed, path, &value);
                let Err(why) = try_out(&program, &packets, changed) else {
                    good += 1;
                    continue;
                };
                refused += 1;
                // Some numbers are invalid only in combination with another key of their table.
                let [.., last] = &path[..] else { unreachable!("a path has a key") };
                let is_named =
                    why.contains(&format!("{last}`")) || why.contains(&format!("`{}", path[0]));
                assert!(is_named, "{path:?} = {value}: {why}");
            }
        }
    }
    assert!(good > 100 && refused > 500, "{good} machines, {refused} refused");
}

#[test]
fn sections_of_objects_that_name_nothing_are_told() {
    let program = compiled("router.loom");
    let times = "latency_ns = 20\ninterval_ns = 4\nports = 1\n";
    let names = ["destinations4", "lpm", "exact", "any", "thread-manager", "destination4", "ipv5"];
    let sections: String = names.map(|name| format!("[object.{name}]\n{times}")).concat();
    let description =
        Description::parse("own", &format!("extends = \"mpsoc\"\n{sections}")).expect("TOML");
    let spec = Spec::build("own", description).expect("a machine");
    assert_eq!(spec.sections_for_nothing(&program), ["destination4", "ipv5"]);
    assert_eq!(Spec::base().sections_for_nothing(&program), Vec::<String>::new());
}

#[test]
fn any_numbers_together_are_a_machine_or_refused() {
    let (program, packets) =
        (program(), generated(&Traffic { count: Some(12), ..Traffic::default() }));
    let mut rng = Rng::new(11, "descriptions");
    let mut good = 0;
    for round in 0..400 {
        let mut table = table(NETWORKS[rng.below(NETWORKS.len() as u64) as usize]);
        let mut paths = Vec::new();
        numbers(&table, &[], &mut paths);
        for _ in 0..1 + round % 4 {
            let path = &paths[rng.below(paths.len() as u64) as usize];
            let value = 1_i64 << rng.below(34) | (rng.below(2) as i64 * rng.below(64) as i64);
            set(&mut table, path, &Value::Integer(value));
        }
        good += u32::from(try_out(&program, &packets, table).is_ok());
    }
    assert!(good > 50, "{good} machines");
}
