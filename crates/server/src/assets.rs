//! The page's own files, embedded in the program.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

use axum::body::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// What lies in `ui/` but is not for the browser stays out.
#[derive(rust_embed::Embed)]
#[folder = "../../ui/"]
#[exclude = "tests/*"]
#[exclude = "*.json"]
#[exclude = "*.md"]
#[exclude = "*.LICENSE"]
#[exclude = "*.ts"]
#[exclude = ".*"]
struct AssetFiles;

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) content_type: &'static str,
}

/// The file of this name, as `views/tree.js`.
pub(crate) fn asset(name: &str) -> Option<Asset> {
    let content_type = content_type(name)?;
    let file = AssetFiles::get(name)?;
    Some(Asset { bytes: file.data, content_type })
}

/// Every file, compressed, by its name.
static COMPRESSED: LazyLock<BTreeMap<String, Bytes>> = LazyLock::new(|| {
    let compressed = |name: String| {
        let bytes = asset(&name)?.bytes;
        Some((name, compressed(&bytes).into()))
    };
    names().filter_map(compressed).collect()
});

/// The file of this name, compressed by gzip.
pub(crate) fn compressed_asset(name: &str) -> Option<Bytes> {
    COMPRESSED.get(name).cloned()
}

/// The bytes, compressed by gzip.
pub(crate) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory does not fail")
}

/// The names of all files, sorted.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let mut names: Vec<String> = AssetFiles::iter().map(Cow::into_owned).collect();
    names.sort_unstable();
    names.into_iter()
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

    /// What the browser has to load for the page.
    const MOST_BYTES: usize = 400 << 10;

    #[test]
    fn the_page_is_there_and_small() {
        let index = asset("index.html").unwrap();
        assert!(index.content_type.starts_with("text/html"));
        assert!(String::from_utf8_lossy(&index.bytes).contains("main.js"));
        let whole: usize = names().map(|name| compressed_asset(&name).unwrap().len()).sum();
        assert!(whole <= MOST_BYTES, "{whole} bytes");
    }

    #[test]
    fn every_embedded_file_has_a_kind() {
        for name in AssetFiles::iter() {
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
