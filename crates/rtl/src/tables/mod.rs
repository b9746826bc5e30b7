//! Tables as memory images.
