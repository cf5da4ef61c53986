//! Tables as files for others: a folder of CSV or Parquet files, one a table, with typed and explained columns.
//!
//! In: a [`Schema`] and rows, in any number. Out: files. Memory stays the same however many rows there are. Knows nothing of
//! recordings, so that whatever is a table can be written by it.
//!
//! Invariant: both forms hold the same values; a file of the table's name is whole or not there.
//!
//! ```
//! use longpole_tables::{TableColumn, TableFolder, TableForm, ColumnKind, Schema, CellValue};
//! let column = |name: &str, kind| TableColumn { name: name.into(), kind, ..TableColumn::default() };
//! let columns = vec![column("procedure", ColumnKind::Text), column("seconds", ColumnKind::Number)];
//! let schema = Schema { name: "profile".into(), about: "CPU time.".into(), columns };
//! # let place = std::env::temp_dir().join(format!("longpole-tables-{}", std::process::id()));
//! let folder = TableFolder::create(&place, TableForm::Csv)?;
//! let mut table = folder.table(schema)?;
//! table.row([CellValue::Text("main".into()), CellValue::Number(0.5)])?;
//! table.row([CellValue::Text("exit".into()), CellValue::Nothing])?;
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
pub use folder::{TableFolder, TableForm};
pub use schema::{CellValue, ColumnKind, Schema, TableColumn};
pub use table::TableFile;
