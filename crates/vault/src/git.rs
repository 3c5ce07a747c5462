//! Git: how it is started, and the formats of its files. The only place that knows either.

pub(crate) mod access;
pub(crate) mod ignore;
pub(crate) mod index;
pub mod locks;
pub(crate) mod loose_object;
pub mod object_id;
pub(crate) mod pack_index;
pub mod process;
pub(crate) mod ref_log;
pub(crate) mod refs;
pub mod repository;
pub mod status;
