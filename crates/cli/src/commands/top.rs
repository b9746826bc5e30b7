//! `wireloom top`: the rates of a running forwarder.

use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use clap::Args;
use wireloom_console::output::{self, packet_rate};
use wireloom_console::{Count, thousands};
use wireloom_control::Status;
use wireloom_control::protocol::{Reply, Request};

use super::ctl::{SocketArgs, unexpected};
use crate::failure::Outcome;

/// See `wireloom top --help`.
#[derive(Args, Debug)]
pub struct Top {
    #[command(flatten)]
    socket: SocketArgs,
    /// Show the rates of so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    /// End after so many intervals; otherwise Ctrl-C ends it
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

impl Top {
    /// Shows rates until the forwarder ends.
    pub fn run(self) -> Outcome {
        let mut client = self.socket.connect()?;
        let mut status = || match client.ask(&Request::Status)? {
            Reply::Status(status) => Ok(*status),
            _ => Err(unexpected()),
        };
        let is_terminal = std::io::stdout().is_terminal();
        let mut before = status()?;
        let mut shown = 0;
        while self.count.is_none_or(|count| shown < count) {
            thread::sleep(Duration::from_secs(self.interval));
            let now = status()?;
            match is_terminal {
                // Move the cursor home and clear the screen.
                true => output::print(&format!("\x1b[H\x1b[J{}", screen(&before, &now))),
                false => output::print(&lines(&before, &now)),
            }
            before = now;
            shown += 1;
        }
        Ok(())
    }
}

/// Returns the growth of a counter, per second.
fn rate(before: u64, now: u64, seconds: f64) -> f64 {
    now.saturating_sub(before) as f64 / seconds.max(1e-3)
}

/// Returns the rates of verdicts by name, without verdicts that did not occur.
fn fates(before: &Status, now: &Status, seconds: f64) -> Vec<(String, Count, f64)> {
    let old = before.fates.rows();
    let rows = now.fates.rows().into_iter().map(|(name, count)| {
        let old = old.iter().find(|(other, _)| *other == name);
        let packets = old.map_or(0, |(_, count)| count.packets);
        let rate = rate(packets, count.packets, seconds);
        (name, count, rate)
    });
    rows.collect()
}

fn bits(before: u64, now: u64, seconds: f64) -> String {
    format!("{:.3}", rate(before, now, seconds) * 8.0 / 1e9)
}

/// Formats the rates between two states for a terminal.
fn screen(before: &Status, now: &Status) -> String {
    let seconds = now.seconds - before.seconds;
    let heads = ["port", "in", "Gb/s", "out", "Gb/s", "lost in", "lost out", "lost to kernel"];
    let mut ports = output::table(&heads, &[1, 2, 3, 4, 5, 6, 7]);
    for (number, (old, new)) in before.ports.iter().zip(&now.ports).enumerate() {
        ports.add_row([
            format!("{number} {}", new.name),
            packet_rate(rate(old.received_packets, new.received_packets, seconds)),
            bits(old.received_bytes, new.received_bytes, seconds),
            packet_rate(rate(old.sent_packets, new.sent_packets, seconds)),
            bits(old.sent_bytes, new.sent_bytes, seconds),
            packet_rate(rate(old.lost_at_input, new.lost_at_input, seconds)),
            packet_rate(rate(old.lost_at_output, new.lost_at_output, seconds)),
            packet_rate(rate(old.lost_to_kernel, new.lost_to_kernel, seconds)),
        ]);
    }
    let mut reasons = output::table(&["went to", "rate", "packets"], &[1, 2]);
    for (name, count, rate) in fates(before, now, seconds) {
        reasons.add_row([name, packet_rate(rate), thousands(count.packets)]);
    }
    let mut tables = output::table(&["table", "entries"], &[1]);
    for offload in &now.offloads {
        if let Some(entries) = offload.entries {
            tables.add_row([offload.name.clone(), thousands(entries)]);
        }
    }
    let kernel = now.kernel.map_or_else(String::new, |kernel| {
        format!(
            "kernel: {} routes, {} neighbours, {} entries repaired\n{}",
            thousands(kernel.routes),
            thousands(kernel.neighbours),
            thousands(kernel.repairs),
            kernel.unheld_text()
        )
    });
    let memory = now.memory.map_or_else(String::new, |memory| memory.text());
    format!(
        "{} (engine {}), {:.0} s, reloaded {} times\n\n{ports}\n\n{reasons}\n\n{tables}\n\n{kernel}{memory}",
        now.program, now.engine, now.seconds, now.reloads
    )
}

/// Formats the rates as lines: time, name, packets per second.
fn lines(before: &Status, now: &Status) -> String {
    let seconds = now.seconds - before.seconds;
    let at = now.seconds;
    let mut text = String::new();
    for (old, new) in before.ports.iter().zip(&now.ports) {
        text += &format!(
            "{at:.1} port {}: in {:.0} pps, out {:.0} pps, lost {:.0} pps\n",
            new.name,
            rate(old.received_packets, new.received_packets, seconds),
            rate(old.sent_packets, new.sent_packets, seconds),
            rate(
                old.lost_at_input + old.lost_at_output + old.lost_to_kernel,
                new.lost_at_input + new.lost_at_output + new.lost_to_kernel,
                seconds
            ),
        );
    }
    for (name, _, rate) in fates(before, now, seconds) {
        text += &format!("{at:.1} {name}: {rate:.0} pps\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(seconds: f64, packets: u64) -> Status {
        serde_json::from_value(serde_json::json!({
            "program": "p", "engine": "e", "seconds": seconds, "reloads": 0,
            "ports": [{"interface": "eth1", "exchange": "packet socket",
                       "received_packets": packets, "received_bytes": packets * 125,
                       "sent_packets": 0, "sent_bytes": 0, "lost_at_input": 4,
                       "lost_at_output": 0, "lost_to_kernel": 0}],
            "without_port": 0, "sent": [], "cpu": [], "policed": [],
            "dropped": [{"reason": "NO_ROUTE", "packets": packets, "bytes": 0}],
            "offloads": [{"name": "flows", "kind": "exact", "entries": 1234}],
            "memory": {"used": 70 << 20, "limit": 96 << 20}
        }))
        .expect("a status")
    }

    #[test]
    fn rates_are_those_of_the_interval() {
        let (before, now) = (status(1.0, 1000), status(3.0, 2_001_000));
        let text = lines(&before, &now);
        assert_eq!(
            text,
            "3.0 port eth1: in 1000000 pps, out 0 pps, lost 0 pps\n\
             3.0 drop: NO_ROUTE: 1000000 pps\n"
        );
        let text = screen(&before, &now);
        for part in [
            "0 eth1",
            "1.00 Mpps",
            "1.000",
            "drop: NO_ROUTE",
            "1,234",
            "2,001,000",
            "memory: 70 of 96 MiB",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
