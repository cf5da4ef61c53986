//! Which outside series move with what the program does, as reports tell it.

/// A series that moves with a metric of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesCorrelation {
    /// The metric of the program.
    pub target: String,
    /// The moments of interest, in words: `while few threads are busy`.
    pub moments: &'static str,
    /// The series' metric.
    pub metric: String,
    /// Its title.
    pub title: String,
    /// What it is of, as questions name it.
    pub node: String,
    /// Unit of its values over time.
    pub unit: String,
    /// How strongly it goes with the target, −1 to 1; `None` where that may be chance.
    pub strength: Option<f64>,
    /// By how much it comes before the target.
    pub lead_seconds: f64,
    /// Bins that were compared.
    pub bins: usize,
    /// Independent samples that these are worth.
    pub samples: f64,
    /// Its mean in the moments of interest.
    pub there: f64,
    /// Its mean otherwise.
    pub elsewhere: f64,
    /// It measures what the target measures.
    pub is_trivial: bool,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesCorrelations {
    /// The strongest first, those that may be chance last.
    pub found: Vec<SeriesCorrelation>,
    /// What was tried and left out, or why nothing could be said.
    pub notes: Vec<String>,
}
