//! A browser for tests: it keeps cookies, follows what moved for good, reads forms out of pages and sends them back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use flatline::app::App;

use crate::support::{Answer, Client, World, sign_in_token};

/// One person's browser.
#[derive(Clone)]
pub struct Browser {
    client: Client,
    jar: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Browser {
    /// A browser without a cookie.
    pub fn new(world: &World) -> Self {
        Self { client: world.client.without_key(), jar: Arc::default() }
    }

    /// The same at the server that a client speaks to.
    pub fn at(client: &Client) -> Self {
        Self { client: client.without_key(), jar: Arc::default() }
    }

    /// A browser in which the reader of a fresh sign-in link is signed in.
    pub async fn signed_in(world: &World, email: &str) -> Self {
        Self::signed_in_at(&world.app, &world.client, email).await
    }

    /// The same at the server that a client speaks to.
    pub async fn signed_in_at(app: &App, client: &Client, email: &str) -> Self {
        let browser = Self { client: client.without_key(), jar: Arc::default() };
        let token = sign_in_token(app, email).await;
        let path = format!("/sign-in/{token}");
        browser.open(&path).await;
        let answer = browser.submit(&path, &[]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{}", answer.text());
        browser
    }

    pub fn cookies(&self) -> String {
        let jar = self.jar.lock().expect("no test panics while it holds it");
        jar.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    /// Puts a cookie into the browser, as an attacker may have done.
    pub fn plant(&self, name: &str, value: &str) {
        let mut jar = self.jar.lock().expect("no test panics while it holds it");
        jar.insert(name.to_owned(), value.to_owned());
    }

    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let cookies = self.cookies();
        let mut all = vec![("Cookie", cookies.as_str()), ("User-Agent", "a test's browser")];
        all.extend(headers);
        let mut answer = self.client.send(method, path, &all, body).await;
        if answer.status == 308 {
            let to = answer.header("location").expect("where it went").to_owned();
            answer = self.client.send(method, &to, &all, Vec::new()).await;
        }
        let mut jar = self.jar.lock().expect("no test panics while it holds it");
        for line in answer.headers.get_all("set-cookie") {
            let pair = line.to_str().expect("ASCII").split(';').next().expect("a pair");
            let (name, value) = pair.split_once('=').expect("name and value");
            if value.is_empty() {
                jar.remove(name)
            } else {
                jar.insert(name.to_owned(), value.to_owned())
            };
        }
        answer
    }

    /// Looks at a page.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], Vec::new()).await
    }

    /// Looks at a page as its script does.
    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, Vec::new()).await
    }

    /// Looks at a page that is there, and returns its HTML.
    pub async fn open(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text()
    }

    /// Sends fields as they are.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", path, &headers, body.into_bytes()).await
    }

    /// Sends fields together with the form token of the page `from`.
    pub async fn post_from(&self, from: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = token_in(&self.get(from).await.text()).unwrap_or_default();
        let mut all = vec![("token", token.as_str())];
        all.extend(fields);
        self.post(path, &all).await
    }

    /// Sends a page's form to the page's own address.
    pub async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_from(path, path, fields).await
    }
}

/// The token of the first form of a page.
pub fn token_in(html: &str) -> Option<String> {
    let rest = html.split("name=\"token\" value=\"").nth(1)?;
    rest.split('"').next().map(str::to_owned)
}

/// The value of the first field of that name.
pub fn value_in(html: &str, name: &str) -> Option<String> {
    let rest = html.split(&format!("name=\"{name}\"")).nth(1)?;
    let rest = rest.split("value=\"").nth(1)?;
    rest.split('"').next().map(str::to_owned)
}
