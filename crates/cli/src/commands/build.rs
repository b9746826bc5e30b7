//! `wireloom build`: the program as source for a machine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_ir::{Output, Verdict};
use wireloom_native::generate;
use wireloom_net::Packet;
use wireloom_net::traffic::{Generator, Spec};
use wireloom_rtl::machine::Machine as Description;
use wireloom_rtl::np::{self, Processor, Stimulus};

use crate::area::{Area, Families};
use crate::failure::{Failure, Outcome};
use crate::machine::{self, Machine, MachineName, load_store};
use crate::output;
use crate::packets::Batches;
use crate::program::{Program, ProgramArgs};
use crate::simulation::SimulationArgs;
use crate::staged::{Staged, cannot_be_made};

/// What the folder says of its cost if nobody asked.
const NOT_ESTIMATED: &str = "LUTs, flip-flops and block RAMs are not estimated. The `wireloom build` command that made this folder, given again with `--area`,
synthesises what it has not synthesised before, which takes minutes, and writes the estimate here.";

/// See `wireloom build --help`.
#[derive(Args, Debug)]
pub struct Build {
    #[command(flatten)]
    program: ProgramArgs,
    /// The machine to build for: native, np-C-E-T (clusters, engines, threads), or a description (.toml)
    #[arg(long, value_name = "MACHINE", default_value = "native")]
    on: MachineName,
    /// Of a network processor: load a table file into the memory images (may be given several times)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Of a network processor: packets of a capture for its test bench, with what golden makes of them; else some generated ones
    #[arg(long = "in", value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    input: Vec<PathBuf>,
    /// Of a network processor: how many packets its test bench sends at most; 200 by default
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Of a network processor: estimate with Yosys what it takes of a family of devices, or of all three (minutes the first time; what
    /// was found is remembered)
    #[arg(long, value_name = "FAMILY", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    area: Option<Families>,
    /// Of a network processor: put it into its embedded test rig, which sends packets and checks what leaves (machines/np.toml, [rig])
    #[arg(long)]
    rig: bool,
    /// With --area: place and route engine and cluster on an ECP5-85 as well, for a clock rate (many minutes)
    #[arg(long, requires = "area")]
    route: bool,
    /// The folder to write to; it is made if it is missing
    #[arg(short = 'o', long = "out", value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

impl Build {
    /// Writes the generated files.
    pub fn run(self) -> Outcome {
        match &self.on {
            MachineName::Golden => {
                Err(Failure::unusable("golden interprets programs: there is nothing to build for it")
                    .with_help("build --on native writes C; explain --ir shows the step IR that golden runs"))
            }
            MachineName::Native => self.native(),
            MachineName::Np(description) => self.np(description),
            MachineName::Mpsoc(spec) => Err(Failure::unusable(format!(
                "{} is simulated here: there is nothing to build for it",
                spec.name
            ))
            .with_help("build --on native writes C, --on np-C-E-T SystemVerilog")),
        }
    }

    fn native(&self) -> Outcome {
        if self.area.is_some() {
            return Err(Failure::unusable("only hardware has an area")
                .with_help("say --on np-C-E-T, or leave out --area"));
        }
        if self.rig {
            return Err(Failure::unusable("only hardware has a test rig")
                .with_help("say --on np-C-E-T, or leave out --rig"));
        }
        if !self.tables.is_empty() {
            return Err(Failure::unusable("C is generated without tables: they are loaded where it runs")
                .with_help("leave out --tables"));
        }
        if !self.input.is_empty() {
            return Err(Failure::unusable("only hardware is built with a test bench")
                .with_help("leave out --in; wireloom run --on native takes packets"));
        }
        if self.packets.is_some() {
            return Err(Failure::unusable("only hardware is built with a test bench, which sends packets")
                .with_help("leave out --packets"));
        }
        let files = generate(&self.program.optimised()?).files;
        let staged = Staged::at(&self.out)?;
        for (name, text) in &files {
            staged.write(name, text)?;
        }
        staged.install()?;
        for (name, text) in &files {
            output::say(format!("{}: {} lines", self.out.join(name).display(), text.lines().count()));
        }
        Ok(())
    }

    fn np(&self, description: &Description) -> Outcome {
        let given = [("--in", !self.input.is_empty()), ("--packets", self.packets.is_some())];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| self.rig && *given) {
            return Err(Failure::unusable(format!("the test rig makes its own packets: {option} changes nothing"))
                .with_help(format!("leave out {option}: what is sent stands in [rig] of the machine's description; or leave out --rig")));
        }
        let program = self.program.compiled()?;
        let (store, _) = load_store(&program.optimised, &self.tables)?;
        machine::warn_of_sections_for_nothing(description, &program.optimised);
        let processor = machine::processor(description, &program, self.rig)?;
        let images = np::images(&processor.plan, &store).map_err(Failure::unusable)?;
        let stimulus = if self.rig { None } else { Some(self.stimulus(&program, &processor)?) };
        let area = self.area.map(|families| Area::estimate(&processor, families, self.route)).transpose()?;
        // Without --area there is what earlier builds have found out.
        let known = if area.is_none() { Area::remembered(&processor) } else { None };
        let estimate = area.as_ref().or(known.as_ref());
        let estimate = estimate.map_or_else(|| NOT_ESTIMATED.to_owned(), Area::markdown);
        let staged = Staged::at(&self.out)?;
        np::write(&processor, &images, stimulus.as_ref(), &estimate, staged.path())
            .map_err(cannot_be_made(&self.out))?;
        if let Some(area) = &area {
            let json = serde_json::to_vec_pretty(area).expect("plain data");
            output::write_file(&staged.path().join("area.json"), &json)?;
        }
        staged.install()?;
        if area.is_some() {
            output::print(&estimate);
        }
        let lines = |text: &str| text.lines().count();
        let files = processor.design.files.iter().chain(&processor.simulation);
        let total: usize = files.clone().map(|file| lines(&file.text)).sum();
        output::say(format!(
            "{}: {} modules, {total} lines of SystemVerilog, {} memory images; README.md there tells of them",
            self.out.display(),
            files.count(),
            images.len(),
        ));
        Ok(())
    }
}

impl Build {
    /// Packets for the test bench, and what golden makes of them.
    fn stimulus(&self, program: &Program, processor: &Processor) -> Outcome<Stimulus> {
        let most = self.packets.unwrap_or(200);
        let options = SimulationArgs::default();
        let mut golden = Machine::build(MachineName::Golden, program, &self.tables, &options)?;
        let mut stimulus = Stimulus::default();
        let mut sent = 0;
        let mut send = |packets: &[Packet]| -> Outcome {
            machine::check_ports(processor, sent, packets)?;
            sent += packets.len() as u64;
            packets.iter().for_each(|packet| stimulus.arrives(packet));
            golden.execute(packets, &mut |output| {
                let exists = match output.verdict {
                    Verdict::Sent { port } => processor.geometry.has_port(port),
                    _ => true,
                };
                stimulus.leaves(&Output { bytes: if exists { output.bytes } else { &[] }, ..output });
            })?;
            Ok(())
        };
        if self.input.is_empty() {
            let spec = Spec { count: Some(most), ..Spec::default() };
            let packets: Vec<Packet> = Generator::new(&spec).map_err(Failure::unusable)?.collect();
            send(&packets)?;
        } else {
            let mut batches = Batches::open(&self.input, Some(most))?;
            loop {
                let batch = batches.next_batch()?;
                if batch.is_empty() {
                    break;
                }
                send(batch)?;
            }
        }
        golden.finish(&mut |output| stimulus.leaves(&output))?;
        Ok(stimulus)
    }
}
