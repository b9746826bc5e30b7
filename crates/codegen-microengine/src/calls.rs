//! Calls of offloads, of whatever kind.

use wireloom_codegen::refused::Refused;
use wireloom_ir::{OffloadId, OffloadTarget, Op, Value};
use wireloom_offloads::{Config, registry};

use super::kind::KindOnMicroengines;
use super::lower::Lower;
use super::unit::Region;
use super::words::Words;

/// The methods of an offload kind in microcode.
pub trait Methods: KindOnMicroengines {
    /// Writes the part of a call that does not depend on earlier packets. Where calls come in the
    /// order of packets, threads execute it before they wait for their turn.
    fn before_turn(&self, _call: &mut Call<'_, '_>) {}

    /// Writes a call. Returns the reply, unless there is none or it has gone to the frame.
    ///
    /// # Errors
    /// If the kind does not have the method ([`Call::unsupported`]), or if something that it needs
    /// does not fit.
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused>;
}

/// A call of a method, while its instructions are written.
pub struct Call<'c, 'a> {
    pub lower: &'c mut Lower<'a>,
    pub op: &'c Op,
    /// The name of the offload in its engine.
    pub offload: &'a str,
    pub config: &'a Config,
    pub method: &'static str,
    pub args: &'c [Value],
    /// Whether calls by different packets come in the order of the packets.
    pub is_ordered: bool,
    region: Option<Region>,
}

impl Call<'_, '_> {
    /// Returns the words of memory of the offload.
    ///
    /// # Panics
    /// If the kind wants no memory.
    pub fn region(&self) -> Region {
        self.region.expect("the layout has placed all offloads that want memory")
    }

    /// Returns the refusal of a method that the kind does not have on microengines.
    pub fn unsupported(&self) -> Refused {
        let message = unsupported(self.offload, self.method, &self.config.kind);
        self.lower.refuse(Some(self.offload), message)
    }
}

fn unsupported(offload: &str, method: &str, kind: &str) -> String {
    format!("`{offload}.{method}` (kind `{kind}`) is not supported on ixp yet")
}

/// Writes a call. Returns the reply, unless there is none or it has gone to the frame.
///
/// # Errors
/// If the kind does not have the method on microengines, or something that it needs does not fit.
pub fn call(
    lower: &mut Lower<'_>,
    op: &Op,
    offload: OffloadId,
    method: usize,
    args: &[Value],
) -> Result<Option<Words>, Refused> {
    let called = &lower.engine.offloads[offload.index()];
    let OffloadTarget::Kind(config) = &called.target else {
        unreachable!("called engines are part of their caller")
    };
    let method = registry::kind(&config.kind).expect("a verified program").methods[method].name;
    let region = lower.layout.regions[offload.index()];
    let mut call =
        Call { lower, op, offload: &called.name, config, method, args, is_ordered: false, region };
    let Some(kind) = call.lower.methods[offload.index()] else { return Err(call.unsupported()) };
    if kind.reaches_packet(method) {
        call.lower.move_to_frame();
    }
    kind.before_turn(&mut call);
    call.is_ordered = call.lower.wait_for_turn(offload.index());
    kind.call(&mut call)
}

#[cfg(test)]
mod tests {
    use super::unsupported;

    #[test]
    fn a_refusal_names_offload_method_and_kind() {
        let message = unsupported("flows", "peek", "exact");
        assert_eq!(message, "`flows.peek` (kind `exact`) is not supported on ixp yet");
    }
}
