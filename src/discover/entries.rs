//! Servers as clients write them down. Every client has its own words for the same few things.

use super::places::Names;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// A file with more servers than this is a mistake.
const MOST_SERVERS: usize = 1000;

/// A server as it is written down. Holds secrets; never printed.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// What the client calls it.
    pub(super) name: String,
    /// The project that it is for, where the file is about several.
    pub(super) project: Option<PathBuf>,
    /// What is started.
    pub(super) start: Start,
    /// Whether the client does not start it for now.
    pub(super) disabled: bool,
    /// Digest of its environment.
    pub(super) environment: u64,
}

/// What the client starts.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// A program with its arguments.
    Command(Vec<String>),
    /// Nothing: it connects to a server elsewhere.
    Remote,
    /// Nothing that could be understood; why.
    Odd(&'static str),
}

/// Values at a place in a file, each with the keys that `*` stood for.
fn at<'a>(value: &'a Value, path: &[String]) -> Vec<(Vec<&'a str>, &'a Value)> {
    let Some((key, rest)) = path.split_first() else { return vec![(Vec::new(), value)] };
    match value {
        Value::Object(map) if key == "*" => (map.iter())
            .flat_map(|(key, value)| {
                at(value, rest).into_iter().map(|(mut keys, found)| {
                    keys.insert(0, key.as_str());
                    (keys, found)
                })
            })
            .collect(),
        Value::Array(list) if key == "*" => list.iter().flat_map(|value| at(value, rest)).collect(),
        Value::Object(map) => map.get(key).map_or_else(Vec::new, |value| at(value, rest)),
        _ => Vec::new(),
    }
}

/// Folders that a file names.
pub(super) fn folders(value: &Value, names: &Names) -> Vec<PathBuf> {
    let keys = (names.keys.iter().flat_map(|path| at(value, path)))
        .filter_map(|(_, found)| found.as_object())
        .flat_map(|map| map.keys().map(String::as_str));
    let values = names.values.iter().flat_map(|path| at(value, path)).filter_map(|(_, found)| found.as_str());
    keys.chain(values).filter_map(folder).collect()
}

/// `/path` or `file:///path`.
fn folder(text: &str) -> Option<PathBuf> {
    let path = match text.strip_prefix("file://") {
        Some(path) => PathBuf::from(percent_decode_str(path).decode_utf8().ok()?.as_ref()),
        None => PathBuf::from(text),
    };
    path.is_absolute().then_some(path)
}

/// The servers of a file. An error when there are too many to be meant.
pub(super) fn servers(value: &Value, places: &[Vec<String>]) -> Result<Vec<Entry>, String> {
    let mut found = Vec::new();
    for place in places {
        for (keys, servers) in at(value, place) {
            let project = keys.iter().map(PathBuf::from).find(|path| path.is_absolute());
            match servers {
                Value::Object(map) => found.extend(
                    map.iter().filter_map(|(name, server)| entry(name, server.as_object()?, project.clone())),
                ),
                Value::Array(list) => found.extend(list.iter().filter_map(|server| {
                    let server = server.as_object()?;
                    entry(text_of(server, &["name", "id"])?, server, project.clone())
                })),
                _ => {}
            }
        }
    }
    if found.len() > MOST_SERVERS {
        return Err(format!("names more than {MOST_SERVERS} servers; nothing in it was used"));
    }
    Ok(found)
}

fn text_of<'a>(map: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| map.get(*key)?.as_str()).filter(|text| !text.trim().is_empty())
}

fn entry(name: &str, server: &Map<String, Value>, project: Option<PathBuf>) -> Option<Entry> {
    // Zed and Continue put what concerns the process one level down.
    let inner = ["transport", "command", "source"].iter().find_map(|key| server.get(*key)?.as_object());
    let odd = ["command", "cmd", "args"].iter().any(|key| server.contains_key(*key));
    let odd = odd.then_some(Start::Odd("its `command` is no program with a list of `args`"));
    let start = start(server).or_else(|| inner.and_then(start)).or(odd)?;
    let is = |key: &str, wanted: bool| server.get(key).and_then(Value::as_bool) == Some(wanted);
    let disabled =
        is("disabled", true) || is("enabled", false) || is("isActive", false) || is("active", false);
    let environment = ["env", "environment", "envs"].iter().find_map(|key| server.get(*key));
    let environment = environment.or_else(|| inner.and_then(|inner| inner.get("env")));
    Some(Entry { name: name.to_owned(), project, start, disabled, environment: digest(environment) })
}

fn start(server: &Map<String, Value>) -> Option<Start> {
    const REMOTE: [&str; 10] = [
        "http",
        "sse",
        "remote",
        "streamable-http",
        "streamable_http",
        "streamableHttp",
        "streamableHTTP",
        "websocket",
        "ws",
        "url",
    ];
    let kind = text_of(server, &["type", "transport", "transportType"]);
    if kind.is_some_and(|kind| REMOTE.contains(&kind)) {
        return Some(Start::Remote);
    }
    if let Some(words) = command(server) {
        return Some(Start::Command(words));
    }
    text_of(server, &["url", "httpUrl", "serverUrl", "uri", "endpoint"]).map(|_| Start::Remote)
}

/// The program and its arguments: `command` and `args`, one array, or one line.
fn command(server: &Map<String, Value>) -> Option<Vec<String>> {
    let words = |value: &Value| -> Vec<String> {
        let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter()
            .filter_map(|word| match word {
                Value::String(word) => Some(word.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
            .collect()
    };
    let arguments =
        ["args", "arguments"].iter().find_map(|key| server.get(*key)).filter(|found| !found.is_null());
    // One line in place of a list is started by no client as it looks.
    let arguments = match arguments {
        Some(found) if !found.is_array() => return None,
        found => found.map(words),
    };
    let program = ["command", "cmd", "path"].iter().find_map(|key| server.get(*key))?;
    let mut line = match program {
        Value::Array(_) => words(program),
        Value::String(text) => one_line(text, arguments.is_some()),
        _ => return None,
    };
    line.extend(arguments.unwrap_or_default());
    line.first().is_some_and(|first| !first.trim().is_empty()).then_some(line)
}

/// People write a whole line where a program is asked for. A path may hold blanks.
fn one_line(text: &str, has_arguments: bool) -> Vec<String> {
    let is_path = text.starts_with(['/', '~']) && (has_arguments || text.contains(".app/"));
    match shell_words::split(text) {
        Ok(words) if !is_path && !words.is_empty() => words,
        _ => vec![text.to_owned()],
    }
}

/// The same for the same variables in any order.
fn digest(environment: Option<&Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let sorted: BTreeMap<&str, String> = (environment.and_then(Value::as_object).into_iter().flatten())
        .map(|(name, value)| (name.as_str(), value.to_string()))
        .collect();
    sorted.hash(&mut hasher);
    hasher.finish()
}
