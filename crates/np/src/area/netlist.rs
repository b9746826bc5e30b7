//! Reads netlists mapped by Yosys: counts their cells, and finds the longest path in levels of
//! LUTs.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::Cost;

/// The resources of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    pub cost: Cost,
    /// The number of LUTs on its longest path.
    pub levels: u32,
    /// The longest path, from the register or port where it begins to the one where it ends. Each
    /// entry is the name of a net on the path that has one, prefixed with the instances that
    /// contain it.
    pub path: Vec<String>,
}

#[derive(Deserialize)]
struct Netlist {
    modules: BTreeMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    cells: BTreeMap<String, Cell>,
    #[serde(default)]
    netnames: BTreeMap<String, NetName>,
}

#[derive(Deserialize)]
struct NetName {
    /// Nonzero if Yosys generated the name.
    #[serde(default)]
    hide_name: u32,
    bits: Vec<Bit>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    port_directions: BTreeMap<String, String>,
    connections: BTreeMap<String, Vec<Bit>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Bit {
    Net(u64),
    Constant(#[allow(dead_code, reason = "its presence is what counts")] String),
}

/// Delay of a LUT, in quarters of a level. A wide multiplexer, or four bits of a carry chain, takes
/// one quarter.
const LUT: u32 = 4;

/// Returns the cost of a cell, or `None` if it is not a cell of the device (a black box).
fn cost(kind: &str) -> Option<Cost> {
    let lut = |luts| Cost { luts, ..Cost::default() };
    let memory = |luts| Cost { luts, lut_rams: luts, ..Cost::default() };
    Some(match kind {
        "LUT1" | "LUT2" | "LUT3" | "LUT4" | "LUT5" | "LUT6" => lut(1),
        // The LUT after an inverter absorbs it. Wide multiplexers, carry chains and buffers are not
        // LUTs.
        "INV" | "MUXF5" | "MUXF6" | "MUXF7" | "MUXF8" | "MUXF9" | "CARRY4" | "MUXCY" | "XORCY"
        | "GND" | "VCC" | "BUFG" | "IBUF" | "OBUF" => Cost::default(),
        "SRL16" | "SRL16E" | "SRLC16E" | "SRLC32E" | "RAM32X1S" | "RAM64X1S" => memory(1),
        "RAM16X1D" | "RAM32X1D" | "RAM64X1D" | "RAM128X1S" => memory(2),
        "RAM128X1D" | "RAM32M" | "RAM64M" | "RAM256X1S" => memory(4),
        "RAMB18E1" | "RAMB18" | "RAMB18SDP" | "RAMB16BWER" => {
            Cost { block_rams_18k: 1, ..Cost::default() }
        }
        "RAMB36E1" | "RAMB36" | "RAMB36SDP" => Cost { block_rams_18k: 2, ..Cost::default() },
        kind if kind.starts_with("DSP48") => Cost { dsps: 1, ..Cost::default() },
        kind if kind.starts_with("FD") => Cost { flip_flops: 1, ..Cost::default() },
        _ => return None,
    })
}

/// Returns the delay of a cell in quarters of a level, or `None` if paths end at the cell.
fn delay(kind: &str) -> Option<u32> {
    Some(match kind {
        _ if kind.starts_with("LUT") => LUT,
        // LUT RAM reads asynchronously, so from the address to the data it behaves as a LUT.
        _ if kind.starts_with("RAM") && !kind.starts_with("RAMB") => LUT,
        _ if kind.starts_with("SRL") => LUT,
        "INV" => 0,
        "MUXF5" | "MUXF6" | "MUXF7" | "MUXF8" | "MUXF9" | "CARRY4" | "MUXCY" | "XORCY" => 1,
        _ => return None,
    })
}

/// Counts the cells of a module in a netlist in Yosys' JSON format, and measures the longest path.
/// Cells that the device does not have are black boxes: they cost nothing here, and paths end at
/// them.
///
/// # Errors
/// If the text is not such a netlist or has a combinational loop. The error is a sentence.
pub fn read(json: &str, module: &str) -> Result<Resources, String> {
    let netlist: Netlist = serde_json::from_str(json).map_err(|e| e.to_string())?;
    let module =
        netlist.modules.get(module).ok_or_else(|| format!("module {module} is not in it"))?;
    let mut resources = Resources::default();
    // The driver of each net that a cell drives through a combinational path.
    let mut drivers = HashMap::new();
    let cells: Vec<&Cell> = module.cells.values().collect();
    for (index, cell) in cells.iter().enumerate() {
        resources.cost += cost(&cell.kind).unwrap_or_default();
        if delay(&cell.kind).is_some() {
            outputs(cell).for_each(|net| {
                drivers.insert(net, index);
            });
        }
    }
    let mut arrival: Vec<Option<u32>> = vec![None; cells.len()];
    let (mut longest, mut end) = (0, None);
    for start in 0..cells.len() {
        let levels = walk(start, &cells, &drivers, &mut arrival)?;
        if levels > longest {
            (longest, end) = (levels, Some(start));
        }
    }
    resources.levels = longest.div_ceil(LUT);
    if let Some(end) = end {
        resources.path = path(end, &cells, &drivers, &arrival, &names(&module.netnames));
    }
    Ok(resources)
}

/// Returns the source name of each net that has one. Of several names the shortest wins.
fn names(netnames: &BTreeMap<String, NetName>) -> HashMap<u64, &str> {
    let mut names: HashMap<u64, &str> = HashMap::new();
    for (name, net) in netnames.iter().filter(|(_, net)| net.hide_name == 0) {
        for bit in nets(&net.bits) {
            let known = names.entry(bit).or_insert(name);
            if name.len() < known.len() {
                *known = name;
            }
        }
    }
    names
}

/// Returns the names along the longest path to a cell, and the name of a register after the cell.
fn path(
    end: usize,
    cells: &[&Cell],
    drivers: &HashMap<u64, usize>,
    arrival: &[Option<u32>],
    names: &HashMap<u64, &str>,
) -> Vec<String> {
    let name_of = |mut nets: Box<dyn Iterator<Item = u64> + '_>| {
        nets.find_map(|net| names.get(&net).copied())
    };
    let ends: Vec<u64> = outputs(cells[end]).collect();
    let behind = cells
        .iter()
        .find(|cell| delay(&cell.kind).is_none() && inputs(cell).any(|n| ends.contains(&n)));
    let mut path: Vec<&str> =
        behind.and_then(|cell| name_of(Box::new(outputs(cell)))).into_iter().collect();
    let mut cell = end;
    loop {
        path.extend(name_of(Box::new(outputs(cells[cell]))));
        match sources(cells[cell], drivers).max_by_key(|source| arrival[*source]) {
            Some(source) => cell = source,
            None => break,
        }
    }
    path.extend(name_of(Box::new(inputs(cells[cell]))));
    path.reverse();
    path.dedup();
    path.into_iter().map(ToOwned::to_owned).collect()
}

fn is_output(cell: &Cell, port: &str) -> bool {
    match cell.port_directions.get(port) {
        Some(direction) => direction == "output",
        None => matches!(
            port,
            "O" | "Q"
                | "O5"
                | "O6"
                | "CO"
                | "DO"
                | "DOA"
                | "DOB"
                | "DOC"
                | "DOD"
                | "SPO"
                | "DPO"
                | "Q31"
        ),
    }
}

fn nets(bits: &[Bit]) -> impl Iterator<Item = u64> {
    bits.iter().filter_map(|bit| if let Bit::Net(net) = bit { Some(*net) } else { None })
}

fn outputs(cell: &Cell) -> impl Iterator<Item = u64> {
    cell.connections
        .iter()
        .filter(|(port, _)| is_output(cell, port))
        .flat_map(|(_, bits)| nets(bits))
}

fn inputs(cell: &Cell) -> impl Iterator<Item = u64> {
    cell.connections
        .iter()
        .filter(|(port, _)| !is_output(cell, port))
        .flat_map(|(_, bits)| nets(bits))
}

/// Returns the cells that drive the inputs of a cell, except for the synchronous inputs of
/// memories.
fn sources<'a>(
    cell: &'a Cell,
    drivers: &'a HashMap<u64, usize>,
) -> impl Iterator<Item = usize> + 'a {
    let memory = cell.kind.starts_with("RAM") || cell.kind.starts_with("SRL");
    let synchronous = move |port: &str| {
        memory && (port.starts_with('D') && !port.starts_with("DP") || matches!(port, "WE" | "CE"))
    };
    cell.connections
        .iter()
        .filter(move |(port, _)| !is_output(cell, port) && !synchronous(port))
        .flat_map(|(_, bits)| nets(bits))
        .filter_map(|net| drivers.get(&net).copied())
}

/// Computes when the outputs of a cell are ready. It does not recurse because paths can be long.
fn walk(
    start: usize,
    cells: &[&Cell],
    drivers: &HashMap<u64, usize>,
    arrival: &mut [Option<u32>],
) -> Result<u32, String> {
    let mut stack = vec![(start, false)];
    let mut open = vec![];
    while let Some((index, is_done)) = stack.pop() {
        if arrival[index].is_some() {
            continue;
        }
        let inputs: Vec<usize> = sources(cells[index], drivers).collect();
        if is_done {
            open.retain(|i| *i != index);
            let latest = inputs.iter().map(|i| arrival[*i].unwrap_or(0)).max().unwrap_or(0);
            arrival[index] = Some(latest + delay(&cells[index].kind).unwrap_or(0));
            continue;
        }
        if open.contains(&index) {
            return Err(format!("a path through a {} closes a loop", cells[index].kind));
        }
        open.push(index);
        stack.push((index, true));
        stack.extend(inputs.into_iter().filter(|i| arrival[*i].is_none()).map(|i| (i, false)));
    }
    Ok(arrival[start].unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(kind: &str, inputs: &[u64], output: u64) -> String {
        let inputs: Vec<String> =
            inputs.iter().enumerate().map(|(i, n)| format!("\"I{i}\":[{n}]")).collect();
        format!(r#"{{"type":"{kind}","connections":{{{},"O":[{output}]}}}}"#, inputs.join(","))
    }

    fn module(cells: &[String]) -> String {
        let cells: Vec<String> =
            cells.iter().enumerate().map(|(i, c)| format!("\"c{i}\":{c}")).collect();
        format!(r#"{{"modules":{{"m":{{"cells":{{{}}}}}}}}}"#, cells.join(","))
    }

    #[test]
    fn a_chain_of_luts_has_as_many_levels() {
        let json =
            module(&[cell("LUT6", &[2, 3], 4), cell("LUT2", &[4], 5), cell("LUT1", &[3], 6)]);
        let resources = read(&json, "m").unwrap();
        assert_eq!((resources.cost.luts, resources.levels), (3, 2));
    }

    #[test]
    fn registers_end_paths_and_black_boxes_cost_nothing() {
        let flip_flop = r#"{"type":"FDRE","connections":{"D":[4],"Q":[5],"C":[1]}}"#.to_owned();
        let json = module(&[
            cell("LUT6", &[2], 4),
            flip_flop,
            cell("LUT6", &[5], 6),
            cell("engine", &[6], 7),
            cell("LUT6", &[7], 8),
        ]);
        let resources = read(&json, "m").unwrap();
        assert_eq!((resources.cost.luts, resources.cost.flip_flops, resources.levels), (3, 1, 1));
    }

    #[test]
    fn multipliers_count_and_end_paths() {
        let json =
            module(&[cell("LUT6", &[2], 3), cell("DSP48E1", &[3], 4), cell("LUT2", &[4], 5)]);
        let resources = read(&json, "m").unwrap();
        assert_eq!((resources.cost.dsps, resources.cost.luts, resources.levels), (1, 2, 1));
    }

    #[test]
    fn the_longest_path_has_names() {
        let cells = [
            cell("FDRE", &[9], 2),
            cell("LUT6", &[2, 3], 4),
            cell("LUT2", &[4], 5),
            cell("FDRE", &[5], 6),
        ];
        let cells: Vec<String> =
            cells.iter().enumerate().map(|(i, c)| format!("\"c{i}\":{c}")).collect();
        let names = r#""i_a.from":{"bits":[2]},"$made":{"hide_name":1,"bits":[4]},"sum":{"bits":[7,5]},"i_b.to":{"bits":[6]}"#;
        let json = format!(
            r#"{{"modules":{{"m":{{"cells":{{{}}},"netnames":{{{names}}}}}}}}}"#,
            cells.join(",")
        );
        assert_eq!(read(&json, "m").unwrap().path, ["i_a.from", "sum", "i_b.to"]);
    }

    #[test]
    fn carry_chains_count_a_quarter_for_four_bits() {
        let mut cells = vec![cell("LUT2", &[2], 10)];
        cells.extend((10..18).map(|n| cell("CARRY4", &[n], n + 1)));
        assert_eq!(read(&module(&cells), "m").unwrap().levels, 3);
    }

    #[test]
    fn loops_are_reported() {
        let json = module(&[cell("LUT2", &[3], 2), cell("LUT2", &[2], 3)]);
        assert!(read(&json, "m").unwrap_err().contains("loop"));
    }

    #[test]
    fn what_is_no_netlist_is_refused() {
        assert!(read("{", "m").is_err());
        assert!(read(r#"{"modules":{}}"#, "m").unwrap_err().contains("not in it"));
    }
}
