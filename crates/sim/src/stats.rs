//! Statistics: counters of a running machine, and the nested record of a finished one.

mod gauge;
mod histogram;
mod record;
mod series;

pub use gauge::Gauge;
pub use histogram::{Histogram, Summary, Unit};
pub use record::{Record, Value};
pub use series::{Column, Series};
