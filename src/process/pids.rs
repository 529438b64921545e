//! Maps by process number. A look asks for thousands of them; the usual hasher, made against attackers who choose the keys,
//! would cost more than all the rest. The kernel chooses these.

use super::Pid;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by process number.
pub type PidMap<T> = HashMap<Pid, T, BuildHasherDefault<PidHasher>>;

/// Spreads a number over all bits (Fibonacci hashing).
#[derive(Default, Debug)]
pub struct PidHasher(u64);

/// 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for PidHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_i32(i32::from(*byte));
        }
    }

    fn write_i32(&mut self, number: i32) {
        let mixed = (self.0 ^ u64::from(number.cast_unsigned())).wrapping_mul(SPREAD);
        // The map takes the place from the low bits and a tag from the highest.
        self.0 = mixed ^ (mixed >> 32);
    }
}
