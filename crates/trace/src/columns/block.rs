//! A block: a few thousand rows, column by column.
//!
//! ```text
//!   rows:u32 more:u32 first:u64 widths:[u8; 4]      widths of the columns after the tags, in bytes: 0, 1, 2, 4 or 8
//!   tags      1 byte a row
//!   times     from one row to the next
//!   threads
//!   values
//!   more      the numbers of rows that have more than a value, in their order
//! ```
//! A column is as wide as its largest number; a column of zeros takes no room. Little endian.

/// Rows of a block: their columns stay in a processor's cache while they are read.
pub(super) const MOST_ROWS: usize = 4096;
/// The most numbers beside its value that a row has.
const MOST_MORE: usize = 6;
const HEAD: usize = 20;
/// Bytes of the largest block.
pub(super) const MOST_BYTES: usize = HEAD + MOST_ROWS * (1 + 8 * (3 + MOST_MORE));

/// A row: a time, a thread, and what the tag says of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockRow {
    pub time: u64,
    pub thread: u64,
    pub tag: u8,
    pub value: u64,
}

/// Rows on their way into a block.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    tags: Vec<u8>,
    times: Vec<u64>,
    threads: Vec<u64>,
    values: Vec<u64>,
    /// Where numbers go that a row has beside its value, at most [`MOST_MORE`].
    pub more: Vec<u64>,
    first: u64,
    last: u64,
}

impl BlockBuilder {
    /// Adds a row; whether the block is full now.
    pub(super) fn push(&mut self, row: BlockRow) -> bool {
        if self.tags.is_empty() {
            (self.first, self.last) = (row.time, row.time);
        }
        self.tags.push(row.tag);
        self.times.push(row.time.wrapping_sub(self.last));
        self.threads.push(row.thread);
        self.values.push(row.value);
        self.last = row.time;
        self.tags.len() == MOST_ROWS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// The block of the rows so far, which is empty afterwards.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let columns = [&mut self.times, &mut self.threads, &mut self.values, &mut self.more];
        let widths = columns.each_ref().map(|column| width_of(column));
        let bytes: usize = columns.iter().zip(widths).map(|(column, width)| column.len() * width).sum();
        let mut block = Vec::with_capacity(HEAD + self.tags.len() + bytes);
        block.extend_from_slice(&(self.tags.len() as u32).to_le_bytes());
        block.extend_from_slice(&(columns[3].len() as u32).to_le_bytes());
        block.extend_from_slice(&self.first.to_le_bytes());
        block.extend(widths.map(|width| width as u8));
        block.append(&mut self.tags);
        for (column, width) in columns.into_iter().zip(widths) {
            match width {
                0 => {}
                1 => block.extend(column.iter().map(|&number| number as u8)),
                2 => {
                    column.iter().for_each(|&number| block.extend_from_slice(&(number as u16).to_le_bytes()))
                }
                4 => {
                    column.iter().for_each(|&number| block.extend_from_slice(&(number as u32).to_le_bytes()))
                }
                _ => column.iter().for_each(|&number| block.extend_from_slice(&number.to_le_bytes())),
            }
            column.clear();
        }
        block
    }
}

/// The columns of the block that is read.
#[derive(Debug, Default)]
pub(super) struct BlockColumns {
    tags: Vec<u8>,
    times: Vec<u64>,
    threads: Vec<u64>,
    values: Vec<u64>,
    more: Vec<u64>,
    first: u64,
}

impl BlockColumns {
    /// Takes the columns of a block; `None` where it is not whole.
    pub(super) fn load(&mut self, block: &[u8]) -> Option<()> {
        let (head, rest) = block.split_at_checked(HEAD)?;
        let rows = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
        let more = u32::from_le_bytes(head[4..8].try_into().ok()?) as usize;
        self.first = u64::from_le_bytes(head[8..16].try_into().ok()?);
        if rows > MOST_ROWS || more > rows * MOST_MORE {
            return None;
        }
        let (tags, mut rest) = rest.split_at_checked(rows)?;
        self.tags.clear();
        self.tags.extend_from_slice(tags);
        let columns = [&mut self.times, &mut self.threads, &mut self.values, &mut self.more];
        for ((column, length), &width) in columns.into_iter().zip([rows, rows, rows, more]).zip(&head[16..]) {
            let (bytes, after) = rest.split_at_checked(length * usize::from(width))?;
            unpack(bytes, width, length, column)?;
            rest = after;
        }
        rest.is_empty().then_some(())
    }

    /// Rows of the block.
    pub(super) fn len(&self) -> usize {
        self.tags.len()
    }

    /// Shows the rows of the block, with what they have more; `None` where one is refused, or takes other numbers than it has.
    pub(super) fn rows<'a>(
        &'a self,
        mut each: impl FnMut(BlockRow, &mut std::iter::Copied<std::slice::Iter<'a, u64>>) -> Option<()>,
    ) -> Option<()> {
        let mut more = self.more.iter().copied();
        let mut time = self.first;
        let columns = self.tags.iter().zip(&self.times).zip(&self.threads).zip(&self.values);
        for (((&tag, &since), &thread), &value) in columns {
            time = time.wrapping_add(since);
            each(BlockRow { time, thread, tag, value }, &mut more)?;
        }
        more.next().is_none().then_some(())
    }
}

/// Bytes that the largest number of a column needs.
fn width_of(column: &[u64]) -> usize {
    // Bits that any of them has.
    match column.iter().fold(0, |bits, &number| bits | number) {
        0 => 0,
        1..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x1_0000_0000 => 4,
        _ => 8,
    }
}

fn unpack(bytes: &[u8], width: u8, length: usize, column: &mut Vec<u64>) -> Option<()> {
    column.clear();
    match width {
        0 => column.resize(length, 0),
        1 => column.extend(bytes.iter().map(|&byte| u64::from(byte))),
        2 => column.extend(bytes.as_chunks().0.iter().map(|&bytes| u64::from(u16::from_le_bytes(bytes)))),
        4 => column.extend(bytes.as_chunks().0.iter().map(|&bytes| u64::from(u32::from_le_bytes(bytes)))),
        8 => column.extend(bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes))),
        _ => return None,
    }
    Some(())
}
