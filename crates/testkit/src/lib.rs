//! Text timelines, random graphs, slow oracles and a runner of real programs, for tests only.
