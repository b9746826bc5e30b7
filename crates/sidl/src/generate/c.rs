//! Generates a C header: types, and for each method the functions that clients call, the functions
//! that servers define, and the code that connects the two. The header builds on `wl_dsoc.h` of the
//! run-time.

use crate::interfaces::{Field, Interface, Interfaces, Method, Type};

use super::Lines;

/// Returns the text of the header.
pub fn generate(interfaces: &Interfaces) -> String {
    let mut out = Lines::new("    ");
    out.line(format!(
        "// Interfaces of {}, written by Wireloom (docs/sidl.md).",
        interfaces.source
    ));
    out.line("#pragma once");
    out.line("");
    out.line("#include <stdbool.h>");
    out.line("#include <stdint.h>");
    out.line("");
    out.line("#include \"wl_dsoc.h\"");
    if !interfaces.services.is_empty() {
        out.line("");
        out.block("enum {", "};", |out| {
            for (number, service) in interfaces.services.iter().enumerate() {
                let interface = &interfaces.interfaces[service.interface].name;
                out.line(format!("SERVICE_{} = {number},  // {interface}", service.name));
            }
        });
    }
    let c = C { interfaces };
    for declared in &interfaces.structs {
        out.line("");
        out.block(format!("struct {} {{", declared.name), "};", |out| {
            for field in &declared.fields {
                out.line(format!("{};", c.declared(field)));
            }
        });
    }
    for interface in &interfaces.interfaces {
        c.clients(interface, &mut out);
        c.servers(interface, &mut out);
    }
    out.text
}

struct C<'a> {
    interfaces: &'a Interfaces,
}

impl C<'_> {
    fn clients(&self, interface: &Interface, out: &mut Lines) {
        out.line("");
        out.line(format!("// ---- {}: for clients ----", interface.name));
        for (number, method) in interface.methods.iter().enumerate() {
            let name = format!("{}_{}", interface.name, method.name);
            if method.is_oneway {
                out.line("");
                out.line("// One-way: returns at once.");
                let head = format!(
                    "static inline void {name}({}) {{",
                    list(["uint32_t service".to_owned()], self.inputs(method))
                );
                out.block(head, "}", |out| self.launch(number, method, "WL_ONE_WAY", out));
                continue;
            }
            out.line("");
            out.line(
                "// Begins a call; the ticket identifies its reply. The arguments may be changed at once.",
            );
            let front = ["uint32_t service".to_owned(), "unsigned ticket".to_owned()];
            out.block(
                format!("static inline void {name}_begin({}) {{", list(front, self.inputs(method))),
                "}",
                |out| {
                    self.launch(number, method, "ticket", out);
                },
            );
            out.line("");
            out.line("// Waits for the reply.");
            let result =
                method.result.as_ref().map_or("void".to_owned(), |kind| self.type_name(kind));
            let front = ["unsigned ticket".to_owned()];
            out.block(
                format!(
                    "static inline {result} {name}_end({}) {{",
                    list(front, self.outputs(method))
                ),
                "}",
                |out| {
                    self.reply(method, out);
                },
            );
            out.line("");
            let parameters = self.inputs(method).chain(self.outputs(method));
            let front = ["uint32_t service".to_owned()];
            out.block(
                format!("static inline {result} {name}({}) {{", list(front, parameters)),
                "}",
                |out| {
                    let names = |fields: &[Field]| {
                        fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>()
                    };
                    let begin = list(
                        ["service".to_owned(), "0".to_owned()],
                        names(&method.inputs).into_iter(),
                    );
                    out.line(format!("{name}_begin({begin});"));
                    let end = list(["0".to_owned()], names(&method.outputs).into_iter());
                    let back = if method.result.is_some() { "return " } else { "" };
                    out.line(format!("{back}{name}_end({end});"));
                },
            );
        }
    }

    fn launch(&self, number: usize, method: &Method, ticket: &str, out: &mut Lines) {
        let mut words = Vec::new();
        for field in &method.inputs {
            self.words_of(&field.kind, &field.name, &mut words);
        }
        let count = words.len();
        let last = words.pop().unwrap_or_else(|| "0".to_owned());
        for (place, word) in words.iter().enumerate() {
            out.line(format!("wl_argument({place}, {word});"));
        }
        out.line(format!("wl_launch(service, {number}, {ticket}, {count}, {last});"));
    }

    /// Writes code that waits for the reply and unpacks it.
    fn reply(&self, method: &Method, out: &mut Lines) {
        let count = method.reply_words();
        if count == 0 {
            out.line("(void)wl_wait(ticket);");
            return;
        }
        out.line(format!("uint32_t words[{count}];"));
        out.line("words[0] = wl_wait(ticket);");
        for word in 1..count {
            out.line(format!("words[{word}] = wl_result(ticket, {word});"));
        }
        let mut next = 0;
        if let Some(kind) = &method.result {
            out.line(format!("{} result;", self.type_name(kind)));
            self.take(kind, "result", &mut next, out);
        }
        for field in &method.outputs {
            let place = if matches!(field.kind, Type::Array(..)) {
                field.name.clone()
            } else {
                format!("(*{})", field.name)
            };
            self.take(&field.kind, &place, &mut next, out);
        }
        if method.result.is_some() {
            out.line("return result;");
        }
    }

    fn servers(&self, interface: &Interface, out: &mut Lines) {
        out.line("");
        out.line(format!(
            "// ---- {}: for servers, which define the ..._on_... functions ----",
            interface.name
        ));
        out.line("");
        for method in &interface.methods {
            let result =
                method.result.as_ref().map_or("void".to_owned(), |kind| self.type_name(kind));
            let parameters = self.inputs(method).chain(self.outputs(method));
            let parameters = list(["void *object".to_owned()], parameters);
            out.line(format!("{result} {}_on_{}({parameters});", interface.name, method.name));
        }
        out.line("");
        out.line("// Serves a request. Returns false if the interface has no such method or the request has the wrong length.");
        let head = format!(
            "static inline bool {}_serve(void *object, const struct wl_request *request) {{",
            interface.name
        );
        out.block(head, "}", |out| {
            out.line("const uint32_t *words = request->words;");
            out.line("(void)words;");
            out.line("switch (request->method) {");
            for (number, method) in interface.methods.iter().enumerate() {
                out.block(format!("case {number}: {{  // {}", method.name), "}", |out| {
                    self.served(interface, method, out)
                });
            }
            out.line("default:");
            out.line("    return false;");
            out.line("}");
        });
    }

    fn served(&self, interface: &Interface, method: &Method, out: &mut Lines) {
        out.line(format!("if (request->count != {}) return false;", method.request_words()));
        let mut next = 0;
        for field in &method.inputs {
            out.line(format!("{};", self.declared(field)));
            self.take(&field.kind, &field.name, &mut next, out);
        }
        for field in &method.outputs {
            out.line(format!("{};", self.declared(field)));
        }
        let inputs = method.inputs.iter().map(|field| field.name.clone());
        let outputs = method.outputs.iter().map(|field| {
            if matches!(field.kind, Type::Array(..)) {
                field.name.clone()
            } else {
                format!("&{}", field.name)
            }
        });
        let arguments = list(["object".to_owned()], inputs.chain(outputs));
        let call = format!("{}_on_{}({arguments});", interface.name, method.name);
        match &method.result {
            Some(kind) => out.line(format!("{} result = {call}", self.type_name(kind))),
            None => out.line(call),
        }
        if !method.is_oneway {
            let mut words = Vec::new();
            if let Some(kind) = &method.result {
                self.words_of(kind, "result", &mut words);
            }
            for field in &method.outputs {
                self.words_of(&field.kind, &field.name, &mut words);
            }
            if words.is_empty() {
                out.line("wl_reply(request, 0, 0);");
            } else {
                out.line(format!("const uint32_t reply[] = {{{}}};", words.join(", ")));
                out.line(format!("wl_reply(request, reply, {});", words.len()));
            }
        }
        out.line("return true;");
    }

    /// Appends the words of a value, each as an expression.
    fn words_of(&self, kind: &Type, value: &str, words: &mut Vec<String>) {
        match kind {
            Type::Bool => words.push(format!("(uint32_t){value}")),
            Type::Unsigned(64) | Type::Signed(64) => {
                words.push(format!("(uint32_t){value}"));
                words.push(format!("(uint32_t)((uint64_t){value} >> 32)"));
            }
            Type::Unsigned(bits) | Type::Signed(bits) => words.push(as_word(value, *bits)),
            Type::Struct { index, .. } => {
                for field in &self.interfaces.structs[*index].fields {
                    self.words_of(&field.kind, &format!("{value}.{}", field.name), words);
                }
            }
            Type::Array(element, count) => {
                let packed = element.packed();
                let places: Vec<usize> = (0..*count).collect();
                match &**element {
                    Type::Unsigned(bits) | Type::Signed(bits) if packed > 1 => {
                        for word in places.chunks(packed) {
                            let parts = word.iter().enumerate().map(|(k, place)| match k {
                                0 => as_word(&format!("{value}[{place}]"), *bits),
                                _ => format!(
                                    "{} << {}",
                                    as_word(&format!("{value}[{place}]"), *bits),
                                    k as u32 * bits
                                ),
                            });
                            words.push(parts.collect::<Vec<_>>().join(" | "));
                        }
                    }
                    element => places.iter().for_each(|place| {
                        self.words_of(element, &format!("{value}[{place}]"), words)
                    }),
                }
            }
        }
    }

    /// Writes code that assigns a value from `words`, starting at word `next`.
    fn take(&self, kind: &Type, place: &str, next: &mut usize, out: &mut Lines) {
        match kind {
            Type::Bool => out.line(format!("{place} = (words[{next}] & 1) != 0;")),
            Type::Unsigned(64) | Type::Signed(64) => {
                let high = *next + 1;
                let value = format!("words[{next}] | (uint64_t)words[{high}] << 32");
                out.line(format!("{place} = ({})({value});", self.type_name(kind)));
            }
            Type::Unsigned(_) | Type::Signed(_) => {
                out.line(format!("{place} = ({})words[{next}];", self.type_name(kind)));
            }
            Type::Struct { index, .. } => {
                for field in &self.interfaces.structs[*index].fields {
                    self.take(&field.kind, &format!("{place}.{}", field.name), next, out);
                }
                return;
            }
            Type::Array(element, count) => {
                for number in 0..*count {
                    let place = format!("{place}[{number}]");
                    match &**element {
                        Type::Unsigned(bits) | Type::Signed(bits) if element.packed() > 1 => {
                            let (word, lane) =
                                (*next + number / element.packed(), number % element.packed());
                            let shifted = match lane {
                                0 => format!("words[{word}]"),
                                _ => format!("(words[{word}] >> {})", lane as u32 * bits),
                            };
                            out.line(format!("{place} = ({}){shifted};", self.type_name(element)));
                        }
                        element => self.take(element, &place, next, out),
                    }
                }
                if element.packed() > 1 {
                    *next += kind.words();
                }
                return;
            }
        }
        *next += kind.words();
    }

    fn inputs<'b>(&'b self, method: &'b Method) -> impl Iterator<Item = String> + 'b {
        method.inputs.iter().map(|field| match field.kind {
            Type::Array(..) => format!("const {}", self.declared(field)),
            _ => self.declared(field),
        })
    }

    fn outputs<'b>(&'b self, method: &'b Method) -> impl Iterator<Item = String> + 'b {
        method.outputs.iter().map(|field| match field.kind {
            Type::Array(..) => self.declared(field),
            _ => format!("{} *{}", self.type_name(&field.kind), field.name),
        })
    }

    fn declared(&self, field: &Field) -> String {
        match &field.kind {
            Type::Array(element, count) => {
                format!("{} {}[{count}]", self.type_name(element), field.name)
            }
            kind => format!("{} {}", self.type_name(kind), field.name),
        }
    }

    fn type_name(&self, kind: &Type) -> String {
        match kind {
            Type::Bool => "bool".to_owned(),
            Type::Unsigned(bits) => format!("uint{bits}_t"),
            Type::Signed(bits) => format!("int{bits}_t"),
            Type::Struct { index, .. } => {
                format!("struct {}", self.interfaces.structs[*index].name)
            }
            Type::Array(element, _) => self.type_name(element),
        }
    }
}

/// Returns an expression for a value of up to 32 bits as a word whose other bits are zero.
fn as_word(value: &str, bits: u32) -> String {
    if bits < 32 {
        format!("(uint32_t)(uint{bits}_t){value}")
    } else {
        format!("(uint32_t){value}")
    }
}

/// Returns a list of parameters or arguments.
fn list<const N: usize>(front: [String; N], rest: impl Iterator<Item = String>) -> String {
    front.into_iter().chain(rest).collect::<Vec<_>>().join(", ")
}
