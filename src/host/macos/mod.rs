//! macOS. What needs no Mac is compiled for tests everywhere.
