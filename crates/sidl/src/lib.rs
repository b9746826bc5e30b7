//! SIDL: interfaces of distributed objects, and the wrappers that turn their calls into messages
//! (the StepNP paper, section 4.1; docs/sidl.md). Interfaces are independent of the languages and
//! the processors of both sides.
//!
//! ```
//! let source = "interface Lookup { u32 search(u32 address); }; service routes : Lookup;";
//! let interfaces = wireloom_sidl::read("lookup.sidl", source).unwrap();
//! assert_eq!(interfaces.services[0].name, "routes");
//! assert!(wireloom_sidl::generate::c(&interfaces).contains("Lookup_search"));
//! ```

pub mod check;
pub mod generate;
pub mod host;
pub mod interfaces;
mod lexer;
mod parser;
mod report;
mod syntax;

pub use interfaces::Interfaces;
pub use report::{Fault, Refused};

/// Reads a text; messages refer to it by `name`.
///
/// # Errors
/// All faults of the text, with positions.
pub fn read(name: &str, text: &str) -> Result<Interfaces, Refused> {
    let result =
        parser::parse(text).map_err(|fault| vec![fault]).and_then(|file| check::check(name, &file));
    result.map_err(|faults| Refused::new(name, text, faults))
}
