//! Pings by mail: a listener that takes letters for our own addresses and for nothing else (`CONTRACT` 2.11). Alerts that
//! come back are taken too, where `BOUNCE_ADDRESS` leads here.
//!
//! No relay, no authentication, no TLS: whoever sends here says no secrets but the address. Each letter becomes
//! one ping for each recipient, through the recorder, before it is acknowledged; where that cannot be, the sender
//! is told to come again (451). Connections, recipients, sizes and waits are bounded.

mod html;
mod letter;
mod recipient;
mod session;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::app::App;

/// Connections served at once, and at most so many from one address.
const CONNECTIONS: usize = 32;
const CONNECTIONS_PER_ADDRESS: usize = 8;
/// A connection ends after this, whatever it does.
const CONNECTION_LIMIT: Duration = Duration::from_secs(600);

/// Takes letters until `stop`.
pub async fn listen(listener: TcpListener, app: Arc<App>, stop: impl Future<Output = ()>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let callers = Callers::default();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::error!(%error, "a mail connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let place = Arc::clone(&room).try_acquire_owned().ok();
        let caller = callers.enter(peer.ip());
        let app = Arc::clone(&app);
        tokio::spawn(async move {
            let (Some(_place), Some(_caller)) = (place, caller) else {
                session::turn_away(stream).await;
                return;
            };
            let served = tokio::time::timeout(CONNECTION_LIMIT, session::serve(stream, &app)).await;
            if let Ok(Err(error)) = served {
                tracing::debug!(%error, "a mail connection broke");
            }
        });
    }
}

/// How many connections each address has.
#[derive(Clone, Default)]
struct Callers(Arc<Mutex<HashMap<IpAddr, usize>>>);

struct Caller {
    callers: Callers,
    address: IpAddr,
}

impl Callers {
    /// Counts one more for the address, until the value is dropped; `None` if it has its share.
    fn enter(&self, address: IpAddr) -> Option<Caller> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_insert(0);
        if *count >= CONNECTIONS_PER_ADDRESS {
            return None;
        }
        *count += 1;
        Some(Caller { callers: self.clone(), address })
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut counts = self.callers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}
