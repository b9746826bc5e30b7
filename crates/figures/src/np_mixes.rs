//! The packet mixes at which a network processor has the smallest share of its lanes' capacity:
//! some that are known to be slow, and the slowest that a random search finds.

mod mix;

use serde::Serialize;
use wireloom_np::description::NpSpec;
use wireloom_sim::Rng;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::registry::scratch;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::Values;
use super::{Settings, number};
use mix::{Mix, PLAIN, Part, TAGGED, TWO_LABELS};
use wireloom_console::{Working, output, thousands};
use wireloom_explore::rig::{Overrun, Rig};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-mixes",
    what: "Slowest mixes of packets on a network processor (np-line-rate), found by a search at random, as shares of what its lanes carry",
    choice: Choice::AnyOne,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom; four networks of each protocol instead of the table of the Internet",
        names: &["mix"],
        skip: &[],
        tools: &["Verilator"],
        tables: &[PageTable { name: "rates", write: table }],
    },
};

/// The default machine.
const MACHINE: &str = "np-line-rate";
/// The seed of the search.
const SEED: u64 = 1;
/// The number of mixes that are drawn after the known ones.
const DRAWN: usize = 24;
/// The number of changes to the slowest mix that are tried afterwards.
const CLIMBED: usize = 16;
/// The most packets of a try. Long packets reduce the number.
const TRY_PACKETS: usize = 12_000;
/// The most packets of a row. Long packets reduce the number.
const PACKETS: usize = 24_000;
/// The share of the lanes' capacity at which losses are counted.
const GOAL: f64 = 0.95;
/// The key of the slowest mix that the search found.
const FOUND: &str = "found";

/// Returns mixes that are known to be slow, and one that is not, with their keys.
fn known() -> Vec<(&'static str, Mix)> {
    let plain = |share| Part::ipv4(share, 60, PLAIN);
    let two = |share| Part::ipv4(share, 60, TWO_LABELS);
    let mix = |is_random, parts: &[Part]| Mix { parts: parts.to_vec(), is_random };
    let cold = Part { is_cold: true, ..Part::mpls(1, 60, 4) };
    vec![
        ("plain", mix(true, &[plain(1)])),
        ("half", mix(true, &[plain(1), two(1)])),
        ("turn", mix(false, &[plain(1), two(1)])),
        ("tenth", mix(true, &[plain(9), two(1)])),
        ("tagged", mix(true, &[Part::ipv4(1, 60, TAGGED), Part::ipv4(1, 64, TAGGED)])),
        ("stack", mix(true, &[Part::mpls(1, 62, 7)])),
        ("cold", mix(false, &[cold, plain(1)])),
    ]
}

/// The measurement of a mix.
#[derive(Clone, Debug, Serialize)]
struct Row {
    /// The key in docs/figures.
    mix: &'static str,
    #[serde(flatten)]
    packets: Mix,
    /// Million packets per second that leave by a port while the input is overloaded.
    mpps: f64,
    /// The capacity of the lanes: two packets per cycle, or a beat per cycle and lane.
    limit: f64,
    /// The ratio of `mpps` to `limit`.
    share: f64,
    /// Packets that left by a port, and packets that were lost at the input, of those offered at 95
    /// % of the limit.
    left: u64,
    lost: u64,
}

/// The figure's numbers.
#[derive(Clone, Debug, Serialize)]
struct Found {
    /// The number of mixes that the search measured.
    tries: usize,
    /// The number of tries below 95 %.
    slow: usize,
    /// The median share of the tries.
    median: f64,
    mixes: Vec<Row>,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let name = settings.only.first().map_or(MACHINE, String::as_str);
    let machine = NpSpec::find(name).map_err(Error::new)?;
    let folder = scratch()?;
    let file = folder.path().join("mixes.tables");
    std::fs::write(&file, mix::tables())
        .map_err(|error| Error::new(format!("{}: {error}", file.display())))?;
    let mut rig = Rig::new(&machine, &settings.routing_with(true, &[file])?)?;
    let (worst, shares) = search(|mix| {
        let _working = Working::on(mix.name());
        let Overrun { mpps, beats } = rig.overrun(&mix.packets(TRY_PACKETS)?)?;
        Ok(mpps / limit(&machine, beats))
    })?;
    let mixes = known().into_iter().chain([(FOUND, worst)]);
    let mixes =
        mixes.map(|(key, mix)| row(&machine, &mut rig, key, mix)).collect::<Result<Vec<_>>>()?;
    let found = Found {
        tries: shares.len(),
        slow: shares.iter().filter(|share| **share < GOAL).count(),
        median: shares[shares.len() / 2],
        mixes,
    };
    let groups = found.mixes.iter().map(|row| Group::new(row.packets.name(), [100.0 * row.share]));
    let svg = Bars::new(
        format!("{name}: slow mixes"),
        "% of what the lanes carry",
        [name],
        groups.collect(),
    )
    .with_limit("goal", 100.0 * GOAL)
    .svg();
    let data = serde_json::to_value(&found).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(name, &found), data, svg, faults: Vec::new() })
}

/// Returns the capacity of the lanes, in million packets per second, for packets of this number of
/// beats.
fn limit(machine: &NpSpec, beats: f64) -> f64 {
    machine.lanes() as f64 * f64::from(machine.clock.core_mhz) / beats
}

/// Searches for the mix with the smallest share. It measures the known mixes, draws more, and then
/// repeatedly changes the slowest mix so far. Returns the slowest mix, and the shares of all mixes
/// in increasing order.
fn search(mut share_of: impl FnMut(&Mix) -> Result<f64>) -> Result<(Mix, Vec<f64>)> {
    let mut rng = Rng::new(SEED, "np-mixes search");
    let mut mixes: Vec<Mix> = known().into_iter().map(|(_, mix)| mix).collect();
    mixes.extend((0..DRAWN).map(|_| Mix::drawn(&mut rng)));
    let mut tried = Vec::new();
    for mix in mixes {
        tried.push((share_of(&mix)?, mix));
    }
    let slowest = |tried: &[(f64, Mix)]| {
        let slowest = tried.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        slowest.expect("mixes were tried").1.clone()
    };
    for _ in 0..CLIMBED {
        let mix = slowest(&tried).neighbour(&mut rng);
        tried.push((share_of(&mix)?, mix));
    }
    let mut shares: Vec<f64> = tried.iter().map(|(share, _)| *share).collect();
    shares.sort_by(f64::total_cmp);
    Ok((slowest(&tried), shares))
}

fn row(machine: &NpSpec, rig: &mut Rig, key: &'static str, mix: Mix) -> Result<Row> {
    let _working = Working::on(mix.name());
    let packets = mix.packets(PACKETS)?;
    let Overrun { mpps, beats } = rig.overrun(&packets)?;
    let limit = limit(machine, beats);
    let lost = rig.offered(&packets, GOAL * limit)?.lost;
    let left = packets.len() as u64 - lost;
    Ok(Row { mix: key, packets: mix, mpps, limit, share: mpps / limit, left, lost })
}

fn text(machine: &str, found: &Found) -> String {
    let heads = ["packets", "MPPS", "lanes carry", "share", "left at 95 %", "lost"];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5]);
    for row in &found.mixes {
        let name = row.packets.name();
        table.add_row([
            if row.mix == FOUND { format!("{name} (found)") } else { name },
            number(row.mpps),
            number(row.limit),
            format!("{:.1} %", 100.0 * row.share),
            thousands(row.left),
            thousands(row.lost),
        ]);
    }
    format!(
        "{machine}, programs/router.loom with flow counting and check of the source\n{table}\n\n\
         Bytes without check sequence. MPPS: million packets a second that leave by a port, in the middle of a run of up to {} packets of which \
         more wait than the machine takes; all leave. Lanes carry: two packets a cycle or, of longer ones, a beat of 64 bytes a cycle and lane, on the \
         side with more beats. The last two columns: of the same packets, offered evenly at 95 % of that. A search found the last row: \
         of {} mixes, these, others drawn with seed {SEED}, and changes of the slowest, with up to {} packets each, {} were \
         below 95 %, and the median was {:.1} %.\n",
        thousands(PACKETS as u64),
        found.tries,
        thousands(TRY_PACKETS as u64),
        found.slow,
        100.0 * found.median
    )
}

/// Reads the mix of a row from the numbers of its parts.
fn mix_of(values: &Values, key: &str) -> Result<Mix> {
    let is_there = |at: &usize| values.has(&format!("{key}.parts.{at}.share"));
    let part = |at: usize| {
        let field = |name: &str| values.get(&format!("{key}.parts.{at}.{name}"));
        Ok(Part {
            share: field("share")? as u64,
            bytes: field("bytes")? as u32,
            is_ipv6: field("is_ipv6")? != 0.0,
            labels: field("labels")? as u64,
            is_routed: field("is_routed")? != 0.0,
            is_cold: field("is_cold")? != 0.0,
            hop: field("hop")? as usize,
        })
    };
    let parts = (0..).take_while(is_there).map(part).collect::<Result<_>>()?;
    Ok(Mix { parts, is_random: values.get(&format!("{key}.is_random"))? != 0.0 })
}

/// Tabulates the rows for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "packets",
        "MPPS",
        "of what the lanes carry",
        "left by a port, at 95 % of that",
        "lost",
    ]);
    for key in known().into_iter().map(|(key, _)| key).chain([FOUND]) {
        let key = format!("mixes.{key}");
        let value = |field: &str| values.get(&format!("{key}.{field}"));
        table.row([
            mix_of(values, &key)?.name(),
            number(value("mpps")?),
            format!("{:.1} %", 100.0 * value("share")?),
            thousands(value("left")? as u64),
            thousands(value("lost")? as u64),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_ends_at_the_slowest_mix_it_has_seen() {
        let mut seen = Vec::new();
        let share = |mix: &Mix| {
            let beats: u32 = mix.parts.iter().map(|part| part.bytes).sum();
            let share = 1.0 / f64::from(beats);
            seen.push((share, mix.clone()));
            Ok(share)
        };
        let (worst, shares) = search(share).expect("no measurement fails");
        assert_eq!(shares.len(), known().len() + DRAWN + CLIMBED);
        assert!(shares.is_sorted());
        let least = seen.iter().find(|(_, mix)| *mix == worst).expect("it was measured");
        assert_eq!(least.0.to_bits(), shares[0].to_bits());
        // A change starts from the slowest of all mixes before it.
        let (before, changes) = seen.split_at(known().len() + DRAWN);
        let slowest = before.iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("mixes were tried");
        let parts = slowest.1.parts.len();
        assert!(changes[0].1.parts.len().abs_diff(parts) <= 1);
    }

    #[test]
    fn pages_name_each_mix_from_the_numbers_that_are_kept() {
        let row = |(mix, packets): (&'static str, Mix)| Row {
            mix,
            packets,
            mpps: 150.0,
            limit: 200.0,
            share: 0.75,
            left: 23_000,
            lost: 1000,
        };
        let found = ("found", Mix::drawn(&mut Rng::new(5, "a mix")));
        let mixes: Vec<Row> = known().into_iter().chain([found]).map(row).collect();
        let data = Found { tries: 40, slow: 12, median: 0.97, mixes };
        let drawn = Drawn {
            data: serde_json::to_value(&data).expect("JSON"),
            text: text("np", &data),
            svg: String::new(),
            faults: Vec::new(),
        };
        assert!(drawn.text.contains("23,000") && drawn.text.contains("(found)"), "{}", drawn.text);
        let values = FIGURE.values(&drawn).expect("keys differ");
        for row in &data.mixes {
            let kept = mix_of(&values, &format!("mixes.{}", row.mix)).expect("its numbers");
            assert_eq!(kept, row.packets);
        }
        assert_eq!(table(&values).expect("a table").rows(), data.mixes.len());
    }
}
