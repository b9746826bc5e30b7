//! An engine: its core in a shell, with a port for each offload.
