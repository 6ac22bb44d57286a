//! Which addresses an outgoing call may reach.
//!
//! Refused is every range of the IANA IPv4 and IPv6 Special-Purpose Address Registries (both as of 2025-10-09),
//! also those that are reachable from everywhere, because nobody's receiver lives there; further multicast, the IPv6
//! space outside of 2000::/3, and the address at which one cloud answers its own guests. What the operator lists in
//! `FLATLINE_PRIVATE_TARGETS` is let through, but link-local and multicast never are: cloud metadata lives there.
//! An IPv4 address in IPv6 clothes is judged as what it is. Pure; it resolves nothing and connects to nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Why an address may not be called; the text is shown to the person who entered the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The operator could allow it.
    #[error(
        "the target lies in {network} ({purpose}), which is not called unless the operator of this instance lists its \
         network in FLATLINE_PRIVATE_TARGETS"
    )]
    Special { network: IpNet, purpose: &'static str },
    /// Nothing allows it.
    #[error(
        "the target lies in {network} ({purpose}), which is never called, whatever FLATLINE_PRIVATE_TARGETS lists"
    )]
    Never { network: IpNet, purpose: &'static str },
}

type Range = (IpNet, &'static str);

const fn v4(octets: [u8; 4], bits: u8) -> IpNet {
    let [a, b, c, d] = octets;
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits))
}

const fn v6(head: [u16; 4], bits: u8) -> IpNet {
    let [a, b, c, d] = head;
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), bits))
}

const NEVER: &[Range] = &[
    (v4([169, 254, 0, 0], 16), "link-local"),
    (v4([224, 0, 0, 0], 4), "multicast"),
    (v6([0xfe80, 0, 0, 0], 10), "link-local"),
    (v6([0xff00, 0, 0, 0], 8), "multicast"),
];

/// The first range that holds an address names it, so narrow ranges stand before wide ones.
const SPECIAL: &[Range] = &[
    (v4([0, 0, 0, 0], 8), "this network"),
    (v4([10, 0, 0, 0], 8), "private use"),
    (v4([100, 64, 0, 0], 10), "shared address space"),
    (v4([127, 0, 0, 0], 8), "loopback"),
    (v4([168, 63, 129, 16], 32), "cloud platform service"),
    (v4([172, 16, 0, 0], 12), "private use"),
    (v4([192, 0, 0, 0], 24), "protocol assignments"),
    (v4([192, 0, 2, 0], 24), "documentation"),
    (v4([192, 31, 196, 0], 24), "AS112"),
    (v4([192, 52, 193, 0], 24), "multicast tunnels"),
    (v4([192, 88, 99, 0], 24), "6to4 relays"),
    (v4([192, 168, 0, 0], 16), "private use"),
    (v4([192, 175, 48, 0], 24), "AS112"),
    (v4([198, 18, 0, 0], 15), "benchmarking"),
    (v4([198, 51, 100, 0], 24), "documentation"),
    (v4([203, 0, 113, 0], 24), "documentation"),
    (v4([255, 255, 255, 255], 32), "broadcast"),
    (v4([240, 0, 0, 0], 4), "reserved"),
    (IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128)), "loopback"),
    (IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128)), "unspecified"),
    (v6([0x64, 0xff9b, 1, 0], 48), "IPv4 translation"),
    (v6([0x100, 0, 0, 0], 64), "discard only"),
    (v6([0x100, 0, 0, 1], 64), "dummy prefix"),
    (v6([0x2001, 0, 0, 0], 32), "Teredo"),
    (v6([0x2001, 0, 0, 0], 23), "protocol assignments"),
    (v6([0x2001, 0xdb8, 0, 0], 32), "documentation"),
    (v6([0x2002, 0, 0, 0], 16), "6to4"),
    (v6([0x2620, 0x4f, 0x8000, 0], 48), "AS112"),
    (v6([0x3fff, 0, 0, 0], 20), "documentation"),
    (v6([0x5f00, 0, 0, 0], 16), "segment routing"),
    (v6([0xfc00, 0, 0, 0], 7), "unique local"),
    (v6([0, 0, 0, 0], 3), "not global unicast"),
    (v6([0x4000, 0, 0, 0], 2), "not global unicast"),
    (v6([0x8000, 0, 0, 0], 1), "not global unicast"),
];

/// Judges one address against the registries and the networks that the operator allowed.
///
/// # Errors
/// [`Refused`], with the range that holds the address and the setting that could allow it.
pub fn judge(address: IpAddr, allowed: &[IpNet]) -> Result<(), Refused> {
    let target = destination(address);
    for face in [target].into_iter().chain(carried(address)) {
        if let Some((network, purpose)) = range_of(face, NEVER) {
            return Err(Refused::Never { network, purpose });
        }
    }
    if allowed.iter().any(|network| network.contains(&target) || network.contains(&address)) {
        return Ok(());
    }
    match range_of(target, SPECIAL) {
        Some((network, purpose)) => Err(Refused::Special { network, purpose }),
        None => Ok(()),
    }
}

/// Whether an address is one that only an allowed network makes reachable: what it answers is not shown to users.
pub fn is_private(address: IpAddr) -> bool {
    judge(address, &[]).is_err()
}

fn range_of(address: IpAddr, ranges: &[Range]) -> Option<Range> {
    ranges.iter().copied().find(|(network, _)| network.contains(&address))
}

/// Where packets to this address end: a mapped address, and one under the well-known translation prefix (RFC 6052),
/// is the IPv4 address inside. A host behind NAT64 reaches the whole IPv4 internet so, therefore it is not refused
/// for its prefix.
fn destination(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => IpAddr::V4(low_bits(v6)),
        canonical => canonical,
    }
}

/// The IPv4 addresses that a tunnelled or translated IPv6 address leads to. Its own range is refused anyway; should
/// the operator allow that range, these still must not be link-local or multicast.
fn carried(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(v6) = address else { return Vec::new() };
    let found = match v6.segments() {
        [0x2002, high, low, ..] => vec![from_halves(high, low)],
        [0x2001, 0, high, low, ..] => {
            vec![from_halves(high, low), Ipv4Addr::from_bits(!low_bits(v6).to_bits())]
        }
        [0x64, 0xff9b, 1, ..] | [0, 0, 0, 0, 0, 0, ..] => vec![low_bits(v6)],
        _ => Vec::new(),
    };
    found.into_iter().map(IpAddr::V4).collect()
}

fn from_halves(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

fn low_bits(address: Ipv6Addr) -> Ipv4Addr {
    let [.., high, low] = address.segments();
    from_halves(high, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purpose(address: &str, allowed: &[&str]) -> Option<&'static str> {
        let allowed: Vec<IpNet> = allowed.iter().map(|net| net.parse().unwrap()).collect();
        match judge(address.parse().unwrap(), &allowed) {
            Ok(()) => None,
            Err(Refused::Special { purpose, .. } | Refused::Never { purpose, .. }) => Some(purpose),
        }
    }

    #[test]
    fn ordinary_addresses_may_be_called() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2000::",
            "2001:200::1",
            "2606:4700::1111",
            "2a00:1450::1",
            "3ffe::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
        ] {
            assert_eq!(purpose(address, &[]), None, "{address}");
        }
    }

    #[test]
    fn both_ends_of_every_special_range_are_refused() {
        for (network, _) in SPECIAL.iter().chain(NEVER) {
            for address in [network.network(), network.broadcast()] {
                assert!(judge(address, &[]).is_err(), "{address} of {network}");
            }
        }
    }

    #[test]
    fn every_range_of_the_registries_is_refused_under_its_name() {
        for (address, expected) in [
            ("0.0.0.0", "this network"),
            ("10.1.2.3", "private use"),
            ("100.100.100.200", "shared address space"),
            ("127.0.0.1", "loopback"),
            ("169.254.169.254", "link-local"),
            ("168.63.129.16", "cloud platform service"),
            ("172.31.255.255", "private use"),
            ("192.0.0.192", "protocol assignments"),
            ("192.0.2.1", "documentation"),
            ("192.31.196.1", "AS112"),
            ("192.52.193.1", "multicast tunnels"),
            ("192.88.99.2", "6to4 relays"),
            ("192.168.1.1", "private use"),
            ("192.175.48.1", "AS112"),
            ("198.19.255.255", "benchmarking"),
            ("198.51.100.1", "documentation"),
            ("203.0.113.1", "documentation"),
            ("239.255.255.250", "multicast"),
            ("250.0.0.1", "reserved"),
            ("255.255.255.255", "broadcast"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::1.1.1.1", "not global unicast"),
            ("64:ff9b:1::1", "IPv4 translation"),
            ("64:ff9b:0:1::1", "not global unicast"),
            ("100::1", "discard only"),
            ("100:0:0:1::1", "dummy prefix"),
            ("2001::1", "Teredo"),
            ("2001:1::1", "protocol assignments"),
            ("2001:2::1", "protocol assignments"),
            ("2001:20::1", "protocol assignments"),
            ("2001:db8::1", "documentation"),
            ("2002:0101:0101::1", "6to4"),
            ("2620:4f:8000::1", "AS112"),
            ("3fff::1", "documentation"),
            ("4000::1", "not global unicast"),
            ("5f00::1", "segment routing"),
            ("fd00:ec2::254", "unique local"),
            ("fe80::1", "link-local"),
            ("fec0::1", "not global unicast"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(purpose(address, &[]), Some(expected), "{address}");
        }
    }

    #[test]
    fn an_ipv4_address_in_ipv6_clothes_is_judged_as_what_it_is() {
        for (address, expected) in [
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:169.254.169.254", "link-local"),
            ("64:ff9b::10.0.0.1", "private use"),
            ("64:ff9b::169.254.169.254", "link-local"),
            ("2002:a9fe:a9fe::1", "link-local"),
            ("2001:0:a9fe:a9fe::1", "link-local"),
            ("2001:0:101:101:0:0:5601:5601", "link-local"),
            ("64:ff9b:1::169.254.169.254", "link-local"),
            ("::169.254.169.254", "link-local"),
        ] {
            assert_eq!(purpose(address, &[]), Some(expected), "{address}");
        }
    }

    #[test]
    fn an_allowed_network_opens_itself_in_every_spelling_and_nothing_else() {
        let allowed = &["10.0.0.0/8", "fd00::/8"];
        for address in ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd12::1"] {
            assert_eq!(purpose(address, allowed), None, "{address}");
        }
        assert_eq!(purpose("192.168.1.1", allowed), Some("private use"));
        assert_eq!(purpose("2002:0a01:0203::1", allowed), Some("6to4"));
        assert_eq!(purpose("127.0.0.1", &["127.0.0.1/32"]), None);
        assert_eq!(purpose("127.0.0.2", &["127.0.0.1/32"]), Some("loopback"));
    }

    #[test]
    fn link_local_and_multicast_stay_closed_although_everything_is_allowed() {
        let everything = &["0.0.0.0/0", "::/0"];
        for (address, expected) in [
            ("169.254.169.254", "link-local"),
            ("::ffff:169.254.169.254", "link-local"),
            ("2002:a9fe:a9fe::1", "link-local"),
            ("2001:0:101:101:0:0:5601:5601", "link-local"),
            ("224.0.0.1", "multicast"),
            ("fe80::1", "link-local"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(purpose(address, everything), Some(expected), "{address}");
        }
        for address in ["127.0.0.1", "::1", "10.0.0.1", "fd00::1"] {
            assert_eq!(purpose(address, everything), None, "{address}");
        }
    }

    #[test]
    fn a_refusal_names_the_range_and_the_setting() {
        let refused = judge("127.0.0.1".parse().unwrap(), &[]).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the target lies in 127.0.0.0/8 (loopback), which is not called unless the operator of this instance lists \
             its network in FLATLINE_PRIVATE_TARGETS"
        );
        let never = judge("169.254.169.254".parse().unwrap(), &[]).unwrap_err().to_string();
        assert_eq!(
            never,
            "the target lies in 169.254.0.0/16 (link-local), which is never called, whatever FLATLINE_PRIVATE_TARGETS \
             lists"
        );
    }
}
