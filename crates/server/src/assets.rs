//! The page's own files, embedded in the program.

use std::borrow::Cow;

/// What lies in `ui/` but is not for the browser stays out.
#[derive(rust_embed::Embed)]
#[folder = "../../ui/"]
#[exclude = "tests/*"]
#[exclude = "*.json"]
#[exclude = "*.md"]
#[exclude = "*.LICENSE"]
#[exclude = ".*"]
struct Files;

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) content_type: &'static str,
}

/// The file of this name, as `views/tree.js`.
pub(crate) fn asset(name: &str) -> Option<Asset> {
    let content_type = content_type(name)?;
    let file = Files::get(name)?;
    Some(Asset { bytes: file.data, content_type })
}

/// The kinds of file that a page is made of.
fn content_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the browser has to load for the page, compressed by nobody.
    const MOST_BYTES: usize = 400 << 10;

    #[test]
    fn the_page_is_there_and_small() {
        let index = asset("index.html").unwrap();
        assert!(index.content_type.starts_with("text/html"));
        assert!(String::from_utf8_lossy(&index.bytes).contains("main.js"));
        let sizes = Files::iter().map(|name| Files::get(&name).unwrap().data.len());
        let whole: usize = sizes.sum();
        assert!(whole <= MOST_BYTES, "{whole} bytes");
    }

    #[test]
    fn every_embedded_file_has_a_kind() {
        for name in Files::iter() {
            assert!(asset(&name).is_some(), "{name}");
        }
    }

    #[test]
    fn nothing_but_embedded_files_is_found() {
        for name in [
            "",
            "../Cargo.toml",
            "/etc/passwd",
            "tests/model/query.test.js",
            "views/../index.html",
            "package.json",
        ] {
            assert!(asset(name).is_none(), "{name}");
        }
    }
}
