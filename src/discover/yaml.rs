//! YAML as the same kind of value as JSON. Its parser gives events; what is built of them is bounded, since an alias of an alias of an
//! alias is a small file and a large value.

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// More values than this are in no configuration.
const MOST_VALUES: usize = 100_000;
/// Nor is anything nested deeper.
const DEEPEST: usize = 64;

/// Something that is not closed yet, and its anchor.
enum Open {
    Sequence(Vec<Value>, usize),
    /// With the key that waits for its value.
    Mapping(Map<String, Value>, Option<String>, usize),
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    values: usize,
    whole: Option<Value>,
}

/// The first document of a text. An error is the line that it is about, where that is known.
pub(super) fn parse(text: &str) -> Result<Value, Option<usize>> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Some(error.marker().line()))?;
        let line = Some(span.start.line());
        match event {
            Event::SequenceStart(_, anchor, _) => {
                builder.begin(Open::Sequence(Vec::new(), anchor)).ok_or(line)?
            }
            Event::MappingStart(_, anchor, _) => {
                builder.begin(Open::Mapping(Map::new(), None, anchor)).ok_or(line)?
            }
            Event::SequenceEnd | Event::MappingEnd => builder.end().ok_or(line)?,
            Event::Scalar(text, style, anchor, _) => builder.put(scalar(&text, style), anchor).ok_or(line)?,
            Event::Alias(anchor) => {
                let value = builder.anchors.get(&anchor).cloned().ok_or(line)?;
                builder.put(value, 0).ok_or(line)?;
            }
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    Ok(builder.whole.unwrap_or_default())
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    match text {
        _ if style != ScalarStyle::Plain => Value::from(text),
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => Value::from(text),
    }
}

/// How many values a value consists of.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

impl Builder {
    /// `None` where it is nested too deep.
    fn begin(&mut self, open: Open) -> Option<()> {
        self.open.push(open);
        (self.open.len() <= DEEPEST).then_some(())
    }

    fn end(&mut self) -> Option<()> {
        match self.open.pop()? {
            Open::Sequence(list, anchor) => self.put(Value::Array(list), anchor),
            Open::Mapping(map, _, anchor) => self.put(Value::Object(map), anchor),
        }
    }

    /// A finished value goes where it belongs. `None` where there are too many, or a key that is no text.
    fn put(&mut self, value: Value, anchor: usize) -> Option<()> {
        self.values += size(&value);
        if self.values > MOST_VALUES {
            return None;
        }
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut() {
            None => self.whole = Some(value),
            Some(Open::Sequence(list, _)) => list.push(value),
            Some(Open::Mapping(map, key, _)) => match (key.take(), value) {
                (None, Value::String(text)) => *key = Some(text),
                (None, Value::Bool(value)) => *key = Some(value.to_string()),
                (None, Value::Null) => *key = Some(String::new()),
                (None, _) => return None,
                // `<<: *defaults` brings what is not there already.
                (Some(key), Value::Object(more)) if key == "<<" => {
                    for (key, value) in more {
                        map.entry(key).or_insert(value);
                    }
                }
                (Some(key), value) => drop(map.insert(key, value)),
            },
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_people_write_is_understood() {
        let text = "# mine\nextensions:\n  a: {type: stdio, cmd: npx, args: [-y, 'true', 1, \"x: y\"], enabled: true}\n  b: &b\n    cmd: >\n      folded\n      text\n    on: ~\n  c:\n    <<: *b\n    cmd: own\nlist:\n- name: x\n  y: |\n    z\n- *b\n---\nsecond: document\n";
        let folded = json!({ "cmd": "folded text\n", "on": null });
        let wanted = json!({
            "extensions": {
                "a": { "type": "stdio", "cmd": "npx", "args": ["-y", "true", "1", "x: y"], "enabled": true },
                "b": folded,
                "c": { "cmd": "own", "on": null },
            },
            "list": [{ "name": "x", "y": "z\n" }, folded],
        });
        assert_eq!(parse(text), Ok(wanted));
        assert_eq!(parse(""), Ok(Value::Null));
        assert_eq!(parse("just text"), Ok(json!("just text")));
    }

    #[test]
    fn what_is_broken_says_its_line() {
        assert_eq!(parse("a: 1\nb: [\n"), Err(Some(2)));
        assert!(parse("a: *nobody\n").is_err());
        assert_eq!(parse("? [a, list]\n: is no key\n"), Err(Some(1)));
    }
}
