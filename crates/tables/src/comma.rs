//! A table as CSV (RFC 4180).

use std::fs::File;

use csv::Writer;

use crate::schema::{Schema, Value};

/// The rows of a CSV file.
pub(crate) struct Lines {
    writer: Writer<File>,
}

impl Lines {
    pub(crate) fn new(file: File, schema: &Schema) -> csv::Result<Lines> {
        let mut writer = Writer::from_writer(file);
        writer.write_record(schema.columns.iter().map(|column| &column.name))?;
        Ok(Lines { writer })
    }

    pub(crate) fn push(&mut self, row: &[Value<'_>]) -> csv::Result<()> {
        for value in row {
            match value {
                Value::Nothing => self.writer.write_field("")?,
                Value::Text(text) => self.writer.write_field(text.as_ref())?,
                Value::Number(number) => self.writer.write_field(number.to_string())?,
                Value::Count(count) => self.writer.write_field(count.to_string())?,
                Value::Flag(flag) => self.writer.write_field(flag.to_string())?,
            }
        }
        self.writer.write_record(None::<&[u8]>)
    }

    pub(crate) fn finish(mut self) -> csv::Result<()> {
        Ok(self.writer.flush()?)
    }
}
