//! Dense ids within one log. Each is an index into the table of its definitions.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into its table.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the table row at `index`; an index beyond 2³²−2 does not occur in a log.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                $name(u32::try_from(index).expect("fewer than 2^32 rows in a table"))
            }
        }
    )*};
}

ids! {
    /// One machine of a recording; the index of its folder.
    MachineId,
    /// One process of a machine, from its creation to its end; a reused pid is another process.
    ProcessId,
    /// One thread of a machine, from its creation to its end; a reused tid is another thread.
    ThreadId,
    /// An interned string of a log.
    TextId,
    /// One mapped file, or another source of code such as the kernel.
    ModuleId,
    /// One code address in a module.
    FrameId,
    /// One call path: a node of the log's tree of stacks.
    StackId,
    /// One system call with its arguments.
    CallId,
    /// One synchronisation primitive of a process.
    PrimitiveId,
    /// One series of numbers from outside (counters, a program's own metrics).
    SeriesId,
}
