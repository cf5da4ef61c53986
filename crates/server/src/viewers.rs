//! Whether anybody still looks at the page: an open page asks for something every so often, and nothing else does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time of the last request that had the token; `None` before the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastRequest(Arc<Mutex<Option<Instant>>>);

/// How long a request that has not come yet is waited for at a time.
const STEP: Duration = Duration::from_secs(1);

/// The longest time between two requests of an open page.
const MOST: Duration = Duration::from_secs(20);

impl LastRequest {
    /// A request came.
    pub(crate) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn age(&self) -> Option<Duration> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.map(|last| last.elapsed())
    }

    /// Returns when a page was open and none has asked for so long; never without a limit.
    pub(crate) async fn idle(&self, limit: Option<Duration>) {
        let Some(limit) = limit else { return std::future::pending().await };
        loop {
            match self.age() {
                Some(age) if age >= limit => return,
                Some(age) => tokio::time::sleep(limit - age).await,
                None => tokio::time::sleep(STEP.min(limit)).await,
            }
        }
    }
}

/// How often an open page asks, so that it is not taken for closed.
pub(crate) fn keep_alive(limit: Duration) -> Duration {
    (limit / 3).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(wait: Duration, viewers: &LastRequest, limit: Option<Duration>) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(wait, viewers.idle(limit)).await.is_ok() })
    }

    #[test]
    fn it_waits_for_the_first_page_for_ever() {
        let limit = Some(Duration::from_millis(20));
        assert!(!within(Duration::from_millis(200), &LastRequest::default(), limit));
    }

    #[test]
    fn it_ends_when_the_last_request_is_older_than_the_limit_and_never_without_one() {
        let viewers = LastRequest::default();
        viewers.note();
        assert!(!within(Duration::from_millis(100), &viewers, None));
        assert!(!within(Duration::from_millis(100), &viewers, Some(Duration::from_secs(3600))));
        assert!(within(Duration::from_secs(60), &viewers, Some(Duration::from_millis(20))));
    }

    #[test]
    fn an_open_page_asks_three_times_within_the_limit() {
        assert_eq!(keep_alive(Duration::from_secs(30)), Duration::from_secs(10));
        assert_eq!(keep_alive(Duration::from_secs(3600)), MOST);
    }
}
