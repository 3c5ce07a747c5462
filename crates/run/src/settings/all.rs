//! The settings of a run that are single values: one row for each, from which both structs, the merging
//! of layers, the readers of files and variables, and the list for `--dry-run` are made. Tables have
//! their rows in `gate`, `notify` and `prices`; `[agents.NAME]`, `[escalate]` and `[[story]]` in `agents`.
//!
//! A row is: the key in the file, the field, its type and default, what the user has to allow, the
//! variable, the flag, and what it is for.

use std::collections::BTreeMap;

use super::agents::{AgentList, AgentSettings, Escalation, StorySettings};
use super::file_text::FileText;
use super::key_table::{KeyTable, key_info};
use super::tamper::{Paths, Severity};
use super::value::{FromTable as _, Item, Key, Mistake, Model, Read, read_variable};
use super::{
    GateSettings, NotifySettings, OnBlocked, OnExhausted, OnFinish, Origin, ReviewSettings,
    SettingsProblem, Sourced,
};
use ralph_base::allowance::{CostLimit, Price, TokenLimit};
use ralph_base::duration::TimeLimit;
use ralph_base::size::SizeLimit;
use ralph_vault::MessageTemplate;
use ralph_vault::tree::guard::Limits;

/// A setting that was resolved: an option, unless it has a default.
macro_rules! resolved {
    (type $type:ty) => { Option<Sourced<$type>> };
    (type $type:ty = $default:expr) => { Sourced<$type> };
    (value $setting:expr) => { $setting };
    (value $setting:expr, $default:expr) => { $setting.unwrap_or_else(|| Sourced::new($default, Origin::Default)) };
    (given $setting:expr) => { $setting.as_ref() };
    (given $setting:expr, $default:expr) => { Some(&$setting) };
}

macro_rules! settings {
    (
        $(section $section:ident $header:literal $prefix:literal $about:literal {$(
            $key:literal => $field:ident: $type:ty $(= $default:expr)?
            $(, without $words:literal, example $example:literal)?
            $(, asks $asks:literal)? $(, variable $variable:literal)? $(, flag $flag:literal)?,
            $key_about:literal;
        )*})*
        tables {$($table_key:literal => $table:ident: $table_type:ty $(= $table_default:expr)?;)*}
        tables by name {$($map_key:literal => $map:ident: $map_type:ty;)*}
    ) => {
        $(pub(super) const $section: KeyTable = KeyTable {
            header: $header,
            about: $about,
            example: None,
            keys: &[$(key_info!(
                $key, $type, [$($default)?], [$($words, $example)?],
                [$($asks)?], [$($variable)?], [$($flag)?], $key_about
            ),)*],
        };)*

        /// The tables whose keys are settings.
        pub(super) const SECTIONS: &[KeyTable] = &[$($section),*];

        /// The variables that are settings.
        pub(super) const VARIABLES: &[&str] = &[$($($($variable,)?)*)*];

        /// One layer: only the settings that it gives.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct PartialSettings {
            $($(pub $field: Option<Sourced<<$type as Read>::Value>>,)*)*
            $(pub $table: Option<Sourced<$table_type>>,)*
            $(pub $map: BTreeMap<String, Sourced<$map_type>>,)*
        }

        /// All settings of a run, complete.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Settings {
            $($(pub $field: resolved!(type <$type as Read>::Value $(= $default)?),)*)*
            $(pub $table: resolved!(type $table_type $(= $table_default)?),)*
            $(pub $map: BTreeMap<String, Sourced<$map_type>>,)*
        }

        impl PartialSettings {
            /// Puts a later layer over this one. The later value wins; lists such as the gates are
            /// replaced whole, tables with names are merged by name.
            #[must_use]
            pub fn overlaid_by(mut self, later: Self) -> Self {
                $(self.$map.extend(later.$map);)*
                Self {
                    $($($field: later.$field.or(self.$field),)*)*
                    $($table: later.$table.or(self.$table),)*
                    $($map: self.$map,)*
                }
            }

            /// Adds the defaults.
            pub(super) fn resolve(self) -> Settings {
                Settings {
                    $($($field: resolved!(value self.$field $(, $default)?),)*)*
                    $($table: resolved!(value self.$table $(, $table_default)?),)*
                    $($map: self.$map,)*
                }
            }

            /// Reads a key of the table with this header; false if there is no such key.
            pub(super) fn read_key(
                &mut self,
                file: &FileText<'_>,
                header: &str,
                key: &Key<'_>,
                item: &Item<'_>,
            ) -> Result<bool, Mistake> {
                match (header, key.get_ref().as_ref()) {
                    $($(($header, $key) => {
                        self.$field = Some(file.sourced(key, <$type as Read>::read(item)?));
                    })*)*
                    $(("", $table_key) => {
                        self.$table = Some(file.sourced_tables(key, item, <$table_type>::from_table(key, item)?));
                    })*
                    $(("", $map_key) => self.$map = file.tables_by_name(item)?,)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// Reads one of `VARIABLES`.
            pub(super) fn read_variable(
                &mut self,
                name: &str,
                text: &str,
            ) -> Result<(), SettingsProblem> {
                match name {
                    $($($($variable => {
                        let kind = <$type as Read>::KIND;
                        self.$field = Some(read_variable(kind, $variable, text)?);
                    })?)*)*
                    _ => {}
                }
                Ok(())
            }
        }

        impl Settings {
            /// The values of all keys that are not tables, by their dotted names.
            pub(super) fn values(&self) -> Vec<(&'static str, String, String)> {
                let mut lines = Vec::new();
                $($(if let Some(it) = resolved!(given self.$field $(, $default)?) {
                    let name = concat!($prefix, $key);
                    // One line each.
                    let value = it.value.to_string().replace('\n', "\\n");
                    lines.push((name, value, it.origin.to_string()));
                })*)*
                lines
            }
        }
    };
}

settings! {
    section TOP "" "" "At the top of the file, before the first table." {
        "agent" => agent: AgentList = AgentList::one("claude"),
            variable "RALPHTOOL_AGENT", flag "--agent",
            "The agent to use. In a list, the next one takes over when one is unavailable.";
        "model" => model: Model, without "as the agent itself is set", example r#""opus""#,
            variable "RALPHTOOL_MODEL", flag "--model",
            "The model the agent is asked to use. Without it, the agent's own setting; this is an example.";
        "max_retries" => max_retries: u32 = 3,
            variable "RALPHTOOL_MAX_RETRIES", flag "--max-retries",
            "How often a story is tried again after its first attempt.";
        "repairs" => repairs: u32 = 2,
            variable "RALPHTOOL_REPAIRS", flag "--repairs",
            "How often the agent of an attempt may repair what a check found, in the same session, before the\n\
             attempt fails. 0: never.";
        "on_finish" => on_finish: OnFinish = OnFinish::Ask,
            variable "RALPHTOOL_ON_FINISH", flag "--on-finish",
            "What to do with the branch at the end: `ask` (without a terminal: keep), `cleanup` (return to\n\
             your branch, with the changes uncommitted) or `keep`.";
        "on_exhausted" => on_exhausted: OnExhausted,
            without "with what is known not to depend on it",
            example r#""continue""#,
            variable "RALPHTOOL_ON_EXHAUSTED", flag "--on-exhausted",
            "What to do when a story has used up its retries: `stop`, or `continue` with every story that is\n\
             not known to depend on it. Without it, the run continues with the stories that are known not to\n\
             depend on it; this is an example.";
        "depends" => depends: bool = true, variable "RALPHTOOL_DEPENDS",
            "Whether a story may depend on those before it where neither the plan nor `[[story]]` says so.";
        "on_blocked" => on_blocked: OnBlocked,
            without "`wait` on the run screen", example r#""wait""#,
            variable "RALPHTOOL_ON_BLOCKED", flag "--on-blocked",
            "What to do when an agent asks a question: `wait` for the answer (`max_wait` bounds it), `skip` the\n\
             story until there is one, or `stop`. `ralphtool answer` answers. Without it, the run waits if it\n\
             has the run screen, and otherwise continues with the stories that are known not to depend on it;\n\
             this is an example.";
        "commit_message" => commit_message: MessageTemplate = MessageTemplate::default(),
            variable "RALPHTOOL_COMMIT_MESSAGE",
            "The message of each story's commit after `ralphtool finish --reword`. Placeholders: {id}, {title},\n\
             {change}, {run}, {attempts}, {gates}, {trailers}.";
        "strict_tasks" => strict_tasks: bool = false, variable "RALPHTOOL_STRICT_TASKS",
            "Whether a task that the agent did not tick fails the attempt; otherwise ralphtool ticks it.";
        "require_changes" => require_changes: bool = false, variable "RALPHTOOL_REQUIRE_CHANGES",
            "Whether an attempt that changed nothing but the boxes of the plan fails.";
        "command_timeout" => command_timeout: TimeLimit = TimeLimit::seconds(30),
            variable "RALPHTOOL_COMMAND_TIMEOUT", flag "--command-timeout",
            "How long git and other short commands may take.";
        "max_wait" => max_wait: TimeLimit = TimeLimit::OFF,
            variable "RALPHTOOL_MAX_WAIT", flag "--max-wait",
            "How long to wait, at most, for a usage limit of the agent to end, or for an answer.";
        "limit_pause" => limit_pause: TimeLimit = TimeLimit::seconds(60),
            variable "RALPHTOOL_LIMIT_PAUSE",
            "The first wait if a limit does not say when it ends; it doubles, up to an hour.";
        "largest_file" => largest_file: SizeLimit = Limits::DEFAULT.largest_file,
            variable "RALPHTOOL_LARGEST_FILE",
            "A new file larger than this is not committed; it is kept in the vault.";
        "least_free" => least_free: SizeLimit = SizeLimit::bytes(Limits::DEFAULT.least_free),
            variable "RALPHTOOL_LEAST_FREE",
            "Minimum free disk space.";
        "vault_limit" => vault_limit: SizeLimit = SizeLimit::bytes(20_000_000_000),
            asks "old runs are removed from the vault above", variable "RALPHTOOL_VAULT_LIMIT",
            "How large the vault may get before old runs are removed from it.";
        "learnings_limit" => learnings_limit: SizeLimit = SizeLimit::bytes(32_000),
            variable "RALPHTOOL_LEARNINGS_LIMIT",
            "How much of the notes that agents keep for a change goes into a prompt.";
    }
    section TIMEOUTS "[timeouts]" "timeouts." "How long things may take." {
        "idle" => idle_timeout: TimeLimit = TimeLimit::seconds(15 * 60),
            variable "RALPHTOOL_IDLE_TIMEOUT", flag "--idle-timeout",
            "An agent that prints nothing for this long is stopped, and the attempt fails.";
        "total" => total_timeout: TimeLimit = TimeLimit::OFF,
            variable "RALPHTOOL_TIMEOUT", flag "--timeout",
            "An attempt that takes longer than this is stopped.";
        "grace" => grace: TimeLimit = TimeLimit::seconds(20),
            "How long an agent may take to exit after its last message.";
    }
    section BUDGET "[budget]" "budget."
    "What a run may use. It stops there; `ralphtool resume` continues with a larger budget." {
        "usd" => max_cost: CostLimit = CostLimit::OFF,
            variable "RALPHTOOL_MAX_COST", flag "--max-cost",
            "How many US dollars the run may cost, such as 10.00.";
        "tokens" => max_tokens: TokenLimit = TokenLimit::OFF,
            variable "RALPHTOOL_MAX_TOKENS", flag "--max-tokens",
            "How many tokens of all kinds the run may use, such as \"2M\".";
        "time" => max_time: TimeLimit = TimeLimit::OFF,
            variable "RALPHTOOL_MAX_TIME", flag "--max-time",
            "How long the run may take, such as \"4h\".";
        "story_usd" => max_story_cost: CostLimit = CostLimit::OFF,
            variable "RALPHTOOL_MAX_STORY_COST", flag "--max-story-cost",
            "How many US dollars each story may cost, all of its attempts together.";
        "story_tokens" => max_story_tokens: TokenLimit = TokenLimit::OFF,
            variable "RALPHTOOL_MAX_STORY_TOKENS", flag "--max-story-tokens",
            "How many tokens each story may use.";
        "story_time" => max_story_time: TimeLimit = TimeLimit::OFF,
            variable "RALPHTOOL_MAX_STORY_TIME", flag "--max-story-time",
            "How long each story may take.";
    }
    section TAMPER "[tamper]" "tamper."
    "What to do when an attempt changes tests, the plan or the gates: `off`, `warn` or `fail`." {
        "boxes" => tamper_boxes: Severity = Severity::Warn,
            "Boxes of other stories; ralphtool restores them in any case.";
        "specs" => tamper_specs: Severity = Severity::Warn, "The text of the plan.";
        "tests" => tamper_tests: Severity = Severity::Warn, "Tests that are deleted or skipped.";
        "config" => tamper_config: Severity = Severity::Warn,
            "This file, and files that the gates run or are configured by.";
        "outside" => tamper_outside: Severity = Severity::Warn, "Files outside of `roots`.";
        "submodules" => tamper_submodules: Severity = Severity::Warn,
            "Work in a submodule that the agent did not commit there, so that it is in no commit.";
        "roots" => tamper_roots: Paths,
            without "the folders that exist", example r#"["src", "tests"]"#,
            "Where an attempt may change files. Without it, in the folders that exist; this is \
             an example.";
    }
    tables {
        "gate" => gates: Vec<GateSettings> = Vec::new();
        "review" => reviews: Vec<ReviewSettings> = Vec::new();
        "notify" => notify: NotifySettings = NotifySettings::default();
        "escalate" => escalate: Escalation;
        "story" => stories: Vec<StorySettings> = Vec::new();
    }
    tables by name {
        "prices" => prices: Price;
        "agents" => agents: AgentSettings;
    }
}
