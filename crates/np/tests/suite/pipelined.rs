//! Tests a called engine as a pipeline in Verilator against the golden model: skipped steps,
//! guarded reads, two memories of unequal latency in one step, and indices out of range.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_bits::Bits;
use wireloom_codegen_hardware::pipelined::pipeline;
use wireloom_compile::passes::PassOptions;
use wireloom_install::tools;
use wireloom_ir::{EngineId, Execute, Golden, Program, Verdict};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey};

/// Returns the folder of the hand-written templates.
fn hardware() -> PathBuf {
    wireloom_install::checkout().expect("tests run in a checkout").join("hardware")
}

const SOURCE: &str = "
struct Cell { u3 kind; u13 next; };
header Ask { u16 a; u8 b; u24 reply; };
enum Reason { SHORT };

engine walk(u16 a, u8 b) -> u24 {
    offload cells : array<Cell, size = 200>;
    offload wide : array<u40, size = 64>;
    offload mixer : hash<u24>;
    u16 sum;
    Cell last;
    u40 word;

    step begin {
        last = cells.read(a[8:0]);
        sum = a + b;
        if (last.kind == 0) finish(concat(sum, b));
        if (last.kind == 1) next far;
        if (last.kind == 2) next both;
        if (last.kind == 3) next mix;
        next end;
    }
    step both {
        Cell other = cells.read(last.next[7:0]);
        word = wide.read(b);
        sum ^= other.next;
        if (other.kind[0] == 1) next far;
        next end;
    }
    step mix {
        if (b[0] == 1) word = wide.read(sum[5:0]);
        sum += mixer.crc32(concat(sum, b))[15:0];
        if (word == 0) finish(7);
        next end;
    }
    step far {
        sum = sum * 5 + last.next;
        next end;
    }
    step end {
        finish(concat(sum, word[7:0] ^ word[39:32]));
    }
}

engine host() {
    offload walker : engine walk;
    Ask ask @ 0;
    step only {
        if (packet.length < sizeof(Ask)) drop(SHORT);
        ask.reply = walker.call(ask.a, ask.b);
        finish;
    }
}
";

const CELLS_LATENCY: u32 = 2;
const WIDE_LATENCY: u32 = 5;
const REQUESTS: usize = 4000;

fn program() -> Program {
    let checked = wireloom_lang::check_source("walk.loom", SOURCE, &Default::default());
    let errors = wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
    let mut program =
        wireloom_compile::lower(&checked.program.unwrap_or_else(|| panic!("{errors}")));
    wireloom_compile::pipeline::optimise(&mut program, &PassOptions::default());
    program
}

/// Returns element `index` of a memory of `width` bits.
fn element(index: u64, width: u32) -> Bits {
    let mixed = u128::from(index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    // There are few kinds, and all of them are frequent.
    Bits::new(width, mixed >> 40)
}

fn request(number: usize) -> (u16, u8) {
    let mixed = (number as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((mixed >> 20) as u16, (mixed >> 50) as u8)
}

/// Returns the golden model's reply to each request.
fn golden(program: &Program) -> Vec<u32> {
    let mut store = wireloom_ir::store(program).unwrap();
    for (path, size, width) in [("walker.cells", 200, 16), ("walker.wide", 64, 40)] {
        let Content::Kind { instance, .. } = &mut store.find_mut(path).unwrap().content else {
            unreachable!()
        };
        for index in 0..size {
            instance
                .load(Entry { key: EntryKey::Index(index), value: element(index, width) })
                .unwrap();
        }
    }
    let packets: Vec<Packet> = (0..REQUESTS)
        .map(|number| {
            let (a, b) = request(number);
            let bytes = [a.to_be_bytes().as_slice(), &[b, 0, 0, 0]].concat();
            Packet { ingress: 0, arrival_ns: 0, bytes }
        })
        .collect();
    let mut replies = Vec::new();
    Golden::new(program.clone(), store).execute(&packets, &mut |output| {
        let Verdict::Sent { .. } = output.verdict else { panic!("{:?}", output.verdict) };
        let bytes = output.bytes;
        replies.push(u32::from_be_bytes([0, bytes[3], bytes[4], bytes[5]]));
    });
    replies
}

const BENCH: &str = "
module walk_tb #(
    parameter int unsigned Requests = 1,
    parameter int unsigned Latency = 1,
    parameter int unsigned CellsLatency = 1,
    parameter int unsigned WideLatency = 1
);
  logic clk, rst, request_valid, reply_valid;
  initial begin
    clk = 1'b0;
    forever #5 clk = !clk;
  end
  logic [15:0] request_tag, reply_tag;
  logic [23:0] request_data, reply_data;
  logic [1:0] cells_read_valid, wide_read_valid;
  logic [15:0] cells_read_address;
  logic [11:0] wide_read_address;
  logic [31:0] cells_read_data;
  logic [79:0] wide_read_data;
  walk_pipeline #(
      .TagBits(16),
      .CellsLatency(CellsLatency),
      .WideLatency(WideLatency)
  ) i_walk (
      .clk_i(clk), .rst_i(rst),
      .request_valid_i(request_valid), .request_ready_o(), .request_tag_i(request_tag), .request_data_i(request_data),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .cells_read_valid_o(cells_read_valid), .cells_read_address_o(cells_read_address), .cells_read_data_i(cells_read_data),
      .wide_read_valid_o(wide_read_valid), .wide_read_address_o(wide_read_address), .wide_read_data_i(wide_read_data)
  );

  // Without a read the data are something else on purpose.
  logic [15:0] cells[256];
  logic [39:0] wide[64];
  logic [31:0] cells_now;
  logic [79:0] wide_now;
  for (genvar k = 0; k < 2; k++) begin : g_slot
    assign cells_now[k*16+:16] = cells_read_valid[k] ? cells[cells_read_address[k*8+:8]] : 16'hdead;
    assign wide_now[k*40+:40] = wide_read_valid[k] ? wide[wide_read_address[k*6+:6]] : 40'hdeadbeef77;
  end
  wl_delay #(.Width(32), .Cycles(CellsLatency)) i_cells (.clk_i(clk), .rst_i(rst), .data_i(cells_now), .data_o(cells_read_data));
  wl_delay #(.Width(80), .Cycles(WideLatency)) i_wide (.clk_i(clk), .rst_i(rst), .data_i(wide_now), .data_o(wide_read_data));

  logic [47:0] lines[Requests];
  int unsigned replies, reads;
  longint unsigned cycle, asked[Requests];
  always @(posedge clk) begin
    cycle <= cycle + 1;
    if (!rst && reply_valid) begin
      replies <= replies + 1;
      if (reply_tag != 16'(replies)) $fatal(1, \"reply %0d came as number %0d\", reply_tag, replies);
      if (reply_data != lines[reply_tag][23:0]) $fatal(1, \"request %h: %h instead of %h\", lines[reply_tag][47:24], reply_data, lines[reply_tag][23:0]);
      if (cycle != asked[reply_tag] + 64'(Latency)) $fatal(1, \"reply %0d took %0d cycles\", reply_tag, cycle - asked[reply_tag]);
    end
  end

  string folder;
  initial begin
    if ($value$plusargs(\"folder=%s\", folder) == 0) $fatal(1, \"+folder= is missing\");
    $readmemh({folder, \"/lines.hex\"}, lines);
    $readmemh({folder, \"/cells.hex\"}, cells);
    $readmemh({folder, \"/wide.hex\"}, wide);
    replies = 0;
    cycle = 0;
    request_valid = 1'b0;
    rst = 1'b1;
    repeat (3) @(negedge clk);
    rst = 1'b0;
    for (int unsigned k = 0; k < Requests; k++) begin
      while (k >= Requests / 2 && $urandom() % 2 == 0) begin
        request_valid = 1'b0;
        request_data = 24'($urandom());
        @(negedge clk);
      end
      request_valid = 1'b1;
      request_tag = 16'(k);
      request_data = lines[k][47:24];
      asked[k] = cycle;
      @(negedge clk);
    end
    request_valid = 1'b0;
    repeat (Latency + 2) @(negedge clk);
    if (replies != Requests) $fatal(1, \"%0d replies to %0d requests\", replies, Requests);
    $display(\"PASS\");
    $finish;
  end
endmodule
";

#[test]
fn a_pipeline_replies_as_golden_does() {
    let program = program();
    let engine = program.engines.iter().position(|engine| engine.name == "walk").unwrap();
    let built = pipeline(&program, EngineId(engine as u32)).unwrap();
    let slots: Vec<(&str, usize)> =
        built.memories.iter().map(|m| (m.name.as_str(), m.slots.len())).collect();
    assert_eq!(slots, [("cells", 2), ("wide", 2)]);

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pipelined");
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| -> PathBuf {
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name)
    };
    let replies = golden(&program);
    // The test is meaningful only if the requests take many different paths through the steps.
    let distinct: std::collections::BTreeSet<u32> = replies.iter().copied().collect();
    assert!(
        distinct.len() > REQUESTS / 4 && replies.iter().filter(|reply| **reply == 7).count() > 20
    );
    let mut lines = String::new();
    for (number, reply) in replies.iter().enumerate() {
        let (a, b) = request(number);
        writeln!(lines, "{a:04x}{b:02x}{reply:06x}").unwrap();
    }
    file("lines.hex", &lines);
    // There is data beyond the end of `cells`, which must never be visible.
    file(
        "cells.hex",
        &(0..256).map(|index| format!("{:x}\n", element(index, 16))).collect::<String>(),
    );
    file(
        "wide.hex",
        &(0..64).map(|index| format!("{:x}\n", element(index, 40))).collect::<String>(),
    );

    let module = file(&built.module.file(), &built.module.print());
    let bench = file("walk_tb.sv", BENCH);
    succeed(
        verilator()
            .args(["--lint-only", "-Wall", "--quiet", "--top-module", "walk_pipeline"])
            .arg(&module),
    );
    succeed(
        verilator()
            .args([
                "--binary",
                "--timing",
                "-j",
                "1",
                "-CFLAGS",
                "-O0",
                "--quiet",
                "-Wno-lint",
                "-Wno-style",
            ])
            .args(["--x-initial", "unique", "--top-module", "walk_tb", "-Mdir"])
            .arg(folder.join("build"))
            .arg(format!("-GRequests={REQUESTS}"))
            .arg(format!("-GLatency={}", built.latency(&[CELLS_LATENCY, WIDE_LATENCY])))
            .args([
                format!("-GCellsLatency={CELLS_LATENCY}"),
                format!("-GWideLatency={WIDE_LATENCY}"),
            ])
            .args([&module, &bench]),
    );
    let mut run = Command::new(folder.join("build/Vwalk_tb"));
    let said = succeed(
        run.args(["+verilator+seed+1", "+verilator+rand+reset+2"])
            .arg(format!("+folder={}", folder.display())),
    );
    assert!(said.lines().any(|line| line == "PASS"), "{said}");
}

fn verilator() -> Command {
    let mut command = tools::verilator().unwrap_or_else(|message| panic!("{message}"));
    command.arg(format!("-I{}", hardware().display()));
    command.arg("-y").arg(hardware().join("flow")).arg(hardware().join("wl_pkg.sv"));
    command
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?}:\n{said}");
    said
}
