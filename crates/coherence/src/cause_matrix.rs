//! The incidence matrix of a causality graph (C §3.4, figure 2a), and its text.
//!
//! A column is a cause (R, I, W) of requests with its share of the cost. The entry of row *i* in column *j* says how often
//! the copy that a request of cause *i* had fetched was written and so led to a request of cause *j*: as a share of all
//! such transitions of these units.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::access::{DataObjectId, SiteId, SyncOrigin};
use crate::patterns::PatternTallies;
use crate::requests::{FlowKey, FlowOrigin, FlowTotals};
use crate::result::CommunicationResult;

/// A cause by its places, without processors: a column of the matrix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CauseColumn {
    /// *R*.
    pub read_site: SiteId,
    /// *I* and *W*; `None`: first references.
    pub written: Option<(Option<SyncOrigin>, SiteId)>,
}

impl CauseColumn {
    fn of(key: &FlowKey) -> Self {
        let written = match key.origin {
            FlowOrigin::Cold => None,
            FlowOrigin::Written { ordered_by, writer_site, .. } => Some((ordered_by, writer_site)),
        };
        Self { read_site: key.reader_site, written }
    }
}

/// The matrix of some units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CauseMatrix {
    /// Causes with their sums, the highest cost first.
    pub columns: Vec<(CauseColumn, FlowTotals)>,
    /// Transitions by (row, column), both indexes of `columns`.
    pub transitions: BTreeMap<(usize, usize), u64>,
    /// Transitions by column from requests for other objects in these units.
    pub elsewhere: BTreeMap<usize, u64>,
    /// Patterns of the requests of each column, in the order of `columns`.
    pub patterns: Vec<PatternTallies>,
}

impl CauseMatrix {
    /// The matrix of the units with these first addresses. `object` keeps to requests for one object.
    pub fn of(result: &CommunicationResult, units: &[u64], object: Option<DataObjectId>) -> Self {
        let units: BTreeSet<u64> = units.iter().copied().collect();
        let is_of = |key: &FlowKey| units.contains(&key.unit) && (object.is_none() || key.object == object);
        Self::of_groups(result, 1, |key| is_of(key).then_some(0)).remove(0)
    }

    /// The matrices of so many groups of flows; `group` says which one a flow is of.
    pub fn of_groups(
        result: &CommunicationResult,
        groups: usize,
        group: impl Fn(&FlowKey) -> Option<usize>,
    ) -> Vec<Self> {
        let mut sums = vec![BTreeMap::<CauseColumn, (FlowTotals, PatternTallies)>::new(); groups];
        for (index, flow) in result.flows.iter().enumerate() {
            if let Some(at) = group(&flow.key) {
                let (totals, patterns) = sums[at].entry(CauseColumn::of(&flow.key)).or_default();
                totals.merge(&flow.totals);
                patterns.merge(&result.patterns_of(index));
            }
        }
        let mut numbers: Vec<BTreeMap<CauseColumn, usize>> = Vec::new();
        let mut matrices: Vec<Self> = Vec::new();
        for sums in sums {
            let mut columns: Vec<_> = sums.into_iter().collect();
            columns.sort_by_key(|(column, (totals, _))| (std::cmp::Reverse(totals.cost), *column));
            numbers.push(columns.iter().enumerate().map(|(number, (column, _))| (*column, number)).collect());
            let patterns = columns.iter().map(|(_, (_, patterns))| *patterns).collect();
            let columns = columns.into_iter().map(|(column, (totals, _))| (column, totals)).collect();
            let (transitions, elsewhere) = (BTreeMap::new(), BTreeMap::new());
            matrices.push(Self { columns, transitions, elsewhere, patterns });
        }
        for one in &result.transitions {
            let (from, to) = (&result.flows[one.from].key, &result.flows[one.to].key);
            let Some(at) = group(to) else { continue };
            let number = |key: &FlowKey| numbers[at][&CauseColumn::of(key)];
            let matrix = &mut matrices[at];
            *match group(from) == Some(at) {
                true => matrix.transitions.entry((number(from), number(to))).or_default(),
                false => matrix.elsewhere.entry(number(to)).or_default(),
            } += one.count;
        }
        matrices
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
