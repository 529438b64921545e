//! How durations, sizes and counts are said to people.

use jiff::Timestamp;
use std::time::Duration;

/// A time for people and programs: RFC 3339, UTC, whole seconds.
pub fn stamp(time: Timestamp) -> String {
    time.round(jiff::Unit::Second).unwrap_or(time).to_string()
}

/// `4 s`, `3 min`, `2 h 5 min`, `3 d 4 h`: two units at the most.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |big: u64, unit: &str, small: u64, small_unit: &str| {
        if small == 0 { format!("{big} {unit}") } else { format!("{big} {unit} {small} {small_unit}") }
    };
    match seconds {
        0 if !duration.is_zero() => format!("{} ms", duration.as_millis()),
        0..=119 => format!("{seconds} s"),
        120..=3599 => two(minutes, "min", 0, ""),
        3600..=86399 => two(hours, "h", minutes % 60, "min"),
        _ => two(days, "d", hours % 24, "h"),
    }
}

/// `812 kB`, `42 MB`, `1.4 GB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..=999_999 => format!("{} kB", bytes / 1000),
        1_000_000..=999_999_999 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// `1 process`, `3 processes`.
pub fn processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// `1 tree`, `3 trees`.
pub fn trees(count: usize) -> String {
    if count == 1 { "1 tree".to_owned() } else { format!("{count} trees") }
}
