//! A table as CSV (RFC 4180).

use std::fs::File;

use csv::Writer;

use crate::schema::{CellValue, Schema};

/// The rows of a CSV file.
pub(crate) struct CsvRows {
    writer: Writer<File>,
}

impl CsvRows {
    pub(crate) fn new(file: File, schema: &Schema) -> csv::Result<CsvRows> {
        let mut writer = Writer::from_writer(file);
        writer.write_record(schema.columns.iter().map(|column| &column.name))?;
        Ok(CsvRows { writer })
    }

    pub(crate) fn push(&mut self, row: &[CellValue<'_>]) -> csv::Result<()> {
        for value in row {
            match value {
                CellValue::Nothing => self.writer.write_field("")?,
                CellValue::Text(text) => self.writer.write_field(text.as_ref())?,
                CellValue::Number(number) => self.writer.write_field(number.to_string())?,
                CellValue::Count(count) => self.writer.write_field(count.to_string())?,
                CellValue::Flag(flag) => self.writer.write_field(flag.to_string())?,
            }
        }
        self.writer.write_record(None::<&[u8]>)
    }

    pub(crate) fn finish(mut self) -> csv::Result<()> {
        Ok(self.writer.flush()?)
    }
}
