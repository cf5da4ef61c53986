//! Levels of the program's tree and classes of metrics, as descriptions name them.

/// Below which level of the program's tree a metric has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TreeLevel {
    /// The program.
    Program,
    /// Its machines.
    Machine,
    /// Their processes.
    Process,
    /// Their threads.
    Thread,
    /// Procedures and objects: what the program's own events tell of.
    Procedure,
}

impl TreeLevel {
    /// All of them, from the top.
    pub const ALL: [TreeLevel; 5] =
        [TreeLevel::Program, TreeLevel::Machine, TreeLevel::Process, TreeLevel::Thread, TreeLevel::Procedure];

    /// Its name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TreeLevel::Program => "program",
            TreeLevel::Machine => "machine",
            TreeLevel::Process => "process",
            TreeLevel::Thread => "thread",
            TreeLevel::Procedure => "procedure",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<TreeLevel> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl From<crate::OutsideNode> for TreeLevel {
    fn from(node: crate::OutsideNode) -> TreeLevel {
        match node {
            crate::OutsideNode::Program => TreeLevel::Program,
            crate::OutsideNode::Machine(_) => TreeLevel::Machine,
            crate::OutsideNode::Process(_) => TreeLevel::Process,
            crate::OutsideNode::Thread(_) => TreeLevel::Thread,
        }
    }
}

/// Where a metric's numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetricClass {
    /// The program's own events.
    BuiltIn,
    /// A series from outside.
    External,
    /// A formula over other metrics.
    Derived,
}

impl MetricClass {
    /// Its name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            MetricClass::BuiltIn => "built-in",
            MetricClass::External => "external",
            MetricClass::Derived => "derived",
        }
    }
}
