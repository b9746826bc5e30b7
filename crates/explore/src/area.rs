//! The cost of a network processor, as text for people and as a record for programs.

use std::fmt::Write as _;
use std::str::FromStr;

use serde::Serialize;
use wireloom_np::area::{self, AreaEstimate, Cache, FAMILIES, Overrun, Part, Route, parts};
use wireloom_np::processor::{self, Processor};

use wireloom_console::Working;
use wireloom_machine::thousands;
use wireloom_machine::{Error, Result};

/// The estimate of a design on some families, and routing results if they were requested.
#[derive(Debug, Serialize)]
pub struct Area {
    /// A report for each family.
    pub families: Vec<AreaEstimate>,
    /// The parts of these families that are too small, with the missing resources.
    pub too_small: Vec<TooSmall>,
    /// The name of each routed unit, and its result.
    pub routes: Vec<(String, Route)>,
}

/// A part that does not hold the design.
#[derive(Debug, Serialize)]
pub struct TooSmall {
    pub part: String,
    /// The resources of which the part has too few.
    pub lacks: Vec<Overrun>,
    pub remedy: String,
}

/// The devices for which an estimate is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// All families.
    All,
    /// A family and all its parts, by its identifier in [`FAMILIES`].
    Family(&'static str),
    /// A part of [`parts`], by its name.
    Part(String),
}

impl Target {
    fn family(&self) -> Option<String> {
        match self {
            Self::All => None,
            Self::Family(family) => Some((*family).to_owned()),
            Self::Part(name) => {
                parts().into_iter().find(|part| part.name == *name).map(|part| part.family)
            }
        }
    }

    fn wants(&self, part: &Part) -> bool {
        !matches!(self, Self::Part(name) if part.name != *name)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        if let Some((family, _)) = FAMILIES.into_iter().find(|(family, _)| *family == text) {
            return Ok(Self::Family(family));
        }
        let parts = parts();
        if let Some(part) = parts.iter().find(|part| part.name.eq_ignore_ascii_case(text)) {
            return Ok(Self::Part(part.name.clone()));
        }
        let families = FAMILIES.map(|(family, _)| family).join(", ");
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        Err(format!("it is neither a family ({families}, all) nor a part ({})", names.join(", ")))
    }
}

impl Area {
    /// Synthesises every unit for a target; with `routed`, places and routes engine and cluster
    /// as well.
    ///
    /// # Errors
    /// If a tool is missing or refuses the design.
    pub fn estimate(processor: &Processor, target: &Target, routed: bool) -> Result<Self> {
        let only = target.family();
        let is_wanted = |family: &str| only.as_deref().is_none_or(|only| only == family);
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
                let routed =
                    area::routes(design, &unit, target, &[1], &cache).map_err(Error::new)?;
                routes.extend(routed.into_iter().map(|route| (unit.clone(), route)));
            }
        }
        let too_small = too_small(&families, target, &processor::largest_tables(processor));
        Ok(Self { families, too_small, routes })
    }

    /// Returns the estimate for the families for which every unit has been synthesised before, or
    /// `None` if there are none.
    pub fn remembered(processor: &Processor) -> Option<Self> {
        let cache = Cache::of_user();
        let families = FAMILIES.into_iter();
        let families: Vec<AreaEstimate> = families
            .filter_map(|(family, _)| area::remembered(&processor.design, family, &cache))
            .collect();
        let too_small = too_small(&families, &Target::All, &processor::largest_tables(processor));
        (!families.is_empty()).then_some(Self { families, too_small, routes: Vec::new() })
    }

    /// Returns a warning for each part that is too small.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.too_small.iter().map(|TooSmall { part, lacks, remedy }| {
            format!("{part} is too small: {}; {remedy}", list(lacks))
        })
    }

    /// Formats the estimate as Markdown: each family, its units, and the share of the paper's
    /// parts.
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
                for small in self.too_small.iter().filter(|small| small.part == part.name) {
                    let _ = writeln!(
                        text,
                        "  **The part is too small**: {}; {}.",
                        list(&small.lacks),
                        small.remedy
                    );
                }
            }
            text.push('\n');
        }
        for (unit, route) in &self.routes {
            let _ = writeln!(
                text,
                "`{unit}` placed and routed on an ECP5-85, speed grade 8, with one seed: {:.1} MHz ({} four-input LUTs with the test harness).",
                route.fmax_mhz,
                thousands(route.luts)
            );
        }
        text
    }
}

/// Returns the share of a part that a design uses, as text.
fn share(part: &Part, report: &AreaEstimate) -> String {
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

fn list(lacks: &[Overrun]) -> String {
    lacks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the parts of a target that are too small for the design. `tables` are the largest tables
/// in block RAM.
fn too_small(families: &[AreaEstimate], target: &Target, tables: &[String]) -> Vec<TooSmall> {
    let parts = parts();
    let mut found = Vec::new();
    for report in families {
        let of_family: Vec<&Part> =
            parts.iter().filter(|part| part.family == report.family).collect();
        let fitting = of_family.iter().find(|part| part.overruns(&report.total).is_empty());
        for part in of_family.iter().filter(|part| target.wants(part)) {
            let lacks = part.overruns(&report.total);
            if lacks.is_empty() {
                continue;
            }
            let larger = fitting.map_or("a larger part".to_owned(), |part| part.name.clone());
            let remedy = remedy(&lacks, tables, &larger);
            found.push(TooSmall { part: part.name.clone(), lacks, remedy });
        }
    }
    found
}

/// Returns a remedy for a part that lacks these resources. `tables` are the largest tables in block
/// RAM with their sizes.
fn remedy(lacks: &[Overrun], tables: &[String], larger: &str) -> String {
    let mut remedies = Vec::new();
    if lacks.iter().any(Overrun::is_memory) {
        if !tables.is_empty() {
            remedies.push(format!(
                "make tables smaller, the largest being {} (the router: --set NEXT_HOPS=4096, \
                 --set COUNT_FLOWS=false)",
                tables.join(", ")
            ));
            remedies.push(
                "put them in memory channels (`realisation = \"cached\"`, `\"direct\"` or \
                 `\"flow-counter\"`)"
                    .to_owned(),
            );
        }
        remedies.push("keep threads in LUT RAM (`engine.storage`)".to_owned());
    }
    if lacks.iter().any(|lack| !lack.is_memory()) {
        remedies.push("have fewer clusters or engines".to_owned());
    }
    remedies.push(format!("or take {larger}"));
    remedies.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_family_or_a_part() {
        assert_eq!("xc7".parse(), Ok(Target::Family("xc7")));
        assert_eq!("all".parse(), Ok(Target::All));
        let part: Target = "xc7vh870t".parse().expect("a part");
        assert_eq!(part, Target::Part("XC7VH870T".into()));
        assert_eq!(part.family().as_deref(), Some("xc7"));
        let wanted: Vec<String> =
            parts().into_iter().filter(|other| part.wants(other)).map(|part| part.name).collect();
        assert_eq!(wanted, ["XC7VH870T"]);
        let refused = "xc9".parse::<Target>().expect_err("there is none");
        assert!(refused.contains("xc6v") && refused.contains("XC5VTX240T"), "{refused}");
    }

    #[test]
    fn a_part_that_is_too_small_is_told_in_warnings_and_in_the_report() {
        let total = area::Cost { luts: 190_000, block_rams_18k: 3000, ..area::Cost::default() };
        let families = vec![AreaEstimate { family: "xc7", units: Vec::new(), total }];
        let tables = ["`next_hops` (8,000 Kbit)".to_owned()];
        let found = too_small(&families, &Target::All, &tables);
        let area = Area { families, too_small: found, routes: Vec::new() };
        let warnings: Vec<String> = area.warnings().collect();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        let lack = "3,000 of 2,820 block RAMs of 18 Kb (106.4 %)";
        assert!(warning.starts_with(&format!("XC7VH870T is too small: {lack}; ")), "{warning}");
        assert!(warning.ends_with("or take a larger part"), "{warning}");
        let markdown = area.markdown();
        assert!(markdown.contains(&format!("**The part is too small**: {lack}; make tables")));
        assert!(serde_json::to_string(&area).expect("JSON").contains("\"used\":3000"));
        // The larger of the two parts has room for a smaller design.
        let total = area::Cost { block_rams_18k: 1000, ..total };
        let families = [AreaEstimate { family: "xc6v", units: Vec::new(), total }];
        let found = too_small(&families, &Target::Part("XC6VLX240T".into()), &[]);
        let [small] = &found[..] else { panic!("{found:?}") };
        assert_eq!((small.part.as_str(), small.lacks.len()), ("XC6VLX240T", 2));
        assert!(small.remedy.ends_with("or take XC6VHX380T"), "{}", small.remedy);
    }

    #[test]
    fn the_remedy_suits_what_is_lacking() {
        let lack = |resource| Overrun { resource, used: 2, available: 1 };
        let part = parts().remove(0);
        let cost = area::Cost { block_rams_18k: 5000, ..area::Cost::default() };
        let lacks = part.overruns(&cost);
        let tables = ["`next_hops` (8,000 Kbit)".to_owned()];
        let told = remedy(&lacks, &tables, "XC7VH870T");
        assert!(told.contains("`next_hops` (8,000 Kbit)") && told.contains("NEXT_HOPS"), "{told}");
        assert!(told.ends_with("or take XC7VH870T") && !told.contains("clusters"), "{told}");
        let told = remedy(&[lack("LUTs")], &tables, "a larger part");
        assert!(told.contains("fewer clusters") && !told.contains("next_hops"), "{told}");
    }
}
