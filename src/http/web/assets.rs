//! Style sheet, script and icons, inside the program. Each has the digest of its content in its address, so that
//! a browser keeps it for good and gets the new one at once.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base16ct::lower;
use sha2::{Digest, Sha256};

/// One file that pages load.
pub struct Asset {
    stem: &'static str,
    ending: &'static str,
    mime: &'static str,
    text: &'static str,
    path: OnceLock<String>,
}

impl Asset {
    const fn new(stem: &'static str, ending: &'static str, mime: &'static str, text: &'static str) -> Self {
        Self { stem, ending, mime, text, path: OnceLock::new() }
    }

    /// Where pages find it.
    pub fn path(&self) -> &str {
        self.path.get_or_init(|| {
            let digest = Sha256::digest(self.text.as_bytes());
            let hex = lower::encode_string(&digest[..6]);
            format!("/static/{}-{hex}.{}", self.stem, self.ending)
        })
    }
}

pub static STYLE: Asset =
    Asset::new("app", "css", "text/css; charset=utf-8", include_str!("../../../static/app.css"));
pub static SCRIPT: Asset =
    Asset::new("live", "js", "text/javascript; charset=utf-8", include_str!("../../../static/live.js"));
pub static PASSKEYS: Asset = Asset::new(
    "passkeys",
    "js",
    "text/javascript; charset=utf-8",
    include_str!("../../../static/passkeys.js"),
);
pub static UP: Asset = Asset::new("up", "svg", "image/svg+xml", include_str!("../../../static/up.svg"));
pub static DOWN: Asset = Asset::new("down", "svg", "image/svg+xml", include_str!("../../../static/down.svg"));

static ALL: [&Asset; 5] = [&STYLE, &SCRIPT, &PASSKEYS, &UP, &DOWN];

pub async fn serve(Path(file): Path<String>) -> Response {
    let named = |asset: &&&Asset| asset.path().strip_prefix("/static/") == Some(file.as_str());
    match ALL.iter().find(named) {
        Some(asset) => {
            let kept = "public, max-age=31536000, immutable";
            ([(header::CONTENT_TYPE, asset.mime), (header::CACHE_CONTROL, kept)], asset.text).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
