//! What the addresses of a log of accesses mean: blocks of JSON at its end.

use serde::{Deserialize, Serialize};

/// A part of the names of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessNames {
    /// Names of code.
    pub places: Vec<AccessPlaceName>,
    /// Variables of the process's files.
    pub variables: Vec<AccessVariable>,
}

/// The name of a return address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessPlaceName {
    /// The address in the process.
    pub address: u64,
    /// File of the code, without its folders.
    pub module: String,
    /// The procedures there, innermost inlined one first.
    pub procedures: Vec<AccessProcedureName>,
}

/// A procedure at a return address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessProcedureName {
    /// Demangled name.
    pub name: String,
    /// Source file; empty without line information.
    pub file: String,
    /// Line; 0 where it is not known.
    pub line: u32,
}

/// A variable that lies in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessVariable {
    /// Its first byte in the process.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Name.
    pub name: String,
    /// Bytes of an element of an array, or of all of what is none; 0 where the debug information does not say it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub element: u64,
    /// Fields of an element, by their offsets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<AccessField>,
}

/// A field of a variable's elements.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessField {
    /// Name; of a struct within a struct with both names: `head.next`.
    pub name: String,
    /// Bytes from the begin of an element.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
