//! The resolver of outgoing calls: it hands out only addresses that were judged, so that no second look-up can put
//! another one between the judgement and the connection.
//!
//! The client never asks it about a host that is an address already; [`outgoing`](super::outgoing) judges those.

use std::net::SocketAddr;
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address;
use super::call::CallError;

pub(super) struct Judging {
    pub(super) allowed: Arc<[IpNet]>,
}

impl Resolve for Judging {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.allowed.clone();
        Box::pin(async move {
            let found =
                tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|_| CallError::NameNotFound)?;
            let kept: Addrs = Box::new(keep(found, &allowed)?.into_iter());
            Ok(kept)
        })
    }
}

/// The addresses that may be called, in their order. If none is left, the first refusal is the answer.
fn keep(found: impl Iterator<Item = SocketAddr>, allowed: &[IpNet]) -> Result<Vec<SocketAddr>, CallError> {
    let mut kept = Vec::new();
    let mut refused = None;
    for candidate in found {
        match address::judge(candidate.ip(), allowed) {
            Ok(()) => kept.push(candidate),
            Err(reason) => refused = refused.or(Some(reason)),
        }
    }
    match refused {
        Some(reason) if kept.is_empty() => Err(reason.into()),
        None if kept.is_empty() => Err(CallError::NameNotFound),
        _ => Ok(kept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::address::Refused;

    fn sockets(addresses: &[&str]) -> Vec<SocketAddr> {
        addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn forbidden_addresses_of_a_name_are_skipped() {
        let kept = keep(sockets(&["127.0.0.1", "1.1.1.1", "fe80::1", "2606:4700::1"]).into_iter(), &[]);
        assert_eq!(kept, Ok(sockets(&["1.1.1.1", "2606:4700::1"])));
    }

    #[test]
    fn a_name_with_only_forbidden_addresses_is_refused_for_the_first() {
        let kept = keep(sockets(&["10.0.0.1", "127.0.0.1"]).into_iter(), &[]);
        assert!(matches!(kept, Err(CallError::Refused(Refused::Special { purpose: "private use", .. }))));
    }

    #[test]
    fn a_name_without_addresses_was_not_found() {
        assert_eq!(keep(std::iter::empty(), &[]), Err(CallError::NameNotFound));
    }
}
