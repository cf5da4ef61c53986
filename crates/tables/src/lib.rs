//! Tables as files for others: a folder of CSV or Parquet files, one a table, with typed and explained columns.
//!
//! In: a [`Schema`] and rows, in any number. Out: files. Memory stays the same however many rows there are. Knows nothing of
//! recordings, so that whatever is a table can be written by it.
//!
//! Invariant: both forms hold the same values; a file of the table's name is whole or not there.
//!
//! ```
//! use longpole_tables::{Column, Folder, Form, Kind, Schema, Value};
//! let column = |name: &str, kind| Column { name: name.into(), kind, ..Column::default() };
//! let columns = vec![column("procedure", Kind::Text), column("seconds", Kind::Number)];
//! let schema = Schema { name: "profile".into(), about: "CPU time.".into(), columns };
//! # let place = std::env::temp_dir().join(format!("longpole-tables-{}", std::process::id()));
//! let folder = Folder::create(&place, Form::Csv)?;
//! let mut table = folder.table(schema)?;
//! table.row([Value::Text("main".into()), Value::Number(0.5)])?;
//! table.row([Value::Text("exit".into()), Value::Nothing])?;
//! let path = table.finish()?;
//! # let text = std::fs::read_to_string(path).expect("it was written");
//! assert_eq!(text, "procedure,seconds\nmain,0.5\nexit,\n");
//! # std::fs::remove_dir_all(place).expect("it is there");
//! # Ok::<(), longpole_tables::Error>(())
//! ```

mod comma;
mod error;
mod folder;
#[cfg(feature = "parquet")]
mod groups;
mod schema;
mod table;
#[cfg(test)]
mod tests;

pub use error::{Error, Result};
pub use folder::{Folder, Form};
pub use schema::{Column, Kind, Schema, Value};
pub use table::Table;
