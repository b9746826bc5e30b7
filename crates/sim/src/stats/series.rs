//! Numbers over time: one for each interval.

use std::io::{self, Write};

use crate::Time;

/// Columns of numbers with a row for each interval of time, from time 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    interval: Time,
    columns: Vec<(String, Vec<f64>)>,
}

/// The number of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column(usize);

impl Series {
    /// Creates a series without columns. The interval is at least a picosecond.
    pub fn new(interval: Time) -> Self {
        Self { interval: interval.max(Time(1)), columns: Vec::new() }
    }

    /// Adds a column.
    pub fn column(&mut self, name: &str) -> Column {
        self.columns.push((name.to_owned(), Vec::new()));
        Column(self.columns.len() - 1)
    }

    /// Adds an amount, such as packets or bytes, to the interval that holds this time.
    pub fn add(&mut self, column: Column, at: Time, amount: f64) {
        *self.cell(column, at.0 / self.interval.0) += amount;
    }

    /// Adds a busy period. Each interval gets the share of its time within the period.
    pub fn spread(&mut self, column: Column, begin: Time, end: Time) {
        let mut at = begin.0;
        while at < end.0 {
            let row = at / self.interval.0;
            let behind = ((row + 1) * self.interval.0).min(end.0);
            *self.cell(column, row) += (behind - at) as f64 / self.interval.0 as f64;
            at = behind;
        }
    }

    fn cell(&mut self, column: Column, row: u64) -> &mut f64 {
        let cells = &mut self.columns[column.0].1;
        if cells.len() <= row as usize {
            cells.resize(row as usize + 1, 0.0);
        }
        &mut cells[row as usize]
    }

    /// Returns the length of an interval.
    pub fn interval(&self) -> Time {
        self.interval
    }

    /// Doubles the interval: every two rows become one. Columns in `sums` (amounts) are added; the
    /// others (shares and rates) are averaged.
    pub fn double_interval(&mut self, sums: &[Column]) {
        self.interval = Time(self.interval.0.saturating_mul(2));
        for (index, (_, cells)) in self.columns.iter_mut().enumerate() {
            let weight = if sums.contains(&Column(index)) { 1.0 } else { 0.5 };
            let rows = cells.len().div_ceil(2);
            for row in 0..rows {
                let second = cells.get(2 * row + 1).copied().unwrap_or(0.0);
                cells[row] = (cells[2 * row] + second) * weight;
            }
            cells.truncate(rows);
        }
    }

    /// The names and numbers of the columns. A shorter column is 0 from its end on.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.columns.iter().map(|(name, cells)| (name.as_str(), cells.as_slice()))
    }

    /// Returns the number of intervals.
    pub fn rows(&self) -> usize {
        self.columns.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0)
    }

    /// Writes the series as CSV (RFC 4180): `time_ns`, the beginning of the interval, then a field
    /// for each column.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv(&self, to: &mut impl Write) -> io::Result<()> {
        write!(to, "time_ns")?;
        for (name, _) in &self.columns {
            match name.contains(['"', ',', '\r', '\n']) {
                true => write!(to, ",\"{}\"", name.replace('"', "\"\""))?,
                false => write!(to, ",{name}")?,
            }
        }
        writeln!(to)?;
        for row in 0..self.rows() {
            write!(to, "{}", Time(row as u64 * self.interval.0).as_nanoseconds())?;
            for (_, cells) in &self.columns {
                write!(to, ",{}", cells.get(row).copied().unwrap_or(0.0))?;
            }
            writeln!(to)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_times_are_shares_of_the_intervals_they_touch() {
        let mut series = Series::new(Time::nanoseconds(10));
        let (busy, packets) = (series.column("busy"), series.column("packets, in"));
        series.spread(busy, Time::nanoseconds(5), Time::nanoseconds(25));
        series.spread(busy, Time::nanoseconds(20), Time::nanoseconds(22));
        series.add(packets, Time(9_999), 1.0);
        series.add(packets, Time(10_000), 2.0);
        let mut csv = Vec::new();
        series.write_csv(&mut csv).unwrap();
        let expected = "time_ns,busy,\"packets, in\"\n0,0.5,1\n10,1,2\n20,0.7,0\n";
        assert_eq!(String::from_utf8(csv).unwrap(), expected);
    }

    #[test]
    fn rows_are_merged_two_at_a_time() {
        let mut series = Series::new(Time(10));
        let (busy, packets) = (series.column("busy"), series.column("packets"));
        series.spread(busy, Time(5), Time(25));
        for at in [0, 19, 20, 39, 45] {
            series.add(packets, Time(at), 1.0);
        }
        series.double_interval(&[packets]);
        let cells: Vec<&[f64]> = series.columns().map(|(_, cells)| cells).collect();
        assert_eq!(cells, [&[0.75, 0.25][..], &[2.0, 2.0, 1.0]]);
        assert_eq!((series.interval(), series.rows()), (Time(20), 3));
    }

    #[test]
    fn no_time_at_all_is_no_row() {
        let mut series = Series::new(Time(0));
        let column = series.column("busy");
        series.spread(column, Time(5), Time(5));
        assert_eq!((series.rows(), series.interval()), (0, Time(1)));
    }
}
