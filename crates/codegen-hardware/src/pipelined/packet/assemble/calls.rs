//! Calls of offloads: the queues of each call site, and the connection from the queues to the
//! offload's port.

use super::{Assembly, part};
use crate::core::OffloadPort;
use crate::pipelined::packet::logic::{Call, Logic};
use crate::sv::short::{clocked, int, name, vector};
use crate::sv::{Expr, Instance, Item, Type, Unary};

impl Assembly<'_> {
    /// Returns the call sites: the step and the call.
    pub(super) fn sites(&self) -> impl Iterator<Item = (&Logic, &Call)> {
        self.steps.iter().flat_map(|step| step.calls.iter().map(move |call| (step, call)))
    }

    /// Returns the expression of a net of a call.
    pub(super) fn wire(&self, step: &Logic, call: &Call, what: &str) -> Expr {
        Expr::name(self.wire_name(step, call, what))
    }

    fn wire_name(&self, step: &Logic, call: &Call, what: &str) -> String {
        format!("{}_{}_{what}", self.frame.steps[step.step], self.frame.ports[call.port].name)
    }

    /// Writes the request logic of a step and the queues of its calls.
    pub(super) fn request(&self, step: &Logic, idle: &mut Vec<Expr>) -> Vec<Item> {
        let frame = self.frame;
        let x = &frame.steps[step.step];
        let own = |what: &str| format!("{x}_{what}");
        let own_wire = |what: &str| Expr::name(own(what));
        let mut items = Vec::new();
        let Some(module) = &step.request else {
            for wire in ["request_valid", "request_data", "reply_valid", "replies", "reply_data"] {
                items.push(Item::assign(own(wire), Expr::Zeros));
            }
            idle.extend(
                ["request_state", "request_info", "request_words", "request_data"].map(own_wire),
            );
            idle.extend(["issue_valid", "reply_take"].map(own_wire));
            return items;
        };
        let mut logic = Instance::new(&module.name, format!("i_{x}_request"))
            .port("clk_i", name("clk_i"))
            .port("state_i", own_wire("request_state"))
            .port("info_i", own_wire("request_info"));
        if step.reads > 0 {
            logic = logic.port("words_i", own_wire("request_words"));
        } else {
            idle.push(own_wire("request_words"));
        }
        logic = logic
            .port("request_valid_o", own_wire("request_valid"))
            .port("request_data_o", own_wire("request_data"));
        items.push(Item::Instance(logic));
        let (request_total, reply_total) = (step.request_bits(frame), step.reply_bits(frame));
        for (index, call) in step.calls.iter().enumerate() {
            let port = &frame.ports[call.port];
            let bit = |wire: &str| own_wire(wire).index(int(index as u32));
            let request_bits = port.request_bits.max(1);
            let replies = port.reply_bits > 0;
            for (what, ty) in
                [("room", Type::Bit), ("ask", Type::Bit), ("taken", Type::Bit), ("told", Type::Bit)]
            {
                items.push(Item::net(self.wire_name(step, call, what), ty));
            }
            items.push(Item::net(self.wire_name(step, call, "ask_data"), vector(request_bits)));
            items.push(Item::net(
                self.wire_name(step, call, "told_data"),
                vector(port.reply_bits.max(1)),
            ));
            let head = match replies {
                true => part(own_wire("reply_data"), call.reply_low, port.reply_bits, reply_total),
                false => {
                    items.push(Item::net(self.wire_name(step, call, "head"), vector(1)));
                    idle.push(self.wire(step, call, "head"));
                    self.wire(step, call, "head")
                }
            };
            let queue = clocked("wl_pipeline_call", format!("i_{x}_{}", port.name))
                .parameter("Packets", name("Threads"))
                .parameter("RequestBits", int(request_bits))
                .parameter("ReplyBits", int(port.reply_bits))
                .port("issue_valid_i", bit("issue_valid"))
                .port(
                    "issue_data_i",
                    part(own_wire("request_data"), call.request_low, request_bits, request_total),
                )
                .port("room_o", self.wire(step, call, "room"))
                .port("request_valid_o", self.wire(step, call, "ask"))
                .port("request_ready_i", self.wire(step, call, "taken"))
                .port("request_data_o", self.wire(step, call, "ask_data"))
                .port("reply_valid_i", self.wire(step, call, "told"))
                .port("reply_data_i", self.wire(step, call, "told_data"))
                .port("head_valid_o", bit("reply_valid"))
                .port("head_take_i", bit("reply_take"))
                .port("head_data_o", head);
            items.push(Item::Instance(queue));
            if replies {
                idle.push(self.wire(step, call, "room"));
            }
            items.push(Item::Assign {
                target: bit("replies"),
                value: Expr::number(1, u64::from(replies)),
                comment: None,
            });
        }
        if reply_total == 0 {
            items.push(Item::assign(own("reply_data"), Expr::Zeros));
        }
        items
    }

    /// Writes the port of an offload and its connections to the call sites.
    pub(super) fn offload(&self, index: usize, port: &OffloadPort) -> Vec<Item> {
        let x = &port.name;
        let outside = |what: &str| Expr::name(format!("{x}_{what}"));
        let sites: Vec<(&Logic, &Call)> =
            self.sites().filter(|(_, call)| call.port == index).collect();
        let count = sites.len() as u32;
        let thread_bits = Expr::call("wl_pkg::bits", vec![name("Threads")]);
        let wires = |what: &str| {
            let wires =
                sites.iter().rev().map(|(step, call)| self.wire(step, call, what)).collect();
            Expr::Concat(wires)
        };
        let site_bits = wl_bits(count);
        let tag = format!("{x}_site");
        let mut items = vec![
            Item::net(tag.clone(), vector(site_bits + 1)),
            Item::Instance(
                clocked("wl_request_tree", format!("i_{x}_requests"))
                    .parameter("Inputs", int(count))
                    .parameter("TagBits", int(1))
                    .parameter("DataBits", int(port.request_bits.max(1)))
                    .parameter("Fair", int(1))
                    .port("in_valid_i", wires("ask"))
                    .port("in_ready_o", wires("taken"))
                    .port("in_tag_i", Expr::Zeros)
                    .port("in_data_i", wires("ask_data"))
                    .port("out_valid_o", outside("request_valid_o"))
                    .port("out_ready_i", outside("request_ready_i"))
                    .port("out_tag_o", Expr::name(tag.clone()))
                    .port("out_data_o", outside("request_data_o")),
            ),
            Item::assign(
                format!("{x}_request_thread_o"),
                Expr::name(tag.clone()).bits(1, site_bits).cast(thread_bits),
            ),
        ];
        let mut idle = vec![Expr::name(tag).index(int(0))];
        for (site, (step, call)) in sites.iter().enumerate() {
            let (told, data) = match port.reply_bits > 0 {
                true => {
                    let thread = outside("reply_thread_i");
                    let own = thread.equal(
                        Expr::int(site as u64)
                            .cast(Expr::call("wl_pkg::bits", vec![name("Threads")])),
                    );
                    (outside("reply_valid_i").and(own), outside("reply_data_i"))
                }
                false => (Expr::number(1, 0), Expr::Zeros),
            };
            items.push(Item::assign(self.wire_name(step, call, "told"), told));
            items.push(Item::assign(self.wire_name(step, call, "told_data"), data));
        }
        items.push(Item::value(
            format!("{x}_unused"),
            Type::Bit,
            Expr::Concat(std::mem::take(&mut idle)).unary(Unary::Parity),
        ));
        items
    }
}

/// Returns `wl_pkg::bits`.
fn wl_bits(count: u32) -> u32 {
    count.max(2).next_power_of_two().trailing_zeros()
}
