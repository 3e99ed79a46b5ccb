//! Functions on the boundary that are known by their values at points.

use glam::DVec3;
use std::collections::HashMap;
use std::sync::Mutex;

/// The points on the boundary where the library asks for a function, each once, in the order of the first question.
#[derive(Default)]
pub struct Points {
    points: Vec<DVec3>,
    numbers: HashMap<[u64; 3], usize>,
}

fn key(point: DVec3) -> [u64; 3] {
    point.to_array().map(f64::to_bits)
}

impl Points {
    /// Those where `ask` calls the function that it is given.
    pub fn asked_by<R, E>(ask: impl FnOnce(&(dyn Fn(DVec3) + Sync)) -> Result<R, E>) -> Result<Self, E> {
        let asked = Mutex::new(Self::default());
        ask(&|point| {
            // A thread that panicked has left nothing half done.
            let mut asked = asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let Self { points, numbers } = &mut *asked;
            numbers.entry(key(point)).or_insert_with(|| {
                points.push(point);
                points.len() - 1
            });
        })?;
        Ok(asked.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// In their order.
    pub fn points(&self) -> &[DVec3] {
        &self.points
    }

    /// The number of a point.
    pub fn number(&self, point: DVec3) -> Option<usize> {
        self.numbers.get(&key(point)).copied()
    }
}
