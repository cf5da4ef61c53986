//! A collector: looks at the machine's load ten times a second, until the recorder ends it.
//!
//!     cargo build -p longpole-runtime --example collector
//!     longpole record --collect cmd:target/debug/examples/collector -- PROGRAM
//!
//! Prints how many looks it took.
#![allow(clippy::print_stderr)]

use std::time::Duration;

use longpole_runtime::{Looks, Metric, MetricNode};

fn main() -> std::io::Result<()> {
    let load = Metric::gauge(c"load").unit(c"threads").at(MetricNode::Machine);
    let looks = Metric::counter(c"looks").unit(c"looks").at(MetricNode::Machine).label(c"collector");
    let mut count = 0;
    for () in Looks::every(Duration::from_millis(100)) {
        let text = std::fs::read_to_string("/proc/loadavg")?;
        if let Some(now) = text.split(' ').next().and_then(|word| word.parse().ok()) {
            load.set(now);
        }
        looks.add(1);
        count += 1;
    }
    eprintln!("{count} looks");
    Ok(())
}
