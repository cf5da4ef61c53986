//! `prometheus=URL`: an exporter's page, read again and again.
//!
//! A thread of its own asks for the page ([`Scraper`]) and reads it ([`Exposition`](crate::exposition::Exposition)); the
//! collection's thread only takes over what has come. There is a scrape at the begin and one at the end.

mod scrape;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use longpole_event::{SeriesNode, Time};

use crate::clock;
use crate::sink::{SeriesKey, Sink};
use crate::source::SeriesSource;
use scrape::{ScrapedPage, Scraper};

/// Time between two scrapes, unless the collection looks less often.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time for a scrape, and for the one at the end.
const TIMEOUT: Duration = Duration::from_secs(5);
const LAST_TIMEOUT: Duration = Duration::from_millis(800);

/// An exporter that is scraped.
#[derive(Debug)]
pub(crate) struct Prometheus {
    /// Asks for the last scrape.
    last: Sender<()>,
    pages: Receiver<ScrapedPage>,
    /// CPU time of the thread, nanoseconds.
    cpu: Arc<AtomicU64>,
    interval: Duration,
    ending: Option<Instant>,
    waiting: Vec<ScrapedPage>,
    is_late: bool,
}

impl Prometheus {
    /// Starts to scrape; the error is what is wrong with the address.
    pub(crate) fn start(url: &str, interval: Duration) -> Result<Prometheus, String> {
        let scraper = Scraper::new(url)?;
        let interval = interval.max(INTERVAL);
        let (last, orders) = mpsc::channel();
        let (sender, pages) = mpsc::channel();
        let cpu = Arc::new(AtomicU64::new(0));
        let used = Arc::clone(&cpu);
        let work = move || scrape_until_end(scraper, interval, &orders, &sender, &used);
        let thread = crate::threads::start("prometheus", work);
        thread.map_err(|error| format!("it could not be started: {error}"))?;
        Ok(Prometheus { last, pages, cpu, interval, ending: None, waiting: Vec::new(), is_late: false })
    }
}

/// What the thread does. It ends by itself when nobody takes its pages any more.
fn scrape_until_end(
    mut scraper: Scraper,
    interval: Duration,
    orders: &Receiver<()>,
    pages: &Sender<ScrapedPage>,
    cpu: &AtomicU64,
) {
    let mut timeout = TIMEOUT;
    loop {
        let begin = Instant::now();
        let mut page = scraper.scrape(timeout);
        page.is_last = timeout == LAST_TIMEOUT;
        let left = interval.saturating_sub(begin.elapsed());
        if left.is_zero() && !page.is_last {
            page.troubles.push("a scrape took longer than the time between two".to_owned());
        }
        cpu.store(clock::thread_cpu().as_nanos() as u64, Ordering::Relaxed);
        let is_last = page.is_last;
        if pages.send(page).is_err() || is_last {
            return;
        }
        match orders.recv_timeout(left) {
            Ok(()) => timeout = LAST_TIMEOUT,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl SeriesSource for Prometheus {
    fn look(&mut self, _now: Time, sink: &mut Sink<'_>) -> io::Result<()> {
        self.waiting.extend(self.pages.try_iter());
        for page in self.waiting.drain(..) {
            page.troubles.iter().for_each(|what| sink.trouble(what));
            for value in &page.values {
                let node = SeriesNode::Machine;
                let (metric, unit, label) = (&*value.metric, &*value.unit, &*value.label);
                let key = SeriesKey { metric, unit, samples: value.samples, node, label };
                sink.put(&key, value.time, value.value);
            }
        }
        if std::mem::take(&mut self.is_late) {
            sink.trouble("the scrape at the end was not answered in time");
        }
        Ok(())
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn used_interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn cpu_elsewhere(&self) -> Duration {
        Duration::from_nanos(self.cpu.load(Ordering::Relaxed))
    }

    fn ending(&mut self) {
        self.ending = Some(Instant::now());
        // A thread that is gone has nothing to scrape for.
        let _ = self.last.send(());
    }

    fn stop(&mut self) {
        let until = *self.ending.get_or_insert_with(Instant::now) + LAST_TIMEOUT + Duration::from_millis(100);
        loop {
            match self.pages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(page) => {
                    let is_last = page.is_last;
                    self.waiting.push(page);
                    if is_last {
                        return;
                    }
                }
                Err(_) => {
                    self.is_late = true;
                    return;
                }
            }
        }
    }
}
