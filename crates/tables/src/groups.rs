//! A table as Parquet: rows are gathered into groups, and each group is written column by column.
//!
//! Every column is optional, so that an absent value is a null. Text repeats much from row to row: the file's dictionary
//! holds each once, and here a value that is the one before it shares its memory.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::schema::{CellValue, ColumnKind, Schema, TableColumn};

/// Rows of a group: some megabytes of memory, and enough for the compression.
const ROWS_OF_GROUP: usize = 64 * 1024;

/// The rows of a Parquet file.
pub(crate) struct Groups {
    writer: SerializedFileWriter<File>,
    columns: Vec<Gathered>,
    rows: usize,
}

/// Values of a column that are not written yet: those that are there, and for each row whether it has one.
struct Gathered {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Text(Vec<ByteArray>),
    Number(Vec<f64>),
    Count(Vec<i64>),
    Flag(Vec<bool>),
}

impl Groups {
    pub(crate) fn new(file: File, schema: &Schema) -> Result<Groups> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("longpole version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata(schema)))
            .build();
        let writer = SerializedFileWriter::new(file, root(schema)?, Arc::new(properties))?;
        let columns = schema.columns.iter().map(|column| Gathered::new(column.kind)).collect();
        Ok(Groups { writer, columns, rows: 0 })
    }

    pub(crate) fn push(&mut self, row: &[CellValue<'_>]) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        self.rows += 1;
        if self.rows >= ROWS_OF_GROUP { self.flush() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.close()?;
        Ok(())
    }

    /// Writes the rows that were gathered as a group.
    fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let mut writer = group.next_column()?.expect("the schema has a column for each that is gathered");
            column.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl Gathered {
    fn new(kind: ColumnKind) -> Gathered {
        let values = match kind {
            ColumnKind::Text => Values::Text(Vec::new()),
            ColumnKind::Number => Values::Number(Vec::new()),
            ColumnKind::Count => Values::Count(Vec::new()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
        };
        Gathered { values, levels: Vec::new() }
    }

    /// Adds a value, which is of the column's kind.
    fn push(&mut self, value: &CellValue<'_>) {
        match (&mut self.values, value) {
            (Values::Text(values), CellValue::Text(text)) => {
                let same = values.last().filter(|last| last.data() == text.as_bytes()).cloned();
                values.push(same.unwrap_or_else(|| ByteArray::from(text.as_ref())));
            }
            (Values::Number(values), &CellValue::Number(number)) => values.push(number),
            (Values::Count(values), &CellValue::Count(count)) => values.push(count),
            (Values::Flag(values), &CellValue::Flag(flag)) => values.push(flag),
            _ => return self.levels.push(0),
        }
        self.levels.push(1);
    }

    /// Writes what was gathered, and forgets it.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels = Some(self.levels.as_slice());
        match &mut self.values {
            Values::Text(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Number(values) => {
                writer.typed::<DoubleType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Count(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Flag(values) => {
                writer.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}

/// The columns as Parquet types.
fn root(schema: &Schema) -> Result<TypePtr> {
    let columns = schema.columns.iter().map(of_column).collect::<Result<Vec<_>>>()?;
    let root = Type::group_type_builder("table").with_fields(columns).build()?;
    Ok(Arc::new(root))
}

fn of_column(column: &TableColumn) -> Result<TypePtr> {
    let (physical, logical) = match column.kind {
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Number => (Physical::DOUBLE, None),
        ColumnKind::Count => (Physical::INT64, None),
        ColumnKind::Flag => (Physical::BOOLEAN, None),
    };
    let column = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(column))
}

/// What the table and its columns mean: `about`, and `COLUMN.unit`, `COLUMN.title`, `COLUMN.explanation` where there are some.
fn metadata(schema: &Schema) -> Vec<KeyValue> {
    let about = [("about".to_owned(), &schema.about)];
    let columns = schema.columns.iter().flat_map(|column| {
        let key = |what: &str| format!("{}.{what}", column.name);
        [
            (key("unit"), &column.unit),
            (key("title"), &column.title),
            (key("explanation"), &column.explanation),
        ]
    });
    let all = about.into_iter().chain(columns).filter(|(_, text)| !text.is_empty());
    all.map(|(key, text)| KeyValue::new(key, text.clone())).collect()
}
