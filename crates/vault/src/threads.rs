//! Work that several threads share.

use ralph_base::os::processors;

/// Gives each of at most `most` threads a share of the items. Gives their answers, in order.
pub(crate) fn in_shares<T: Sync, R: Send>(
    items: &[T],
    most: usize,
    work: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    let share = items.len().div_ceil(processors().min(most)).max(1);
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = items
            .chunks(share)
            .map(|share| scope.spawn(move || work(share)))
            .collect();
        let answers = threads.into_iter().map(|thread| match thread.join() {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        answers.collect()
    })
}
