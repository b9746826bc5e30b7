//! Counters for Prometheus, over HTTP.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use wireloom_console::Count;
use wireloom_http::{self as http, Limits, Request, Response, Serving};
use wireloom_live::conditions;
use wireloom_machine::{Error, Result};

use crate::forwarding::Handle;
use crate::status::{Called, Kernel, Status};

/// A listening endpoint.
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

impl Endpoint {
    /// Binds the address.
    ///
    /// # Errors
    /// If the address is in use or does not belong to this host.
    pub fn bind(address: SocketAddr) -> Result<Self> {
        let failed = |error| Error::new(format!("--metrics {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// The bound address. If port 0 was requested, it holds the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `/metrics` until the result is dropped.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn serve(self, handle: Handle) -> Result<Serving> {
        let address = self.address;
        // Each status request stops the cores for a moment, so requests in quick succession get the
        // same counters.
        let last: Mutex<Option<(Instant, String)>> = Mutex::default();
        let page = move |request: &Request| {
            match (&request.method[..], &request.path[..]) {
                ("GET" | "HEAD", "/metrics") => {}
                (_, "/metrics") => return Response::line(405, "GET only"),
                _ => return Response::line(404, "see /metrics"),
            }
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.as_ref().is_none_or(|(at, _)| at.elapsed() > SAME) {
                match handle.status() {
                    Ok(status) => *last = Some((Instant::now(), text(status))),
                    Err(error) => return Response::line(503, &error.message),
                }
            }
            let text = last.as_ref().map(|(_, text)| text.clone()).unwrap_or_default();
            Response::new(200, KIND, text)
        };
        http::serve(self.listener, "metrics", Limits::default(), page)
            .map_err(|error| Error::new(format!("--metrics {address}: {error}")))
    }
}

/// How long the same counters are served.
const SAME: Duration = Duration::from_millis(20);
const KIND: &str = "application/openmetrics-text; version=1.0.0";

/// Returns all counters in the text format of OpenMetrics, which Prometheus reads.
pub fn text(status: Status) -> String {
    let mut registry = Registry::with_prefix("wireloom");
    registry.register_collector(Box::new(Counters(status)));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Counters(Status);

type Labels<'a> = Vec<(&'static str, &'a str)>;

/// Encodes a counter or a gauge with a value for each set of labels.
fn family<'a, M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: impl Fn(u64) -> M,
    values: impl IntoIterator<Item = (Labels<'a>, u64)>,
) -> fmt::Result {
    let values: Vec<_> = values.into_iter().collect();
    if values.is_empty() {
        return Ok(());
    }
    let kind = metric(0).metric_type();
    let mut descriptor = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in &values {
        metric(*value).encode(descriptor.encode_family(&labels.as_slice())?)?;
    }
    Ok(())
}

/// Encodes a counter or a gauge without labels.
fn single<M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: M,
) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

impl Collector for Counters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(status) = self;
        let encoder = &mut encoder;
        let numbers: Vec<String> =
            (0..status.ports.len()).map(|number| number.to_string()).collect();
        for (name, help, value) in PORT_COUNTERS {
            let ports = status.ports.iter().zip(&numbers).map(|(port, number)| {
                (vec![("port", number.as_str()), ("interface", port.name.as_str())], value(port))
            });
            family(encoder, name, help, ConstCounter::new, ports)?;
        }
        let sent: Vec<_> =
            status.fates.sent.iter().map(|s| (s.port.to_string(), s.count)).collect();
        let reasons = |reasons: &[wireloom_console::Reasoned]| -> Vec<(String, Count)> {
            reasons.iter().map(|reasoned| (reasoned.reason.clone(), reasoned.count)).collect()
        };
        let fates = [
            ("sent", "that the program sent, by port", "port", sent),
            ("cpu", "that the program handed to the kernel", "reason", reasons(&status.fates.cpu)),
            ("drop", "that the program dropped", "reason", reasons(&status.fates.dropped)),
        ];
        for (what, help, label, counts) in &fates {
            for (unit, value) in UNITS {
                let values = counts
                    .iter()
                    .filter_map(|(key, count)| Some((vec![(*label, key.as_str())], value(count)?)));
                let (name, help) = (format!("{what}_{unit}"), format!("The {unit} {help}"));
                family(encoder, &name, &help, ConstCounter::new, values)?;
            }
        }
        let help = "Packets for the kernel above the limit, which were dropped";
        let policed = status.policed.iter();
        let policed = policed.map(|of| (vec![("reason", of.reason.as_str())], of.packets));
        family(encoder, "policed_packets", help, ConstCounter::new, policed)?;
        let help = "Packets that the program sent to ports that there are not";
        let without_port = ConstCounter::new(status.without_port);
        single(encoder, "without_port_packets", help, without_port)?;
        let entries = status.offloads.iter().filter_map(|offload| {
            let labels = vec![("offload", offload.name.as_str()), ("kind", offload.kind.as_str())];
            Some((labels, offload.entries?))
        });
        family(encoder, "offload_entries", "Entries of tables", gauge, entries)?;
        let steps = status.steps.iter().map(|of| (vec![("step", of.step.as_str())], of.packets));
        let help = "Packets that began a step of the program";
        family(encoder, "step_packets", help, ConstCounter::new, steps)?;
        let calls = |value: fn(&Called) -> Option<u64>| {
            status.offloads.iter().flat_map(move |offload| {
                offload.calls.iter().filter_map(move |called| {
                    let (name, method) = (offload.name.as_str(), called.method.as_str());
                    Some((vec![("offload", name), ("method", method)], value(called)?))
                })
            })
        };
        let all = calls(|called| Some(called.calls));
        family(encoder, "offload_calls", "Calls of an offload", ConstCounter::new, all)?;
        let help = "Searches of an offload that found something";
        family(encoder, "offload_found", help, ConstCounter::new, calls(|called| called.found))?;
        if let Some(kernel) = &status.kernel {
            for (name, help, is_size, value) in KERNEL_COUNTERS {
                match is_size {
                    true => single(encoder, name, help, gauge(value(kernel)))?,
                    false => single(encoder, name, help, ConstCounter::new(value(kernel)))?,
                }
            }
        }
        if let Some(unfollowed) = &status.unfollowed {
            let holds = |name| unfollowed.iter().any(|found| found.condition == name);
            let values = conditions::ALL.iter().map(|condition| {
                (vec![("condition", condition.name)], u64::from(holds(condition.name)))
            });
            let help = "Whether a kernel feature that forwarding ignores is in use";
            family(encoder, "unfollowed", help, gauge, values)?;
        }
        if let Some(memory) = &status.memory {
            single(encoder, "memory_used_bytes", "Memory in use", gauge(memory.used))?;
            let help = "Memory that may be in use (--memory)";
            single(encoder, "memory_limit_bytes", help, gauge(memory.limit))?;
        }
        let help = "How often program and tables were replaced";
        single(encoder, "reloads", help, ConstCounter::new(status.reloads))?;
        let help = "Seconds since forwarding started";
        single(encoder, "uptime_seconds", help, gauge(status.seconds as u64))?;
        let labels: Labels<'_> = vec![
            ("version", env!("CARGO_PKG_VERSION")),
            ("program", &status.program),
            ("engine", &status.engine),
        ];
        family(encoder, "engine", "The engine that runs: always 1", gauge, [(labels, 1)])
    }
}

fn gauge(value: u64) -> ConstGauge {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Takes a number from a record.
type Value<T> = fn(&T) -> u64;
type Named<T> = (&'static str, &'static str, Value<T>);

/// Takes a number that is not always known from a count.
type Known = fn(&Count) -> Option<u64>;

const UNITS: [(&str, Known); 2] =
    [("packets", |count| Some(count.packets)), ("bytes", |count| count.bytes)];

const PORT_COUNTERS: [Named<wireloom_live::PortCounters>; 8] = [
    ("port_received_packets", "Packets received", |port| port.received_packets),
    ("port_received_bytes", "Bytes received", |port| port.received_bytes),
    ("port_sent_packets", "Packets sent", |port| port.sent_packets),
    ("port_sent_bytes", "Bytes sent", |port| port.sent_bytes),
    ("port_lost_input_packets", "Packets lost at the input", |port| port.lost_at_input),
    ("port_lost_output_packets", "Packets that the interface refused", |port| port.lost_at_output),
    ("port_lost_kernel_packets", "Packets that the kernel refused", |port| port.lost_to_kernel),
    ("port_not_forwarded_packets", "Packets that `forwarding` 0 stopped", |port| {
        port.not_forwarded
    }),
];

const KERNEL_COUNTERS: [(&str, &str, bool, Value<Kernel>); 8] = [
    ("kernel_routes", "Routes of the kernel", true, |kernel| kernel.routes),
    ("kernel_neighbours", "Usable neighbours of the kernel", true, |kernel| kernel.neighbours),
    ("kernel_updates", "Rows changed to follow the kernel", false, |kernel| kernel.updates),
    ("kernel_repairs", "Rows repaired; must stay 0", false, |kernel| kernel.repairs),
    ("kernel_reads", "Reads of everything", false, |kernel| kernel.reads),
    ("kernel_overruns", "Losses of notifications", false, |kernel| kernel.overruns),
    ("kernel_read_failures", "Reads that failed", false, |kernel| kernel.failures),
    ("kernel_unheld_routes", "Routes without room in the memory", true, |kernel| kernel.unheld),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_openmetrics() {
        let status: Status = serde_json::from_str(
            r#"{"program": "a\"b.loom", "engine": "e", "seconds": 3.5, "reloads": 1,
                "ports": [{"interface": "eth1", "exchange": "packet socket",
                           "received_packets": 7, "received_bytes": 420, "sent_packets": 5,
                           "sent_bytes": 300, "lost_at_input": 1, "lost_at_output": 2,
                           "lost_to_kernel": 3}],
                "without_port": 4,
                "sent": [{"port": 0, "packets": 5, "bytes": 300}],
                "cpu": [],
                "dropped": [{"reason": "NO_ROUTE", "packets": 2, "bytes": 120}],
                "policed": [{"reason": "TTL_EXPIRED", "packets": 12}],
                "steps": [{"step": "ipv4", "packets": 6}],
                "offloads": [{"name": "flows", "kind": "exact", "entries": 9,
                              "calls": [{"method": "touch", "calls": 6, "found": 5}]},
                             {"name": "now", "kind": "clock"}],
                "kernel": {"routes": 6, "neighbours": 2, "updates": 8, "repairs": 0,
                           "reads": 3, "overruns": 1, "failures": 0},
                "unfollowed": [{"condition": "netfilter", "detail": "a chain"}]}"#,
        )
        .expect("a status");
        let text = text(status);
        for line in [
            "# TYPE wireloom_port_received_packets counter",
            "wireloom_port_received_packets_total{port=\"0\",interface=\"eth1\"} 7",
            "wireloom_sent_bytes_total{port=\"0\"} 300",
            "wireloom_drop_packets_total{reason=\"NO_ROUTE\"} 2",
            "wireloom_policed_packets_total{reason=\"TTL_EXPIRED\"} 12",
            "wireloom_without_port_packets_total 4",
            "wireloom_offload_entries{offload=\"flows\",kind=\"exact\"} 9",
            "wireloom_step_packets_total{step=\"ipv4\"} 6",
            "wireloom_offload_calls_total{offload=\"flows\",method=\"touch\"} 6",
            "wireloom_offload_found_total{offload=\"flows\",method=\"touch\"} 5",
            "# TYPE wireloom_kernel_routes gauge",
            "wireloom_kernel_routes 6",
            "wireloom_kernel_repairs_total 0",
            "wireloom_kernel_overruns_total 1",
            "wireloom_unfollowed{condition=\"netfilter\"} 1",
            "wireloom_unfollowed{condition=\"ipsec\"} 0",
            "wireloom_engine{version=\"0.1.0\",program=\"a\\\"b.loom\",engine=\"e\"} 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(!text.contains("now") && !text.contains("wireloom_cpu"), "{text}");
    }
}
