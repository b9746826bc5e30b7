//! The cost of a network processor, for people and machines.

use std::fmt::Write as _;

use serde::Serialize;
use wireloom_np::area::{self, Cache, FAMILIES, Part, Report, Route, parts};
use wireloom_np::processor::Processor;

use wireloom_console::Working;
use wireloom_machine::thousands;
use wireloom_machine::{Error, Result};

/// The estimate of a design on some families, and the routing result if it was requested.
#[derive(Debug, Serialize)]
pub struct Area {
    /// A report for each family.
    pub families: Vec<Report>,
    /// Unit and result.
    pub routes: Vec<(String, Route)>,
}

impl Area {
    /// Synthesises every unit for one of [`FAMILIES`], or for all; with `routed`, places and routes
    /// engine and cluster as well.
    ///
    /// # Errors
    /// If a tool is missing or refuses the design, or if there is no such family.
    pub fn estimate(processor: &Processor, only: Option<&str>, routed: bool) -> Result<Self> {
        let is_wanted = |family: &str| only.is_none_or(|only| only == family);
        if let Some(unknown) = only.filter(|only| FAMILIES.iter().all(|(name, _)| name != only)) {
            return Err(Error::new(format!("there is no device family '{unknown}'")));
        }
        let cache = Cache::of_user();
        let design = &processor.design;
        let mut families = Vec::new();
        for (family, name) in FAMILIES.into_iter().filter(|(family, _)| is_wanted(family)) {
            let working = Working::on(format!("synthesis for {name}"));
            let report = area::estimate(design, family, &cache, |unit| {
                working.now(&format!("synthesis for {name}: {unit}"));
            });
            families.push(report.map_err(Error::new)?);
        }
        let mut routes = Vec::new();
        if routed {
            for unit in [processor.engine.name.clone(), processor.plan.cluster_module()] {
                let _working = Working::on(format!("placing and routing {unit}"));
                let target = processor.plan.machine.clock.core_mhz;
                let route = area::route(design, &unit, target, &cache).map_err(Error::new)?;
                routes.push((unit, route));
            }
        }
        Ok(Self { families, routes })
    }

    /// The estimate for the families for which every unit has been synthesised before, if there are
    /// any.
    pub fn remembered(processor: &Processor) -> Option<Self> {
        let cache = Cache::of_user();
        let families = FAMILIES.into_iter();
        let families: Vec<Report> = families
            .filter_map(|(family, _)| area::remembered(&processor.design, family, &cache))
            .collect();
        (!families.is_empty()).then_some(Self { families, routes: Vec::new() })
    }

    /// The estimate as Markdown: each family, its units, and the share of the paper's parts.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for report in &self.families {
            let (_, name) = FAMILIES
                .into_iter()
                .find(|(family, _)| *family == report.family)
                .expect("one of them");
            let _ = writeln!(
                text,
                "### {name}\n\n| unit | how many | LUTs of one | of them memory | flip-flops | block RAMs (18 Kb) | LUT levels |\n\
                 |---|---|---|---|---|---|---|"
            );
            for unit in &report.units {
                let _ = writeln!(
                    text,
                    "| `{}` | {} | {} | {} | {} | {} | {} |",
                    unit.module,
                    unit.count,
                    thousands(unit.own.luts),
                    thousands(unit.own.lut_rams),
                    thousands(unit.own.flip_flops),
                    unit.own.block_rams_18k,
                    unit.levels
                );
            }
            let total = report.total;
            let _ = writeln!(
                text,
                "| **all** | | **{}** | {} | {} | {} | |\n",
                thousands(total.luts),
                thousands(total.lut_rams),
                thousands(total.flip_flops),
                total.block_rams_18k
            );
            if let Some(deepest) = report.units.iter().max_by_key(|unit| unit.levels) {
                let path: Vec<String> =
                    deepest.path.iter().map(|name| format!("`{name}`")).collect();
                let (levels, module) = (deepest.levels, &deepest.module);
                let _ = writeln!(
                    text,
                    "Deepest path, {levels} levels in `{module}`: {}.\n",
                    path.join(", ")
                );
            }
            for part in parts().iter().filter(|part| part.family == report.family) {
                let _ = writeln!(text, "- {}", share(part, report));
            }
            text.push('\n');
        }
        for (unit, route) in &self.routes {
            let _ = writeln!(
                text,
                "`{unit}` placed and routed on an ECP5-85, speed grade 8: {:.1} MHz ({} four-input LUTs with the test harness).",
                route.fmax_mhz,
                thousands(route.luts)
            );
        }
        text
    }
}

/// Returns the share of a part that a design uses.
fn share(part: &Part, report: &Report) -> String {
    let percent = |used: u64, has: u64| format!("{:.1} %", 100.0 * used as f64 / has as f64);
    let total = report.total;
    format!(
        "{}: {} of its LUTs, {} of its flip-flops, {} of its block RAMs ({})",
        part.name,
        percent(total.luts, part.luts),
        percent(total.flip_flops, part.flip_flops),
        percent(total.block_rams(), part.block_rams),
        part.paper
    )
}
