//! Versions of the IPv4 router with packets of all sizes (Figure 15).

use serde::Serialize;
use wireloom_raw::dir24::Route;
use wireloom_raw::routers::{Setting, Version};
use wireloom_sim::{Rng, sweep};

use super::rig::Rig;
use super::{ADDRESSES, PORTS, captures, gbps, mpps, null, udp};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "raw-traffic",
    what: "RAW: versions of the IPv4 router under packets of all sizes",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-1.rasm to version-4.rasm on machines/raw.toml",
        names: &["version", "traffic"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "rates", write: table },
            PageTable { name: "ports", write: ports },
        ],
    },
};

/// Versions with the paper's peaks of Figure 15 (Gb/s), as far as its text states them: "external
/// buffering" and "on linecards".
const VERSIONS: [(&str, Option<f64>); 4] =
    [("I", None), ("II", None), ("III", Some(8.9)), ("IV", Some(14.0))];
const TRAFFIC: [&str; 4] = ["mix", "real", "real-ecn", "real-http"];

#[derive(Clone, Debug, Serialize)]
struct Row {
    version: &'static str,
    traffic: &'static str,
    mean_bytes: f64,
    mpps: f64,
    gbps: f64,
    /// Packets that golden drops, and packets that the router lost.
    dropped: usize,
    lost: usize,
    /// Packets that left at each port, and packets for which the port's queue had no room.
    left: [usize; PORTS],
    full: [u32; PORTS],
}

/// The register, $v0, in which the queue of version IV counts packets for which it has no room.
const FULL: u8 = 2;

/// The packets of each input.
type Inputs = Vec<Vec<Vec<u8>>>;

/// Returns the packets of each input, and routes of 24 bits to random ports, as in the paper.
fn packets(settings: &Settings, traffic: &str) -> Result<(Inputs, Vec<Route>)> {
    let mut rng = Rng::new(1, "raw addresses");
    let mut inputs = null::packets(settings, traffic)?;
    let addresses: Vec<u32> =
        (0..ADDRESSES).map(|_| rng.below(0xdf00_0000 - 0x0100_0000) as u32 + 0x0100_0000).collect();
    for (number, packet) in inputs.iter_mut().flatten().enumerate() {
        if traffic == "real" {
            // Strip the link header; frames without IPv4 become empty.
            *packet = captures::ipv4(packet).unwrap_or_default().to_vec();
        } else if traffic == "mix" {
            let to = addresses[rng.below(ADDRESSES) as usize];
            *packet = udp(number as u16, number as u32, to, packet.len());
        }
    }
    inputs.iter_mut().for_each(|packets| packets.retain(|packet| packet.len() >= 20));
    let destination = |packet: &Vec<u8>| {
        let word = packet[16..20].iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        word & !0xff
    };
    let mut prefixes: Vec<u32> = inputs.iter().flatten().map(destination).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    let mut route = |prefix| Route { prefix, length: 24, port: rng.below(PORTS as u64) as u16 };
    let routes = prefixes.into_iter().map(&mut route).collect();
    Ok((inputs, routes))
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("the IPv4 routers under packets of all sizes");
    let rig = Rig::new(&settings.root)?;
    let of = |traffic: &&'static str| Ok((*traffic, packets(settings, traffic)?));
    let traffic = TRAFFIC.iter().map(of).collect::<Result<Vec<_>>>()?;
    let trials: Vec<_> = VERSIONS
        .iter()
        .flat_map(|(version, _)| traffic.iter().map(move |traffic| (*version, traffic)))
        .collect();
    let rows = sweep(&trials, workers(), |(version, (traffic, (packets, routes)))| {
        let version = Version::named(version);
        let ran = rig.run(version, &Setting::default(), packets, routes)?;
        let (bytes, rate) = ran.played.rates();
        let sizes: Vec<usize> = packets.iter().flatten().map(Vec::len).collect();
        let mean_bytes = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        let (dropped, lost) = (ran.checked.dropped, ran.checked.lost);
        let (mpps, gbps) = (mpps(rate), gbps(bytes));
        let left = std::array::from_fn(|port| ran.played.delivered[port].len());
        let has_room = version.name != "IV";
        let full = std::array::from_fn(|port| match has_room {
            true => 0,
            false => ran.board.chip.register(version.tile(3, port as u8), FULL),
        });
        let version = version.name;
        let row = Row { version, traffic, mean_bytes, mpps, gbps, dropped, lost, left, full };
        Ok::<_, Error>(row)
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let heads = ["version", "traffic", "mean bytes", "Mpps", "Gb/s", "dropped", "lost"];
    let mut text = output::table(&heads, &[2, 3, 4, 5, 6]);
    for row in &rows {
        text.add_row([
            row.version.to_owned(),
            row.traffic.to_owned(),
            format!("{:.0}", row.mean_bytes),
            format!("{:.2}", row.mpps),
            format!("{:.2}", row.gbps),
            row.dropped.to_string(),
            row.lost.to_string(),
        ]);
    }
    let groups = VERSIONS.iter().map(|(version, _)| {
        let own = rows.iter().filter(|row| row.version == *version);
        Group::new(*version, own.map(|row| row.gbps))
    });
    let bars = Bars::new("IPv4 routers by traffic", "Gb/s", TRAFFIC, groups.collect())
        .with_limit("the paper's version III, real traffic", 8.9);
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nThe paper, real traffic: 8.9 Gb/s with external buffers, 14 with buffers in the cards.\n"
    );
    let faults = rows.iter().filter(|row| row.full.iter().sum::<u32>() as usize != row.lost);
    let faults = faults.map(|row| {
        format!(
            "{}, {}: {} packets are lost otherwise than in a full queue",
            row.version, row.traffic, row.lost
        )
    });
    Ok(Drawn { text, data, svg: bars.svg(), faults: faults.collect() })
}

/// Tabulates the output ports of version IV, for pages.
fn ports(values: &Values) -> Result<Table> {
    let mut table = Table::new(["traffic", "port", "left", "of them", "lost in a full queue"]);
    for traffic in TRAFFIC {
        let of = |field: &str, port: usize| values.get(&format!("iv.{traffic}.{field}.{port}"));
        let all: f64 = (0..PORTS).map(|port| of("left", port)).sum::<Result<f64>>()?;
        for port in 0..PORTS {
            let left = of("left", port)?;
            table.row([
                traffic.to_owned(),
                port.to_string(),
                format!("{left}"),
                format!("{:.0} %", 100.0 * left / all),
                format!("{}", of("full", port)?),
            ]);
        }
    }
    Ok(table)
}

/// Tabulates rates next to Figure 15, for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "version",
        "traffic",
        "mean bytes",
        "published, Gb/s",
        "measured, Gb/s",
        "Mpps",
        "lost",
    ]);
    for (version, published) in VERSIONS {
        for traffic in TRAFFIC {
            let of = |field: &str, decimals| {
                values.fixed(&format!("{}.{traffic}.{field}", version.to_lowercase()), decimals)
            };
            table.row([
                version.to_owned(),
                traffic.to_owned(),
                of("mean_bytes", 0)?,
                published.map_or(String::new(), |rate| rate.to_string()),
                of("gbps", 2)?,
                of("mpps", 2)?,
                of("lost", 0)?,
            ]);
        }
    }
    Ok(table)
}
