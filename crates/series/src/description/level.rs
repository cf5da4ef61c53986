//! Levels of the program's tree and classes of metrics, as descriptions name them.

/// Below which level of the program's tree a metric has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
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

impl Level {
    /// All of them, from the top.
    pub const ALL: [Level; 5] =
        [Level::Program, Level::Machine, Level::Process, Level::Thread, Level::Procedure];

    /// Its name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Program => "program",
            Level::Machine => "machine",
            Level::Process => "process",
            Level::Thread => "thread",
            Level::Procedure => "procedure",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Level> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl From<crate::Node> for Level {
    fn from(node: crate::Node) -> Level {
        match node {
            crate::Node::Program => Level::Program,
            crate::Node::Machine(_) => Level::Machine,
            crate::Node::Process(_) => Level::Process,
            crate::Node::Thread(_) => Level::Thread,
        }
    }
}

/// Where a metric's numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The program's own events.
    BuiltIn,
    /// A series from outside.
    External,
    /// A formula over other metrics.
    Derived,
}

impl Class {
    /// Its name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::BuiltIn => "built-in",
            Class::External => "external",
            Class::Derived => "derived",
        }
    }
}
