//! Figures 9 and 10 of the Gorilla paper: throughput of network processors with 4 and 6 engines per
//! cluster and 1, 2 and 4 threads.

use serde::Serialize;
use wireloom_np::description::NpSpec;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::np_traffic::{Stream, TRAFFIC, Traffic};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::output;
use wireloom_explore::rig::{Forwarding, Rig};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE_9: Figure = Figure {
    name: "np-throughput-50g",
    what: "Gorilla, Figure 9: throughput of 8 clusters, each kind of traffic, without and with flow counting",
    choice: Choice::Any,
    make: |settings| make(settings, 8, &[]),
    kept: kept(&[PageTable { name: "rates", write: |values| rates(values, 8) }]),
};

pub const FIGURE_10: Figure = Figure {
    name: "np-throughput-100g",
    what: "Gorilla, Figure 10: throughput of 16 clusters (and of np-200mpps), each kind of traffic, without and with flow counting",
    choice: Choice::Any,
    make: |settings| make(settings, 16, &["np-200mpps"]),
    kept: kept(&[PageTable { name: "rates", write: |values| rates(values, 16) }]),
};

/// The form in which pages keep both figures.
const fn kept(tables: &'static [PageTable]) -> Kept {
    Kept {
        cost: Cost::Dear,
        built: "programs/router.loom; false in a key: COUNT_FLOWS=false CHECK_SOURCE=false",
        names: &["machine", "counting", "traffic"],
        skip: &[],
        tools: &[],
        tables,
    }
}

/// Machines that must carry every kind of traffic without loss, with their rates in million packets
/// per second.
const GOALS: [(&str, f64); 3] = [("np-8-6-4", 100.0), ("np-16-6-4", 200.0), ("np-200mpps", 200.0)];

/// Engines per cluster and threads per engine in the paper's configurations.
pub const CONFIGURATIONS: [(usize, usize); 6] = [(4, 1), (4, 2), (4, 4), (6, 1), (6, 2), (6, 4)];

/// The statement of the paper's text on a bar of its figures; the figures themselves are pictures
/// and not available. Rates are in million packets per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Published {
    /// All packets are forwarded at the full offered rate.
    All,
    /// Some packets are lost.
    NotAll,
    /// The rate of forwarded packets.
    Mpps(f64),
}

/// A bar of the figure.
#[derive(Clone, Debug, Serialize)]
struct Cell {
    machine: String,
    counting: bool,
    traffic: &'static str,
    #[serde(flatten)]
    measured: Forwarding,
    published: Option<Published>,
}

/// Returns the statement of section 4.5 on its machine of this shape.
fn published(machine: &NpSpec, counting: bool, traffic: &str) -> Option<Published> {
    use Published::{All, Mpps, NotAll};
    let (engines, threads) = (machine.engines, machine.threads);
    let largest = (engines, threads) == (6, 4);
    let alone = !traffic.contains('-') && traffic != "all six";
    match (machine.clusters, counting, traffic) {
        // "The largest configuration [...] achieves 50Gbps (100MPPS) supporting all three protocols
        // simultaneously".
        (8, false, _) if largest && alone => Some(All),
        // "200MPPS IPv4 routing performance without flow counters can be achieved using three
        // different 16-6-* configurations (16-4-4 configuration has some packet loss)"; "two of the
        // configurations" with them.
        (16, false, "IPv4") => Some(if engines == 6 { All } else { NotAll }),
        (16, true, "IPv4") => Some(if engines == 6 && threads > 1 { All } else { NotAll }),
        // "only the 16-6-4 configuration can deliver the desired performance when flow counting is
        // off"; 195.7 MPPS with flow counting.
        (16, false, "MPLS_4") => Some(if largest { All } else { NotAll }),
        (16, true, "MPLS_4") if largest => Some(Mpps(195.7)),
        (16, false, _) if largest && alone => Some(All),
        _ => None,
    }
}

/// Returns the paper's machines with this number of clusters and ours, or the requested ones.
fn machines(settings: &Settings, clusters: usize, ours: &[&str]) -> Result<Vec<NpSpec>> {
    let papers =
        CONFIGURATIONS.map(|(engines, threads)| format!("np-{clusters}-{engines}-{threads}"));
    let names: Vec<&str> = match settings.only.as_slice() {
        [] => papers.iter().map(String::as_str).chain(ours.iter().copied()).collect(),
        only => only.iter().map(String::as_str).collect(),
    };
    names.into_iter().map(|name| NpSpec::find(name).map_err(Error::new)).collect()
}

fn make(settings: &Settings, clusters: usize, ours: &[&str]) -> Result<Drawn> {
    let streams = settings.streams(&TRAFFIC)?;
    let machines = machines(settings, clusters, ours)?;
    let mut cells = Vec::new();
    for counting in [false, true] {
        let loaded = settings.routing(counting)?;
        for machine in &machines {
            let mut rig = Rig::new(machine, &loaded)?;
            for (traffic, measured) in measure(&mut rig, &streams, counting)? {
                cells.push(Cell {
                    machine: machine.name.clone(),
                    counting,
                    traffic: traffic.name,
                    measured,
                    published: published(machine, counting, traffic.name),
                });
            }
        }
    }
    let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
    let offered = clusters as f64 * 12.5;
    let title = format!("{clusters} clusters, rate without loss; counted: with flow counting");
    let svg = Bars::new(title, "million packets a second", names.iter().copied(), groups(&cells))
        .with_limit("offered", offered)
        .svg();
    let faults = cells.iter().filter_map(Cell::fault).collect();
    let data = serde_json::to_value(&cells).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&names, &cells), data, svg, faults })
}

/// Runs each stream through one machine.
fn measure(
    rig: &mut Rig,
    streams: &[Stream],
    counting: bool,
) -> Result<Vec<(Traffic, Forwarding)>> {
    let name = rig.machine().name.clone();
    let mut measured = Vec::new();
    for Stream { traffic, packets } in streams {
        let with = if counting { "with" } else { "without" };
        let _working = Working::on(format!("{name}, {} {with} flow counting", traffic.name));
        measured.push((*traffic, rig.forwarding(packets)?));
    }
    Ok(measured)
}

/// Groups the bars by kind of traffic, bars without flow counting first.
fn groups(cells: &[Cell]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for counting in [false, true] {
        for traffic in TRAFFIC {
            let own = cells
                .iter()
                .filter(|cell| cell.counting == counting && cell.traffic == traffic.name);
            let values: Vec<f64> = own.map(|cell| cell.measured.loss_free).collect();
            if !values.is_empty() {
                let counted = if counting { ", counted" } else { "" };
                groups.push(Group::new(format!("{}{counted}", traffic.name), values));
            }
        }
    }
    groups
}

fn text(names: &[&str], cells: &[Cell]) -> String {
    let mut text = String::new();
    for counting in [false, true] {
        let heads: Vec<&str> = std::iter::once("traffic").chain(names.iter().copied()).collect();
        let numeric: Vec<usize> = (1..heads.len()).collect();
        let mut table = output::table(&heads, &numeric);
        for traffic in TRAFFIC {
            let own = cells
                .iter()
                .filter(|cell| cell.counting == counting && cell.traffic == traffic.name);
            table.add_row(std::iter::once(traffic.name.to_owned()).chain(own.map(Cell::text)));
        }
        let with = if counting { "With" } else { "Without" };
        text += &format!("{with} flow counting\n{table}\n\n");
    }
    text + "Million packets a second: the greatest rate without loss; in brackets what the paper's text says of it: `all`: what is offered, \
            `not all`: less.\nIts figures are pictures, which are not at hand. A second number is what the machine forwards when it is \
            overrun, if that is more.\n"
}

/// Tabulates the rates without flow counting for pages, with the paper's statements in brackets.
fn rates(values: &Values, clusters: usize) -> Result<Table> {
    let names =
        CONFIGURATIONS.map(|(engines, threads)| format!("np-{clusters}-{engines}-{threads}"));
    let mut table = Table::new(["traffic".to_owned()].into_iter().chain(names.clone()));
    for Traffic { name: traffic, .. } in TRAFFIC {
        let cell = |name: &String| {
            let rate = values.short(&format!("{name}.false.{}.loss_free", slug(traffic)))?;
            let machine = NpSpec::find(name).map_err(Error::new)?;
            Ok(rate + &published(&machine, false, traffic).map_or(String::new(), Published::text))
        };
        let cells = names.iter().map(cell).collect::<Result<Vec<String>>>()?;
        table.row([traffic.to_owned()].into_iter().chain(cells));
    }
    Ok(table)
}

impl Published {
    /// Returns the text that follows our number.
    fn text(self) -> String {
        match self {
            Self::All => " [all]".to_owned(),
            Self::NotAll => " [not all]".to_owned(),
            Self::Mpps(mpps) => format!(" [{mpps}]"),
        }
    }
}

impl Cell {
    /// Reports a machine that must carry every kind of traffic without loss and does not.
    fn fault(&self) -> Option<String> {
        let (_, goal) = GOALS.into_iter().find(|(machine, _)| *machine == self.machine)?;
        let with = if self.counting { "with" } else { "without" };
        (self.measured.loss_free < goal).then(|| {
            format!(
                "{}, {} {with} flow counting: {} MPPS without loss, and at least {goal} is the goal",
                self.machine,
                self.traffic,
                number(self.measured.loss_free)
            )
        })
    }

    fn text(&self) -> String {
        let mut text = number(self.measured.loss_free);
        if self.measured.saturated > self.measured.loss_free {
            text += &format!(" / {}", number(self.measured.saturated));
        }
        text + &self.published.map_or(String::new(), Published::text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_words_are_taken_for_what_they_say() {
        use Published::{All, Mpps, NotAll};
        let machine = |name: &str| NpSpec::find(name).expect("it is known");
        let said = |engines, threads, counting, traffic| {
            published(&machine(&format!("np-16-{engines}-{threads}")), counting, traffic)
        };
        assert_eq!(said(6, 1, false, "IPv4"), Some(All));
        assert_eq!(said(4, 4, false, "IPv4"), Some(NotAll));
        assert_eq!(said(6, 1, true, "IPv4"), Some(NotAll));
        assert_eq!(said(6, 4, true, "MPLS_4"), Some(Mpps(195.7)));
        assert_eq!(said(6, 2, false, "MPLS_4"), Some(NotAll));
        assert_eq!(said(6, 4, false, "IPv6"), Some(All));
        // The paper says that mixes degrade, without a number.
        assert_eq!(said(6, 4, false, "MPLS_1-IPv4"), None);
        assert_eq!(published(&machine("np-8-6-4"), false, "MPLS_4"), Some(All));
        assert_eq!(published(&machine("np-8-6-2"), false, "IPv4"), None);
        assert_eq!(published(&machine("np-12-6-4"), true, "MPLS_4"), None);
    }

    #[test]
    fn a_cell_shows_what_was_lost_and_what_the_paper_says() {
        let cell = |loss_free, saturated, published| Cell {
            machine: "np".into(),
            counting: false,
            traffic: "IPv4",
            measured: Forwarding { saturated, loss_free, latency: (0.0, 0) },
            published,
        };
        assert_eq!(cell(200.0, 200.0, Some(Published::All)).text(), "200 [all]");
        assert_eq!(cell(98.5, 99.0, None).text(), "98.5 / 99.0");
        let goal = |loss_free| {
            Cell { machine: "np-16-6-4".into(), ..cell(loss_free, 200.0, None) }.fault()
        };
        assert_eq!(goal(200.0), None);
        assert!(goal(199.0).is_some_and(|fault| fault.contains("at least 200 is the goal")));
        assert_eq!(cell(1.0, 1.0, None).fault(), None);
        let cells = [cell(1.0, 1.0, None), Cell { counting: true, ..cell(2.0, 2.0, None) }];
        let values: Vec<_> = groups(&cells)
            .iter()
            .map(|group| (group.name.clone(), group.values().collect::<Vec<_>>()))
            .collect();
        assert_eq!(
            values,
            [("IPv4".to_owned(), vec![1.0]), ("IPv4, counted".to_owned(), vec![2.0])]
        );
    }
}
