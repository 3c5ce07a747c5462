//! Git: how it is started, and the formats of its files. The only place that knows either.
//!
//! An ordinary repository is read and written directly, because a git process per step would make a
//! story two to three times as slow (docs/performance.md): `refs` lists and moves refs, `index` edits
//! an index and builds its trees, `loose_object` writes objects, `ignore` knows the rules. What is
//! not ordinary is left to git, with a `access::Reason` that says why.
//!
//! The contract is that a direct effect gives what git would give. The tests of `refs`, `index` and
//! `ignore` hold it against real git, ref by ref, byte by byte and rule by rule: no effect is added
//! without such a test.

pub(crate) mod access;
pub(crate) mod ignore;
pub(crate) mod index;
pub mod locks;
pub(crate) mod loose_object;
pub mod object_id;
pub(crate) mod object_lookup;
pub(crate) mod pack_index;
pub mod process;
pub(crate) mod ref_log;
pub(crate) mod refs;
pub mod repository;
pub mod status;
