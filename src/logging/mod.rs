//! What is said on stderr, and in which form: plain for people, with priorities for journald, JSON for programs.

mod rotated;

use crate::cli::Log;
use crate::redact::printable;
use crate::words::stamp;
use rotated::LogFile;
use std::fmt;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::Duration;
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
    let lines = Lines::new(is_daemon);
    let base =
        tracing_subscriber::fmt().with_writer(move || lines.next()).with_ansi(false).with_target(false);
    // It would tell stderr that stderr cannot be told, and end the program over it.
    let base = base.with_max_level(level).log_internal_errors(false);
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

/// Waits, but not for long, until everything that was said is written.
pub fn flush() {
    if let Some(writer) = WRITER.get() {
        let (done, wait) = channel();
        // A writer that is behind, or gone, has its reasons.
        let _ = writer.try_send(Message::Flush(done));
        let _ = wait.recv_timeout(Duration::from_secs(1));
    }
}

/// So many lines may wait to be written.
const MOST: usize = 1024;

static WRITER: OnceLock<SyncSender<Message>> = OnceLock::new();

enum Message {
    Line(Vec<u8>),
    Flush(Sender<()>),
}

/// Lines on their way to stderr. Those of a daemon are written by a thread of their own: a reader who has stopped reading must
/// not stop the loop. What does not fit is dropped.
#[derive(Clone)]
struct Lines(Option<SyncSender<Message>>);

impl Lines {
    fn new(is_daemon: bool) -> Lines {
        if !is_daemon {
            return Lines(None);
        }
        let (sender, receiver) = sync_channel(MOST);
        let write = move || {
            let file = LogFile::of_stderr();
            for message in receiver {
                match message {
                    Message::Line(line) => {
                        if let Some(file) = &file {
                            file.follow();
                        }
                        // Nobody can be told that nobody can be told.
                        let _ = io::stderr().write_all(&line);
                    }
                    Message::Flush(done) => drop(done.send(())),
                }
            }
        };
        let writer = std::thread::Builder::new().name("log".to_owned()).spawn(write);
        let sender = writer.is_ok().then(|| WRITER.get_or_init(|| sender).clone());
        Lines(sender)
    }

    fn next(&self) -> Line {
        Line { text: Vec::new(), to: self.clone() }
    }
}

/// One event as text. It is one line, whatever names and command lines it quotes.
struct Line {
    text: Vec<u8>,
    to: Lines,
}

impl Write for Line {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        let line = printable(text.trim_end_matches('\n')) + "\n";
        match &self.to.0 {
            Some(writer) => drop(writer.try_send(Message::Line(line.into_bytes()))),
            None => drop(io::stderr().write_all(line.as_bytes())),
        }
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
