//! The energy of engines: in the record, over time, and across tables that change.

use std::time::Duration;

use wireloom_machine::Options;
use wireloom_net::{Frame, Packet};
use wireloom_sim::stats::Series;

use super::mapping::{compiled, three};

fn packets() -> Vec<Packet> {
    let packet = |number: usize| Packet {
        ingress: 0,
        arrival_ns: 0,
        bytes: (0..60).map(|at| (number + at) as u8).collect(),
    };
    (0..60).map(packet).collect()
}

/// Runs packets. Returns the values of the record and the power over time.
fn ran(interval_ns: Option<u64>) -> (serde_json::Value, Option<Series>, Vec<String>) {
    let program = compiled("counted.loom");
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let options = Options { interval_ns, ..Options::default() };
    let mut machine = three("").start(&program, store, &options, &|_| ()).expect("a machine");
    let packets = packets();
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    machine.offer(&frames, &mut |_| ()).expect("it runs");
    machine.finish(&mut |_| ()).expect("it runs");
    let record = machine.record(Duration::from_secs(1)).expect("a record");
    let values = serde_json::to_value(&record).expect("values");
    let lines = record.lines.iter().map(|line| format!("{}: {}", line.name, line.text));
    (values, machine.recordings().series.cloned(), lines.collect())
}

#[test]
fn the_record_has_the_power_and_the_energy_of_a_packet() {
    let (values, series, lines) = ran(None);
    assert!(series.is_none());
    let watts = values["watts"].as_f64().expect("a number");
    let nanojoules = values["nanojoules_a_packet"].as_f64().expect("a number");
    let microseconds = values["time_us"].as_f64().expect("a number");
    // The run ends at most 16 cycles after the last packet.
    let wanted = watts * microseconds * 1e3 / 60.0;
    assert!((nanojoules / wanted - 1.0).abs() < 0.01, "{nanojoules} and {wanted}");
    assert!(lines.iter().any(|line| line.starts_with("power: ") && line.contains(", DRAM ")));
    let parts = values["power"]["parts"].as_object().expect("parts");
    assert_eq!(parts.len(), 13);
}

#[test]
fn energy_does_not_depend_on_how_often_it_is_recorded() {
    let (once, ..) = ran(None);
    let (values, series, _) = ran(Some(1000));
    assert_eq!(values["power"], once["power"]);
    let series = series.expect("a series");
    let power = series.columns().find(|(name, _)| *name == "power_w").expect("power").1.to_vec();
    assert!(power.len() > 10, "{power:?}");
    // All rows but the last cover a microsecond.
    let joules: f64 = power[..power.len() - 1].iter().sum::<f64>() * 1e-6;
    let total =
        once["watts"].as_f64().expect("a number") * once["time_us"].as_f64().unwrap() * 1e-6;
    assert!(joules < total * 1.01 && joules > total * 0.8, "{joules} of {total}");
    let names: Vec<&str> = series.columns().map(|(name, _)| name).collect();
    assert!(names.contains(&"tile_3_3_w") && names.contains(&"dram_w"), "{names:?}");
}
