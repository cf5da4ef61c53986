//! The incidence matrix of a causality graph (C §3.4, figure 2a), and its text.
//!
//! A column is a cause (R, I, W) of requests with its share of the cost. The entry of row *i* in column *j* says how often
//! the copy that a request of cause *i* had fetched was written and so led to a request of cause *j*: as a share of all
//! such transitions of these units.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::access::{SiteId, SyncOrigin};
use crate::requests::{FlowOrigin, FlowTotals};
use crate::result::CommunicationResult;

/// A cause by its places, without processors: a column of the matrix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CauseColumn {
    /// *R*.
    pub read_site: SiteId,
    /// *I* and *W*; `None`: first references.
    pub written: Option<(Option<SyncOrigin>, SiteId)>,
}

/// The matrix of some units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CauseMatrix {
    /// Causes with their sums, the highest cost first.
    pub columns: Vec<(CauseColumn, FlowTotals)>,
    /// Transitions by (row, column), both indexes of `columns`.
    pub transitions: BTreeMap<(usize, usize), u64>,
}

impl CauseMatrix {
    /// The matrix of the units with these first addresses.
    pub fn of(result: &CommunicationResult, units: &[u64]) -> Self {
        let units: BTreeSet<u64> = units.iter().copied().collect();
        let column = |flow: usize| {
            let key = &result.flows[flow].key;
            let written = match key.origin {
                FlowOrigin::Cold => None,
                FlowOrigin::Written { ordered_by, writer_site, .. } => Some((ordered_by, writer_site)),
            };
            CauseColumn { read_site: key.reader_site, written }
        };
        let mut sums: BTreeMap<CauseColumn, FlowTotals> = BTreeMap::new();
        for (index, flow) in
            result.flows.iter().enumerate().filter(|(_, flow)| units.contains(&flow.key.unit))
        {
            sums.entry(column(index)).or_default().merge(&flow.totals);
        }
        let mut columns: Vec<_> = sums.into_iter().collect();
        columns.sort_by_key(|(column, totals)| (std::cmp::Reverse(totals.cost), *column));
        let index: BTreeMap<CauseColumn, usize> =
            columns.iter().enumerate().map(|(index, (column, _))| (*column, index)).collect();
        let mut transitions = BTreeMap::new();
        for one in result.transitions.iter().filter(|one| units.contains(&result.flows[one.from].key.unit)) {
            *transitions.entry((index[&column(one.from)], index[&column(one.to)])).or_default() += one.count;
        }
        Self { columns, transitions }
    }

    /// The matrix as text. The names are the caller's, and printed as they are.
    pub fn text(
        &self,
        site: impl Fn(SiteId) -> String,
        synchronisation: impl Fn(SyncOrigin) -> String,
    ) -> String {
        let all: u64 = self.columns.iter().map(|(_, totals)| totals.cost).sum();
        let mut lines = vec![String::new(), "cost".into(), "R".into(), "I".into(), "W".into()];
        lines.extend((0..self.columns.len()).map(|row| format!("from {row}")));
        pad(&mut lines);
        for (index, (column, totals)) in self.columns.iter().enumerate() {
            let (order, write) = match column.written {
                None => ("cold".into(), "-".into()),
                Some((None, write)) => ("unordered".into(), site(write)),
                Some((Some(origin), write)) => (synchronisation(origin), site(write)),
            };
            let mut cells =
                vec![index.to_string(), percent(totals.cost, all), site(column.read_site), order, write];
            cells.extend((0..self.columns.len()).map(|row| self.entry(row, index)));
            for (line, cell) in lines.iter_mut().zip(cells) {
                let _ = write!(line, "  {cell}");
            }
            pad(&mut lines);
        }
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn entry(&self, row: usize, column: usize) -> String {
        let all = self.transitions.values().sum();
        self.transitions.get(&(row, column)).map_or_else(|| "-".into(), |&count| percent(count, all))
    }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.0} %", part as f64 * 100.0 / whole as f64) }
}

fn pad(lines: &mut [String]) {
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    for line in lines {
        line.extend(std::iter::repeat_n(' ', width - line.chars().count()));
    }
}
