//! Design-space exploration: rate and cost of machines, the smallest sufficient machine, several
//! machines on one chip.

pub mod area;
pub mod rig;
pub mod search;
pub mod virtual_routers;
