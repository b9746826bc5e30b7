//! SystemVerilog as a tree, and its printer.
