//! Scrapes of targets, good and bad: a small server answers as it is told to.
// A failure is a failed test.
#![allow(clippy::unwrap_used)]

mod collected;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use collected::{Collected, collect};
use longpole_collect::SeriesSourceChoice;
use longpole_event::SeriesNode;

/// Serves every request by `answer`, which is told how many there were before it; gives its address.
fn serve(answer: impl Fn(usize, &mut TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let head = BufReader::new(stream.try_clone().unwrap()).lines();
            head.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            answer(count, &mut stream);
        }
    });
    address
}

/// Answers with a page; that the other side goes away is no matter.
fn page(stream: &mut TcpStream, kind: &str, text: &str) {
    let length = text.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
}

fn scrape(target: &str, milliseconds: u64) -> Collected {
    collect(SeriesSourceChoice::Prometheus(target.to_owned()), || {
        std::thread::sleep(Duration::from_millis(milliseconds));
    })
}

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[test]
fn a_target_is_scraped_at_the_begin_each_second_and_at_the_end() {
    let address = serve(|count, stream| {
        let text = format!(
            "# TYPE jobs_total counter\njobs_total{{queue=\"a\"}} {}\n# TYPE heap_bytes gauge\nheap_bytes 7\n",
            100 + count
        );
        page(stream, TEXT, &text);
    });
    let collected = scrape(&format!("http://{address}/metrics"), 1500);
    assert_eq!(collected.account.troubles, []);
    assert_eq!(collected.values("jobs_total", "queue=\"a\""), [100.0, 101.0, 102.0]);
    assert_eq!(collected.values("heap_bytes", ""), [7.0; 3]);
    let [jobs, heap] = &collected.series[..] else { panic!("{collected:?}") };
    assert_eq!((jobs.samples, jobs.unit.as_str(), jobs.node), ("counter", "", SeriesNode::Machine));
    assert_eq!((heap.samples, heap.unit.as_str()), ("gauge", "B"));
    assert_eq!(collected.account.interval_seconds, Some(1.0));
    assert!(collected.account.cpu_seconds < 0.5, "{:?}", collected.account);
}

#[test]
fn a_target_that_is_down_is_said_for_each_scrape() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let collected = scrape(&address.to_string(), 100);
    assert_eq!(collected.troubles("refused"), 2, "{:?}", collected.account);
    assert!(collected.series.is_empty());
}

#[test]
fn a_target_that_comes_up_late_is_scraped_then() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let collected = collect(SeriesSourceChoice::Prometheus(address.to_string()), || {
        std::thread::sleep(Duration::from_millis(300));
        let listener = TcpListener::bind(address).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                page(&mut stream.unwrap(), TEXT, "a 1\n");
            }
        });
        std::thread::sleep(Duration::from_millis(300));
    });
    assert_eq!(collected.troubles("refused"), 1, "{:?}", collected.account);
    assert_eq!(collected.values("a", ""), [1.0]);
}

#[test]
fn a_target_that_does_not_answer_holds_nothing_up() {
    let address = serve(|_, stream| {
        let stream = stream.try_clone().unwrap();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(30));
            drop(stream);
        });
    });
    let begin = Instant::now();
    let collected = scrape(&address.to_string(), 200);
    assert!(collected.stopping < Duration::from_secs(2), "{:?}", collected.stopping);
    assert!(begin.elapsed() < Duration::from_secs(4));
    assert_eq!(collected.troubles("not answered in time"), 1, "{:?}", collected.account);
}

#[test]
fn a_page_that_stops_in_the_middle_gives_its_whole_lines() {
    let address = serve(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\na 1\nb 12";
        let _ = stream.write_all(head.as_bytes());
    });
    let collected = scrape(&address.to_string(), 100);
    assert_eq!(collected.values("a", ""), [1.0; 2]);
    assert!(collected.values("b", "").is_empty());
    assert_eq!(collected.troubles("could not be read"), 2, "{:?}", collected.account);
}

#[test]
fn what_is_no_page_of_numbers_is_said() {
    let missing = serve(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    });
    assert_eq!(scrape(&missing.to_string(), 100).troubles("status 404"), 2);
    let html = serve(|_, stream| page(stream, "text/html", "<html>"));
    assert_eq!(scrape(&html.to_string(), 100).troubles("text/html, not the text exposition format"), 2);
    let rubbish = serve(|_, stream| page(stream, TEXT, "<html>\na 1\nb NaN\n\u{0}\u{1}\n"));
    let collected = scrape(&rubbish.to_string(), 100);
    assert_eq!(collected.values("a", ""), [1.0; 2]);
    assert_eq!(collected.troubles("first `<html>`"), 4, "{:?}", collected.account);
    assert_eq!(collected.troubles("NaN"), 2, "{:?}", collected.account);
    let other = serve(|_, stream| {
        let _ = stream.write_all(b"220 mail ready\r\n");
    });
    let collected = scrape(&other.to_string(), 100);
    assert_eq!(collected.troubles("could not be read"), 2, "{:?}", collected.account);
    let secret = scrape("https://localhost/metrics", 50);
    assert_eq!(secret.troubles("only plain http"), 1, "{:?}", secret.account);
}

#[test]
fn a_page_of_a_million_lines_is_kept_up_to_a_bound() {
    let address = serve(|_, stream| {
        let lines: String = (0..1_000_000).map(|index| format!("a{{i=\"{index}\"}} 1\n")).collect();
        page(stream, TEXT, &lines);
    });
    let mut collected = scrape(&address.to_string(), 3000);
    assert!(collected.troubles("20,000 values") >= 1, "{:?}", collected.account);
    assert_eq!(collected.account.series, 20_000);
    assert!(collected.stopping < Duration::from_secs(2), "{:?}", collected.stopping);
    collected.series.truncate(1);
    assert_eq!(collected.series[0].values[0].1, 1.0);
}

#[test]
fn the_times_of_a_page_are_those_of_its_values() {
    let address = serve(|_, stream| {
        let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        page(stream, TEXT, &format!("a 1\nb 1 {}\n", unix.as_millis() - 20_000));
    });
    let collected = scrape(&address.to_string(), 50);
    let first = |index: usize| collected.series[index].values[0].0.nanoseconds() as i64;
    let between = (first(0) - first(1)) as f64 / 1e9;
    assert!((19.9..25.0).contains(&between), "{between}");
}
