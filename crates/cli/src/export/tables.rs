//! The tables of an export, with a table of their columns beside them.

use std::path::Path;

use anyhow::Result;
use longpole_report::CellText;
use longpole_tables::{CellValue, ColumnKind, Error, Schema, TableColumn, TableFile, TableFolder, TableForm};

use crate::failure::Failure;

/// Tables that are written into a folder.
pub struct ExportedTables {
    folder: TableFolder,
    columns: TableFile,
    cells: CellText,
}

impl ExportedTables {
    pub fn create(path: &Path, form: TableForm, cells: CellText) -> Result<ExportedTables> {
        let folder = TableFolder::create(path, form).map_err(told)?;
        let columns = folder.table(columns())?;
        Ok(ExportedTables { folder, columns, cells })
    }

    /// How texts are written.
    pub fn cells(&self) -> CellText {
        self.cells
    }

    /// Begins a table, whose columns are noted.
    pub fn table(&mut self, schema: Schema) -> Result<TableFile> {
        let text = |text: &str| match text {
            "" => CellValue::Nothing,
            text => CellValue::Text(text.to_owned().into()),
        };
        for column in &schema.columns {
            let TableColumn { name, kind, unit, title, explanation } = column;
            let cells = [&schema.name, name, kind.name(), unit, title, explanation];
            self.columns.row(cells.map(text))?;
        }
        Ok(self.folder.table(schema)?)
    }

    pub fn finish(self) -> Result<()> {
        self.columns.finish()?;
        Ok(())
    }
}

/// The table of the columns.
fn columns() -> Schema {
    let column = |(name, title, explanation)| column(name, ColumnKind::Text, title, explanation);
    let columns = [
        ("table", "Table", "Name of the table: a view's, or `series`."),
        ("column", "Column", "Key of the column in its table."),
        ("kind", "Kind", "`text`, `number` (double), `count` (64-bit integer) or `flag` (boolean)."),
        ("unit", "Unit", "Unit of the values; absent where they have none, or one in each row."),
        ("title", "Title", "Title of the column in texts."),
        ("explanation", "Explanation", "What the column means."),
    ];
    Schema {
        name: "columns".to_owned(),
        about: "Every column of the tables beside this one.".to_owned(),
        columns: columns.map(column).to_vec(),
    }
}

/// A column without a unit.
pub fn column(name: &str, kind: ColumnKind, title: &str, explanation: &str) -> TableColumn {
    TableColumn {
        name: name.to_owned(),
        kind,
        unit: String::new(),
        title: title.to_owned(),
        explanation: explanation.to_owned(),
    }
}

/// What a build without Parquet is told.
fn told(error: Error) -> anyhow::Error {
    let hints = match error {
        Error::WithoutParquet => vec![
            "`--to csv` writes the same tables as CSV".to_owned(),
            "build it with its default features, or `--features parquet`".to_owned(),
        ],
        _ => Vec::new(),
    };
    Failure { status: 1, hints, error: error.into() }.into()
}
