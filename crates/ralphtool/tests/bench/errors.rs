//! HTTP errors in the shape of each API.

use serde_json::Value;

use super::request::Api;
use super::script::Refusal;
use super::{anthropic, chat, gemini};

/// What the APIs call an HTTP status.
struct Names {
    status: u16,
    anthropic: &'static str,
    openai: &'static str,
    code: Option<&'static str>,
    gemini: &'static str,
    message: &'static str,
}

const fn names(
    status: u16,
    anthropic: &'static str,
    (openai, code): (&'static str, Option<&'static str>),
    gemini: &'static str,
    message: &'static str,
) -> Names {
    Names {
        status,
        anthropic,
        openai,
        code,
        gemini,
        message,
    }
}

const INVALID: &str = "invalid_request_error";
const LIMITED: &str = "rate_limit_exceeded";

/// The last one stands for all others.
const ERRORS: [Names; 7] = [
    names(
        400,
        INVALID,
        (INVALID, None),
        "INVALID_ARGUMENT",
        "Bad request",
    ),
    names(
        401,
        "authentication_error",
        (INVALID, Some("invalid_api_key")),
        "UNAUTHENTICATED",
        "invalid x-api-key",
    ),
    names(
        403,
        "permission_error",
        (INVALID, None),
        "PERMISSION_DENIED",
        "Forbidden",
    ),
    names(
        404,
        "not_found_error",
        (INVALID, Some("model_not_found")),
        "NOT_FOUND",
        "model not found",
    ),
    names(
        429,
        "rate_limit_error",
        (LIMITED, Some(LIMITED)),
        "RESOURCE_EXHAUSTED",
        "This request would exceed your rate limit",
    ),
    names(
        529,
        "overloaded_error",
        ("server_error", Some("overloaded")),
        "UNAVAILABLE",
        "Overloaded",
    ),
    names(
        500,
        "api_error",
        ("server_error", None),
        "INTERNAL",
        "Internal server error",
    ),
];

/// The body of an error.
pub(crate) fn body(api: Api, refusal: &Refusal) -> Value {
    if let Some(body) = &refusal.body {
        return body.clone();
    }
    let known = ERRORS.iter().find(|names| names.status == refusal.status);
    let names = known.unwrap_or(&ERRORS[ERRORS.len() - 1]);
    let message = match refusal.message.as_str() {
        "" => names.message,
        message => message,
    };
    match api {
        Api::Anthropic => anthropic::error(names.anthropic, message),
        Api::Responses | Api::Chat => {
            chat::error(names.openai, refusal.code.or(names.code), message)
        }
        Api::Gemini => gemini::error(refusal.status, names.gemini, message, &refusal.details),
    }
}
