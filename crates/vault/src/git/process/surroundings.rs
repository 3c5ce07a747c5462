//! What git is started with: variables that it must not see, and settings that it must use.

/// Variables that would point git at another repository or change what it writes.
pub const SCRUBBED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_DATE",
    "GIT_ATTR_SOURCE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_DEFAULT_HASH",
    "GIT_QUARANTINE_PATH",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
];

/// Settings that make git do just what is asked of it.
pub(super) const CONFIG: &[&str] = &[
    "core.hooksPath=/dev/null",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsmonitor=false",
    "core.safecrlf=false",
    "core.checkStat=default",
    "core.trustctime=true",
    "core.untrackedCache=false",
    "submodule.recurse=false",
    // Both are caches of what the objects say. Git does not verify them when it reads them, and
    // fails on one that an agent damaged.
    "core.commitGraph=false",
    "core.multiPackIndex=false",
];

/// Settings that make what git writes durable.
pub(super) const SYNCED: &[&str] = &["core.fsync=all", "core.fsyncMethod=batch"];

/// Settings for git where the caller syncs what it writes before anything depends on it.
pub(super) const UNSYNCED: &[&str] = &["core.fsync=none"];
