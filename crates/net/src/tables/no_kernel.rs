//! Stands in for `kernel` on systems without netlink, where the kernel's routes cannot be read.

use std::path::Path;

use super::error::{Position, TableError};
use super::route::Visit;

pub(super) fn read(_table: u32, _visit: &mut Visit<'_>) -> Result<(), TableError> {
    let path = Path::new("the kernel's routes");
    let what = "only Linux's can be read; use `import prefixes` with a list of them";
    Err(TableError::new(path, Position::Whole, what))
}
