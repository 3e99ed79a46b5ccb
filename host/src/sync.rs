//! What threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value; a thread that panicked left none half written.
pub(crate) fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
