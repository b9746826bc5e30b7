//! The dependence of version III's rates on each assumed parameter, changed alone; and the earlier
//! versions with its pipelined requests.

use serde::Serialize;
use wireloom_raw::routers::{Setting, Version};
use wireloom_sim::sweep;

use super::rig::Rig;
use super::{Trace, gbps, mpps};
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
    name: "raw-causes",
    what: "RAW: what the peaks of version III depend on: each assumed parameter changed alone",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-3.rasm on machines/raw.toml with one parameter changed",
        names: &["change"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "changes", write: table }],
    },
};

/// A changed parameter.
struct Change {
    name: &'static str,
    what: &'static str,
    version: &'static str,
    set: fn(&mut Rig, &mut Setting),
}

const CHANGES: [Change; 16] = [
    Change { name: "none", what: "as described", version: "III", set: |_, _| {} },
    Change {
        name: "latency-39",
        what: "memory: 39 cycles to a line (a miss of 54)",
        version: "III",
        set: |_, setting| setting.latency_cycles = Some(39),
    },
    Change {
        name: "latency-56",
        what: "memory: 56 cycles (a miss of 71, Table 2)",
        version: "III",
        set: |_, setting| setting.latency_cycles = Some(56),
    },
    Change {
        name: "latency-100",
        what: "memory: 100 cycles",
        version: "III",
        set: |_, setting| setting.latency_cycles = Some(100),
    },
    Change {
        name: "lines-1",
        what: "one line at a time",
        version: "III",
        set: |_, setting| setting.outstanding = Some(1),
    },
    Change {
        name: "lines-2",
        what: "two lines at a time",
        version: "III",
        set: |_, setting| setting.outstanding = Some(2),
    },
    Change {
        name: "lines-8",
        what: "eight lines at a time",
        version: "III",
        set: |_, setting| setting.outstanding = Some(8),
    },
    Change {
        name: "queues-2",
        what: "queues of two words",
        version: "III",
        set: |rig, _| rig.chip.queue_words = 2,
    },
    Change {
        name: "queues-16",
        what: "queues of 16 words",
        version: "III",
        set: |rig, _| rig.chip.queue_words = 16,
    },
    Change {
        name: "prediction-0",
        what: "wrong predictions cost nothing",
        version: "III",
        set: |rig, _| {
            (rig.chip.tile.mispredicted_cycles, rig.chip.switch.mispredicted_cycles) = (0, 0);
        },
    },
    Change {
        name: "prediction-6",
        what: "wrong predictions cost 6 cycles",
        version: "III",
        set: |rig, _| {
            (rig.chip.tile.mispredicted_cycles, rig.chip.switch.mispredicted_cycles) = (6, 6);
        },
    },
    Change {
        name: "turns-3",
        what: "a turn on a dynamic network costs 3 cycles",
        version: "III",
        set: |rig, _| rig.chip.dynamic.turn_cycles = 3,
    },
    Change {
        name: "cache-2",
        what: "a cache of 2 KB",
        version: "III",
        set: |rig, _| rig.chip.cache.kilobytes = 2,
    },
    Change { name: "II", what: "version II", version: "II", set: |_, _| {} },
    Change {
        name: "II-lines-4",
        what: "version II, four lines at a time",
        version: "II",
        set: |_, setting| setting.outstanding = Some(4),
    },
    Change {
        name: "I-lines-4",
        what: "version I, four lines at a time",
        version: "I",
        set: |_, setting| setting.outstanding = Some(4),
    },
];

#[derive(Clone, Debug, Serialize)]
struct Row {
    change: &'static str,
    mpps: f64,
    gbps: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("changes of version III");
    let rig = Rig::new(&settings.root)?;
    let rows = sweep(&CHANGES, workers(), |change| {
        let (mut rig, mut setting) = (rig.clone(), Setting::default());
        (change.set)(&mut rig, &mut setting);
        let version = Version::named(change.version);
        let rates = |packets, bytes| {
            let trace = Trace::new(1, packets, bytes);
            let ran = rig.run(version, &setting, &trace.packets, &trace.routes)?;
            Ok::<_, Error>(ran.played.rates())
        };
        let (short, long) = (rates(4000, 64)?, rates(400, 1500)?);
        Ok(Row { change: change.name, mpps: mpps(short.1), gbps: gbps(long.0) })
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let mut text = output::table(&["change", "64 bytes, Mpps", "1500 bytes, Gb/s"], &[1, 2]);
    for (change, row) in CHANGES.iter().zip(&rows) {
        let cells = [format!("{:.2}", row.mpps), format!("{:.2}", row.gbps)];
        text.add_row([change.what.to_owned()].into_iter().chain(cells));
    }
    let groups = CHANGES.iter().zip(&rows);
    let groups = groups.map(|(change, row)| {
        Group::new(change.what, [row.mpps / rows[0].mpps, row.gbps / rows[0].gbps])
    });
    let series = ["64 bytes", "1,500 bytes"];
    let bars = Bars::new(
        "Version III with one parameter changed",
        "of the peak",
        series,
        groups.collect(),
    );
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nVersion III under full load, one trace. The paper: 9.75 Mpps, 11 Gb/s.\n"
    );
    Ok(Drawn { text, data, svg: bars.svg(), faults: vec![] })
}

/// Tabulates the changes for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "changed",
        "64 bytes, Mpps",
        "to the first",
        "1,500 bytes, Gb/s",
        "to the first",
    ]);
    for change in &CHANGES {
        let mut cells = vec![change.what.to_owned()];
        for field in ["mpps", "gbps"] {
            let of = |name: &str| values.get(&format!("{name}.{field}").to_lowercase());
            let (own, first) = (of(change.name)?, of("none")?);
            cells.push(format!("{own:.2}"));
            cells.push(format!("{:+.0} %", 100.0 * (own / first - 1.0)));
        }
        table.row(cells);
    }
    Ok(table)
}
