//! `wireloom np virtual`: plans a chip for virtual routers.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use serde::Serialize;
use wireloom_np::area::{FAMILIES, parts};
use wireloom_np::description::NpSpec;

use super::search::{Numbers, shapes};
use crate::failure::{Failure, Outcome};
use wireloom_console::Places;
use wireloom_console::Staged;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::thousands;
use wireloom_explore::virtual_routers::{
    Description, Evaluator, Lane, Machines, Method, Verified, choice,
};

/// See `wireloom np virtual --help`.
#[derive(Args, Debug)]
pub struct Virtual {
    /// Description of the virtual routers, a TOML file (`wireloom docs virtual`)
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Choose how routers share processors
    #[arg(long, value_enum, default_value_t = Sharing::Consolidated)]
    method: Sharing,
    /// Use this machine for every processor (np-C-E-T, or a description) instead of searching for
    /// the smallest; not with consolidated, which compares areas
    #[arg(long, value_name = "MACHINE", conflicts_with_all = ["clusters", "engines", "threads"])]
    on: Option<String>,
    /// Write the chip, with all tables and a test bench, into this folder
    #[arg(short = 'o', long = "out", value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Simulate the chip and compare every router's packets with a golden machine that has only
    /// that router
    #[arg(long)]
    verify: bool,
    /// Verify that this router, sending at the full rate of its lane, does not slow down the others
    #[arg(long, value_name = "ROUTER", requires = "verify")]
    overload: Option<String>,
    /// Try these numbers of clusters
    #[arg(long, value_name = "N,M..", default_value = "1,2,3,4,5,6,8")]
    clusters: Numbers,
    /// Try these numbers of engines a cluster
    #[arg(long, value_name = "N,M..", default_value = "1,2,3,4")]
    engines: Numbers,
    /// Try these numbers of threads an engine
    #[arg(long, value_name = "N,M..", default_value = "4,8,16")]
    threads: Numbers,
    /// Estimate LUTs for this device family
    #[arg(long, value_name = "FAMILY", default_value = "xc7", value_parser = ["xc5v", "xc6v", "xc7"])]
    family: String,
    /// Write the choice as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// The values of `--method`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sharing {
    /// A processor for each router
    Isolated,
    /// One processor for all routers, with all protocols
    Merged,
    /// The paper's heuristic: routers with a common protocol share a processor if that saves area
    Consolidated,
}

impl From<Sharing> for Method {
    fn from(sharing: Sharing) -> Self {
        match sharing {
            Sharing::Isolated => Self::Isolated,
            Sharing::Merged => Self::Merged,
            Sharing::Consolidated => Self::Consolidated,
        }
    }
}

/// The result of the choice.
#[derive(Serialize)]
struct Report<'a> {
    method: Method,
    family: &'static str,
    groups: Vec<Vec<Lane>>,
    /// LUTs of the chip, and LUTs outside its processors: ingress, egress, control. `None` if
    /// machines were given.
    luts: Option<u64>,
    shared_luts: Option<u64>,
    /// The result of the chip's simulation for each router, if it was requested.
    verified: Vec<Verified>,
    #[serde(flatten)]
    description: &'a Description,
}

impl Virtual {
    /// Chooses groups and machines and prints them.
    pub fn run(self) -> Outcome {
        let places = Places::default().reads([&self.file]).writes_json(self.json.as_ref());
        places.check()?;
        let method = Method::from(self.method);
        let description = Description::open(&self.file)?;
        description.check_constants(&self.file)?;
        places.check()?;
        let overload = self.overload.as_deref().map(|name| description.router(name)).transpose()?;
        let (family, _) =
            FAMILIES.into_iter().find(|(name, _)| *name == self.family).expect("the parser knows");
        let machines = match &self.on {
            Some(_) if method == Method::Consolidated => {
                return Err(Failure::unusable(
                    "consolidation compares areas of the smallest machines",
                )
                .with_help("leave out --on, or say --method isolated or --method merged"));
            }
            Some(name) => Machines::Given(Box::new(NpSpec::find(name).map_err(Failure::unusable)?)),
            None => Machines::Smallest(shapes(&self.clusters, &self.engines, &self.threads)),
        };
        let mut evaluator = Evaluator::new(&description, machines, family)?;
        let protocols: Vec<_> =
            description.routers.iter().map(|router| router.protocols.clone()).collect();
        let groups = choice::choose(method, &protocols, |group| evaluator.luts(group))?;
        let groups = groups
            .iter()
            .map(|group| evaluator.lanes(group))
            .collect::<Result<Vec<_>, wireloom_machine::Error>>()?;
        let joined = evaluator.joined(&groups.concat())?;
        let processors: Option<u64> = groups.iter().flatten().map(|lane| lane.luts).sum();
        let shared_luts = processors.map(|_| evaluator.shared_luts(&joined)).transpose()?;
        let luts = processors.zip(shared_luts).map(|(processors, shared)| processors + shared);
        let staged = self.out.as_deref().map(Staged::at).transpose()?;
        if let Some(staged) = &staged {
            staged.write_all(&evaluator.files(&joined, shared_luts)?)?;
        }
        let overloaded = overload.filter(|_| self.verify);
        let verified =
            if self.verify { evaluator.verify(&joined, overloaded)? } else { Vec::new() };
        let report = Report {
            method,
            family,
            groups,
            luts,
            shared_luts,
            verified,
            description: &description,
        };
        if output::for_people(self.json.as_ref()) {
            output::print(&report.text());
        }
        if let Some(target) = &self.json {
            output::write_json(target, &report)?;
        }
        if let (Some(folder), Some(staged)) = (&self.out, staged) {
            let json = serde_json::to_vec_pretty(&report).expect("plain data");
            output::write_file(&staged.path().join("virtual.json"), &json)?;
            staged.install()?;
            if output::for_people(self.json.as_ref()) {
                output::say(format!(
                    "{}: the chip; README.md tells what is where, virtual.json what was chosen",
                    folder.display()
                ));
            }
        }
        let fine = report.verified.iter().all(Verified::is_fine);
        if fine { Ok(()) } else { Err(Failure::Negative) }
    }
}

impl Report<'_> {
    fn text(&self) -> String {
        let heads = ["group", "routers", "protocols", "Mpps", "machine", "LUTs"];
        let mut table = output::table(&heads, &[3, 5]);
        for (number, group) in self.groups.iter().enumerate() {
            for lane in group {
                let names: Vec<&str> = lane
                    .routers
                    .iter()
                    .map(|&router| self.description.routers[router].name.as_str())
                    .collect();
                table.add_row([
                    (number + 1).to_string(),
                    names.join(", "),
                    lane.protocols.to_string(),
                    format!("{:.2}", lane.mpps),
                    lane.machine.name.clone(),
                    lane.luts.map_or(String::new(), thousands),
                ]);
            }
        }
        let mut text = format!(
            "{} virtual routers, {}: {} processors{}\n\n{table}\n",
            self.description.routers.len(),
            self.method.name(),
            self.groups.iter().map(Vec::len).sum::<usize>(),
            self.luts.zip(self.shared_luts).map_or(String::new(), |(luts, shared)| {
                format!(
                    ", {} LUTs, of them {} ingress, egress and control",
                    thousands(luts),
                    thousands(shared)
                )
            })
        );
        for verified in &self.verified {
            let name = &self.description.routers[verified.router].name;
            let packets = thousands(verified.packets as u64);
            let lost = thousands(verified.lost as u64);
            let overload = if verified.overloaded { ", overloaded" } else { "" };
            text += &match verified.differs {
                None => {
                    format!(
                        "{name}{overload}: {packets} packets, {lost} lost, no difference from golden\n"
                    )
                }
                Some(number) => format!(
                    "{name}{overload}: {packets} packets, {lost} lost; packet {number} (counted from 0, of all) differs from golden\n"
                ),
            };
        }
        let Some(luts) = self.luts else { return text };
        for part in parts().iter().filter(|part| part.family == self.family) {
            text += &format!(
                "{}: {:.1} % of its LUTs\n",
                part.name,
                100.0 * luts as f64 / part.luts as f64
            );
        }
        text
    }
}
