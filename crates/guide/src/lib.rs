//! The documentation and the files of examples, embedded in the command: pages by name, as text for
//! a terminal, and as HTML.

pub mod examples;
pub mod files;
pub mod html;
mod pages;
mod section;
mod terminal;

pub use pages::{Page, Unknown, find, list};
pub use section::{anchors, diagnostic, is_code, named};
pub use terminal::text;
