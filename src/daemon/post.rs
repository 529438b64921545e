//! Where the daemon is found: a lock and a socket in its runtime folder. Taken again when somebody has removed them.

use crate::control::Server;
use crate::process::Observer;
use crate::state::{Lock, LockError, RuntimeFolder};
use std::io;

/// The lock and the socket of one scope.
pub struct Post {
    folder: RuntimeFolder,
    uid: u32,
    lock: Lock,
    server: Option<Server>,
    lost: bool,
}

/// Why the post was not had.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The lock is held, or cannot be made.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Nobody could ask.
    #[error("cannot listen on {place}: {error}")]
    Socket {
        /// Where.
        place: String,
        /// What the system said.
        error: io::Error,
    },
}

impl Post {
    /// Takes it. Needs a runtime.
    pub fn take(folder: RuntimeFolder, observer: &Observer) -> Result<Post, PostError> {
        let lock = folder.lock()?;
        let mut post = Post { folder, uid: observer.uid, lock, server: None, lost: false };
        post.listen()?;
        Ok(post)
    }

    fn listen(&mut self) -> Result<(), PostError> {
        // The old one takes its socket away; then there is room for the new one.
        self.server = None;
        let socket = self.folder.socket();
        let server = Server::listen(&socket, self.uid)
            .map_err(|error| PostError::Socket { place: socket.display().to_string(), error })?;
        self.server = Some(server);
        Ok(())
    }

    /// Sees to it that the post is still one's own. `false`: another orphand has taken it.
    pub(super) fn keep(&mut self) -> bool {
        if self.lock.is_in_place() && self.folder.socket().exists() {
            return true;
        }
        let taken =
            if self.lock.is_in_place() { Ok(()) } else { self.folder.lock().map(|lock| self.lock = lock) };
        match taken.map_err(PostError::from).and_then(|()| self.listen()) {
            Ok(()) => {
                self.lost = false;
                tracing::warn!("{} was removed and is there again", self.folder.socket().display());
            }
            Err(PostError::Lock(LockError::Busy(_))) => return false,
            Err(error) => {
                if !std::mem::replace(&mut self.lost, true) {
                    tracing::error!("nobody can ask any more: {error}; trying again at each look");
                }
            }
        }
        true
    }

    /// Who asks.
    pub(super) fn server(&mut self) -> Option<&mut Server> {
        self.server.as_mut()
    }
}
