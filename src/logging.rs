//! What is said on stderr, and in which form: plain for people, with priorities for journald, JSON for programs.

use crate::cli::Log;
use crate::words::stamp;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Compact, Format, FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{FmtContext, format};
use tracing_subscriber::registry::LookupSpan;

/// Sets it up. A daemon says when, unless somebody else does.
pub fn start(words: &[Log], is_daemon: bool) {
    let level = words.iter().rev().find_map(|word| match word {
        Log::Error => Some(Level::ERROR),
        Log::Warn => Some(Level::WARN),
        Log::Info => Some(Level::INFO),
        Log::Debug => Some(Level::DEBUG),
        Log::Trace => Some(Level::TRACE),
        Log::Json => None,
    });
    let level = level.unwrap_or(Level::INFO);
    let base = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).with_target(false);
    let base = base.with_max_level(level);
    if words.contains(&Log::Json) {
        base.json().flatten_event(true).with_current_span(false).with_span_list(false).with_timer(Now).init();
    } else if is_daemon && goes_to_journal() {
        let plain = format().compact().with_target(false).with_level(false).without_time();
        base.event_format(WithPriority(plain)).init();
    } else if is_daemon {
        base.with_timer(Now).init();
    } else {
        base.without_time().init();
    }
}

/// Whether stderr is what systemd connected with the journal.
fn goes_to_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let stderr = std::fs::metadata("/dev/stderr");
    stderr.is_ok_and(|meta| stream == format!("{}:{}", meta.dev(), meta.ino()))
}

/// RFC 3339, UTC, whole seconds.
struct Now;

impl FormatTime for Now {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.write_str(&stamp(jiff::Timestamp::now()))
    }
}

/// Lines that begin with their priority, as sd-daemon(3) has it.
struct WithPriority(Format<Compact, ()>);

impl<S, N> FormatEvent<S, N> for WithPriority
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            Level::DEBUG | Level::TRACE => 7,
        };
        write!(writer, "<{priority}>")?;
        self.0.format_event(context, writer, event)
    }
}
