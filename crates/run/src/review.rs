//! A review: what of a change a reviewer judges, and how its answer is read.

pub(crate) mod answer;
pub(crate) mod diff_text;
pub(crate) mod items;
