//! Parallel loops for what runs on the host whatever the backend: load vectors and error norms.
//!
//! Results do not depend on the number of threads: a chunk is written by one task, and values come back in order.

use rayon::prelude::*;

/// Threads that the loops of the caller have.
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `body(index, chunk)` for every chunk of `len` entries; the last one may be shorter.
///
/// # Errors
/// That of the first chunk that failed; chunks behind it may be left out.
pub fn try_for_each_chunk<T: Send, E: Send>(
    data: &mut [T],
    len: usize,
    body: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync + Send,
) -> Result<(), E> {
    let results = data.par_chunks_mut(len.max(1)).enumerate().map(|(index, chunk)| body(index, chunk));
    results.find_first(Result::is_err).unwrap_or(Ok(()))
}

/// `body(0) .. body(count - 1)`, in this order.
///
/// # Errors
/// That of the first index that failed.
pub fn try_map<T: Send, E: Send>(
    count: usize,
    body: impl Fn(usize) -> Result<T, E> + Sync + Send,
) -> Result<Vec<T>, E> {
    try_map_with(count, || (), |(), index| body(index))
}

/// [`try_map`] with a workspace that a task makes for itself.
///
/// # Errors
/// Those of [`try_map`].
pub fn try_map_with<T: Send, W, E: Send>(
    count: usize,
    workspace: impl Fn() -> W + Sync + Send,
    body: impl Fn(&mut W, usize) -> Result<T, E> + Sync + Send,
) -> Result<Vec<T>, E> {
    let results: Vec<Result<T, E>> = (0..count).into_par_iter().map_init(workspace, body).collect();
    results.into_iter().collect()
}

/// What `body` finds for every chunk of `len` entries, in order; the last one may be shorter. With a workspace that a task makes
/// for itself.
///
/// # Errors
/// That of the first chunk that failed.
pub fn try_map_chunks<T: Send, R: Send, W, E: Send>(
    data: &mut [T],
    len: usize,
    workspace: impl Fn() -> W + Sync + Send,
    body: impl Fn(&mut W, usize, &mut [T]) -> Result<R, E> + Sync + Send,
) -> Result<Vec<R>, E> {
    let len = len.max(1);
    // Errors are large: a task has the results of many chunks, where there are many for each thread.
    let chunks_a_task = (data.len().div_ceil(len) / (16 * rayon::current_num_threads())).clamp(1, 256);
    let tasks = data.par_chunks_mut(len * chunks_a_task).enumerate();
    let results = tasks.map_init(workspace, |workspace, (task, chunks)| {
        let chunks = (chunks_a_task * task..).zip(chunks.chunks_mut(len));
        chunks.map(|(index, chunk)| body(workspace, index, chunk)).collect()
    });
    let results: Vec<Result<Vec<R>, E>> = results.collect();
    let mut all = Vec::new();
    for of_task in results {
        all.extend(of_task?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_all_visited_and_the_first_error_wins() {
        let mut data = vec![0; 1003];
        let fill = |index: usize, chunk: &mut [usize]| {
            chunk.fill(index + 1);
            if index >= 70 { Err(index) } else { Ok(()) }
        };
        assert_eq!(try_for_each_chunk(&mut data, 10, fill), Err(70));
        assert!(data[..700].iter().enumerate().all(|(i, &v)| v == i / 10 + 1));
        assert_eq!(try_for_each_chunk(&mut data, 20, fill), Ok(()));
        assert!(data.iter().enumerate().all(|(i, &v)| v == i / 20 + 1));
    }

    #[test]
    fn values_come_in_order() {
        assert_eq!(try_map(500, |i| if i < 500 { Ok(i * i) } else { Err(()) }), Ok((0..500).map(|i| i * i).collect()));
        assert_eq!(try_map(500, |i| if i % 100 == 99 { Err(i) } else { Ok(i) }), Err(99));
    }

    #[test]
    fn chunks_have_values_in_order_and_workspaces_of_their_own() {
        let mut data = vec![0; 1003];
        let fill = |calls: &mut usize, index: usize, chunk: &mut [usize]| {
            *calls += 1;
            chunk.fill(*calls);
            if index >= 101 { Err(index) } else { Ok(chunk.len()) }
        };
        let found = try_map_chunks(&mut data, 10, || 0, fill);
        assert_eq!(found, Ok((0..101).map(|index| if index == 100 { 3 } else { 10 }).collect()));
        assert!(data.iter().all(|&calls| calls > 0));
        assert_eq!(try_map_chunks(&mut data, 7, || 0, fill), Err(101));
    }
}
