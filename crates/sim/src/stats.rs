//! Statistics: what is counted while a machine runs, and the nested record that it ends in.

mod gauge;
mod histogram;
mod record;
mod series;

pub use gauge::Gauge;
pub use histogram::{Histogram, Summary, Unit};
pub use record::{Record, Value};
pub use series::{Column, Series};
