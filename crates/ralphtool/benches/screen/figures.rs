//! What was measured, as a table.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// Everything about one flood.
#[derive(Default)]
pub(crate) struct Figures {
    /// What it was.
    pub(crate) name: &'static str,
    /// How much the agent wrote.
    pub(crate) bytes: u64,
    /// How much of that is in the transcript.
    pub(crate) kept: u64,
    /// How long the agent took to write it.
    pub(crate) written: Duration,
    /// How long after the start of the program the screen showed the last of it.
    pub(crate) shown: Duration,
    /// From keys to what they do, by key.
    pub(crate) keys: BTreeMap<&'static str, Vec<Duration>>,
    /// Redraws in the busiest second.
    pub(crate) most_redraws: f64,
    /// Peak memory in kilobytes.
    pub(crate) memory: u64,
    /// Processor time until the flood was over and shown.
    pub(crate) processor: Duration,
    /// Afterwards, with nothing to show.
    pub(crate) idle: Idle,
}

/// What is used while nothing happens.
#[derive(Default)]
pub(crate) struct Idle {
    /// How long it was looked at.
    pub(crate) time: Duration,
    /// Processor time in it.
    pub(crate) processor: Duration,
    /// Bytes that were drawn.
    pub(crate) bytes: usize,
}

impl Display for Figures {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let whole = if self.bytes == self.kept {
            "complete"
        } else {
            "INCOMPLETE"
        };
        writeln!(out, "{}: {} MB", self.name, self.bytes / 1_000_000)?;
        writeln!(out, "  written in    {:>8.1} s", self.written.as_secs_f64())?;
        writeln!(out, "  shown after   {:>8.1} s", self.shown.as_secs_f64())?;
        writeln!(
            out,
            "  transcript    {:>8} MB, {whole}",
            self.kept / 1_000_000
        )?;
        writeln!(out, "  peak memory   {:>8.1} MB", mb(self.memory))?;
        writeln!(
            out,
            "  processor     {:>8.1} s",
            self.processor.as_secs_f64()
        )?;
        writeln!(
            out,
            "  redraws       {:>8.1} per second at most",
            self.most_redraws
        )?;
        writeln!(
            out,
            "  then, {:.0} s   {:>8.0} ms of processor, {} bytes drawn",
            self.idle.time.as_secs_f64(),
            ms(self.idle.processor),
            self.idle.bytes
        )?;
        if self.keys.is_empty() {
            return Ok(());
        }
        writeln!(out, "  key to screen, ms   times  median     p95   worst")?;
        let mut all: Vec<Duration> = self.keys.values().flatten().copied().collect();
        for (key, times) in &self.keys {
            write_times(out, key, &mut times.clone())?;
        }
        write_times(out, "all", &mut all)
    }
}

fn write_times(out: &mut Formatter<'_>, key: &str, times: &mut [Duration]) -> fmt::Result {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    writeln!(
        out,
        "  {key:<18} {:>6} {:>7.1} {:>7.1} {:>7.1}",
        times.len(),
        ms(at(50)),
        ms(at(95)),
        ms(at(100))
    )
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn mb(kilobytes: u64) -> f64 {
    Duration::from_millis(kilobytes).as_secs_f64() * 1000.0 / 1024.0
}
