//! Generates wrappers from interfaces: clients and servers in C and Rust, and hardware elements in
//! SystemVerilog.

mod c;
mod rust;
mod systemverilog;

pub use c::generate as c;
pub use rust::generate as rust;
pub use systemverilog::generate as systemverilog;

/// Lines of text, indented by block.
struct Lines {
    text: String,
    indent: &'static str,
    depth: usize,
}

impl Lines {
    fn new(indent: &'static str) -> Self {
        Self { text: String::new(), indent, depth: 0 }
    }

    fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text += &self.indent.repeat(self.depth);
            self.text += line;
        }
        self.text.push('\n');
    }

    /// Writes a line that opens a block, its contents, and the line that closes it.
    fn block(&mut self, open: impl AsRef<str>, close: &str, inside: impl FnOnce(&mut Self)) {
        self.line(open);
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line(close);
    }
}
