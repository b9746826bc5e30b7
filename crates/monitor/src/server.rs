//! x
pub struct Server;
