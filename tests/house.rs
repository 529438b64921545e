//! The house keeps its order: imports point one way, and the pure rooms touch no machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms from the one that knows nothing to the one that knows everything, as `src/lib.rs` lists them.
const ORDER: [&str; 24] = [
    "process",
    "words",
    "redact",
    "memory",
    "recording",
    "invocation",
    "catalog",
    "tree",
    "judge",
    "status",
    "reap",
    "host",
    "config",
    "discover",
    "look",
    "sweep",
    "state",
    "report",
    "control",
    "daemon",
    "install",
    "cli",
    "logging",
    "commands",
];
const PURE: [&str; 9] =
    ["process", "words", "recording", "invocation", "catalog", "tree", "memory", "judge", "reap"];

/// Files of a room, test files left out.
fn files(room: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("src").join(room)];
    let single = PathBuf::from(format!("src/{room}.rs"));
    if single.exists() {
        found.push(single);
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if path.is_file() && !is_test {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "there is no room {room}");
    found
}

/// The code of a file without its comments and its inline tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("readable");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn imports_point_one_way() {
    let place: BTreeMap<&str, usize> = ORDER.iter().enumerate().map(|(at, room)| (*room, at)).collect();
    for (at, room) in ORDER.iter().enumerate() {
        for path in files(room) {
            for part in code(&path).split("crate::").skip(1) {
                let name: String =
                    part.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '_').collect();
                let Some(other) = place.get(name.as_str()) else {
                    panic!("{}: crate::{name} is no room", path.display())
                };
                assert!(*other <= at, "{} imports {name}, which knows more than {room}", path.display());
            }
        }
    }
}

#[test]
fn pure_rooms_touch_no_machine() {
    let forbidden = [
        "rustix",
        "procfs",
        "tokio",
        "netlink",
        "uzers",
        "std::fs",
        "std::process",
        "std::net",
        "std::env",
        "Instant",
        "SystemTime",
        "println!",
        "async fn",
    ];
    for room in PURE {
        for path in files(room) {
            let code = code(&path);
            for word in forbidden {
                assert!(!code.contains(word), "{} names {word}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_code_and_signals_live_in_the_host_only() {
    for room in ORDER.iter().filter(|room| **room != "host") {
        for path in files(room) {
            let code = code(&path);
            for word in ["unsafe {", "unsafe fn", "pidfd_send_signal", "kill_process", "pidfd_open"] {
                assert!(!code.contains(word), "{} has {word}", path.display());
            }
        }
    }
}

#[test]
fn only_installing_starts_a_process() {
    for room in ORDER {
        for path in files(room) {
            if path.ends_with("install/hands.rs") {
                continue;
            }
            let code = code(&path);
            for word in ["process::Command", "Command::new(", "fork(", "exec("] {
                assert!(!code.contains(word), "{} has {word}", path.display());
            }
        }
    }
}

#[test]
fn every_file_of_the_crate_belongs_to_a_room() {
    let known = |path: &Path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        ORDER.contains(&stem) || ["main", "lib", "testing"].contains(&stem)
    };
    for entry in fs::read_dir("src").expect("src").flatten() {
        assert!(
            known(&entry.path()),
            "{} is in no room of tests/house.rs and src/lib.rs",
            entry.path().display()
        );
    }
}
