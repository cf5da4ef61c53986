//! The folder that tables are written into.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::table::TableFile;

/// Forms of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// RFC 4180; the columns' names are the first line, an absent value is an empty cell.
    Csv,
    /// Apache Parquet, compressed with zstd; absent values are nulls, and what columns mean stands in the file's metadata.
    Parquet,
}

impl TableForm {
    /// Its name, which its files end with.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TableForm::Csv => "csv",
            TableForm::Parquet => "parquet",
        }
    }

    /// Whether this build can write it.
    #[must_use]
    pub fn is_known(self) -> bool {
        self == TableForm::Csv || cfg!(feature = "parquet")
    }
}

/// A folder for tables of one form.
#[derive(Clone, Debug)]
pub struct TableFolder {
    path: PathBuf,
    form: TableForm,
}

impl TableFolder {
    /// The folder, made where it is missing. Other files in it stay as they are; those of the tables are replaced.
    ///
    /// # Errors
    /// [`Error::WithoutParquet`], [`Error::Io`].
    pub fn create(path: &Path, form: TableForm) -> Result<TableFolder> {
        if !form.is_known() {
            return Err(Error::WithoutParquet);
        }
        fs::create_dir_all(path).map_err(Error::io("create", path))?;
        Ok(TableFolder { path: path.to_owned(), form })
    }

    /// Begins the file of a table.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Csv`], `Error::Parquet`.
    pub fn table(&self, schema: Schema) -> Result<TableFile> {
        let path = self.path.join(format!("{}.{}", schema.name, self.form.name()));
        TableFile::create(path, self.form, schema)
    }
}
