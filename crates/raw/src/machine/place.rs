//! Places of tiles, and edges of the array.

use crate::Side;

/// Column and row of a tile.
pub type Place = (u8, u8);

/// A port of the chip: a tile and its side.
pub type Edge = (Place, Side);
