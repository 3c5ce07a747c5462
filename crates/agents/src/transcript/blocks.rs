//! Lines of plain text, joined to blocks that are markdown by themselves: a paragraph, a list, a
//! code fence.

use super::Source;
use crate::promise::Fence;

/// How many lines a block has at most.
const MOST_LINES: usize = 40;
/// How many bytes a block has at most, if it has more than one line.
const MOST_BYTES: usize = 4 * 1024;
/// How much of the line that opens a fence is repeated where a block is cut inside of it.
const FENCE_CAP: usize = 200;

/// Joins lines to blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Joiner {
    block: Option<Block>,
    /// The code fence the next line is in, and the line that opened it.
    fence: Option<(Fence, String)>,
}

/// The unfinished block.
#[derive(Debug, Clone)]
struct Block {
    text: String,
    lines: usize,
    source: Source,
}

impl Joiner {
    /// True if there is no unfinished block, or it has one line.
    pub(super) fn is_light(&self) -> bool {
        self.block.as_ref().is_none_or(|block| block.lines == 1)
    }

    /// Adds a line; returns the block that ended before it.
    pub(super) fn add(&mut self, line: &str, source: Source) -> Option<(String, Source)> {
        if line.trim().is_empty() && self.fence.is_none() {
            return self.take();
        }
        let finished = if self.is_full_for(line) {
            self.take()
        } else {
            None
        };
        self.append(line, source);
        self.follow_fence(line);
        finished
    }

    /// Ends the unfinished block, and the text it is part of.
    pub(super) fn end(&mut self) -> Option<(String, Source)> {
        let block = self.take();
        self.fence = None;
        block
    }

    fn take(&mut self) -> Option<(String, Source)> {
        let mut block = self.block.take()?;
        if let Some((fence, _)) = &self.fence {
            block.text.push('\n');
            block.text.push_str(&fence.closing_line());
        }
        Some((block.text, block.source))
    }

    fn is_full_for(&self, line: &str) -> bool {
        self.block.as_ref().is_some_and(|block| {
            block.lines >= MOST_LINES || block.text.len() + line.len() >= MOST_BYTES
        })
    }

    fn append(&mut self, line: &str, source: Source) {
        if let Some(block) = &mut self.block {
            block.text.push('\n');
            block.text.push_str(line);
            block.lines += 1;
            block.source = Source::between(block.source.offset, source.end());
            return;
        }
        // A block that begins inside of a fence says so.
        let text = match &self.fence {
            Some((_, opening)) => format!("{opening}\n{line}"),
            None => line.to_owned(),
        };
        self.block = Some(Block {
            text,
            lines: 1,
            source,
        });
    }

    fn follow_fence(&mut self, line: &str) {
        match &self.fence {
            Some((fence, _)) if fence.closed_by(line) => self.fence = None,
            Some(_) => {}
            None => {
                let opening = || line.chars().take(FENCE_CAP).collect();
                self.fence = Fence::opened_by(line).map(|fence| (fence, opening()));
            }
        }
    }
}
