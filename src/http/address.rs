//! Where a ping URL may begin: `FLATLINE_PING_URL` puts pings on a host or path of their own, as hosted services do.
//!
//! Routes know pings as `/ping/..` alone; what arrives under the configured address is rewritten to that before it
//! is routed. On a host that is only for pings nothing else answers. Pure, apart from the request it is handed.

use axum::extract::Request;
use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{HeaderMap, header};
use uuid::Uuid;

/// The path that routes know.
const ROUTED: &str = "/ping/";

/// An address of their own for pings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PingAddress {
    /// In small letters, without the port.
    host: String,
    /// Begins and ends with a slash.
    prefix: String,
}

impl PingAddress {
    /// Reads the two URLs; `None` where pings stand under the site's `/ping/`.
    pub fn of(ping_url: &str, site_url: &str) -> Option<Self> {
        let (ping, site) = (url::Url::parse(ping_url).ok()?, url::Url::parse(site_url).ok()?);
        let prefix = format!("{}/", ping.path().trim_end_matches('/'));
        if ping.host_str() == site.host_str() && prefix == ROUTED {
            return None;
        }
        Some(Self { host: ping.host_str()?.to_owned(), prefix })
    }

    /// Rewrites a request that came under this address. A request without a host, as old clients send, is taken
    /// for a ping; one under a foreign host, such as the bare IP address, only if a uuid shows that it is one.
    pub fn rewrite(&self, mut request: Request) -> Request {
        let Some(rest) = request.uri().path().strip_prefix(&self.prefix) else { return request };
        let host = host_of(request.uri(), request.headers());
        let is_ping = match host {
            None => true,
            Some(host) if host == self.host => true,
            Some(_) => rest.split('/').next().is_some_and(|first| Uuid::try_parse(first).is_ok()),
        };
        if is_ping {
            let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
            if let Ok(path) = PathAndQuery::try_from(format!("{ROUTED}{rest}{query}")) {
                let mut parts = request.uri().clone().into_parts();
                parts.path_and_query = Some(path);
                if let Ok(uri) = Uri::from_parts(parts) {
                    *request.uri_mut() = uri;
                }
            }
        }
        request
    }
}

fn host_of(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = uri.authority().map(|authority| authority.as_str()).or(named)?;
    let host = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    Some(host.map_or(authority, |(host, _)| host).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    const UUID: &str = "3f2b8c1e-6a4d-4c1b-9e7f-0a1b2c3d4e5f";

    fn rewritten(ping_url: &str, host: Option<&str>, target: &str) -> String {
        let mut request = Request::builder().uri(target);
        if let Some(host) = host {
            request = request.header(header::HOST, host);
        }
        let address = PingAddress::of(ping_url, "https://watch.example").unwrap();
        address.rewrite(request.body(Body::empty()).unwrap()).uri().path_and_query().unwrap().to_string()
    }

    #[test]
    fn nothing_is_rewritten_where_pings_stand_under_the_site() {
        assert_eq!(PingAddress::of("https://watch.example/ping", "https://watch.example"), None);
        assert_eq!(PingAddress::of("http://localhost:8000/ping", "http://localhost:8000"), None);
    }

    #[test]
    fn a_host_of_its_own_has_pings_at_its_root() {
        let at = |host, target: &str| rewritten("https://ping.example", host, target);
        assert_eq!(at(Some("ping.example"), "/key/slug?rid=1"), "/ping/key/slug?rid=1");
        assert_eq!(at(Some("PING.example:443"), &format!("/{UUID}/fail")), format!("/ping/{UUID}/fail"));
        assert_eq!(at(None, "/key/slug"), "/ping/key/slug");
        assert_eq!(at(None, "http://ping.example/key/slug"), "/ping/key/slug");
        assert_eq!(at(Some("ping.example"), "/healthz"), "/ping/healthz");
        assert_eq!(at(Some("ping.example"), "//x"), "/ping//x");
    }

    #[test]
    fn under_a_foreign_host_a_uuid_is_a_ping_and_nothing_else() {
        let at = |host, target: &str| rewritten("https://ping.example", Some(host), target);
        for host in ["watch.example", "192.0.2.1", "[2001:db8::1]:8000", "evil.example"] {
            assert_eq!(at(host, &format!("/{UUID}")), format!("/ping/{UUID}"));
            assert_eq!(at(host, "/healthz"), "/healthz");
            assert_eq!(at(host, "/api/v3/checks/"), "/api/v3/checks/");
        }
    }

    #[test]
    fn a_path_of_its_own_is_rewritten_and_others_are_left_alone() {
        let at = |target: &str| rewritten("https://watch.example/p", Some("watch.example"), target);
        assert_eq!(at("/p/key/slug"), "/ping/key/slug");
        assert_eq!(at("/pricing"), "/pricing");
        assert_eq!(at("/ping/key/slug"), "/ping/key/slug");
    }
}
