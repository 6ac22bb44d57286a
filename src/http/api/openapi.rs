//! `openapi.json`: the API's description, in OpenAPI 3.1, made of the handlers' own types.
//!
//! Each handler carries its part of it (`utoipa::path`), with the type that it returns; the types of answers describe
//! themselves, and the types of bodies are what bodies are judged by. `tests/it/api/description.rs` compares its
//! routes with the router's.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::PathItem;
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::openapi::{OpenApi, Ref, RefOr, Required, Response as Described, Server};
use utoipa::{Modify, OpenApi as _, PartialSchema};

use super::answers::{Broken, Failed};
use super::{
    ApiFailure, Version, badges, channels, check, checks, flips, pings, returned, schedules, service,
};
use crate::app::App;
use crate::checks::json::CheckJson;
use crate::error::Error;
use crate::http::limits::Body as Limited;

/// The version that is described; the two before it differ in little.
const DESCRIBED: Version = Version(3);

#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "Flatline Management API", version = "3", license(name = "MIT OR Apache-2.0"),
        description = "Checks, their pings and changes of status, channels and badges of one project, the one that \
            the key opens. A `POST` may hold the key in its JSON body instead, as `api_key`. Where the plan limits \
            the calls of a key, every answer has the headers `RateLimit-Limit`, `RateLimit-Remaining` and \
            `RateLimit-Reset`. Pages of other sites may read every answer. Every resource answers `OPTIONS`, and other \
            methods that it does not have with an empty 405."),
    tags((name = "checks", description = "What is watched"), (name = "channels", description = "Where alerts go"),
        (name = "badges"), (name = "schedules"), (name = "service", description = "For whoever runs it")),
    paths(checks::list, checks::create, check::read, check::update, check::delete, check::pause, check::resume,
        pings::list, pings::body, flips::list, channels::list, channels::read, channels::write, channels::delete,
        channels::test, returned::status, returned::bounce, badges::list, schedules::preview, service::status,
        service::metrics, describe),
    // Those that only answers name, which do not bring their types along.
    components(schemas(CheckJson, Failed, Limited)),
    modifiers(&Access),
)]
struct Description;

/// Where the API stands, the keys that open it, and what lets browsers read it.
struct Access;

/// What every answer tells browsers, so that pages of other sites may use it.
const CORS: [(&str, &str); 4] = [
    ("Access-Control-Allow-Headers", "Always `X-Api-Key`"),
    ("Access-Control-Allow-Methods", "The methods of the resource"),
    ("Access-Control-Allow-Origin", "Always `*`"),
    ("Access-Control-Max-Age", "Always `600`"),
];
/// These are not for browsers.
const WITHOUT_CORS: [&str; 2] = ["/status/", "/metrics/"];

impl Modify for Access {
    fn modify(&self, description: &mut OpenApi) {
        description.servers = Some(vec![Server::new(format!("/api/v{}", DESCRIBED.0))]);
        for body in description.paths.paths.values_mut().flat_map(bodies) {
            // An empty one is as good as `{}`.
            body.required = Some(Required::False);
        }
        let key = |header: &str, description: &str| {
            SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(header, description)))
        };
        let for_browsers =
            description.paths.paths.iter_mut().filter(|(path, _)| !WITHOUT_CORS.contains(&path.as_str()));
        for answer in for_browsers.flat_map(|(_, item)| answers(item)) {
            let cors = CORS.map(|(name, _)| {
                (name.to_owned(), RefOr::Ref(Ref::new(format!("#/components/headers/{name}"))))
            });
            answer.headers.extend(cors);
        }
        let components = description.components.get_or_insert_default();
        for (name, says) in CORS {
            let header = HeaderBuilder::new().schema(Some(String::schema())).description(Some(says));
            components.headers.insert(name.to_owned(), RefOr::T(header.build()));
        }
        components.add_security_scheme("key", key("X-Api-Key", "A project's key"));
        components
            .add_security_scheme("readonly_key", key("X-Api-Key", "A project's key that may only read"));
        components.add_security_scheme("metrics_key", key("X-Metrics-Key", "The operator's key"));
    }
}

fn bodies(item: &mut PathItem) -> impl Iterator<Item = &mut RequestBody> {
    let operations = [&mut item.post, &mut item.put].into_iter().flatten();
    operations.filter_map(|operation| match operation.request_body.as_mut()? {
        RefOr::T(body) => Some(body),
        RefOr::Ref(_) => None,
    })
}

fn answers(item: &mut PathItem) -> impl Iterator<Item = &mut Described> {
    let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.delete].into_iter().flatten();
    operations.flat_map(|operation| operation.responses.responses.values_mut()).filter_map(|answer| {
        match answer {
            RefOr::T(answer) => Some(answer),
            RefOr::Ref(_) => None,
        }
    })
}

/// The description; it never changes while the program runs.
pub fn description() -> &'static OpenApi {
    static DESCRIPTION: LazyLock<OpenApi> = LazyLock::new(Description::openapi);
    &DESCRIPTION
}

/// Read this description
#[utoipa::path(get, path = "/openapi.json", operation_id = "describe", tag = "service",
    responses((status = 200, description = "The description", body = Object), Broken))]
pub async fn describe(State(_): State<Arc<App>>, version: Version) -> Result<Response, ApiFailure> {
    static JSON: LazyLock<serde_json::Result<String>> = LazyLock::new(|| description().to_json());
    if version != DESCRIBED {
        return Err(ApiFailure::NotFound);
    }
    match &*JSON {
        Ok(json) => Ok(([(header::CONTENT_TYPE, "application/json")], json.as_str()).into_response()),
        Err(error) => Err(ApiFailure::Other(Error::internal(error.to_string()))),
    }
}
