//! Generates a Rust module: types, a trait for servers, and for each interface a client over any
//! transport and a server that any broker can hold.

use crate::interfaces::{Field, Interface, Interfaces, Method, Type};

use super::Lines;

/// Returns the text of the module, which refers to this crate as `wireloom_sidl`.
pub fn generate(interfaces: &Interfaces) -> String {
    let mut out = Lines::new("    ");
    out.line(format!(
        "// Interfaces of {}, written by Wireloom (docs/sidl.md).",
        interfaces.source
    ));
    out.line("");
    out.line("use wireloom_sidl::host::{CallError, Reader, Serve, Transport, Writer};");
    for (number, service) in interfaces.services.iter().enumerate() {
        let interface = &interfaces.interfaces[service.interface].name;
        out.line("");
        out.line(format!("/// Service `{}`: {interface}.", service.name));
        out.line("#[allow(non_upper_case_globals)]");
        out.line(format!("pub const SERVICE_{}: u32 = {number};", service.name));
    }
    let rust = Rust { interfaces };
    for declared in &interfaces.structs {
        out.line("");
        out.line("#[allow(missing_docs, non_snake_case, non_camel_case_types)]");
        out.line("#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
        out.block(format!("pub struct {} {{", declared.name), "}", |out| {
            for field in &declared.fields {
                out.line(format!("pub {}: {},", field.name, rust.type_name(&field.kind)));
            }
        });
    }
    for interface in &interfaces.interfaces {
        rust.server(interface, &mut out);
        rust.client(interface, &mut out);
    }
    out.text
}

struct Rust<'a> {
    interfaces: &'a Interfaces,
}

impl Rust<'_> {
    fn server(&self, interface: &Interface, out: &mut Lines) {
        let name = &interface.name;
        out.line("");
        out.line(format!("/// An object of interface `{name}`."));
        out.line("#[allow(missing_docs, non_snake_case, non_camel_case_types)]");
        out.block(format!("pub trait {name} {{"), "}", |out| {
            for method in &interface.methods {
                out.line(format!(
                    "fn {}(&mut self{}){};",
                    method.name,
                    self.parameters(method),
                    arrow(&self.answer(method))
                ));
            }
        });
        out.line("");
        out.line(format!("/// Serves the requests for an object of interface `{name}`."));
        out.line("#[allow(non_camel_case_types)]");
        out.line("#[derive(Debug)]");
        out.line(format!("pub struct {name}Server<S>(pub S);"));
        out.line("");
        out.block(format!("impl<S: {name}> Serve for {name}Server<S> {{"), "}", |out| {
            let head =
                "fn serve(&mut self, method: u32, words: &[u32]) -> Result<Vec<u32>, CallError> {";
            out.block(head, "}", |out| {
                out.block("match method {", "}", |out| {
                    for (number, method) in interface.methods.iter().enumerate() {
                        out.block(format!("{number} => {{"), "}", |out| self.served(method, out));
                    }
                    out.line("method => Err(CallError::NoMethod(method)),");
                });
            });
        });
    }

    fn served(&self, method: &Method, out: &mut Lines) {
        let words = method.request_words();
        let mutable = if words > 0 { "mut reader" } else { "_" };
        out.line(format!("let {mutable} = Reader::new(words, {words})?;"));
        for field in &method.inputs {
            out.line(format!("let {} = {};", field.name, self.taken(&field.kind)));
        }
        let arguments = names(&method.inputs).join(", ");
        let results = self.results(method);
        out.line(format!("{}self.0.{}({arguments});", binding(&results), method.name));
        let mutable = if results.is_empty() { "" } else { "mut " };
        out.line(format!("let {mutable}writer = Writer::default();"));
        if let Some(kind) = &method.result {
            self.put(kind, "result", out);
        }
        for field in &method.outputs {
            self.put(&field.kind, &field.name, out);
        }
        out.line("Ok(writer.finish())");
    }

    fn client(&self, interface: &Interface, out: &mut Lines) {
        let name = &interface.name;
        out.line("");
        out.line(format!("/// Calls objects of interface `{name}` through a transport."));
        out.line("#[allow(non_camel_case_types)]");
        out.line("#[derive(Debug)]");
        out.block(format!("pub struct {name}Client<'a, T: ?Sized> {{"), "}", |out| {
            out.line("/// Carries the calls.");
            out.line("pub transport: &'a mut T,");
            out.line("/// The service that is called.");
            out.line("pub service: u32,");
        });
        out.line("");
        out.line("#[allow(missing_docs, non_snake_case, clippy::missing_errors_doc)]");
        out.block(format!("impl<T: Transport + ?Sized> {name}Client<'_, T> {{"), "}", |out| {
            for (number, method) in interface.methods.iter().enumerate() {
                if number > 0 {
                    out.line("");
                }
                let answer = self.answer(method);
                let answer = if answer.is_empty() { "()".to_owned() } else { answer };
                let head = format!(
                    "pub fn {}(&mut self{}) -> Result<{answer}, CallError> {{",
                    method.name,
                    self.parameters(method)
                );
                out.block(head, "}", |out| self.called(number, method, out));
            }
        });
    }

    fn called(&self, number: usize, method: &Method, out: &mut Lines) {
        let mutable = if method.inputs.is_empty() { "" } else { "mut " };
        out.line(format!("let {mutable}writer = Writer::default();"));
        for field in &method.inputs {
            self.put(&field.kind, &field.name, out);
        }
        if method.is_oneway {
            out.line(format!("self.transport.send(self.service, {number}, &writer.finish())"));
            return;
        }
        out.line(format!(
            "let words = self.transport.call(self.service, {number}, &writer.finish())?;"
        ));
        let words = method.reply_words();
        let mutable = if words > 0 { "mut reader" } else { "_" };
        out.line(format!("let {mutable} = Reader::new(&words, {words})?;"));
        if let Some(kind) = &method.result {
            out.line(format!("let result = {};", self.taken(kind)));
        }
        for field in &method.outputs {
            out.line(format!("let {} = {};", field.name, self.taken(&field.kind)));
        }
        out.line(format!("Ok({})", tuple(&self.results(method))));
    }

    /// Writes statements that put a value into `writer`.
    fn put(&self, kind: &Type, value: &str, out: &mut Lines) {
        match kind {
            Type::Bool => out.line(format!("writer.put(u64::from({value}), 1);")),
            Type::Unsigned(64) => out.line(format!("writer.put({value}, 64);")),
            Type::Unsigned(bits) => out.line(format!("writer.put(u64::from({value}), {bits});")),
            Type::Signed(bits) => out.line(format!("writer.put({value} as u64, {bits});")),
            Type::Struct { index, .. } => {
                for field in &self.interfaces.structs[*index].fields {
                    self.put(&field.kind, &format!("{value}.{}", field.name), out);
                }
            }
            Type::Array(element, _) => match &**element {
                Type::Unsigned(bits) | Type::Signed(bits) if element.packed() > 1 => {
                    out.line(format!(
                        "writer.put_packed({value}.iter().map(|&element| element as u32), {bits});"
                    ));
                }
                element => out.block(format!("for element in {value} {{"), "}", |out| {
                    self.put(element, "element", out)
                }),
            },
        }
    }

    /// Returns an expression that takes a value out of `reader`.
    fn taken(&self, kind: &Type) -> String {
        match kind {
            Type::Bool => "reader.take(1) != 0".to_owned(),
            Type::Unsigned(64) => "reader.take(64)".to_owned(),
            Type::Unsigned(bits) | Type::Signed(bits) => {
                format!("reader.take({bits}) as {}", self.type_name(kind))
            }
            Type::Struct { index, .. } => {
                let declared = &self.interfaces.structs[*index];
                let fields = declared
                    .fields
                    .iter()
                    .map(|field| format!("{}: {}", field.name, self.taken(&field.kind)));
                format!("{} {{ {} }}", declared.name, fields.collect::<Vec<_>>().join(", "))
            }
            Type::Array(element, count) => match &**element {
                Type::Unsigned(bits) | Type::Signed(bits) if element.packed() > 1 => {
                    let name = self.type_name(element);
                    format!(
                        "reader.take_packed::<{count}>({bits}).map(|element| element as {name})"
                    )
                }
                element => format!("std::array::from_fn(|_| {})", self.taken(element)),
            },
        }
    }

    fn parameters(&self, method: &Method) -> String {
        let parameters = method
            .inputs
            .iter()
            .map(|field| format!(", {}: {}", field.name, self.type_name(&field.kind)));
        parameters.collect()
    }

    /// Returns the result type of a method: nothing, one value, or a tuple.
    fn answer(&self, method: &Method) -> String {
        let result = method.result.iter().map(|kind| self.type_name(kind));
        let kinds: Vec<String> =
            result.chain(method.outputs.iter().map(|field| self.type_name(&field.kind))).collect();
        if kinds.is_empty() { String::new() } else { tuple(&kinds) }
    }

    /// Returns the names of a method's results.
    fn results(&self, method: &Method) -> Vec<String> {
        let result = method.result.iter().map(|_| "result".to_owned());
        result.chain(names(&method.outputs)).collect()
    }

    fn type_name(&self, kind: &Type) -> String {
        match kind {
            Type::Bool => "bool".to_owned(),
            Type::Unsigned(bits) => format!("u{bits}"),
            Type::Signed(bits) => format!("i{bits}"),
            Type::Struct { index, .. } => self.interfaces.structs[*index].name.clone(),
            Type::Array(element, count) => format!("[{}; {count}]", self.type_name(element)),
        }
    }
}

fn names(fields: &[Field]) -> Vec<String> {
    fields.iter().map(|field| field.name.clone()).collect()
}

fn arrow(kind: &str) -> String {
    if kind.is_empty() { String::new() } else { format!(" -> {kind}") }
}

/// Formats one part alone, and several parts (or none) in parentheses.
fn tuple(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        _ => format!("({})", parts.join(", ")),
    }
}

fn binding(results: &[String]) -> String {
    if results.is_empty() { String::new() } else { format!("let {} = ", tuple(results)) }
}
