//! Generates a package with the messages as packed structs, and for each interface a module between
//! a hardware element and the network. The module turns the words of a request into the struct that
//! the element reads, and the reply back into words.

use crate::interfaces::{Field, Interface, Interfaces, Method, Type};

use super::Lines;

/// Returns the name and the text of a file for each interface.
pub fn generate(interfaces: &Interfaces) -> Vec<(String, String)> {
    let sv = SystemVerilog { interfaces };
    let file = |interface: &Interface| {
        let mut out = Lines::new("  ");
        out.line(format!(
            "// Interface {} of {}, written by Wireloom (docs/sidl.md).",
            interface.name, interfaces.source
        ));
        sv.package(interface, &mut out);
        sv.server(interface, &mut out);
        (format!("{}_server.sv", interface.name), out.text)
    };
    interfaces.interfaces.iter().map(file).collect()
}

struct SystemVerilog<'a> {
    interfaces: &'a Interfaces,
}

impl SystemVerilog<'_> {
    fn package(&self, interface: &Interface, out: &mut Lines) {
        out.line("");
        out.line("// Messages: word 0 in the lowest bits.");
        out.block(format!("package {}_pkg;", interface.name), "endpackage", |out| {
            for (number, method) in interface.methods.iter().enumerate() {
                out.line(format!("localparam logic [3:0] Method_{} = 4'd{number};", method.name));
            }
            let longest = |of: fn(&Method) -> usize| {
                interface.methods.iter().map(of).max().unwrap_or(0).max(1)
            };
            out.line(format!(
                "localparam int unsigned RequestWords = {};",
                longest(Method::request_words)
            ));
            out.line(format!(
                "localparam int unsigned ReplyWords = {};",
                longest(Method::reply_words)
            ));
            for method in &interface.methods {
                self.message(&format!("{}_request_t", method.name), None, &method.inputs, out);
                if !method.is_oneway {
                    self.message(
                        &format!("{}_reply_t", method.name),
                        method.result.as_ref(),
                        &method.outputs,
                        out,
                    );
                }
            }
        });
    }

    /// Writes a message as a packed struct. The last field is declared first, because the first
    /// declared field takes the highest bits.
    fn message(&self, name: &str, result: Option<&Type>, fields: &[Field], out: &mut Lines) {
        let mut members = Vec::new();
        if let Some(kind) = result {
            self.members("result", kind, &mut members);
        }
        for field in fields {
            self.members(&field.name, &field.kind, &mut members);
        }
        if members.is_empty() {
            return;
        }
        out.line("");
        out.block("typedef struct packed {", &format!("}} {name};"), |out| {
            for member in members.iter().rev() {
                out.line(member);
            }
        });
    }

    /// Appends the members of a value, lowest bits first.
    fn members(&self, name: &str, kind: &Type, members: &mut Vec<String>) {
        let padded = |bits: u32, member: String, members: &mut Vec<String>| {
            members.push(member);
            if !bits.is_multiple_of(32) {
                members.push(format!("logic [{}:0] {name}_padding;", 31 - bits % 32));
            }
        };
        match kind {
            Type::Bool => padded(1, format!("logic {name};"), members),
            Type::Unsigned(bits) => {
                padded(*bits, format!("logic [{}:0] {name};", bits - 1), members)
            }
            Type::Signed(bits) => {
                padded(*bits, format!("logic signed [{}:0] {name};", bits - 1), members)
            }
            Type::Struct { index, .. } => {
                for field in &self.interfaces.structs[*index].fields {
                    self.members(&format!("{name}_{}", field.name), &field.kind, members);
                }
            }
            Type::Array(element, count) => match &**element {
                Type::Unsigned(bits) | Type::Signed(bits) if *bits < 64 => {
                    let sign = if matches!(**element, Type::Signed(_)) { " signed" } else { "" };
                    let member = format!("logic{sign} [{}:0][{}:0] {name};", count - 1, bits - 1);
                    padded(bits * *count as u32, member, members);
                }
                element => (0..*count)
                    .for_each(|place| self.members(&format!("{name}_{place}"), element, members)),
            },
        }
    }

    fn server(&self, interface: &Interface, out: &mut Lines) {
        let name = &interface.name;
        out.line("");
        out.line(format!(
            "// Between the network and an element that serves interface {name}: one request at a time."
        ));
        out.line("//");
        out.line("// Contract");
        out.line("//   A request is in_count_i words (a request of none is sent as one ignored word) with its method.");
        out.line("//   The element sees all of it while request_valid_o is high, and takes it with request_ready_i.");
        out.line(
            "//   A request of an unknown method or of the wrong length is dropped and counted in refused_o.",
        );
        out.line("//   A method that replies does so once, with reply_valid_i in a later cycle; then the words of the");
        out.line("//   reply leave (one, if it has none), and the next request is accepted.");
        out.line(format!("module {name}_server"));
        for line in PORTS {
            out.line(line.replace("PACKAGE", &format!("{name}_pkg")));
        }
        out.depth += 1;
        self.server_body(interface, out);
        out.depth -= 1;
        out.line("endmodule");
    }

    fn server_body(&self, interface: &Interface, out: &mut Lines) {
        for line in [
            "typedef enum logic [1:0] {Gathering, Asking, Serving, Replying} state_t;",
            "state_t state;",
            "logic [3:0] method;",
            "logic [5:0] place;  // of the next word, in or out",
            "logic [RequestWords-1:0][31:0] words;",
            "logic [ReplyWords-1:0][31:0] reply;",
            "logic fits, replies;",
            "logic [5:0] reply_count;",
            "",
        ] {
            out.line(line);
        }
        out.block("always_comb begin", "end", |out| {
            out.line("unique case (in_method_i)");
            for method in &interface.methods {
                let words = method.request_words();
                out.line(format!("  Method_{}: fits = in_count_i == 6'd{words};", method.name));
            }
            out.line("  default: fits = 1'b0;");
            out.line("endcase");
            out.line("unique case (method)");
            for method in &interface.methods {
                let (replies, words) = (u8::from(!method.is_oneway), method.reply_words().max(1));
                out.line(format!(
                    "  Method_{}: {{replies, reply_count}} = {{1'b{replies}, 6'd{words}}};",
                    method.name
                ));
            }
            out.line("  default: {replies, reply_count} = '0;");
            out.line("endcase");
        });
        for line in [
            "",
            "assign in_ready_o = state == Gathering;",
            "assign request_valid_o = state == Asking;",
            "assign request_method_o = method;",
            "assign request_words_o = words;",
            "assign out_valid_o = state == Replying;",
            "assign out_last_o = place + 6'd1 == reply_count;",
            "assign out_word_o = reply[0];",
            "",
            "always_ff @(posedge clk_i) begin",
            "  if (rst_i) begin",
            "    state <= Gathering;",
            "    place <= '0;",
            "    refused_o <= '0;",
            "  end else begin",
            "    unique case (state)",
            "      Gathering:",
            "      if (in_valid_i) begin",
            "        for (int unsigned k = 0; k < RequestWords; k++) if (place == 6'(k)) words[k] <= in_word_i;",
            "        method <= in_method_i;",
            "        // An overlong message stays past the last word.",
            "        if (place != '1) place <= place + 6'd1;",
            "        if (in_last_i) begin",
            "          place <= '0;",
            "          if (fits && (place + 6'd1 == in_count_i || (in_count_i == '0 && place == '0))) state <= Asking;",
            "          else refused_o <= refused_o + 1;",
            "        end",
            "      end",
            "      Asking: if (request_ready_i) state <= replies ? Serving : Gathering;",
            "      Serving:",
            "      if (reply_valid_i) begin",
            "        reply <= reply_words_i;",
            "        state <= Replying;",
            "      end",
            "      Replying:",
            "      if (out_ready_i) begin",
            "        reply <= reply >> 32;",
            "        place <= place + 6'd1;",
            "        if (out_last_o) begin",
            "          place <= '0;",
            "          state <= Gathering;",
            "        end",
            "      end",
            "    endcase",
            "  end",
            "end",
        ] {
            out.line(line);
        }
    }
}

const PORTS: &[&str] = &[
    "  import PACKAGE::*;",
    "(",
    "    input logic clk_i,",
    "    input logic rst_i,",
    "",
    "    input  logic        in_valid_i,",
    "    output logic        in_ready_o,",
    "    input  logic [ 3:0] in_method_i,",
    "    input  logic [ 5:0] in_count_i,",
    "    input  logic        in_last_i,",
    "    input  logic [31:0] in_word_i,",
    "",
    "    output logic                            request_valid_o,",
    "    input  logic                            request_ready_i,",
    "    output logic [                     3:0] request_method_o,",
    "    output logic [RequestWords-1:0][31:0] request_words_o,  // as a ..._request_t",
    "    input  logic                            reply_valid_i,",
    "    input  logic [  ReplyWords-1:0][31:0] reply_words_i,    // a ..._reply_t",
    "",
    "    output logic        out_valid_o,",
    "    input  logic        out_ready_i,",
    "    output logic        out_last_o,",
    "    output logic [31:0] out_word_o,",
    "",
    "    output logic [31:0] refused_o",
    ");",
];
