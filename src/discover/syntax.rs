//! JSON with comments, TOML and YAML as one kind of value. What is wrong is said by its line only: a client's file holds secrets.

use serde_json::Value;
use std::path::Path;

/// Reads a file's text by its suffix; everything unknown is JSON.
pub(super) fn parse(path: &Path, text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("toml") => toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            broken("TOML", line)
        }),
        Some("yaml" | "yml") => super::yaml::parse(text).map_err(|line| broken("YAML", line)),
        _ => json(text),
    }
}

fn json(text: &str) -> Result<Value, String> {
    // Most files are plain JSON, and some are large.
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let lenient = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        ..Default::default()
    };
    jsonc_parser::parse_to_serde_value::<Option<Value>>(text, &lenient)
        .map(Option::unwrap_or_default)
        .map_err(|error| broken("JSON", Some(error.line_display())))
}

fn broken(kind: &str, line: Option<usize>) -> String {
    let place = line.map_or(String::new(), |line| format!(" (line {line})"));
    format!("is no {kind}{place}; nothing in it was used")
}
