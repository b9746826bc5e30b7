//! Areas of the hardware templates, each synthesised alone.

use serde::Serialize;
use wireloom_np::area::{Cache, Cost as Area, estimate};
use wireloom_np::processor::Design;

use super::Settings;
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, decimal, slug};
use wireloom_console::{Working, output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-modules",
    what: "Area of the hardware templates, each synthesised alone for a Virtex-7",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "each template alone, with the parameters that its row names and its defaults",
        names: &["folder", "case"],
        skip: &[],
        tools: &["Yosys"],
        tables: &[
            PageTable { name: "flow", write: |values| table("flow", values) },
            PageTable { name: "memory", write: |values| table("memory", values) },
            PageTable { name: "np", write: |values| table("np", values) },
        ],
    },
};

const FAMILY: &str = "xc7";
/// The method code of `wl_table` for `TABLE_FETCH_ADD` of wl_pkg.sv.
const FETCH_ADD: usize = 3;

/// A template with a set of parameters.
struct Case {
    /// The subfolder of hardware/.
    folder: &'static str,
    template: &'static str,
    /// The parameters in words; empty for the defaults.
    with: &'static str,
    parameters: &'static [(&'static str, usize)],
}

const fn case(
    folder: &'static str,
    template: &'static str,
    with: &'static str,
    parameters: &'static [(&'static str, usize)],
) -> Case {
    Case { folder, template, with, parameters }
}

const CASES: &[Case] = &[
    case("flow", "wl_arbiter_fair", "6 inputs, with lock", &[("Inputs", 6)]),
    case("flow", "wl_balancer", "6 targets, static", &[("Targets", 6)]),
    case(
        "flow",
        "wl_balancer",
        "6 targets, least loaded",
        &[("Targets", 6), ("FreeBits", 6), ("Policy", 1)],
    ),
    case(
        "flow",
        "wl_request_tree",
        "66 bits, 4 askers",
        &[("Inputs", 4), ("TagBits", 2), ("DataBits", 64)],
    ),
    case(
        "flow",
        "wl_request_tree",
        "66 bits, 6 askers",
        &[("Inputs", 6), ("TagBits", 2), ("DataBits", 64)],
    ),
    case("flow", "wl_select", "66 bits, 4 inputs", &[("Inputs", 4), ("Width", 66)]),
    case("flow", "wl_select", "66 bits, 8 inputs", &[("Inputs", 8), ("Width", 66)]),
    case("memory", "wl_table", "1,024 x 72, only read", &[("Width", 72), ("CtlBits", 72)]),
    case(
        "memory",
        "wl_table",
        "1,024 x 72, `fetch_add`",
        &[("Width", 72), ("CtlBits", 72), ("Methods", FETCH_ADD)],
    ),
    case("memory", "wl_counter_table", "1,024 counters", &[]),
    case("memory", "wl_memory_channel", "3 slots of 36 bits", &[]),
    case("memory", "wl_memory_channel", "3 slots of 72 bits", &[("DataBits", 72), ("CtlBits", 72)]),
    case("memory", "wl_memory_channel", "6 slots of 36 bits", &[("Slots", 6)]),
    case("memory", "wl_direct_table", "1,048,576 x 36", &[]),
    case("memory", "wl_flow_counter", "65,536 flows, bytes and packets", &[]),
    case(
        "memory",
        "wl_flow_counter",
        "three counters of 72 bits",
        &[("Counters", 3), ("CounterBits", 72)],
    ),
    case("memory", "wl_hash_cache", "2 bins of 256, 36 bits, 32 tags", &[]),
    case("memory", "wl_hash_cache", "4 bins", &[("Bins", 4)]),
    case(
        "memory",
        "wl_park",
        "1,024 packets of 1,518 bytes",
        &[("Size", 1024), ("BodyBytes", 1518)],
    ),
    case("memory", "wl_qdr_block", "65,536 words of 18 bits", &[]),
    case("np", "wl_sequencer", "2 lanes", &[]),
    case("np", "wl_preprocessor", "", &[]),
    case("np", "wl_body_buffer", "2,048 beats", &[]),
    case("np", "wl_distributor", "8 clusters, static", &[]),
    case(
        "np",
        "wl_distributor",
        "8 clusters, least loaded, 63 threads each",
        &[("FreeBits", 6), ("Policy", 1)],
    ),
    case("np", "wl_header_serializer", "", &[]),
    case("np", "wl_header_deserializer", "", &[]),
    case("np", "wl_reorder", "32 tags", &[]),
    case("np", "wl_gatherer", "8 clusters, static", &[]),
    case("np", "wl_postprocessor", "", &[]),
    case("np", "wl_merger", "2 lanes", &[]),
    case("np", "wl_upsizer", "8 to 64 bytes", &[]),
    case("np", "wl_downsizer", "64 to 8 bytes", &[]),
    case("np", "wl_packet_queue", "512 beats of 592 bits", &[]),
    case("np", "wl_port_gather", "4 ports of 8 bytes", &[]),
    case("np", "wl_port_spread", "4 ports of 8 bytes and the control processor's", &[]),
    case("np", "wl_reasons", "2 reasons, 2 lanes", &[]),
    case("np", "wl_statistics", "16 counters", &[]),
    case("np", "wl_axil_control", "64 bits", &[]),
    case("np", "wl_axil_control", "216 bits", &[("CtlBits", 216)]),
];

/// The area of a synthesised template.
#[derive(Clone, Debug, Serialize)]
struct Row {
    folder: &'static str,
    case: String,
    #[serde(flatten)]
    area: Area,
    levels: u32,
}

impl Case {
    /// The name of the template and its parameters, unique among the cases.
    fn name(&self) -> String {
        format!("{} {}", self.template, self.with)
    }
}

fn make(_settings: &Settings) -> Result<Drawn> {
    let cache = Cache::of_user();
    let working = Working::on("synthesis of the templates".to_owned());
    let mut rows = Vec::new();
    for case in CASES {
        working.now(&format!("synthesis of {}", case.name()));
        let design = Design::of_template(case.template, case.parameters);
        let design =
            design.ok_or_else(|| Error::new(format!("there is no template {}", case.template)))?;
        let report = estimate(&design, FAMILY, &cache, |_| {}).map_err(Error::new)?;
        let levels = report.units.iter().map(|unit| unit.levels).max().unwrap_or(0);
        rows.push(Row { folder: case.folder, case: case.name(), area: report.total, levels });
    }
    let groups = rows.iter().map(|row| Group::new(row.case.trim_end(), [row.area.luts as f64]));
    let svg = Bars::new("Area of the templates", "LUTs", ["alone"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let heads =
        ["folder", "template", "LUTs", "of these RAM", "flip-flops", "block RAMs", "levels"];
    let mut table = output::table(&heads, &[2, 3, 4, 5, 6]);
    for row in rows {
        let Area { luts, lut_rams, flip_flops, block_rams_18k, .. } = row.area;
        let numbers = [luts, lut_rams, flip_flops, block_rams_18k, u64::from(row.levels)];
        let names = [row.folder.to_owned(), row.case.trim_end().to_owned()];
        table.add_row(names.into_iter().chain(numbers.map(thousands)));
    }
    format!(
        "{table}\n\nSynthesised by Yosys for a Virtex-7, neither placed nor routed. RAM: LUTs that are memory or shift registers. Block RAMs are of 18 Kb.\n"
    )
}

/// Tabulates the templates of a subfolder of hardware/.
fn table(folder: &str, values: &Values) -> Result<Table> {
    let heads = ["module", "LUTs", "of these RAM", "flip-flops", "block RAMs (36 Kb)", "levels"];
    let mut table = Table::new(heads);
    for case in CASES.iter().filter(|case| case.folder == folder) {
        let of = |what: &str| values.get(&format!("{folder}.{}.{what}", slug(&case.name())));
        let cell = |value: f64, decimals| match value {
            0.0 => String::new(),
            _ => decimal(value, decimals),
        };
        let with = if case.with.is_empty() { "" } else { ", " };
        let halves = of("block_rams_18k")?;
        table.row([
            format!("`{}`{with}{}", case.template, case.with),
            cell(of("luts")?, 0),
            cell(of("lut_rams")?, 0),
            cell(of("flip_flops")?, 0),
            cell(halves / 2.0, usize::from(halves % 2.0 != 0.0)),
            cell(of("levels")?, 0),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_templates_and_their_tables_have_them_all() {
        let rows = CASES.iter().map(|case| {
            assert!(
                Design::of_template(case.template, case.parameters).is_some(),
                "{}",
                case.name()
            );
            let area = Area { luts: 1234, block_rams_18k: 3, ..Area::default() };
            Row { folder: case.folder, case: case.name(), area, levels: 5 }
        });
        let rows: Vec<Row> = rows.collect();
        let drawn = Drawn {
            data: serde_json::to_value(&rows).expect("JSON"),
            text: text(&rows),
            svg: String::new(),
            faults: Vec::new(),
        };
        let values = FIGURE.values(&drawn).expect("no two cases have one name");
        let count = ["flow", "memory", "np"]
            .map(|folder| table(folder, &values).expect("its rows").rows())
            .iter()
            .sum::<usize>();
        assert_eq!(count, CASES.len());
    }
}
