//! Work on several tasks at once.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `work` on all tasks, from the last to the first, by as many threads as cargo allows jobs; results come in the
/// order of the tasks, and the first error ends it.
pub fn side_by_side<T: Sync, R: Send, E: Send>(
    tasks: &[T],
    work: impl Fn(usize, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let jobs = std::env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let left = AtomicUsize::new(tasks.len());
    let take = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok();
    let (work, left) = (&work, &left);
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.min(tasks.len()))
            .map(|worker| {
                scope.spawn(move || {
                    let mut done = Vec::new();
                    while let Some(left_before) = take() {
                        let index = left_before - 1;
                        match work(worker, &tasks[index]) {
                            Ok(result) => done.push((index, result)),
                            Err(error) => {
                                left.store(0, Ordering::Relaxed);
                                return Err(error);
                            }
                        }
                    }
                    Ok(done)
                })
            })
            .collect();
        let mut results = Vec::new();
        for thread in threads {
            results.extend(thread.join().expect("a worker returns its errors")?);
        }
        Ok(results)
    })?;
    results.sort_by_key(|&(index, _)| index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_tasks() {
        let tasks: Vec<usize> = (0..50).collect();
        let results = side_by_side(&tasks, |_, &task| Ok::<_, ()>(task * task)).unwrap();
        assert_eq!(results, tasks.iter().map(|task| task * task).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_the_build() {
        let tasks: Vec<usize> = (0..50).collect();
        let outcome = side_by_side(&tasks, |_, &task| if task == 48 { Err(task) } else { Ok(task) });
        assert_eq!(outcome, Err(48));
        assert_eq!(side_by_side(&[] as &[usize], |_, &task| Ok::<_, ()>(task)), Ok(vec![]));
    }
}
