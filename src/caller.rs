//! Who is calling: the one address that pings, logs and limits go by, and whether the caller came over https.
//!
//! Pure: it sees the socket's peer, the request's headers and the operator's [`Proxies`], nothing else. `http`
//! asks it once per request; `rate` counts by [`subject`]. A header is read only if a trusted proxy sent it, and
//! of a forwarded chain only the part that trusted proxies wrote: nothing that a client says about itself counts.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::{IpNet, Ipv6Net};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const IPV6_SUBJECT_BITS: u8 = 64;

/// The proxies whose word is taken, as the operator named them; by default none.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// Networks whose members may say who called them (`FLATLINE_TRUSTED_PROXIES`).
    pub trusted: Vec<IpNet>,
    /// The header that the proxy overwrites with the caller's address (`FLATLINE_CLIENT_IP_HEADER`); if it is set,
    /// `X-Forwarded-For` is not read.
    pub header: Option<HeaderName>,
}

impl Proxies {
    fn trust(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(&address))
    }
}

/// What is known about the caller of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Never an IPv4-mapped IPv6 address: those are shown as the IPv4 address they are.
    pub address: IpAddr,
    /// True only if a trusted proxy says so; this server itself speaks plain http.
    pub https: bool,
}

/// Finds the caller of a request that arrived from `peer`.
///
/// An untrusted peer is the caller itself. From a trusted one, the header that [`Proxies::header`] names is read if
/// there is one, else the chain in `X-Forwarded-For`. What cannot be read is never skipped over: the caller is then
/// the nearest hop that is still vouched for, in the worst case the peer.
pub fn caller(peer: IpAddr, headers: &HeaderMap, proxies: &Proxies) -> Caller {
    let peer = peer.to_canonical();
    if !proxies.trust(peer) {
        return Caller { address: peer, https: false };
    }
    let address = match &proxies.header {
        Some(name) => only_value(headers, name).as_deref().and_then(address_of).unwrap_or(peer),
        None => nearest_stranger(peer, headers, proxies),
    };
    let scheme = values(headers, &FORWARDED_PROTO).pop();
    Caller { address, https: scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")) }
}

/// The key that limits count an address by: an IPv4 address whole, an IPv6 address by its /64, since one household
/// or server is handed at least that much.
pub fn subject(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => Ipv6Net::new_assert(address, IPV6_SUBJECT_BITS).trunc().to_string(),
    }
}

/// Walks the chain from the hop next to us to the first address that is not a trusted proxy's.
///
/// Each hop wrote the entry to its left-hand neighbour, so an unreadable entry ends the walk: whatever stands further
/// left was passed on by somebody unknown. An empty entry counts as unreadable.
fn nearest_stranger(peer: IpAddr, headers: &HeaderMap, proxies: &Proxies) -> IpAddr {
    let mut nearest = peer;
    for entry in values(headers, &FORWARDED_FOR).iter().rev() {
        let Some(address) = address_of(entry) else { break };
        nearest = address;
        if !proxies.trust(address) {
            break;
        }
    }
    nearest
}

/// All entries of a list header, its lines joined in order, as RFC 9110 5.3 has it.
fn values(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    headers
        .get_all(name)
        .iter()
        .flat_map(|line| line.as_bytes().split(|&byte| byte == b','))
        .map(|entry| String::from_utf8_lossy(entry).trim().to_owned())
        .collect()
}

/// The value of a header that must stand there once: a second line means that the proxy did not overwrite the first.
fn only_value(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut lines = headers.get_all(name).iter();
    let value = lines.next()?.to_str().ok()?.trim().to_owned();
    lines.next().is_none().then_some(value)
}

/// Reads `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:80`; anything else is `None`.
/// The zone of a link-local address (`fe80::1%eth0`) means something to the proxy alone and is left out.
fn address_of(entry: &str) -> Option<IpAddr> {
    let Some((address, zone)) = entry.split_once('%') else { return unzoned(entry) };
    let behind = zone.find(']').map_or("", |at| &zone[at..]);
    unzoned(&format!("{address}{behind}")).filter(IpAddr::is_ipv6)
}

fn unzoned(entry: &str) -> Option<IpAddr> {
    let unbracketed = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = match unbracketed {
        Some(inner) => inner.parse().map(IpAddr::V6).ok()?,
        None => entry.parse().or_else(|_| entry.parse().map(|socket: SocketAddr| socket.ip())).ok()?,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn proxies(header: Option<&'static str>) -> Proxies {
        Proxies {
            trusted: ["10.0.0.0/8", "2001:db8:ffff::/48"].map(|net| net.parse().unwrap()).to_vec(),
            header: header.map(HeaderName::from_static),
        }
    }

    fn lines(name: &'static str, values: &[&str]) -> HeaderMap {
        values
            .iter()
            .map(|value| (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap()))
            .collect()
    }

    fn forwarded(peer: &str, values: &[&str]) -> String {
        caller(ip(peer), &lines("x-forwarded-for", values), &proxies(None)).address.to_string()
    }

    #[test]
    fn a_chain_is_read_from_the_right_to_the_first_stranger() {
        let cases: &[(&str, &[&str], &str)] = &[
            ("the proxy names the client", &["192.0.2.7"], "192.0.2.7"),
            ("no header", &[], PROXY),
            ("a client's own word stands left", &["198.51.100.9, 192.0.2.7"], "192.0.2.7"),
            ("two proxies", &["198.51.100.9, 192.0.2.7, 10.2.3.4"], "192.0.2.7"),
            ("several lines are one list", &["198.51.100.9", "192.0.2.7", "10.2.3.4"], "192.0.2.7"),
            ("all trusted: the left-most", &["10.9.9.9, 10.2.3.4"], "10.9.9.9"),
            ("a port", &["192.0.2.7:4711"], "192.0.2.7"),
            ("IPv6", &["2001:db8::7"], "2001:db8::7"),
            ("IPv6 in brackets", &["[2001:db8::7]"], "2001:db8::7"),
            ("IPv6 with a port", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("IPv4 in IPv6", &["::ffff:192.0.2.7"], "192.0.2.7"),
            ("IPv4 in IPv6 with a port", &["[::ffff:192.0.2.7]:4711"], "192.0.2.7"),
            ("a trusted hop in IPv6 clothes", &["192.0.2.7, ::ffff:10.2.3.4"], "192.0.2.7"),
            ("a trusted IPv6 hop", &["192.0.2.7,2001:db8:ffff::1"], "192.0.2.7"),
            ("a zone", &["fe80::1%eth0"], "fe80::1"),
            ("a zone in brackets with a port", &["[fe80::1%eth0]:443"], "fe80::1"),
            ("blanks", &["  192.0.2.7\t, 10.2.3.4  "], "192.0.2.7"),
        ];
        for (what, values, expected) in cases {
            assert_eq!(forwarded(PROXY, values), *expected, "{what}");
        }
    }

    #[test]
    fn what_cannot_be_read_ends_the_chain_and_the_last_known_hop_is_the_caller() {
        for garbage in [
            "unknown",
            "",
            "Test",
            "192.0.2.7:port",
            "[2001:db8::7",
            "[192.0.2.7]",
            "300.1.1.1",
            "1.2.3",
            "192.0.2.7%eth0",
            "fe80::1%]%]:1",
            "é",
        ] {
            assert_eq!(forwarded(PROXY, &[garbage]), PROXY, "{garbage:?}");
            assert_eq!(forwarded(PROXY, &["192.0.2.7", garbage]), PROXY, "{garbage:?}");
            assert_eq!(forwarded(PROXY, &["192.0.2.7", garbage, "10.2.3.4"]), "10.2.3.4", "{garbage:?}");
            assert_eq!(forwarded(PROXY, &[garbage, "192.0.2.7"]), "192.0.2.7", "{garbage:?}");
        }
    }

    #[test]
    fn an_untrusted_peer_is_the_caller_whatever_it_says() {
        assert_eq!(forwarded("192.0.2.1", &["10.0.0.1"]), "192.0.2.1");
        assert_eq!(forwarded("::ffff:192.0.2.1", &["10.0.0.1"]), "192.0.2.1");
        let named = caller(ip("192.0.2.1"), &lines("x-real-ip", &["8.8.8.8"]), &proxies(Some("x-real-ip")));
        assert_eq!(named.address, ip("192.0.2.1"));
    }

    #[test]
    fn a_peer_in_ipv6_clothes_is_recognised_as_the_trusted_proxy() {
        assert_eq!(forwarded("::ffff:10.0.0.1", &["192.0.2.7"]), "192.0.2.7");
    }

    #[test]
    fn a_named_header_is_read_alone_and_only_if_it_stands_there_once() {
        let named = |values: &[&str]| {
            let mut headers = lines("x-real-ip", values);
            headers.insert(FORWARDED_FOR, HeaderValue::from_static("198.51.100.9"));
            caller(ip(PROXY), &headers, &proxies(Some("x-real-ip"))).address.to_string()
        };
        assert_eq!(named(&["192.0.2.7"]), "192.0.2.7");
        assert_eq!(named(&["[2001:db8::7]:80"]), "2001:db8::7");
        assert_eq!(named(&[]), PROXY);
        assert_eq!(named(&["unknown"]), PROXY);
        assert_eq!(named(&["192.0.2.7, 192.0.2.8"]), PROXY);
        assert_eq!(named(&["192.0.2.7", "192.0.2.8"]), PROXY);
    }

    #[test]
    fn https_is_believed_from_a_trusted_proxy_and_of_a_list_the_last_word_counts() {
        let https = |peer: &str, values: &[&str]| {
            caller(ip(peer), &lines("x-forwarded-proto", values), &proxies(None)).https
        };
        assert!(https(PROXY, &["https"]));
        assert!(https(PROXY, &["http, HTTPS "]));
        assert!(!https(PROXY, &["https", "http"]));
        assert!(!https(PROXY, &["httpsx"]));
        assert!(!https(PROXY, &[]));
        assert!(!https("192.0.2.1", &["https"]));
    }

    #[test]
    fn limits_count_ipv4_by_address_and_ipv6_by_its_network() {
        assert_eq!(subject(ip("192.0.2.7")), "192.0.2.7");
        assert_eq!(subject(ip("::ffff:192.0.2.7")), "192.0.2.7");
        assert_eq!(subject(ip("2001:db8:1:2:3:4:5:6")), "2001:db8:1:2::/64");
        assert_eq!(subject(ip("2001:db8:1:2::")), subject(ip("2001:db8:1:2:ffff::1")));
        assert_ne!(subject(ip("2001:db8:1:2::")), subject(ip("2001:db8:1:3::")));
    }

    fn header_lines() -> impl Strategy<Value = Vec<(HeaderName, Vec<u8>)>> {
        let name = prop_oneof![
            Just(FORWARDED_FOR),
            Just(FORWARDED_PROTO),
            Just(HeaderName::from_static("x-real-ip")),
            Just(HeaderName::from_static("forwarded")),
        ];
        let value = prop_oneof![
            "[0-9a-f:.,\\[\\] ]{0,40}".prop_map(String::into_bytes),
            any::<std::net::IpAddr>().prop_map(|ip| ip.to_string().into_bytes()),
            proptest::collection::vec(any::<u8>(), 0..20),
            Just(b"https".to_vec()),
        ];
        proptest::collection::vec((name, value), 0..6)
    }

    fn map_of(lines: Vec<(HeaderName, Vec<u8>)>) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in lines {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                map.append(name, value);
            }
        }
        map
    }

    proptest! {
        #[test]
        fn without_trust_no_header_changes_the_answer(peer: IpAddr, lines in header_lines(), named: bool) {
            let proxies = Proxies { header: proxies(Some("x-real-ip")).header.filter(|_| named), trusted: Vec::new() };
            let answer = caller(peer, &map_of(lines), &proxies);
            prop_assert_eq!(answer, Caller { address: peer.to_canonical(), https: false });
        }

        #[test]
        fn nothing_left_of_a_stranger_changes_the_answer(
            spoofed in proptest::collection::vec("[0-9a-z:., ]{0,30}", 0..4),
            stranger: IpAddr,
        ) {
            let proxies = proxies(None);
            prop_assume!(!proxies.trust(stranger.to_canonical()));
            let mut headers = HeaderMap::new();
            for line in spoofed {
                headers.append(FORWARDED_FOR, HeaderValue::from_str(&line).unwrap());
            }
            headers.append(FORWARDED_FOR, HeaderValue::from_str(&stranger.to_string()).unwrap());
            prop_assert_eq!(caller(ip(PROXY), &headers, &proxies).address, stranger.to_canonical());
        }
    }
}
