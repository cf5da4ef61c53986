//! How values go up the program's tree, and how a course becomes one number (IPS-2 §3, `docs/series.md`).

/// How the values of parts become the value of their whole: labels of a node, threads of a process, processes of a
/// machine, machines of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aggregation {
    /// The sum of those that have a value.
    Sum,
    /// The mean of those that have a value.
    Average,
}

impl Aggregation {
    /// All of them.
    pub const ALL: [Aggregation; 2] = [Aggregation::Sum, Aggregation::Average];

    /// Its name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Aggregation::Sum => "sum",
            Aggregation::Average => "average",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Aggregation> {
        Self::ALL.into_iter().find(|aggregation| aggregation.name() == name)
    }
}

/// How a course over a phase becomes one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TableCalculation {
    /// What came in the phase; of a gauge its sum over time, in its unit × s.
    Total,
    /// The mean over the phase; of counters and amounts per second.
    Average,
    /// The smallest value of a bin.
    Minimum,
    /// The largest value of a bin.
    Maximum,
    /// The value of the last bin that has one.
    Last,
}

impl TableCalculation {
    /// All of them.
    pub const ALL: [TableCalculation; 5] = [
        TableCalculation::Total,
        TableCalculation::Average,
        TableCalculation::Minimum,
        TableCalculation::Maximum,
        TableCalculation::Last,
    ];

    /// Its name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TableCalculation::Total => "total",
            TableCalculation::Average => "average",
            TableCalculation::Minimum => "minimum",
            TableCalculation::Maximum => "maximum",
            TableCalculation::Last => "last",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<TableCalculation> {
        Self::ALL.into_iter().find(|calculation| calculation.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        assert!(Aggregation::ALL.iter().all(|&one| Aggregation::named(one.name()) == Some(one)));
        assert!(TableCalculation::ALL.iter().all(|&one| TableCalculation::named(one.name()) == Some(one)));
        assert_eq!(Aggregation::named("Sum"), None);
        assert_eq!(TableCalculation::named("sum"), None);
    }
}
