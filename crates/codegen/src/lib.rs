//! Code that all code generators share: names of source files in generated text, reasons for
//! refusal, the context that threads need, longest-prefix tables as tries of words, and the
//! expansion of operators and calls that a target lacks.
//!
//! Each family of targets has its own generator crate: `codegen-c`, `codegen-hardware`,
//! `codegen-microengine` and `codegen-tile`. They depend only on the step IR, and not on the timing
//! of any machine.

pub mod context;
pub mod expand;
pub mod files;
mod kinds;
pub mod refused;
pub mod steps;
pub mod trie;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wireloom_offloads::sources::named_kinds;

    #[test]
    fn no_file_names_a_kind() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(named_kinds(&sources, "kinds").expect("the sources"), Vec::<String>::new());
    }
}
