//! The file of a table, row by row.
//!
//! It has another name until it is finished, so that a file of the table's name is whole; one that is not finished goes away.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::comma::CsvRows;
use crate::error::{Error, Result};
use crate::folder::TableForm;
#[cfg(feature = "parquet")]
use crate::groups::Groups;
use crate::schema::{CellValue, Schema};

/// A table that is being written.
pub struct TableFile {
    schema: Schema,
    rows: Rows,
    file: Unfinished,
}

enum Rows {
    Csv(Box<CsvRows>),
    #[cfg(feature = "parquet")]
    Parquet(Box<Groups>),
}

impl TableFile {
    pub(crate) fn create(path: PathBuf, form: TableForm, schema: Schema) -> Result<TableFile> {
        let unfinished = Unfinished::of(path);
        let path = &unfinished.path;
        let file = unfinished.create().map_err(Error::io("create", &unfinished.partial))?;
        let rows = match form {
            TableForm::Csv => Rows::Csv(Box::new(CsvRows::new(file, &schema).map_err(Error::csv(path))?)),
            #[cfg(feature = "parquet")]
            TableForm::Parquet => {
                Rows::Parquet(Box::new(Groups::new(file, &schema).map_err(Error::parquet(path))?))
            }
            #[cfg(not(feature = "parquet"))]
            TableForm::Parquet => return Err(Error::WithoutParquet),
        };
        Ok(TableFile { schema, rows, file: unfinished })
    }

    /// Adds a row: a value for each column, in their order.
    ///
    /// # Errors
    /// [`Error::Misfit`], [`Error::Csv`], `Error::Parquet`.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = CellValue<'a>>) -> Result<()> {
        let mut columns = self.schema.columns.iter();
        let misfit = |why| Error::Misfit { table: self.schema.name.clone(), why };
        let mut row = Vec::with_capacity(self.schema.columns.len());
        for cell in cells {
            let Some(column) = columns.next() else {
                return Err(misfit("it has more values than the table has columns".to_owned()));
            };
            let other = || {
                let (name, kind) = (&column.name, column.kind.name());
                misfit(format!("a value of the column {name} is no {kind}"))
            };
            row.push(cell.into_kind(column.kind).ok_or_else(other)?);
        }
        if let Some(column) = columns.next() {
            return Err(misfit(format!("it has no value for the column {}", column.name)));
        }
        let path = &self.file.path;
        match &mut self.rows {
            Rows::Csv(lines) => lines.push(&row).map_err(Error::csv(path)),
            #[cfg(feature = "parquet")]
            Rows::Parquet(groups) => groups.push(&row).map_err(Error::parquet(path)),
        }
    }

    /// Ends the file, which has its name from now on, and gives its path.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Csv`], `Error::Parquet`.
    pub fn finish(self) -> Result<PathBuf> {
        let path = &self.file.path;
        match self.rows {
            Rows::Csv(lines) => lines.finish().map_err(Error::csv(path))?,
            #[cfg(feature = "parquet")]
            Rows::Parquet(groups) => groups.finish().map_err(Error::parquet(path))?,
        }
        self.file.finish()
    }
}

/// A file under the name that it has until it is whole.
struct Unfinished {
    path: PathBuf,
    partial: PathBuf,
}

impl Unfinished {
    fn of(path: PathBuf) -> Unfinished {
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        Unfinished { path, partial: partial.into() }
    }

    /// The file, made anew: what an interrupted export left goes, and a link is not followed.
    fn create(&self) -> io::Result<File> {
        match fs::remove_file(&self.partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::create_new(&self.partial)
    }

    fn finish(self) -> Result<PathBuf> {
        rename(&self.partial, &self.path)?;
        Ok(self.path.clone())
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(Error::io("write", to))
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Of a finished file it is gone already; nothing else can be done about one that cannot be removed.
        let _ = fs::remove_file(&self.partial);
    }
}
