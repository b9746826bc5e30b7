//! The contents of an engine's module: the shell, the generated logic, and the queues of each
//! offload.

use super::Wrapper;
use crate::core::OffloadPort;
use crate::sv::short::{int, name};
use crate::sv::{Binary, Expr, Instance, Item};

impl Wrapper<'_> {
    pub(super) fn shell(&self) -> Instance {
        let core = self.core;
        let layout = &core.layout;
        let mut shell = Instance::new(self.shell.module(), "i_shell")
            .parameter("Threads", name("Threads"))
            .parameter("StateBits", int(layout.state_bits))
            .parameter("InfoBits", int(layout.info_bits))
            .parameter("StepBits", int(layout.step_bits))
            .parameter("ReadPorts", int(core.read_ports))
            .parameter("WritePorts", int(core.write_ports))
            .parameter("HeaderBytes", int(layout.header_bytes))
            .parameter("Offloads", int(core.offloads()))
            .parameter("CoreStages", int(core.core_stages))
            .parameter("TagBits", name("TagBits"))
            .parameter("HasPacket", Expr::number(1, u64::from(layout.has_packet)))
            .parameter("Emits", Expr::number(1, u64::from(core.emits)))
            .parameter("Clears", Expr::number(1, u64::from(core.clears)))
            .parameter("Scheduler", name("Scheduler"))
            .parameter("Storage", name("Storage"))
            .parameter("WindowStorage", name("WindowStorage"));
        if core.pieces {
            shell = shell.parameter("Pieces", Expr::number(1, 1));
        }
        if core.bodies.after_copies {
            shell = shell.parameter("Holds", Expr::number(1, 1));
        }
        if !layout.has_packet {
            shell = shell.parameter("ReplyBits", int(layout.reply_bits));
        }
        for port in [
            "clk_i",
            "rst_i",
            "load_valid_i",
            "load_ready_o",
            "load_first_i",
            "load_last_i",
            "load_data_i",
            "load_tag_i",
            "load_info_i",
        ] {
            shell = shell.port(port, name(port));
        }
        shell = shell
            .port("load_state_i", if layout.has_packet { Expr::Zeros } else { name("load_state") });
        for port in [
            "unload_valid_o",
            "unload_ready_i",
            "unload_first_o",
            "unload_last_o",
            "unload_data_o",
            "unload_tag_o",
            "unload_result_o",
        ] {
            shell = shell.port(port, name(port));
        }
        shell = if layout.has_packet {
            shell.port("unload_reply_o", name("unused_reply"))
        } else {
            shell.port("unload_reply_o", name("unload_reply_o"))
        };
        for port in
            ["order_head_i", "order_drained_i", "idle_o", "busy_o", "slot_valid_o", "wait_o"]
        {
            shell = shell.port(port, name(port));
        }
        for (port, wire) in [
            ("address_step_o", "address_step"),
            ("address_state_o", "address_state"),
            ("address_info_o", "address_info"),
            ("address_offset_i", "address_offset"),
            ("core_step_o", "core_step"),
            ("core_state_o", "core_state"),
            ("core_info_o", "core_info"),
            ("core_words_o", "core_words"),
            ("core_phase_o", "core_phase"),
            ("core_request_valid_i", "asked_valid"),
            ("core_commit_i", "commit"),
            ("core_step_i", "next_step"),
            ("core_state_i", "next_state"),
            ("core_write_valid_i", "write_valid"),
            ("core_write_address_i", "write_address"),
            ("core_write_strobe_i", "write_strobe"),
            ("core_write_data_i", "write_data"),
            ("core_clear_valid_i", "clear_valid"),
            ("core_clear_address_i", "clear_address"),
            ("core_clear_count_i", "clear_count"),
            ("core_exit_i", "exit"),
        ] {
            shell = shell.port(port, name(wire));
        }
        let reason = name("reason");
        let reason = if core.pieces { Expr::Concat(vec![name("piece"), reason]) } else { reason };
        shell = shell.port("core_reason_i", reason);
        let waits =
            self.core.ports.iter().rev().map(|p| Expr::number(1, u64::from(p.reply_bits > 0)));
        let waits: Vec<Expr> = waits.collect();
        shell =
            shell.port("waits_i", if waits.is_empty() { Expr::Zeros } else { Expr::Concat(waits) });
        for wire in [
            "request_valid",
            "request_ready",
            "request_thread",
            "replies_thread",
            "replied_valid",
            "replied_thread",
        ] {
            let suffix = if matches!(wire, "request_ready" | "replied_valid" | "replied_thread") {
                "i"
            } else {
                "o"
            };
            shell = shell.port(format!("{wire}_{suffix}"), name(wire));
        }
        shell
    }

    pub(super) fn address(&self) -> Instance {
        Instance::new(format!("{}_address", self.core.name), "i_address")
            .port("step_i", name("address_step"))
            .port("state_i", name("address_state"))
            .port("info_i", name("address_info"))
            .port("offset_o", name("address_offset"))
    }

    pub(super) fn steps(&self) -> Instance {
        let mut core = Instance::new(format!("{}_core", self.core.name), "i_core")
            .port("clk_i", name("clk_i"));
        for (port, wire) in [
            ("step_i", "core_step"),
            ("state_i", "core_state"),
            ("info_i", "core_info"),
            ("words_i", "core_words"),
            ("replies_i", "core_replies"),
            ("phase_i", "core_phase"),
            ("request_valid_o", "asked_valid"),
            ("request_data_o", "asked_data"),
            ("commit_o", "commit"),
            ("step_o", "next_step"),
            ("state_o", "next_state"),
            ("write_valid_o", "write_valid"),
            ("write_address_o", "write_address"),
            ("write_strobe_o", "write_strobe"),
            ("write_data_o", "write_data"),
            ("clear_valid_o", "clear_valid"),
            ("clear_address_o", "clear_address"),
            ("clear_count_o", "clear_count"),
            ("exit_o", "exit"),
            ("reason_o", "reason"),
        ] {
            core = core.port(port, name(wire));
        }
        if self.core.pieces {
            core = core.port("piece_o", name("piece"));
        }
        core
    }

    pub(super) fn offload(&self, index: u32, port: &OffloadPort) -> Vec<Item> {
        let layout = &self.core.layout;
        let x = &port.name;
        let own = |suffix: &str| Expr::name(format!("{x}_{suffix}"));
        let bit = |wire: &str| name(wire).index(int(index));
        let part = |wire: &str, low: u32, width: u32, total: u32| {
            if width == total && width > 0 {
                name(wire)
            } else {
                name(wire).part(int(low), int(width))
            }
        };
        let threads = name("replied_thread")
            .part(int(index).binary(Binary::Multiply, name("ThreadBits")), name("ThreadBits"));
        let data = if port.request_bits == 0 {
            Expr::Zeros
        } else {
            part(
                "asked_data",
                layout.requests[index as usize],
                port.request_bits,
                layout.request_bits,
            )
        };
        let mut items = vec![Item::Instance(
            Instance::new("wl_request_queue", format!("i_{x}_requests"))
                .parameter("Width", int(port.request_bits.max(1)))
                .parameter("Threads", name("Threads"))
                .port("clk_i", name("clk_i"))
                .port("rst_i", name("rst_i"))
                .port("push_valid_i", bit("request_valid"))
                .port("push_ready_o", bit("request_ready"))
                .port("push_thread_i", name("request_thread"))
                .port("push_data_i", data)
                .port("request_valid_o", own("request_valid_o"))
                .port("request_ready_i", own("request_ready_i"))
                .port("request_thread_o", own("request_thread_o"))
                .port("request_data_o", own("request_data_o")),
        )];
        if port.reply_bits == 0 {
            items.push(Item::Assign {
                target: bit("replied_valid"),
                value: Expr::number(1, 0),
                comment: None,
            });
            items.push(Item::Assign { target: threads, value: Expr::Zeros, comment: None });
            return items;
        }
        items.push(Item::Instance(
            Instance::new("wl_reply_store", format!("i_{x}_replies"))
                .parameter("Width", int(port.reply_bits))
                .parameter("Threads", name("Threads"))
                .parameter("Storage", name("Storage"))
                .port("clk_i", name("clk_i"))
                .port("reply_valid_i", own("reply_valid_i"))
                .port("reply_thread_i", own("reply_thread_i"))
                .port("reply_data_i", own("reply_data_i"))
                .port("read_thread_i", name("replies_thread"))
                .port(
                    "read_data_o",
                    part(
                        "core_replies",
                        layout.replies[index as usize],
                        port.reply_bits,
                        layout.reply_total,
                    ),
                ),
        ));
        items.push(Item::Assign {
            target: bit("replied_valid"),
            value: own("reply_valid_i"),
            comment: None,
        });
        items.push(Item::Assign { target: threads, value: own("reply_thread_i"), comment: None });
        items
    }
}
