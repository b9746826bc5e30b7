//! `wireloom new`: begins an engine, with its tables, tests, a capture and a description.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use wireloom_console::{Staged, output};
use wireloom_install::embedded;
use wireloom_lang::{Options, check_source};
use wireloom_net::capture::{Destination, Writer};
use wireloom_testkit::TestFile;

use crate::failure::{Failure, Outcome};

/// See `wireloom new --help`.
#[derive(Args, Debug)]
pub struct New {
    /// The folder to make; its name becomes that of the engine
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// What the engine does at first
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    template: Template,
}

/// The engines to begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Template {
    /// Forwards IPv4 by the longest prefix, in one step: the smallest start
    #[default]
    Basic,
    /// Lets hosts inside open flows; from outside, only packets of these flows pass
    Firewall,
    /// Routes IPv4: next hops, TTL and checksum, errors for a control plane
    Router,
    /// Spreads the flows of a virtual address over servers, and keeps them there
    Balancer,
    /// Counts the traffic of each flow, host and protocol
    Monitor,
}

/// The files of a template: names and texts, in which `NAME` stands for the engine's name. The
/// packets of its tests are also written as a capture.
type Files = [(&'static str, &'static str); 4];

macro_rules! files {
    ($template:literal) => {
        [
            ("NAME.loom", include_str!(concat!("new/", $template, "/engine.loom"))),
            ("NAME.tables", include_str!(concat!("new/", $template, "/engine.tables"))),
            ("NAME.packets", include_str!(concat!("new/", $template, "/engine.packets"))),
            ("README.md", include_str!(concat!("new/", $template, "/readme.md"))),
        ]
    };
}

impl Template {
    fn files(self) -> Files {
        match self {
            Self::Basic => files!("basic"),
            Self::Firewall => files!("firewall"),
            Self::Router => files!("router"),
            Self::Balancer => files!("balancer"),
            Self::Monitor => files!("monitor"),
        }
    }
}

impl New {
    pub fn run(self) -> Outcome {
        let name = engine_name(&self.folder)?;
        if self.folder.symlink_metadata().is_ok() {
            let message = format!("{}: is there already", self.folder.display());
            return Err(Failure::unusable(message).with_help("name a folder that is not there"));
        }
        let files = self
            .template
            .files()
            .map(|(file, text)| (file.replace("NAME", name), text.replace("NAME", name)));
        // The name may be a keyword, or a name that the engine declares.
        let (file, text) = &files[0];
        let options = Options { library: Some(embedded::find), ..Options::default() };
        let checked = check_source(&self.folder.join(file).display().to_string(), text, &options);
        if let Some(diagnostic) = checked.diagnostics.first() {
            let message = format!(
                "{}: '{name}' cannot name the engine: {}",
                self.folder.display(),
                diagnostic.message
            );
            return Err(Failure::unusable(message).with_help("name another folder"));
        }
        let staged = Staged::at(&self.folder)?;
        staged.write_all(&files)?;
        let capture = format!("{name}.pcapng");
        let packets = staged.path().join(format!("{name}.packets"));
        let count = write_capture(&packets, &staged.path().join(&capture))?;
        staged.install()?;
        for (file, text) in &files {
            let (path, lines) = (self.folder.join(file), text.lines().count());
            output::say(format!("{}: {lines} lines", path.display()));
        }
        output::say(format!("{}: {count} packets", self.folder.join(capture).display()));
        output::say(format!("try: cd {} && wireloom test {name}.packets", self.folder.display()));
        Ok(())
    }
}

/// Writes the packets of a test file as a capture, by ingress port. Returns their number.
fn write_capture(tests: &Path, capture: &Path) -> Outcome<usize> {
    /// Nanoseconds between packets of one moment of the tests.
    const APART: u64 = 1_000_000;
    let tests = TestFile::read(tests).map_err(Failure::unusable)?;
    let mut writer = Writer::create(capture)?;
    let mut count = 0;
    for (index, packet) in (0..).zip(tests.packets()) {
        let arrival = packet.arrival_ns + index * APART;
        writer.write(Destination::From(packet.ingress), arrival, &packet.bytes)?;
        count += 1;
    }
    writer.finish()?;
    Ok(count)
}

/// Returns the name of the engine: the name of the folder, which must be an identifier.
fn engine_name(folder: &Path) -> Outcome<&str> {
    let is_identifier = |name: &&str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_lowercase())
            && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let name = folder.file_name().and_then(|name| name.to_str()).filter(is_identifier);
    name.ok_or_else(|| {
        Failure::unusable(format!("{}: does not end in the name of an engine", folder.display()))
            .with_help("use small letters, digits and _, beginning with a letter")
    })
}
