//! Errors in traffic specifications.

use std::fmt;

use crate::capture::CaptureError;
use crate::tables::TableError;

/// Why a specification is refused, or why a file that it needs cannot be read. A sentence without a
/// full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

impl From<CaptureError> for SpecError {
    fn from(error: CaptureError) -> Self {
        Self(error.to_string())
    }
}

impl From<TableError> for SpecError {
    fn from(error: TableError) -> Self {
        Self(error.to_string())
    }
}

/// Serialises a type as text, and deserialises it from text.
macro_rules! serde_as_text {
    ($($name:ty),*) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
pub(super) use serde_as_text;
