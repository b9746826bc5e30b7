//! Calls that access the packet beyond the header window, as requests to services of the pipe.

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Op};

use super::Lowering;
use crate::hardware::core::MAX_LENGTH;
use crate::hardware::core::graph::{Graph, Input, Node};
use crate::hardware::core::offload::{BEGIN_BITS, Body, PLACE_BITS};
use crate::hardware::core::refusal::Refusal;

impl Lowering<'_> {
    /// Lowers a call that accesses the packet beyond the header window ([`Body`]).
    pub(super) fn body_call(
        &mut self,
        op: &Op,
        number: usize,
        method: usize,
        arguments: &[Node],
        guard: Node,
    ) -> Result<(), Refusal> {
        let port = &self.around.ports[number];
        if port.body == Some(Body::Search) {
            return self.search(op, number, arguments, guard);
        }
        let name = port.methods.iter().find(|m| m.method == method).map_or("", |m| m.name.as_str());
        let (window, length) = (self.hand.window(self.graph), self.hand.length(self.graph));
        let wide = |graph: &mut Graph, node| graph.resize(node, BEGIN_BITS);
        let (window, length) = (wide(self.graph, window), wide(self.graph, length));
        let body = self.graph.binary(BinaryOp::Sub, length, window);
        let body = self.graph.slice(body, 0, 16);
        // The data that `write` and `append` request to be written, and the condition under which
        // they are.
        let (begin, data, count) = match name {
            "write" => (arguments[0], Some(arguments[1]), Some(arguments[2])),
            "append" => (length, Some(arguments[0]), Some(arguments[1])),
            _ => (arguments[0], None, None),
        };
        let from = wide(self.graph, begin);
        let begin = self.graph.binary(BinaryOp::Sub, from, window);
        let condition = match (count, data) {
            (Some(count), Some(data)) => {
                let bytes = self.graph.number(16, u64::from(self.graph.width(data) / 8));
                let fits_chunk = self.graph.binary(BinaryOp::Ule, count, bytes);
                let wide_count = wide(self.graph, count);
                let end = self.graph.binary(BinaryOp::Add, from, wide_count);
                let limit = match name {
                    "append" => self.graph.number(BEGIN_BITS, u64::from(MAX_LENGTH)),
                    _ => length,
                };
                let fits = self.graph.binary(BinaryOp::Ule, end, limit);
                self.graph.all([guard, fits_chunk, fits])
            }
            _ => guard,
        };
        let mut parts = Vec::new();
        if let Some(Body::Chunks { reads: true, writes: true, .. }) = port.body {
            parts.push(self.graph.bit(data.is_some()));
        }
        parts.push(self.place());
        parts.push(begin);
        match port.body {
            Some(Body::Chunks { bytes, writes, .. }) => {
                parts.push(count.unwrap_or(body));
                if writes {
                    let nothing = self.graph.constant(Bits::zero(8 * bytes));
                    parts.push(data.unwrap_or(nothing));
                }
            }
            _ => parts.extend([arguments[1], body, arguments[2]]),
        }
        let request = self.graph.concat(parts);
        self.ask(number, condition, request)?;
        if let (Some(count), "append") = (count, name) {
            self.hand.append(self.graph, condition, count);
        }
        match data {
            Some(_) if op.results.is_empty() => {}
            Some(_) => self.define(op, condition),
            None => self.define_reply(op, number, guard),
        }
        Ok(())
    }

    /// Lowers a search of the packet, which begins at the packet's first byte.
    fn search(
        &mut self,
        op: &Op,
        number: usize,
        arguments: &[Node],
        guard: Node,
    ) -> Result<(), Refusal> {
        let (place, length) = (self.place(), self.hand.length(self.graph));
        let length = self.graph.resize(length, 16);
        let request = self.graph.concat(vec![place, arguments[0], arguments[1], length]);
        self.ask(number, guard, request)?;
        self.define_reply(op, number, guard);
        Ok(())
    }

    /// Returns the address of the packet's body in the body buffer.
    fn place(&mut self) -> Node {
        let low = self.around.layout.place.expect("the layout has what the ports use");
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        self.graph.slice(info, low, PLACE_BITS)
    }

    /// Lowers a call in an engine without a packet: it behaves as for an empty packet.
    pub(super) fn bodiless_call(&mut self, op: &Op, kind: &str, arguments: &[Node], guard: Node) {
        let Some(result) = op.results.first() else { return };
        let reply = match kind {
            "checksum" => arguments[2],
            _ => self.graph.constant(Bits::zero(self.width(*result))),
        };
        let reply = self.masked_reply(op, guard, reply);
        self.define(op, reply);
    }
}
