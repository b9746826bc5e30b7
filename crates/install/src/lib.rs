//! An installation of the command: its embedded files, the tools that it calls, and the folders for
//! its results.
//!
//! Nothing here depends on where the command was built. A command that is copied elsewhere, or
//! whose checkout has been removed, works with its embedded files and the user's own folders.

pub mod apart;
mod cache;
mod checkout;
mod code_folder;
mod complaint;
pub mod embedded;
mod owner;
pub mod tools;

pub use cache::{Cache, CacheError};
pub use checkout::checkout;
pub use code_folder::code_folder;
pub use complaint::complaint;
