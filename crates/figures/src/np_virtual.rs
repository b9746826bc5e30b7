//! Figure 14 of the Gorilla paper: ten virtual routers of 10 Gb/s on a Virtex-7, isolated, merged
//! and consolidated.

use serde::Serialize;
use serde_json::json;
use wireloom_np::area::parts;

use super::Settings;
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use wireloom_console::{output, thousands};
use wireloom_explore::search::Shape;
use wireloom_explore::virtual_routers::{Description, Evaluator, Lane, Machines, Method, choice};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-virtual",
    what: "Gorilla, Figure 14: ten virtual routers of 10 Gb/s on a Virtex-7, isolated, merged and consolidated by protocol",
    choice: Choice::Some(|| CONFIGURATIONS.map(name).to_vec()),
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/virtual.loom, COUNT_FLOWS=false CHECK_SOURCE=false NEXT_HOPS=1024 LABELS=65536",
        names: &["configuration", "method"],
        skip: &["groups"],
        tools: &["Yosys"],
        tables: &[PageTable { name: "chips", write: table }],
    },
};

/// The numbers of routers with MPLS only, IPv4 only and both. The paper's text names the first two
/// of its six configurations, and the figure itself is not available. The others are ours: the same
/// for the third kind, and mixtures.
const CONFIGURATIONS: [[usize; 3]; 6] =
    [[8, 1, 1], [1, 8, 1], [1, 1, 8], [4, 3, 3], [3, 4, 3], [3, 3, 4]];

/// Stands for the paper's "Virtex-7 855T", an early name of this part (hardware/parts.toml).
const PART: &str = "XC7VH870T";

/// The paper's average savings of consolidation in percent, relative to isolated and merged
/// routers.
const PUBLISHED_SAVED: [f64; 2] = [33.0, 15.0];

/// The chip of a configuration by one method.
#[derive(Clone, Debug, Serialize)]
struct Bar {
    configuration: String,
    method: Method,
    /// LUTs of the chip, and LUTs outside its processors: ingress, egress and control.
    luts: u64,
    shared_luts: u64,
    /// The processors of each group.
    groups: Vec<Vec<Lane>>,
    /// The numbers of groups and of processors.
    group_count: usize,
    processor_count: usize,
    /// Whether the groups equal the groups of the paper's heuristic, if the text states them.
    as_published: Option<bool>,
}

/// Returns the candidate shapes.
fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for clusters in 1..=6 {
        for engines in 1..=4 {
            shapes.extend([8, 16].map(|threads| Shape { clusters, engines, threads }));
        }
    }
    shapes
}

fn name(counts: [usize; 3]) -> String {
    counts.map(|count| count.to_string()).join(".")
}

/// Describes the routers of a configuration.
fn description(settings: &Settings, counts: [usize; 3]) -> Result<Description> {
    let tables = settings.file("programs/tables/virtual.tables")?;
    let mut text =
        "set = { COUNT_FLOWS = false, CHECK_SOURCE = false, NEXT_HOPS = 1024, LABELS = 65536 }\n"
            .to_owned();
    let kinds = ["\"mpls\"", "\"ipv4\"", "\"ipv4\", \"mpls\""];
    let routers =
        counts.iter().zip(kinds).flat_map(|(&count, kind)| std::iter::repeat_n(kind, count));
    for (number, protocols) in routers.enumerate() {
        text += &format!(
            "[[router]]\nname = \"r{number}\"\nprotocols = [{protocols}]\nrate = \"10 Gb/s\"\ntables = [{:?}]\n",
            tables.display().to_string()
        );
    }
    Description::parse(&text, std::path::Path::new("")).map_err(Error::new)
}

/// Whether the groups equal those in the paper's text: for 8.1.1 the eight with MPLS together and
/// the others alone, for 1.8.1 all together.
fn as_published(counts: [usize; 3], groups: &[Vec<usize>]) -> Option<bool> {
    let mut sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    sizes.sort_unstable();
    match counts {
        [8, 1, 1] => Some(sizes == [1, 1, 8] && groups[0].len() == 8),
        [1, 8, 1] => Some(sizes == [10]),
        _ => None,
    }
}

fn make(settings: &Settings) -> Result<Drawn> {
    let wanted = |counts: &[usize; 3]| settings.wants(&name(*counts));
    let mut bars = Vec::new();
    for counts in CONFIGURATIONS.into_iter().filter(wanted) {
        let description = description(settings, counts)?;
        let mut evaluator = Evaluator::new(&description, Machines::Smallest(shapes()), "xc7")?;
        let protocols: Vec<_> =
            description.routers.iter().map(|router| router.protocols.clone()).collect();
        for method in Method::ALL {
            let groups = choice::choose(method, &protocols, |group| evaluator.luts(group))?;
            let lanes =
                groups.iter().map(|group| evaluator.lanes(group)).collect::<Result<Vec<_>>>()?;
            let processors: u64 = lanes.iter().flatten().filter_map(|lane| lane.luts).sum();
            let joined = evaluator.joined(&lanes.concat())?;
            let shared_luts = evaluator.shared_luts(&joined)?;
            bars.push(Bar {
                configuration: name(counts),
                method,
                luts: processors + shared_luts,
                shared_luts,
                group_count: lanes.len(),
                processor_count: lanes.iter().map(Vec::len).sum(),
                groups: lanes,
                as_published: if method == Method::Consolidated {
                    as_published(counts, &groups)
                } else {
                    None
                },
            });
        }
    }
    let methods = Method::ALL.iter().map(|method| method.name());
    let groups = bars.chunk_by(|one, next| one.configuration == next.configuration).map(|bars| {
        Group::new(bars[0].configuration.as_str(), bars.iter().map(|bar| bar.luts as f64))
    });
    let title = "Ten virtual routers of 10 Gb/s (MPLS only . IPv4 only . both)";
    let svg = Bars::new(title, "LUTs", methods, groups.collect()).svg();
    let data = json!({
        "chips": bars,
        "saved_percent": { "isolated": saved(&bars, Method::Isolated), "merged": saved(&bars, Method::Merged) },
    });
    Ok(Drawn { text: text(&bars), data, svg, faults: Vec::new() })
}

/// Returns the average savings of consolidation relative to a method over all configurations, in
/// percent.
fn saved(bars: &[Bar], method: Method) -> f64 {
    let of = |wanted: Method| {
        bars.iter().filter(move |bar| bar.method == wanted).map(|bar| bar.luts as f64)
    };
    let saved: Vec<f64> = of(method)
        .zip(of(Method::Consolidated))
        .map(|(other, ours)| 100.0 * (1.0 - ours / other))
        .collect();
    saved.iter().sum::<f64>() / saved.len() as f64
}

fn text(bars: &[Bar]) -> String {
    let part =
        parts().into_iter().find(|part| part.name == PART).expect("hardware/parts.toml has it");
    let mut table = output::table(
        &[
            "routers",
            "method",
            "groups",
            "processors",
            "LUTs",
            "beside processors",
            PART,
            "the paper's groups",
        ],
        &[2, 3, 4, 5, 6],
    );
    for bar in bars {
        table.add_row([
            bar.configuration.clone(),
            bar.method.name().to_owned(),
            bar.group_count.to_string(),
            bar.processor_count.to_string(),
            thousands(bar.luts),
            thousands(bar.shared_luts),
            format!("{:.1} %", 100.0 * bar.luts as f64 / part.luts as f64),
            match bar.as_published {
                Some(true) => "the same",
                Some(false) => "others",
                None => "",
            }
            .to_owned(),
        ]);
    }
    let [isolated, merged] = PUBLISHED_SAVED;
    format!(
        "{table}\n\nRouters with MPLS only, IPv4 only and both. Whole chips: processors, each the smallest of its group's program that loses none of its \
         routers' 64-byte packets (a single label, as in the paper), and ingress, egress and control beside them.\nConsolidation saves {:.1} % of isolated routers on average (the paper, over its six: \
         {isolated} %) and {:.1} % of merged ones ({merged} %).\n",
        saved(bars, Method::Isolated),
        saved(bars, Method::Merged),
    )
}

/// Tabulates the chips for pages.
fn table(values: &Values) -> Result<Table> {
    let part =
        parts().into_iter().find(|part| part.name == PART).expect("hardware/parts.toml has it");
    let heads = ["routers", "method", "groups", "processors", "LUTs", "without processors", PART];
    let mut table = Table::new(heads);
    for counts in CONFIGURATIONS {
        for method in Method::ALL {
            let key = |field| format!("chips.{}.{}.{field}", name(counts), slug(method.name()));
            let share = values.get(&key("luts"))? / part.luts as f64;
            table.row([
                name(counts),
                method.name().to_owned(),
                values.fixed(&key("group_count"), 0)?,
                values.fixed(&key("processor_count"), 0)?,
                values.fixed(&key("luts"), 0)?,
                values.fixed(&key("shared_luts"), 0)?,
                format!("{:.1} %", 100.0 * share),
            ]);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_configuration_has_ten_routers() {
        for counts in CONFIGURATIONS {
            assert_eq!(counts.iter().sum::<usize>(), 10, "{counts:?}");
        }
    }

    #[test]
    fn what_the_paper_says_of_groups_is_compared() {
        let eight = (0..8).collect::<Vec<_>>();
        assert_eq!(as_published([8, 1, 1], &[eight.clone(), vec![8], vec![9]]), Some(true));
        assert_eq!(as_published([8, 1, 1], &[eight, vec![8, 9]]), Some(false));
        assert_eq!(as_published([1, 8, 1], &[(0..10).collect()]), Some(true));
        assert_eq!(as_published([4, 3, 3], &[]), None);
    }

    #[test]
    fn savings_are_averaged_over_configurations() {
        let bar = |method, luts| Bar {
            configuration: "8.1.1".into(),
            method,
            luts,
            shared_luts: 0,
            groups: Vec::new(),
            group_count: 0,
            processor_count: 0,
            as_published: None,
        };
        let bars = [
            bar(Method::Isolated, 100),
            bar(Method::Merged, 80),
            bar(Method::Consolidated, 60),
            bar(Method::Isolated, 100),
            bar(Method::Merged, 40),
            bar(Method::Consolidated, 40),
        ];
        assert_eq!(saved(&bars, Method::Isolated), 50.0);
        assert_eq!(saved(&bars, Method::Merged), 12.5);
        assert!(text(&bars).contains("(the paper, over its six: 33 %)"));
    }
}
