//! The daemon's side of the socket.

use super::Request;
use serde_json::Value;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;

/// A request, and where its answer goes.
pub struct Asked {
    /// What is asked.
    pub request: Request,
    /// Takes the answer.
    pub answer: oneshot::Sender<Value>,
}

/// Whoever says or reads nothing for so long is left.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many callers are listened to at once; more are turned away.
const MOST: usize = 8;

/// Listens until it is dropped, and takes the socket away then.
pub struct Server {
    socket: PathBuf,
    number: Option<(u64, u64)>,
    requests: mpsc::Receiver<Asked>,
    listening: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Listens. Whoever calls this has the lock of the folder: a socket that is there already was left by a dead daemon.
    /// Needs a runtime.
    pub fn listen(socket: &Path, uid: u32) -> io::Result<Server> {
        match std::fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(socket)?;
        let (sender, requests) = mpsc::channel(MOST);
        let listening = tokio::spawn(accept(listener, sender, uid));
        Ok(Server { socket: socket.to_owned(), number: number_of(socket), requests, listening })
    }

    /// The next request.
    pub async fn next(&mut self) -> Asked {
        match self.requests.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.abort();
        // Another daemon may have put its own there.
        if self.number == number_of(&self.socket) {
            let _ = std::fs::remove_file(&self.socket);
        }
    }
}

/// What tells one socket from another of the same name.
fn number_of(socket: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(socket).ok().map(|meta| (meta.dev(), meta.ino()))
}

async fn accept(listener: UnixListener, requests: mpsc::Sender<Asked>, uid: u32) {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let allowed = stream.peer_cred().is_ok_and(|peer| peer.uid() == uid || peer.uid() == 0);
                // Each holds a place until he has his answer.
                if let (true, Ok(place)) = (allowed, places.clone().try_acquire_owned()) {
                    tokio::spawn(answer(stream, requests.clone(), place));
                }
            }
            Err(error) => {
                tracing::debug!("cannot take a request: {error}");
                // Without a file descriptor the next try would fail at once as well.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn answer(stream: UnixStream, requests: mpsc::Sender<Asked>, _place: OwnedSemaphorePermit) {
    let (reader, mut writer) = stream.into_split();
    let mut word = String::new();
    let mut line = BufReader::new(reader.take(32));
    let read = timeout(PATIENCE, line.read_line(&mut word)).await;
    let (Ok(Ok(_)), Some(request)) = (read, Request::of(word.trim_end())) else { return };
    let (answer, answered) = oneshot::channel();
    if requests.send(Asked { request, answer }).await.is_ok()
        && let Ok(value) = answered.await
    {
        // Whoever asked may have left.
        let _ = timeout(PATIENCE, writer.write_all(value.to_string().as_bytes())).await;
    }
}
