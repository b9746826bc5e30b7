//! The pipelined shell: engines whose steps stand one behind the other.
