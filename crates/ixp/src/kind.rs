//! x
pub static KIND: u8 = 0;
