//! A probe: an output of a processor that tells in each cycle what one of its parts does.

/// A probe output for statistics.
pub struct ProbePort {
    /// Name of the port, both on the clusters and on the pipe.
    pub name: String,
    /// Number of bits, for one cluster or for one pipe.
    pub width: usize,
    /// The meaning of a set bit.
    pub doc: &'static str,
    /// The name of the probe in reports.
    pub(super) kind: String,
    pub(super) part: Part,
}

impl ProbePort {
    /// Returns a one-bit output of each cluster.
    pub(crate) fn of_cluster(name: &str, doc: &'static str, kind: &str) -> Self {
        Self {
            name: format!("{name}_o"),
            width: 1,
            doc,
            kind: kind.to_owned(),
            part: Part::Cluster,
        }
    }
}

/// The part of the processor that each bit of a port describes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Engine,
    Thread,
    Cluster,
    Pipe,
    /// A command slot of a memory channel.
    Slot,
}
