//! `wireloom ctl`: requests of operators to a running forwarder.

mod tables;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use wireloom_console::Places;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::thousands;
use wireloom_control::protocol::{self, Ended, Reply, Request, from_hex};
use wireloom_control::{Client, Point};
use wireloom_machine::Error;
use wireloom_net::capture::{Destination, Format, Writer};

use crate::failure::{Failure, Outcome};

/// The default path of a forwarder's control socket.
pub const SOCKET: &str = "/run/wireloom/control";

/// See `wireloom ctl --help`.
#[derive(Args, Debug)]
pub struct Ctl {
    #[command(flatten)]
    socket: SocketArgs,
    #[command(subcommand)]
    action: Action,
}

/// The forwarder that is asked.
#[derive(Args, Debug)]
pub struct SocketArgs {
    /// The control socket of the forwarder
    #[arg(long, value_name = "PATH", default_value = SOCKET, value_hint = ValueHint::FilePath,
        global = true)]
    control: PathBuf,
}

impl SocketArgs {
    /// Connects.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect(&self) -> Outcome<Client> {
        Ok(Client::connect(&self.control)?)
    }
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show all counters
    Status(Status),
    /// Read the program and the tables again, and replace them without losing a packet
    Reload(Reload),
    /// End forwarding; the interfaces are then as they were
    Stop,
    /// Write packets to a capture, as they arrive, are sent, go to the kernel or are dropped
    Capture(Capture),
    /// Show the steps that live packets take
    Trace(Trace),
    /// List, show, change and watch the entries of tables
    #[command(after_help = "\
Examples:
  wireloom ctl tables list
  wireloom ctl tables show destinations4 10.0.0.0/8
  wireloom ctl tables show flows --all --json flows.json
  wireloom ctl tables insert labels 17 next_hop=2
  wireloom ctl tables replace services 'address=203.0.113.80 protocol=6 port=80 -> = 0'
  wireloom ctl tables delete labels 17
  wireloom ctl tables change --file changes.txt
  wireloom ctl tables watch started --interval 500ms --count 10

How tables change while packets flow: `wireloom docs operate/tables`. The notation of entries: `wireloom docs packets`.")]
    Tables(tables::Tables),
}

#[derive(Args, Debug)]
struct Status {
    /// Write the counters as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Args, Debug)]
struct Reload {
    /// Write the report as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Args, Debug)]
struct Capture {
    /// Capture at these points
    #[arg(long, value_enum, value_name = "POINT", value_delimiter = ',', default_value = "in")]
    at: Vec<At>,
    /// Capture only packets that match (`wireloom docs operate/observe`)
    #[arg(long, value_name = "EXPRESSION", default_value = "")]
    filter: String,
    /// End after so many packets
    #[arg(long, value_name = "N", default_value_t = 1000)]
    count: u64,
    /// End after so many bytes of packets
    #[arg(long, value_name = "N", default_value_t = 64 << 20)]
    bytes: u64,
    /// End after so many seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// The capture, as pcapng: an interface for each port, one for the cpu and one for drops
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
}

#[derive(Args, Debug)]
struct Trace {
    /// Trace only packets that match (`wireloom docs operate/observe`)
    #[arg(long, value_name = "EXPRESSION", default_value = "")]
    filter: String,
    /// End after so many packets
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u64,
    /// Show at most this number of steps of each, those of called engines included; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    steps: u64,
    /// End after so many seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Write the traces as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// See [`Point`].
#[derive(Clone, Copy, Debug, ValueEnum)]
enum At {
    /// As they arrive
    In,
    /// As they are sent
    Out,
    /// As they go to the kernel, with the reason
    Cpu,
    /// As they are dropped, with the reason
    Drop,
}

impl From<At> for Point {
    fn from(at: At) -> Self {
        match at {
            At::In => Self::In,
            At::Out => Self::Out,
            At::Cpu => Self::Cpu,
            At::Drop => Self::Drop,
        }
    }
}

/// Returns the failure for a reply that does not match the request.
pub fn unexpected() -> Failure {
    Failure::unusable("the forwarder answered something else: it is of another version")
}

impl Ctl {
    /// Whether the action itself handles the signals that ask the process to end.
    pub fn handles_signals(&self) -> bool {
        match &self.action {
            Action::Capture(_) | Action::Trace(_) => true,
            Action::Tables(tables) => tables.handles_signals(),
            Action::Status(_) | Action::Reload(_) | Action::Stop => false,
        }
    }

    /// Sends the request, and shows the reply.
    pub fn run(self) -> Outcome {
        let mut client = self.socket.connect()?;
        match self.action {
            Action::Status(status) => match client.ask(&Request::Status)? {
                Reply::Status(counters) => {
                    show(status.json.as_ref(), || counters.text() + &counters.program_text());
                    Ok(output::json(status.json.as_ref(), &counters)?)
                }
                _ => Err(unexpected()),
            },
            Action::Reload(reload) => match client.ask(&Request::Reload)? {
                Reply::Reloaded(report) => {
                    show(reload.json.as_ref(), || report.text());
                    Ok(output::json(reload.json.as_ref(), &report)?)
                }
                _ => Err(unexpected()),
            },
            Action::Stop => match client.ask(&Request::Stop)? {
                Reply::Stopping {} => {
                    output::say("stopping");
                    Ok(())
                }
                _ => Err(unexpected()),
            },
            Action::Capture(capture) => capture.run(client),
            Action::Trace(trace) => trace.run(client),
            Action::Tables(tables) => tables.run(client),
        }
    }
}

fn show(json: Option<&JsonTarget>, text: impl FnOnce() -> String) {
    if output::for_people(json) {
        output::print(&text());
    }
}

impl Capture {
    fn run(self, mut client: Client) -> Outcome {
        let places = Places::default().writes("--out", Some(&self.out));
        places.check()?;
        if Format::for_path(&self.out) == Format::Pcap {
            let what = format!("{}: plain pcap has no points and reasons", self.out.display());
            return Err(Failure::unusable(what).with_help("name the file .pcapng"));
        }
        // Ctrl-C ends the capture, as its other limits do.
        client.close_on_signals()?;
        client.send(&Request::Capture(protocol::Capture {
            at: self.at.iter().map(|at| Point::from(*at)).collect(),
            filter: self.filter.clone(),
            packets: self.count,
            bytes: self.bytes,
            seconds: self.seconds,
        }))?;
        let (mut writer, mut packets) = (None, 0);
        let ended = loop {
            let packet = match client.receive() {
                Ok(Reply::Packet(packet)) => packet,
                Ok(Reply::Ended(ended)) => break Ok(told(&ended, "captured")),
                Ok(_) => break Err(unexpected()),
                Err(_) if client.is_interrupted() => {
                    break Ok(format!("{} packets captured; interrupted", thousands(packets)));
                }
                Err(error) => break Err(error.into()),
            };
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(Writer::create(&self.out)?),
            };
            let reason = packet.reason.as_deref().unwrap_or_default();
            let destination = match packet.at {
                Point::In => Destination::From(packet.port),
                Point::Out => Destination::Port(packet.port),
                Point::Cpu => Destination::Cpu(reason),
                Point::Drop => Destination::Drop(reason),
            };
            let bytes = from_hex(&packet.bytes).ok_or_else(unexpected)?;
            writer.write(destination, packet.arrival_ns, &bytes)?;
            packets += 1;
        };
        // The packets captured before the forwarder ended are kept. A capture without packets is
        // written too, unless the request was refused.
        match (writer, &ended) {
            (Some(writer), _) => writer.finish()?,
            (None, Ok(_)) => Writer::create(&self.out)?.finish()?,
            (None, Err(_)) => {}
        }
        output::note(ended?);
        Ok(())
    }
}

fn told(ended: &Ended, what: &str) -> String {
    let mut text = format!("{} packets {what}", thousands(ended.packets));
    if ended.lost > 0 {
        text += &format!("; {} more matched and were left out", thousands(ended.lost));
    }
    if ended.timed_out {
        text += "; the time is over (--seconds)";
    }
    text
}

impl Trace {
    fn run(self, mut client: Client) -> Outcome {
        // Ctrl-C ends the trace, as its other limits do.
        client.close_on_signals()?;
        client.send(&Request::Trace(protocol::Trace {
            filter: self.filter.clone(),
            count: self.count,
            steps: self.steps,
            width: output::width().map_or(100, usize::from),
            seconds: self.seconds,
        }))?;
        let mut reports = Vec::new();
        let ended = loop {
            match client.receive() {
                Ok(Reply::Trace(traced)) => {
                    show(self.json.as_ref(), || traced.text);
                    reports.push(traced.report);
                }
                Ok(Reply::Ended(ended)) => break Ok(told(&ended, "traced")),
                Ok(_) => break Err(unexpected()),
                Err(_) if client.is_interrupted() => {
                    let packets = thousands(reports.len() as u64);
                    break Ok(format!("{packets} packets traced; interrupted"));
                }
                Err(error) => break Err(error.into()),
            }
        };
        // The traces made before the forwarder ended are kept.
        if ended.is_ok() || !reports.is_empty() {
            output::json(self.json.as_ref(), &reports)?;
        }
        output::note(ended?);
        match reports.is_empty() && !client.is_interrupted() {
            true => Err(Error::new("no packet matched").into()),
            false => Ok(()),
        }
    }
}
