//! Resources that operations read and change. No read may move past a change of its resource.

use wireloom_ir::{Engine, Meta, OffloadTarget, OpKind};
use wireloom_offloads::{Method, registry};

/// A resource that operations read and change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A context variable, by index.
    Context(usize),
    /// A context array, by index.
    Array(usize),
    /// The bytes of the header window.
    Window,
    /// Metadata of the packet.
    Meta(Meta),
    /// The current packet with all its metadata.
    Packet,
}

impl Resource {
    /// Whether a change of this resource may change the result of reading `other`.
    pub fn covers(self, other: Self) -> bool {
        self == other || self == Self::Packet && !matches!(other, Self::Context(_) | Self::Array(_))
    }
}

/// Returns the resource that an operation reads; `None` if it is not a read.
pub fn reads(kind: &OpKind) -> Option<Resource> {
    match kind {
        OpKind::ReadContext(id) => Some(Resource::Context(id.index())),
        OpKind::ReadElement { array, .. } => Some(Resource::Array(array.index())),
        OpKind::ReadPacket { .. } => Some(Resource::Window),
        OpKind::ReadMeta(meta) => Some(Resource::Meta(*meta)),
        _ => None,
    }
}

/// Returns the resources that an operation changes.
pub fn changes(engine: &Engine, kind: &OpKind) -> Vec<Resource> {
    match kind {
        OpKind::WriteContext(id, _) => vec![Resource::Context(id.index())],
        OpKind::WriteElement { array, .. } => vec![Resource::Array(array.index())],
        OpKind::WritePacket { .. } => vec![Resource::Window],
        OpKind::WriteMeta(meta, _) => vec![Resource::Meta(*meta)],
        OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => {
            vec![Resource::Window, Resource::Meta(Meta::Length), Resource::Meta(Meta::Window)]
        }
        OpKind::Call { .. } if writes_packet(engine, kind) => vec![Resource::Packet],
        _ => vec![],
    }
}

/// Whether a call changes the current packet.
pub fn writes_packet(engine: &Engine, kind: &OpKind) -> bool {
    method(engine, kind).is_some_and(|method| method.writes_packet)
}

/// Whether a call reads bytes of the current packet.
pub fn reads_packet(engine: &Engine, kind: &OpKind) -> bool {
    method(engine, kind).is_some_and(|method| method.reads_packet)
}

/// Returns the called method; `None` if the offload is an engine.
fn method(engine: &Engine, kind: &OpKind) -> Option<&'static Method> {
    let OpKind::Call { offload, method, .. } = kind else { return None };
    match &engine.offloads[offload.index()].target {
        OffloadTarget::Kind(config) => registry::kind(&config.kind)?.methods.get(*method),
        OffloadTarget::Engine(_) => None,
    }
}
