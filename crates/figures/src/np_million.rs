//! A million packets of the mix, compared with golden: no loss, no reordering, no difference.

use serde::Serialize;
use serde_json::Value;
use wireloom_net::capture::{Destination, Writer};
use wireloom_net::tables::read_prefixes;
use wireloom_net::traffic::PrefixPool;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::np_traffic::Traffic;
use super::registry::{command, json, scratch};
use super::store::Cost;
use super::{Settings, number};
use wireloom_console::{output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-million",
    what: "A million packets of IPv4, IPv6 and 1 to 4 labels in Verilator, packet by packet against golden",
    choice: Choice::Any,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom",
        names: &["machine"],
        skip: &[],
        tools: &[],
        tables: &[],
    },
};

const PACKETS: u64 = 1_000_000;
/// The machine of the demonstration at its highest rate; and the smallest machine that carries two
/// packets per cycle and the paper's largest, both at that rate.
const MACHINES: [(&str, &str); 3] =
    [("np-2-2-4", "max"), ("np-200mpps", "200"), ("np-16-6-4", "200")];

/// The result of a machine.
#[derive(Clone, Debug, Serialize)]
struct Row {
    machine: String,
    /// The offered rate in million packets per second; `max` for the machine's highest rate.
    rate: String,
    /// Packets that were compared with golden.
    compared: u64,
    /// Packets that were lost at the input.
    lost: u64,
    /// The number of the first packet that differed, if any.
    differs_at: Option<u64>,
    /// Whether packets or the final contents of offloads differ from golden's.
    differs: bool,
    /// Million packets per second.
    mpps: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let folder = scratch()?;
    let capture = folder.path().join("million.pcapng");
    write(settings, &capture)?;
    let chosen: Vec<(String, &str)> = if settings.only.is_empty() {
        MACHINES.iter().map(|(name, rate)| ((*name).to_owned(), *rate)).collect()
    } else {
        // The rate is the paper's for a machine with this number of lanes, or the machine's
        // highest.
        let rate = |name: &String| {
            MACHINES.iter().find(|(known, _)| known == name).map_or("max", |(_, rate)| rate)
        };
        settings.only.iter().map(|name| (name.clone(), rate(name))).collect()
    };
    let mut rows = Vec::new();
    for (machine, rate) in chosen {
        let mut verify = command()?;
        verify.arg("verify").arg(settings.router()?.file);
        for tables in settings.throughput_tables()? {
            verify.arg("--tables").arg(tables);
        }
        verify.arg("--in").arg(&capture).args(["--on", &machine, "--rate", rate, "--json", "-"]);
        rows.push(row(machine, rate, &json(&mut verify)?)?);
    }
    let faults = rows.iter().filter_map(Row::fault).collect();
    let groups = rows.iter().map(|row| Group::new(row.machine.as_str(), [row.mpps])).collect();
    let svg = Bars::new("A million packets", "million packets a second", ["rate"], groups)
        .with_limit("a packet a cycle and lane", 200.0)
        .svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults })
}

/// Writes the packets: all six kinds in turn. Each packet is one beat of a lane, so that two lanes
/// can take two packets per cycle.
fn write(settings: &Settings, capture: &std::path::Path) -> Result {
    let prefixes: PrefixPool =
        read_prefixes(&settings.prefixes()?).map_err(Error::new)?.into_iter().collect();
    let traffic = Traffic::named("all six").expect("it is among them");
    let mut writer = Writer::create(capture)?;
    for packet in traffic.packets(&prefixes, PACKETS)? {
        writer.write(Destination::Port(packet.ingress), packet.arrival_ns, &packet.bytes)?;
    }
    writer.finish()?;
    Ok(())
}

impl Row {
    /// Returns the difference from golden, if any.
    fn difference(&self) -> Option<String> {
        self.differs.then(|| match self.differs_at {
            Some(sequence) => format!("DIFFERS at packet {sequence}"),
            None => "OFFLOADS DIFFER".to_owned(),
        })
    }

    /// Returns the fault, if any: packets differ, or are lost at a rate that the machine must
    /// carry. A machine that is fed at its own rate loses none.
    fn fault(&self) -> Option<String> {
        let lost = (self.lost > 0).then(|| format!("{} packets are lost", thousands(self.lost)));
        let all: Vec<String> = self.difference().into_iter().chain(lost).collect();
        (!all.is_empty()).then(|| format!("{}: {}", self.machine, all.join(", ")))
    }
}

/// Parses the report of `wireloom verify` on one machine.
fn row(machine: String, rate: &str, report: &Value) -> Result<Row> {
    let missing = |what: &str| Error::new(format!("the report of 'wireloom verify' has no {what}"));
    // The first machine is golden.
    let own = report["machines"].get(1).ok_or_else(|| missing("machine"))?;
    let simulation = &own["simulation"];
    let difference = report["differences"].get(0);
    // The rate in the middle of a run counts all packets that the machine has finished.
    let stays = |fate: &str| report[fate].as_array().is_some_and(|reasons| !reasons.is_empty());
    if ["dropped", "cpu"].into_iter().any(stays) {
        return Err(Error::new(format!("{machine}: packets did not leave by a port"))
            .with_help("rates are those of packets that are forwarded: the tables must know their destinations"));
    }
    Ok(Row {
        machine,
        rate: rate.to_owned(),
        compared: own["compared"].as_u64().ok_or_else(|| missing("count of packets"))?,
        lost: simulation["lost"].as_u64().ok_or_else(|| missing("count of lost packets"))?,
        differs: difference.is_some(),
        differs_at: difference.and_then(|difference| difference["sequence"].as_u64()),
        mpps: simulation["mpps_middle"].as_f64().ok_or_else(|| missing("rate"))?,
    })
}

fn text(rows: &[Row]) -> String {
    let mut table = output::table(
        &["machine", "offered", "compared", "lost", "MPPS", "against golden"],
        &[2, 3, 4],
    );
    for row in rows {
        let verdict = row
            .difference()
            .unwrap_or_else(|| "no difference: bytes, ports, order, reasons, counters".to_owned());
        let cells =
            [row.machine.clone(), row.rate.clone(), thousands(row.compared), thousands(row.lost)];
        table.add_row(cells.into_iter().chain([number(row.mpps), verdict]));
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_of_verify_is_read() {
        let report = |differences: Value| {
            json!({
                "machines": [{"machine": "golden"}, {"compared": 10, "simulation": {"lost": 2, "mpps_middle": 3.5}}],
                "differences": differences,
            })
        };
        let good = row("np".into(), "max", &report(json!([]))).expect("a row");
        assert_eq!((good.compared, good.lost, good.mpps, good.differs), (10, 2, 3.5, false));
        assert_eq!(Row { lost: 0, ..good.clone() }.fault(), None);
        assert_eq!(good.fault().as_deref(), Some("np: 2 packets are lost"));
        let bad = row("np".into(), "max", &report(json!([{"sequence": 9}]))).expect("a row");
        assert_eq!(bad.differs_at, Some(9));
        assert_eq!(bad.fault().as_deref(), Some("np: DIFFERS at packet 9, 2 packets are lost"));
        assert!(text(&[bad]).contains("DIFFERS at packet 9"));
        assert!(row("np".into(), "max", &json!({})).is_err());
        let mut drops = report(json!([]));
        drops["dropped"] = json!([{"reason": "NO_ROUTE", "packets": 1}]);
        let refused = row("np".into(), "max", &drops).expect_err("its rate counts a drop");
        assert!(refused.to_string().contains("did not leave by a port"), "{refused}");
    }
}
