//! Who looks at a page: cookies, form tokens, and what a member may do.
//!
//! A [`Visitor`] is what the request says; nothing is looked up until a transaction is there to look in. Every
//! form carries a token that only the page served to this very browser could hold: it is made from the secret in
//! the browser's cookie (a session's, or a guest's before there is one), so it dies with it. [`Posted`] takes no
//! form without it. Strangers learn nothing: what is not theirs is not there.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

use super::failure::WebFailure;
use super::fields::Fields;
use super::live::Part;
use super::shell::ProjectLink;
use crate::accounts::sessions::{self, Origin, SignedIn};
use crate::accounts::{self, Membership, Role};
use crate::app::App;
use crate::caller;
use crate::checks::{self, Check};
use crate::db::ReadTx;
use crate::id;
use crate::time::Time;

/// The longest form that is read, in bytes.
const FORM_LIMIT: usize = 256 * 1024;
/// Half of the token masks the other half, so that a compressed page does not leak it byte by byte.
const HALF: usize = 16;
/// The name of the field that holds the token.
pub const TOKEN_FIELD: &str = "token";

/// What a page needs of a member's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Look,
    Change,
    /// Members and invitations.
    Manage,
    /// What only the owner decides.
    Own,
}

/// The caller of a page, as the request names it.
#[derive(Clone, Debug)]
pub struct Visitor {
    session: Option<String>,
    /// The guest's secret, and whether the browser has it already.
    guest: (String, bool),
    step: Option<String>,
    secret: Vec<u8>,
    secure: bool,
    /// Where to come back to after signing in.
    here: String,
    pub address: IpAddr,
    /// Whether the request came from this machine itself, with nobody in between.
    pub is_local: bool,
    pub user_agent: String,
    /// How much of the page its script asks for.
    pub part: Part,
}

/// A member in one of their projects.
#[derive(Clone, Debug)]
pub struct Opened {
    pub signed_in: SignedIn,
    pub memberships: Vec<Membership>,
    pub membership: Membership,
}

/// A form that was posted from a page of ours, to this browser.
#[derive(Debug)]
pub struct Posted {
    pub visitor: Visitor,
    pub fields: Fields,
}

/// The cookies. On https their names say that only this host, over https, can have set them.
#[derive(Clone, Copy)]
enum Jar {
    Session,
    Guest,
    /// A sign-in that waits for its second step.
    Step,
}

impl Jar {
    const fn name(self, secure: bool) -> &'static str {
        match (self, secure) {
            (Self::Session, true) => "__Host-flatline_session",
            (Self::Session, false) => "flatline_session",
            (Self::Guest, true) => "__Host-flatline_guest",
            (Self::Guest, false) => "flatline_guest",
            (Self::Step, true) => "__Host-flatline_step",
            (Self::Step, false) => "flatline_step",
        }
    }

    fn read(self, headers: &HeaderMap, secure: bool) -> Option<String> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let value = pairs.find(|(name, _)| *name == self.name(secure)).map(|(_, value)| value.to_owned());
        value.filter(|value| !value.is_empty() && value.len() <= 100)
    }

    /// The header that sets it; without a value, the one that takes it back.
    fn set(self, value: Option<&str>, max_age_seconds: i64, secure: bool) -> HeaderValue {
        let name = self.name(secure);
        let (value, age) = value.map_or(("", 0), |value| (value, max_age_seconds));
        let suffix = if secure { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{suffix}");
        HeaderValue::from_str(&text).expect("tokens are letters and digits")
    }
}

impl FromRequestParts<Arc<App>> for Visitor {
    type Rejection = WebFailure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, WebFailure> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
        let peer = peer.ok_or_else(|| WebFailure::internal("a request has no peer"))?;
        let headers = &parts.headers;
        let address = caller::caller(peer, headers, &app.proxies).address;
        let secure = app.settings.is_https();
        let guest = Jar::Guest.read(headers, secure);
        let is_read = [Method::GET, Method::HEAD].contains(&parts.method);
        let here = parts.uri.path_and_query().filter(|_| is_read).map(|path| path.as_str().to_owned());
        let agent = headers.get(header::USER_AGENT).map(|agent| String::from_utf8_lossy(agent.as_bytes()));
        Ok(Self {
            session: Jar::Session.read(headers, secure),
            guest: guest.map_or_else(|| (id::token(), false), |token| (token, true)),
            step: Jar::Step.read(headers, secure),
            secret: app.secret.clone(),
            secure,
            here: here.unwrap_or_else(|| "/".to_owned()),
            address,
            is_local: address.is_loopback() && peer.is_loopback() && is_direct(headers),
            user_agent: agent.map(|agent| agent.into_owned()).unwrap_or_default(),
            part: Part::of(headers),
        })
    }
}

/// Whether nothing hints at a proxy or another site in between: neither forwarding headers nor a foreign host name.
fn is_direct(headers: &HeaderMap) -> bool {
    const PROXIED: [&str; 5] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let local = ["localhost", "[::1]"].contains(&name)
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    local && !PROXIED.iter().any(|name| headers.contains_key(*name))
}

impl Visitor {
    /// The token for the forms of a page that is about to be served.
    pub fn form_token(&self) -> String {
        let mask: [u8; HALF] = id::bytes();
        let mut bytes = mask.to_vec();
        bytes.extend(mask.iter().zip(self.form_key()).map(|(mask, key)| mask ^ key));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn form_key(&self) -> Vec<u8> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"form\0");
        mac.update(self.session.as_ref().unwrap_or(&self.guest.0).as_bytes());
        mac.finalize().into_bytes()[..HALF].to_vec()
    }

    /// What stands for this browser in rows that it alone may redeem: the digest of the secret in its cookie.
    pub fn browser(&self) -> Vec<u8> {
        id::digest(self.session.as_ref().unwrap_or(&self.guest.0))
    }

    fn owns(&self, token: &str) -> bool {
        use subtle::ConstantTimeEq;
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else { return false };
        if bytes.len() != 2 * HALF || (self.session.is_none() && !self.guest.1) {
            return false;
        }
        let (mask, masked) = bytes.split_at(HALF);
        let key: Vec<u8> = mask.iter().zip(masked).map(|(mask, key)| mask ^ key).collect();
        bool::from(key.ct_eq(&self.form_key()))
    }

    /// Gives the browser a guest's secret if it has neither that nor a session: for pages with a form.
    pub fn remember_guest(&self, headers: &mut HeaderMap) {
        if self.session.is_none() && !self.guest.1 {
            let cookie = Jar::Guest.set(Some(&self.guest.0), sessions::LINK_LIFE.as_seconds(), self.secure);
            headers.append(header::SET_COOKIE, cookie);
        }
    }

    /// Gives the browser a new session; whatever secret it had before is worth nothing from here on.
    pub fn sign_in(&self, secret: &str, headers: &mut HeaderMap) {
        let age = sessions::SESSION_LIFE.as_seconds();
        headers.append(header::SET_COOKIE, Jar::Session.set(Some(secret), age, self.secure));
        headers.append(header::SET_COOKIE, Jar::Guest.set(None, 0, self.secure));
        if self.step.is_some() {
            headers.append(header::SET_COOKIE, Jar::Step.set(None, 0, self.secure));
        }
    }

    /// Gives the browser the secret of a sign-in that waits for its second step.
    pub fn remember_step(&self, secret: &str, headers: &mut HeaderMap) {
        let age = sessions::STEP_LIFE.as_seconds();
        headers.append(header::SET_COOKIE, Jar::Step.set(Some(secret), age, self.secure));
    }

    /// The secret of a sign-in that waits for its second step.
    pub fn step(&self) -> Option<&str> {
        self.step.as_deref()
    }

    pub fn sign_out(&self, headers: &mut HeaderMap) {
        headers.append(header::SET_COOKIE, Jar::Session.set(None, 0, self.secure));
    }

    /// From where a session that begins now comes.
    pub fn origin(&self) -> Origin {
        Origin { user_agent: self.user_agent.clone(), address: self.address.to_string() }
    }

    /// Who it is, if somebody is signed in.
    ///
    /// # Errors
    /// The database's.
    pub async fn user(&self, tx: &mut ReadTx, now: Time) -> Result<Option<SignedIn>, WebFailure> {
        match &self.session {
            Some(secret) => Ok(sessions::find(tx, secret, now).await?),
            None => Ok(None),
        }
    }

    /// Who it is, and their projects.
    ///
    /// # Errors
    /// Nobody is signed in.
    pub async fn signed_in(
        &self,
        tx: &mut ReadTx,
        now: Time,
    ) -> Result<(SignedIn, Vec<Membership>), WebFailure> {
        let Some(signed_in) = self.user(tx, now).await? else {
            return Err(WebFailure::SignIn { next: self.here.clone() });
        };
        let memberships = accounts::store::list_memberships(tx, signed_in.user.id).await?;
        Ok((signed_in, memberships))
    }

    /// The member in a project.
    ///
    /// # Errors
    /// Nobody is signed in, is no member (then there is no such project), or their role may not.
    pub async fn open(
        &self,
        tx: &mut ReadTx,
        project: Uuid,
        need: Need,
        now: Time,
    ) -> Result<Opened, WebFailure> {
        self.open_where(tx, need, now, |membership| membership.project.uuid == project).await
    }

    /// The member at a check.
    ///
    /// # Errors
    /// As for [`Visitor::open`].
    pub async fn open_check(
        &self,
        tx: &mut ReadTx,
        check: Uuid,
        need: Need,
        now: Time,
    ) -> Result<(Opened, Check), WebFailure> {
        let found = checks::store::find(tx, check).await?;
        let project_id = found.as_ref().map(|check| check.project_id);
        let opened = self.open_where(tx, need, now, |one| Some(one.project.id) == project_id).await?;
        found.map(|check| (opened, check)).ok_or(WebFailure::NotFound)
    }

    /// The member in the one of their projects that is meant.
    ///
    /// # Errors
    /// As for [`Visitor::open`].
    pub async fn open_where(
        &self,
        tx: &mut ReadTx,
        need: Need,
        now: Time,
        is_meant: impl Fn(&Membership) -> bool,
    ) -> Result<Opened, WebFailure> {
        let (signed_in, memberships) = self.signed_in(tx, now).await?;
        let membership = memberships.iter().find(|one| is_meant(one)).cloned().ok_or(WebFailure::NotFound)?;
        let may = match need {
            Need::Look => true,
            Need::Change => membership.role.may_change(),
            Need::Manage => membership.role.may_manage(),
            Need::Own => membership.role == Role::Owner,
        };
        if may { Ok(Opened { signed_in, memberships, membership }) } else { Err(WebFailure::Forbidden) }
    }
}

impl Opened {
    /// The other projects in which the member may change checks, the `chosen` one marked.
    pub fn other_projects(&self, chosen: Option<Uuid>) -> Vec<ProjectLink> {
        let others = self.memberships.iter().filter(|one| one.role.may_change());
        let others = others.map(|one| &one.project).filter(|one| one.id != self.membership.project.id);
        let link = |one: &accounts::Project| ProjectLink {
            uuid: one.uuid,
            name: one.name.clone(),
            is_current: Some(one.uuid) == chosen,
        };
        others.map(link).collect()
    }
}

impl FromRequest<Arc<App>> for Posted {
    type Rejection = WebFailure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, WebFailure> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, app).await?;
        let site = parts.headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        let body = axum::body::to_bytes(body, FORM_LIMIT).await.map_err(|_| WebFailure::TooLong)?;
        let fields = Fields::read(&body);
        if site == Some("cross-site") || !visitor.owns(fields.get(TOKEN_FIELD)) {
            return Err(WebFailure::Stale);
        }
        Ok(Self { visitor, fields })
    }
}
