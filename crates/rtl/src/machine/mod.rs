//! Machine descriptions of kind `np`.
