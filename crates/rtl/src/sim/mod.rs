//! Simulation by Verilator.
