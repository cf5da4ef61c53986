//! `longpole view`, and a client that asks it as a browser does, or as one should not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::longpole;

/// A running `longpole view`; ended with the test.
pub struct Page {
    pub child: Child,
    pub port: u16,
    pub token: String,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Page {
    /// Serves the recording; the address is what the command prints.
    pub fn of(recording: &Path, options: &[&str]) -> Page {
        let mut command = longpole();
        command.arg("view").arg(recording).args(["--no-open"]).args(options);
        Page::started(command)
    }

    /// Serves the recording, and starts this browser; its files are in a folder for temporary ones.
    pub fn in_browser(recording: &Path, browser: &Path, temporary: &Path) -> Page {
        let mut command = longpole();
        command.arg("view").arg(recording).env("BROWSER", browser).env("TMPDIR", temporary);
        command.env_remove("XDG_RUNTIME_DIR");
        Page::started(command)
    }

    fn started(mut command: Command) -> Page {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let rest = url.strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("no address: {url:?}"));
        let (port, token) = rest.split_once('/').unwrap();
        let token = token.trim_end().trim_end_matches('/').to_owned();
        Page { child, port: port.parse().unwrap(), token }
    }

    /// Asks with the token, for this address; the path stands after the token.
    pub fn ask(&self, path: &str) -> Reply {
        self.send(&format!("/{}/{path}", self.token), &format!("127.0.0.1:{}", self.port))
    }

    /// Asks for exactly this path and host.
    pub fn send(&self, path: &str, host: &str) -> Reply {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no reply to {path}"));
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        Reply { status, head, body: bytes[end + 4..].to_vec() }
    }

    /// Sends exactly this, and takes what comes back until the connection ends.
    pub fn exchange(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The answer to a question that has one.
    pub fn answer(&self, path: &str) -> Value {
        let reply = self.ask(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        assert!(reply.head.contains("content-type: application/json"), "{path}: {}", reply.head);
        reply.json()
    }

    /// What a question is refused with: the status, and what failed with its hints.
    pub fn refusal(&self, path: &str) -> (u16, String) {
        let reply = self.ask(path);
        let value = reply.json();
        let error = value["error"].as_str().unwrap_or_else(|| panic!("{path}: {value}"));
        assert!(error.starts_with("failed to "), "{path}: {error}");
        let hints = value["hints"].as_array().unwrap().iter().map(|hint| hint.as_str().unwrap());
        (reply.status, std::iter::once(error).chain(hints).collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}
