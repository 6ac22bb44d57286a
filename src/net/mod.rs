//! Calls to the outside: the one place that builds an http client.
//!
//! `alerts` hands a [`Call`] to the app's one [`Outgoing`] and gets an [`Answer`] or a [`CallError`] in words that can
//! be shown. Targets come from strangers, so the address that is connected to is the very address that was judged
//! (see [`address`]), redirects are answers and never followed, proxies of the environment are ignored, and neither
//! time nor size of an answer is the other side's choice. Nothing is retried here: deliveries are.

pub mod address;
mod call;
mod fetch;
mod outgoing;
mod resolver;

pub use call::{Answer, Call, CallError, is_ours};
pub use fetch::{Fetch, FetchError, Fetched};
pub use outgoing::{CALL_LIMIT, EXCERPT_BYTES, NoClient, Outgoing};
