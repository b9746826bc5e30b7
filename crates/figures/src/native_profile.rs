//! A profile of the native router: instructions and simulated misses per packet, step by step, and
//! the processor's own counters where they are readable.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use serde::Serialize;
use wireloom_console::output;
use wireloom_ir::Program;
use wireloom_machine::{Error, Result, Source};
use wireloom_net::Packet;
use wireloom_net::capture::{Destination, Writer};
use wireloom_plot::{Bars, Group};

use super::callgrind::{Counts, counted};
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::Values;
use super::workload::{Workload, packets};
use super::{Settings, number};

pub const FIGURE: Figure = Figure {
    name: "native-profile",
    what: "Native router: instructions and simulated cache misses of a packet, by step (callgrind), and the processor's own counters where it has some",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom with programs/tables/demo.tables, 64-byte packets, destinations uniform over the prefixes; x86-64-v3, a function for each step",
        names: &["traffic", "part"],
        skip: &[],
        tools: &["cc"],
        tables: &[PageTable { name: "steps", write: steps_table }],
    },
};

/// Mixes of packets.
const TRAFFIC: [(&str, &str); 3] =
    [("IPv4", "ipv4"), ("IPv6", "ipv6"), ("four labels", "mpls4/ipv4")];
/// The number of counted packets: their table entries far exceed the caches.
const COUNTED: usize = 1 << 15;
/// A macro that keeps the steps separate, which compilers otherwise join (runtime/c/base.h), and a
/// flag that excludes instructions that Valgrind does not know.
const APART: &str = "-DWL_PROFILE";
const KNOWN: &str = if cfg!(target_arch = "x86_64") { "-march=x86-64-v3" } else { "" };

/// The costs of a part of the engine, per packet of all packets.
#[derive(Clone, Debug, Serialize)]
struct Part {
    traffic: &'static str,
    /// A step, or a function that serves all steps.
    part: String,
    instructions: f64,
    first_misses: f64,
    last_misses: f64,
    mispredictions: f64,
}

const TOTAL: &str = "all";

fn make(settings: &Settings) -> Result<Drawn> {
    let source = settings.router()?;
    let program = source.compiled()?.optimised;
    let mut parts = Vec::new();
    let mut read = Vec::new();
    for (traffic, mix) in TRAFFIC {
        let packets = packets(settings, mix)?;
        read.push((traffic, processor(settings, &source, packets.clone())?));
        let counts = profile(settings, &source, &packets[..COUNTED])?;
        parts.extend(by_part(traffic, &program, &counts));
    }
    let totals = parts.iter().filter(|part| part.part == TOTAL);
    let group = |part: &Part| Group::new(part.traffic, [part.instructions]);
    let title = "Instructions of a packet on native, without the host's part";
    let series = ["instructions".to_owned()];
    let svg = Bars::new(title, "instructions", series, totals.map(group).collect()).svg();
    let data = serde_json::to_value(&parts).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&parts, &read), data, svg, faults: Vec::new() })
}

/// Counts the engine's costs for these packets, by function.
fn profile(
    settings: &Settings,
    source: &Source,
    packets: &[Packet],
) -> Result<BTreeMap<String, Counts>> {
    let folder = wireloom_files::TemporaryFolder::new()
        .map_err(|error| Error::new(format!("a temporary folder: {error}")))?;
    let capture = folder.path().join("packets.pcapng");
    let mut writer = Writer::create(&capture)?;
    for (packet, time) in packets.iter().zip(0..) {
        writer.write(Destination::Port(packet.ingress), time, &packet.bytes)?;
    }
    writer.finish()?;
    let command = std::env::current_exe()
        .map_err(|error| Error::new(format!("the command's own file: {error}")))?;
    let tables = settings.tables()?;
    let words = [command.as_os_str(), "run".as_ref(), source.file.as_os_str()];
    let more: [&OsStr; 6] = [
        "--on".as_ref(),
        "native".as_ref(),
        "--tables".as_ref(),
        tables.as_os_str(),
        "--in".as_ref(),
        capture.as_os_str(),
    ];
    let flags = format!("{APART} {KNOWN}");
    let environment = [("WIRELOOM_NATIVE_CFLAGS", flags.as_str())];
    counted(&[&words[..], &more].concat(), &environment, "router_execute", folder.path())
}

/// Joins the functions of each step, and the functions that serve all steps. The most expensive
/// part is first.
fn by_part(
    traffic: &'static str,
    program: &Program,
    counts: &BTreeMap<String, Counts>,
) -> Vec<Part> {
    let engine = &program.engines[program.main.index()];
    let steps: Vec<&str> = engine.steps.iter().map(|step| step.name.as_str()).collect();
    let mut parts: BTreeMap<String, Counts> = BTreeMap::new();
    for (function, counts) in counts {
        *parts.entry(part_of(function, &engine.name, &steps)).or_default() += *counts;
        *parts.entry(TOTAL.to_owned()).or_default() += *counts;
    }
    let each = |count: u64| count as f64 / COUNTED as f64;
    let part = |(part, counts): (String, Counts)| Part {
        traffic,
        part,
        instructions: each(counts.instructions),
        first_misses: each(counts.first_misses),
        last_misses: each(counts.last_misses),
        mispredictions: each(counts.mispredictions),
    };
    let mut parts: Vec<Part> = parts.into_iter().map(part).collect();
    // Omit parts with less than one instruction per hundred packets.
    parts.retain(|part| part.instructions >= 0.01);
    parts.sort_by(|a, b| b.instructions.total_cmp(&a.instructions));
    parts
}

/// Returns the step to which a function belongs, or the name of its other purpose.
fn part_of(function: &str, engine: &str, steps: &[&str]) -> String {
    let Some(own) = function.strip_prefix(engine).and_then(|rest| rest.strip_prefix('_')) else {
        return match function.strip_prefix("wl_") {
            Some(name) => format!("runtime: {}", name.split('.').next().unwrap_or(name)),
            None => "other".to_owned(),
        };
    };
    if own.ends_with("_list") || own.starts_with("execute") || own.starts_with("wait") {
        return "threads and lists".to_owned();
    }
    let is_of = |step: &str| {
        let rest = own.strip_prefix(step);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    };
    // Take the longest match: `ipv4` is a prefix of `ipv4_forward`.
    let step = steps.iter().filter(|step| is_of(step)).max_by_key(|step| step.len());
    step.map_or_else(|| "threads and lists".to_owned(), |step| format!("step {step}"))
}

/// Reads the processor's counters per packet, the host's part included; empty if the system denies
/// access to them.
#[cfg(target_os = "linux")]
fn processor(
    settings: &Settings,
    source: &Source,
    packets: Vec<Packet>,
) -> Result<Vec<(&'static str, f64)>> {
    use perf_event::Builder;
    use perf_event::events::Hardware;

    let events = [
        ("cycles", Hardware::CPU_CYCLES),
        ("instructions", Hardware::INSTRUCTIONS),
        ("cache misses", Hardware::CACHE_MISSES),
        ("mispredicted branches", Hardware::BRANCH_MISSES),
    ];
    let counters = events.iter().map(|(name, event)| Ok((*name, Builder::new(*event).build()?)));
    let Ok(mut counters) = counters.collect::<std::io::Result<Vec<_>>>() else {
        return Ok(Vec::new());
    };
    let count = packets.len() as f64;
    let mut native = Workload::of(settings, source.clone(), "native", packets)?;
    native.mpps()?;
    let failed = |error: std::io::Error| Error::new(format!("the processor's counters: {error}"));
    counters.iter_mut().try_for_each(|(_, counter)| counter.enable()).map_err(failed)?;
    native.mpps()?;
    counters.iter_mut().try_for_each(|(_, counter)| counter.disable()).map_err(failed)?;
    let each = |(name, counter): &mut (_, perf_event::Counter)| {
        Ok((*name, counter.read().map_err(failed)? as f64 / count))
    };
    counters.iter_mut().map(each).collect()
}

/// Other systems have no counters that can be read in this way.
#[cfg(not(target_os = "linux"))]
fn processor(_: &Settings, _: &Source, _: Vec<Packet>) -> Result<Vec<(&'static str, f64)>> {
    Ok(Vec::new())
}

fn text(parts: &[Part], read: &[(&str, Vec<(&str, f64)>)]) -> String {
    let mut text = String::new();
    for (traffic, _) in TRAFFIC {
        let heads = [traffic, "instructions", "misses, first level", "last level", "mispredicted"];
        let mut table = output::table(&heads, &[1, 2, 3, 4]);
        for part in parts.iter().filter(|part| part.traffic == traffic) {
            let numbers =
                [part.instructions, part.first_misses, part.last_misses, part.mispredictions];
            table.add_row([part.part.clone()].into_iter().chain(numbers.map(number)));
        }
        text += &format!("{table}\n\n");
    }
    for (traffic, read) in read.iter().filter(|(_, read)| !read.is_empty()) {
        let counters = read.iter().map(|(name, each)| format!("{} {name}", number(*each)));
        let counters: Vec<String> = counters.collect();
        text += &format!(
            "{traffic}, by the processor, with the host's part: {}\n",
            counters.join(", ")
        );
    }
    if read.iter().all(|(_, read)| read.is_empty()) {
        text += "The system has no counters of the processor for this process.\n";
    }
    text + "Of a packet, on average. Misses and branches are simulated; each step is a function of its \
            own here,\nwhich costs some instructions more than a build that joins them.\n"
}

/// Tabulates the costs of each part per packet, for pages.
fn steps_table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "traffic",
        "part",
        "instructions",
        "misses, first level",
        "last level",
        "mispredicted",
    ]);
    for (traffic, _) in TRAFFIC {
        let prefix = format!("{}.", super::values::slug(traffic));
        let mut rows: Vec<(f64, [String; 6])> = Vec::new();
        for part in values.between(&prefix, ".instructions") {
            let get = |what: &str| values.get(&format!("{prefix}{part}.{what}"));
            let counts = ["instructions", "first_misses", "last_misses", "mispredictions"];
            let numbers = counts.map(|what| get(what).map(number));
            let [instructions, first, last, mispredicted] = numbers;
            let cells = [
                traffic.to_owned(),
                part.replace('-', " "),
                instructions?,
                first?,
                last?,
                mispredicted?,
            ];
            rows.push((get("instructions")?, cells));
        }
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.into_iter().for_each(|(_, cells)| table.row(cells));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_belong_to_their_steps() {
        let steps = ["ipv4", "ipv4_forward", "list"];
        for (function, part) in [
            ("router_ipv4", "step ipv4"),
            ("router_ipv4_fetch1", "step ipv4"),
            ("router_ipv4_forward", "step ipv4_forward"),
            ("router_ipv4_forward_rest.part.0", "step ipv4_forward"),
            ("router_ipv4.cold", "step ipv4"),
            ("router_ipv4_list", "threads and lists"),
            ("router_execute", "threads and lists"),
            ("wl_lpm32_value.isra.0", "runtime: lpm32_value"),
            ("memcpy@@GLIBC_2.14", "other"),
        ] {
            assert_eq!(part_of(function, "router", &steps), part, "{function}");
        }
    }
}
