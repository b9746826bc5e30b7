//! The combinational heart of an engine: what each step computes, as hardware.
