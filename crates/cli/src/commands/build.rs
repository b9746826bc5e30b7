//! `wireloom build`: compiles the program to source code for a machine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_console::{Staged, load_store, output};
use wireloom_explore::area::{Area, Target};
use wireloom_io::{Captures, Generated, Source};
use wireloom_ir::{Execute, Golden, Output, Verdict};
use wireloom_machine::Program;
use wireloom_net::Frame;
use wireloom_net::traffic::Spec;
use wireloom_np::description::NpSpec;
use wireloom_np::machine::{self, Form};
use wireloom_np::processor::{self, Processor, Stimulus};

use crate::captures::{CaptureArgs, warn_of};
use crate::failure::{Failure, Outcome};
use crate::machine::{MachineName, warn_of_sections};
use crate::program::ProgramArgs;

/// See `wireloom build --help`.
#[derive(Args, Debug)]
pub struct Build {
    #[command(flatten)]
    program: ProgramArgs,
    /// Build for this machine: native, np-C-E-T (clusters, engines, threads), or a description
    /// (.toml)
    #[arg(long, value_name = "MACHINE", default_value = "native")]
    on: MachineName,
    /// Network processors only: load a table file into the memory images (may be given several
    /// times)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Network processors only: take the test bench's packets from a capture, with golden's output
    /// as the expectation; by default some packets are generated
    #[arg(long = "in", value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    input: Vec<PathBuf>,
    #[command(flatten)]
    captures: CaptureArgs,
    /// Network processors only: limit the packets that the test bench sends; 200 by default
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Network processors only: estimate with Yosys the resources in one device family (xc5v, xc6v,
    /// xc7), for one part (XC7VH870T) or, without a name, in all three families; warns of parts
    /// that are too small (takes minutes the first time; results are cached)
    #[arg(long, value_name = "FAMILY|PART", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    area: Option<Target>,
    /// Network processors only: add the embedded test rig, which sends packets and checks the
    /// output (machines/np.toml, [rig])
    #[arg(long)]
    rig: bool,
    /// With --area: also place and route engine and cluster on an ECP5-85, for a clock rate (takes
    /// many minutes)
    #[arg(long, requires = "area")]
    route: bool,
    /// Write into this folder, creating it if necessary
    #[arg(short = 'o', long = "out", value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

impl Build {
    /// Writes the generated files.
    pub fn run(self) -> Outcome {
        match self.on.of_kind() {
            Some(spec) => self.np(spec),
            None => self.generated(),
        }
    }

    /// Writes the files that the machine generates from the program alone.
    fn generated(&self) -> Outcome {
        let files = self.on.0.generate(&self.program.compiled()?)?;
        if self.area.is_some() {
            return Err(Failure::unusable("only hardware has an area")
                .with_help("say --on np-C-E-T, or leave out --area"));
        }
        if self.rig {
            return Err(Failure::unusable("only hardware has a test rig")
                .with_help("say --on np-C-E-T, or leave out --rig"));
        }
        if !self.tables.is_empty() {
            return Err(Failure::unusable(
                "C is generated without tables: they are loaded where it runs",
            )
            .with_help("leave out --tables"));
        }
        if !self.input.is_empty() {
            return Err(Failure::unusable("only hardware is built with a test bench")
                .with_help("leave out --in; wireloom run --on native takes packets"));
        }
        if self.packets.is_some() {
            return Err(Failure::unusable(
                "only hardware is built with a test bench, which sends packets",
            )
            .with_help("leave out --packets"));
        }
        Ok(Staged::write_folder(&self.out, &files)?)
    }

    fn np(&self, description: &NpSpec) -> Outcome {
        let given = [("--in", !self.input.is_empty()), ("--packets", self.packets.is_some())];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| self.rig && *given) {
            return Err(Failure::unusable(format!("the test rig makes its own packets: {option} changes nothing"))
                .with_help(format!("leave out {option}: what is sent stands in [rig] of the machine's description; or leave out --rig")));
        }
        let program = self.program.compiled()?;
        let (store, _) = load_store(&program.optimised, &self.tables)?;
        warn_of_sections(description, &program.optimised);
        let processor = machine::processor(
            description,
            &program,
            if self.rig { Form::InRig } else { Form::Alone },
        )?;
        let images = processor.plan.images(&store).map_err(Failure::unusable)?;
        let stimulus = if self.rig { None } else { Some(self.stimulus(&program, &processor)?) };
        let area = self
            .area
            .as_ref()
            .map(|target| Area::estimate(&processor, target, self.route))
            .transpose()?;
        // Without --area, use the cached results of earlier builds.
        let known = if area.is_none() { Area::remembered(&processor) } else { None };
        let estimate = area.as_ref().or(known.as_ref());
        let estimate = estimate.map_or_else(|| processor::NOT_ESTIMATED.to_owned(), Area::markdown);
        let staged = Staged::at(&self.out)?;
        let count = images.len();
        staged.write_all(&processor::files(&processor, images, stimulus, &estimate))?;
        if let Some(area) = &area {
            let json = serde_json::to_vec_pretty(area).expect("plain data");
            output::write_file(&staged.path().join("area.json"), &json)?;
        }
        staged.install()?;
        if let Some(area) = &area {
            output::print(&estimate);
            area.warnings().for_each(|warning| output::note(format!("warning: {warning}")));
        }
        let lines = |text: &str| text.lines().count();
        let files = processor.design.files.iter().chain(&processor.simulation);
        let total: usize = files.clone().map(|file| lines(&file.text)).sum();
        output::say(format!(
            "{}: {} modules, {total} lines of SystemVerilog, {} memory images, described in its README.md",
            self.out.display(),
            files.count(),
            count,
        ));
        let channels = processor::channels(&processor.plan);
        if channels.channels > 0 {
            output::say(channels.summary());
        }
        Ok(())
    }
}

impl Build {
    /// Returns the packets for the test bench, and golden's output for them.
    fn stimulus(&self, program: &Program, processor: &Processor) -> Outcome<Stimulus> {
        let most = self.packets.unwrap_or(200);
        let (store, _) = load_store(&program.optimised, &self.tables)?;
        let mut golden = Golden::new(program.optimised.clone(), store);
        let mut stimulus = Stimulus::default();
        let mut captures = Captures::open(&self.input, Some(most), self.captures.options())?;
        let mut generated = Generated::new(&Spec { count: Some(most), ..Spec::default() })?;
        let source: &mut dyn Source =
            if self.input.is_empty() { &mut generated } else { &mut captures };
        let mut sent = 0;
        loop {
            let frames = source.next_batch()?;
            if frames.is_empty() {
                break;
            }
            machine::check_ports(processor, sent, &frames)?;
            // The test bench runs no timers: it ends before the first one.
            let is_late = |frame: &Frame<'_>, golden: &Golden| {
                golden.next_timer().is_some_and(|next| next <= frame.arrival_ns)
            };
            for frame in &frames {
                if is_late(frame, &golden) {
                    output::note(format!(
                        "note: the test bench has {sent} packets: the next one arrives when a timer is due"
                    ));
                    return Ok(stimulus);
                }
                sent += 1;
                stimulus.arrives(*frame);
                golden.offer(&[*frame], &mut |output| {
                    let exists = match output.verdict {
                        Verdict::Sent { port } => processor.geometry.has_port(port),
                        _ => true,
                    };
                    let bytes = if exists { output.bytes } else { &[] };
                    stimulus.leaves(&Output { bytes, ..output });
                });
            }
        }
        warn_of(&captures);
        Ok(stimulus)
    }
}
