//! Which test shows what a key or a flag does, as `FILE::TEST`, and which variables are no settings.

/// Every key and the test that is about it, as `FILE::TEST`.
pub(crate) const KEYS: &[(&str, &str)] = &[
    (
        "agent",
        "fallback::the_next_agent_takes_over_from_one_that_is_limited",
    ),
    ("model", "settings/keys::the_model_reaches_the_agent"),
    (
        "max_retries",
        "settings/keys::a_story_is_tried_once_more_than_the_retries_allow",
    ),
    (
        "repairs",
        "repairs::without_repairs_a_red_gate_fails_the_attempt_at_once",
    ),
    (
        "on_blocked",
        "questions::an_answer_from_another_terminal_continues_the_session_with_the_work_as_it_was",
    ),
    ("on_finish", "settings/keys::the_run_ends_as_on_finish_says"),
    (
        "on_exhausted",
        "stuck::the_run_stops_or_continues_as_on_exhausted_says",
    ),
    (
        "depends",
        "stuck::a_run_continues_without_a_story_that_used_up_its_retries",
    ),
    (
        "commit_message",
        "commits::commit_message_is_the_template_of_reworded_commits",
    ),
    (
        "strict_tasks",
        "hostile::strict_tasks_fails_an_attempt_that_leaves_boxes_open_and_names_them",
    ),
    (
        "require_changes",
        "hostile::an_attempt_that_changes_nothing_is_warned_about_or_fails_with_require_changes",
    ),
    (
        "command_timeout",
        "doctor::an_agent_that_hangs_is_ended_with_all_it_started",
    ),
    (
        "max_wait",
        "fallback::a_wait_that_is_too_long_ends_the_run_although_there_are_two_agents",
    ),
    (
        "limit_pause",
        "settings/keys::limit_pause_is_the_pause_at_a_limit_without_an_end",
    ),
    (
        "largest_file",
        "guards::untracked_secrets_and_large_files_stay_out_of_every_commit_and_are_named_once",
    ),
    (
        "least_free",
        "settings/keys::a_run_does_not_start_without_least_free_space",
    ),
    (
        "vault_limit",
        "housekeeping::a_vault_that_is_too_large_loses_its_oldest_runs_but_never_the_last",
    ),
    (
        "learnings_limit",
        "everyday/learnings::a_prompt_gets_the_newest_notes_that_fit_and_the_file_stays_whole",
    ),
    (
        "timeouts.idle",
        "settings/keys::an_agent_that_is_silent_or_slow_is_ended_when_its_time_is_over",
    ),
    (
        "timeouts.total",
        "settings/keys::an_agent_that_is_silent_or_slow_is_ended_when_its_time_is_over",
    ),
    (
        "timeouts.grace",
        "stopping::an_agent_that_does_not_exit_after_its_promise_is_ended_and_succeeds",
    ),
    (
        "budget.usd",
        "settings/spending::each_key_of_the_budget_ends_the_run",
    ),
    (
        "budget.tokens",
        "settings/spending::each_key_of_the_budget_ends_the_run",
    ),
    (
        "budget.time",
        "settings/spending::each_key_of_the_budget_ends_the_run",
    ),
    (
        "budget.story_usd",
        "settings/spending::each_key_of_the_budget_ends_the_run",
    ),
    (
        "budget.story_tokens",
        "settings/spending::each_key_of_the_budget_ends_the_run",
    ),
    (
        "budget.story_time",
        "settings/spending::each_key_of_the_budget_ends_the_run",
    ),
    (
        "prices.NAME.input",
        "settings/spending::each_sort_of_token_has_its_own_price",
    ),
    (
        "prices.NAME.output",
        "settings/spending::each_sort_of_token_has_its_own_price",
    ),
    (
        "prices.NAME.cached_input",
        "settings/spending::each_sort_of_token_has_its_own_price",
    ),
    (
        "prices.NAME.cache_write",
        "settings/spending::each_sort_of_token_has_its_own_price",
    ),
    (
        "gate.name",
        "settings/keys::a_gate_has_a_name_a_command_and_a_time",
    ),
    (
        "gate.run",
        "settings/keys::a_gate_has_a_name_a_command_and_a_time",
    ),
    (
        "gate.timeout",
        "settings/keys::a_gate_has_a_name_a_command_and_a_time",
    ),
    (
        "gate.baseline",
        "settings/keys::a_gate_without_a_baseline_fails_even_if_it_was_red_before",
    ),
    (
        "gate.allow_red",
        "gates::a_gate_that_may_stay_red_is_reported_and_the_run_ends_with_0",
    ),
    (
        "gate.when",
        "gates::a_gate_at_the_end_reopens_the_last_story_until_it_passes",
    ),
    (
        "gate.keep_changes",
        "gates::a_formatters_changes_are_committed_and_those_of_other_gates_are_not",
    ),
    (
        "gate.junit",
        "gates_test_names::a_test_report_counts_only_if_the_gate_has_just_written_it",
    ),
    (
        "gate.paths",
        "gates_paths::a_gate_runs_only_on_attempts_that_changed_a_file_in_its_paths",
    ),
    (
        "gate.retries",
        "gates_retries::every_face_says_which_gate_was_flaky_and_how_often",
    ),
    (
        "review.name",
        "review::reviews_have_names_and_models_of_their_own",
    ),
    (
        "review.agent",
        "review::what_a_reviewer_finds_met_is_committed_and_the_receipt_has_its_evidence",
    ),
    (
        "review.model",
        "review::reviews_have_names_and_models_of_their_own",
    ),
    (
        "review.when",
        "review::a_review_at_the_end_judges_the_whole_change_until_it_is_met",
    ),
    ("review.advisory", "review::an_advisory_review_only_reports"),
    (
        "review.timeout",
        "review::work_that_no_reviewer_judged_is_done_but_not_verified",
    ),
    (
        "review.usd",
        "review::a_review_is_ended_where_its_own_budget_is_used_up",
    ),
    (
        "review.tokens",
        "review::a_review_is_ended_where_its_own_budget_is_used_up",
    ),
    (
        "tamper.boxes",
        "tamper::each_check_can_fail_the_attempt_which_is_parked_undone_and_reported",
    ),
    (
        "tamper.specs",
        "tamper::each_check_can_fail_the_attempt_which_is_parked_undone_and_reported",
    ),
    (
        "tamper.tests",
        "tamper::each_check_can_fail_the_attempt_which_is_parked_undone_and_reported",
    ),
    (
        "tamper.config",
        "tamper::each_check_can_fail_the_attempt_which_is_parked_undone_and_reported",
    ),
    (
        "tamper.outside",
        "tamper::each_check_can_fail_the_attempt_which_is_parked_undone_and_reported",
    ),
    (
        "tamper.submodules",
        "submodules::work_left_uncommitted_in_a_submodule_is_reported_or_fails_the_attempt",
    ),
    (
        "tamper.roots",
        "tamper::with_roots_everything_else_is_outside",
    ),
    (
        "notify.command",
        "notify::a_program_gets_what_it_asked_for_and_nothing_else",
    ),
    (
        "notify.bell",
        "tui/plain::the_terminal_bell_rings_at_the_end_with_a_screen_and_without",
    ),
    (
        "notify.on",
        "settings/keys::a_notification_command_gets_only_the_configured_occasions",
    ),
    (
        "agents.NAME.command",
        "custom_agents::a_command_starts_in_its_folder_with_the_environment_it_was_given",
    ),
    (
        "agents.NAME.resume",
        "custom_agents::a_command_with_a_place_for_a_session_gets_an_id_for_each",
    ),
    (
        "agents.NAME.review",
        "custom_agents::every_command_of_an_agent_needs_permission",
    ),
    (
        "agents.NAME.like",
        "settings/keys::an_agent_like_a_built_in_one_is_wrapped_and_gets_its_own_model",
    ),
    (
        "agents.NAME.wrap",
        "settings/keys::an_agent_like_a_built_in_one_is_wrapped_and_gets_its_own_model",
    ),
    (
        "agents.NAME.model",
        "settings/keys::an_agent_like_a_built_in_one_is_wrapped_and_gets_its_own_model",
    ),
    (
        "agents.NAME.output",
        "settings/keys::what_an_agent_writes_is_read_as_its_output_says",
    ),
    (
        "agents.NAME.prompt",
        "settings/keys::a_prompt_is_given_by_stdin_or_by_file",
    ),
    (
        "agents.NAME.env",
        "custom_agents::a_command_starts_in_its_folder_with_the_environment_it_was_given",
    ),
    (
        "agents.NAME.cwd",
        "custom_agents::a_command_starts_in_its_folder_with_the_environment_it_was_given",
    ),
    (
        "escalate.after",
        "fallback::a_story_that_keeps_failing_is_given_to_another_agent",
    ),
    (
        "escalate.agent",
        "fallback::a_story_that_keeps_failing_is_given_to_another_agent",
    ),
    (
        "escalate.model",
        "fallback::a_story_that_keeps_failing_is_given_to_another_agent",
    ),
    ("story.id", "fallback::a_story_can_have_an_agent_of_its_own"),
    (
        "story.change",
        "settings/keys::a_story_of_one_change_has_a_model_of_its_own",
    ),
    (
        "story.agent",
        "fallback::a_story_can_have_an_agent_of_its_own",
    ),
    (
        "story.model",
        "settings/keys::a_story_of_one_change_has_a_model_of_its_own",
    ),
    (
        "story.depends_on",
        "stuck::stories_that_depend_on_one_that_failed_are_not_run",
    ),
];

/// Flags of every command.
pub(crate) const GLOBAL: &[(&str, &str)] = &[
    (
        "-h",
        "settings/flags::the_help_and_the_version_have_short_names_too",
    ),
    ("--help", "usage::help_and_version_go_to_stdout"),
    (
        "-C",
        "settings/flags::a_command_works_in_the_folder_of_the_flag",
    ),
    (
        "--config",
        "settings/layers::a_later_layer_wins_and_a_file_asked_for_replaces_both_others",
    ),
    ("--color", "usage::colours_are_used_when_asked_for"),
];

const DRY_AND_JSON: &str = "afterwards::a_dry_run_touches_nothing_and_json_is_one_object";
const SETS_ITS_KEY: &str = "settings/flags::each_flag_sets_its_key_for_loop_and_for_resume";
const RESUMED: &str = "settings/flags::a_resumed_run_prints_what_its_flags_ask_for";
const SHORT: &str = "settings/flags::short_names_do_what_the_long_ones_do";
const IN_THE_DEMO: &str = "demo::in_the_folder_of_the_demo_every_command_finds_the_run";
const DEMO: &str = "settings/flags::the_demo_prints_more_with_verbose";
const OTHER_RUN: &str = "settings/flags::attempts_of_another_run_are_listed_compared_and_restored";
const OLD_RUNS: &str = "housekeeping::old_runs_are_listed_and_then_removed_and_the_last_one_stays";

/// Every flag by its command, and the test that is about it.
pub(crate) const FLAGS: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[
            (
                "-V",
                "settings/flags::the_help_and_the_version_have_short_names_too",
            ),
            (
                "--version",
                "settings/flags::the_help_and_the_version_have_short_names_too",
            ),
        ],
    ),
    ("answer", &[]),
    (
        "run",
        &[
            (
                "--max-retries",
                "settings/keys::a_story_is_tried_once_more_than_the_retries_allow",
            ),
            (
                "--repairs",
                "repairs::an_attempt_that_is_not_repaired_is_parked_with_all_its_rounds_and_tried_again",
            ),
            (
                "--on-blocked",
                "questions::a_story_with_a_question_is_skipped_and_an_answer_opens_it_again",
            ),
            (
                "--agent",
                "demo::the_demo_agent_writes_one_line_per_story_on_any_other_change",
            ),
            (
                "--model",
                "settings/flags::the_model_of_the_flag_reaches_the_agent",
            ),
            (
                "--story",
                "settings/flags::only_the_story_of_the_flag_is_done",
            ),
            (
                "--gate",
                "scenarios::a_gate_that_was_red_before_is_reported_and_does_not_count",
            ),
            (
                "--idle-timeout",
                "stopping::an_agent_that_says_nothing_is_ended_after_the_idle_timeout",
            ),
            (
                "--timeout",
                "stopping::an_agent_that_never_ends_is_ended_after_the_timeout",
            ),
            (
                "--command-timeout",
                "broken::a_git_that_hangs_stops_the_run_and_loses_nothing",
            ),
            (
                "--max-wait",
                "stopping::a_limit_that_lasts_longer_than_allowed_ends_the_run",
            ),
            (
                "--max-cost",
                "budgets::a_budget_warns_and_stops_the_run_and_a_higher_one_continues_it",
            ),
            (
                "--max-tokens",
                "budgets::what_a_killed_run_used_counts_when_it_is_resumed",
            ),
            (
                "--max-time",
                "stopping::a_run_whose_time_is_used_up_ends_with_nothing_lost",
            ),
            (
                "--max-story-cost",
                "settings/spending::a_story_may_cost_no_more_than_its_flag_says",
            ),
            (
                "--max-story-tokens",
                "budgets::a_story_has_its_own_budget_over_all_attempts",
            ),
            (
                "--max-story-time",
                "budgets::the_time_budget_stops_a_gate_too",
            ),
            (
                "--on-exhausted",
                "stuck::the_run_stops_or_continues_as_on_exhausted_says",
            ),
            ("--on-finish", "scenarios::cleanup_option_selected"),
            ("--no-tui", "tui/plain::flags_select_a_log_instead"),
            ("--json", "json::the_events_of_a_run_are_in_order"),
            ("--dry-run", "refusals::a_dry_run_touches_nothing"),
            ("--trust", "trust::a_flag_or_a_variable_allows_it_once"),
            ("-v", "tui/plain::flags_select_a_log_instead"),
            ("--verbose", SHORT),
            ("-q", "tui/plain::flags_select_a_log_instead"),
            ("--quiet", SHORT),
            (
                "--resume",
                "settings/flags::loop_resumes_an_interrupted_run_like_resume",
            ),
            (
                "--fresh",
                "stopping::fresh_starts_a_new_run_after_a_killed_one",
            ),
            (
                "--on-top",
                "resuming::a_run_is_not_built_on_the_branch_of_another_by_accident",
            ),
        ],
    ),
    (
        "trust",
        &[
            (
                "--yes",
                "trust::nothing_of_a_fresh_clone_runs_before_it_is_allowed",
            ),
            (
                "--show",
                "trust::commands_that_only_read_run_nothing_of_the_file",
            ),
            (
                "--revoke",
                "trust::a_permission_can_be_revoked_and_a_named_file_needs_its_own",
            ),
        ],
    ),
    (
        "resume",
        &[
            ("--max-retries", SETS_ITS_KEY),
            ("--repairs", SETS_ITS_KEY),
            ("--on-blocked", SETS_ITS_KEY),
            ("--agent", SETS_ITS_KEY),
            ("--model", SETS_ITS_KEY),
            (
                "--story",
                "settings/flags::only_the_story_of_the_flag_is_done",
            ),
            ("--gate", SETS_ITS_KEY),
            ("--idle-timeout", SETS_ITS_KEY),
            ("--timeout", SETS_ITS_KEY),
            ("--command-timeout", SETS_ITS_KEY),
            ("--max-wait", SETS_ITS_KEY),
            (
                "--max-cost",
                "budgets::a_budget_warns_and_stops_the_run_and_a_higher_one_continues_it",
            ),
            (
                "--max-tokens",
                "budgets::what_a_killed_run_used_counts_when_it_is_resumed",
            ),
            ("--max-time", SETS_ITS_KEY),
            ("--max-story-cost", SETS_ITS_KEY),
            (
                "--max-story-tokens",
                "budgets::a_story_has_its_own_budget_over_all_attempts",
            ),
            ("--max-story-time", SETS_ITS_KEY),
            ("--on-exhausted", SETS_ITS_KEY),
            (
                "--on-finish",
                "afterwards::resume_continues_a_kept_run_that_has_stories_left",
            ),
            ("--no-tui", RESUMED),
            ("--json", RESUMED),
            ("--dry-run", SETS_ITS_KEY),
            ("--trust", "trust::resume_takes_the_flag_too"),
            ("-v", SHORT),
            ("--verbose", RESUMED),
            ("-q", SHORT),
            ("--quiet", RESUMED),
        ],
    ),
    (
        "status",
        &[
            ("-w", SHORT),
            (
                "--watch",
                "everyday/status::status_shows_a_run_in_another_process",
            ),
            (
                "--json",
                "everyday/status::status_says_that_a_killed_or_stopped_run_can_be_resumed",
            ),
        ],
    ),
    ("attach", &[]),
    (
        "finish",
        &[
            (
                "--cleanup",
                "afterwards::cleanup_of_a_kept_run_restores_staging_and_undo_restores_the_branch",
            ),
            (
                "--keep",
                "afterwards::keep_ends_an_open_run_and_undo_reopens_it",
            ),
            (
                "--squash",
                "commits::squash_makes_one_commit_of_all_stories_and_undo_restores_them",
            ),
            (
                "--reword",
                "commits::reword_gives_each_commit_the_title_of_its_story_and_drops_an_empty_initial_state",
            ),
            (
                "--abandon",
                "afterwards::abandon_restores_everything_exactly_and_undo_reverts_it",
            ),
            ("--dry-run", DRY_AND_JSON),
            ("--json", DRY_AND_JSON),
        ],
    ),
    (
        "undo",
        &[("--dry-run", DRY_AND_JSON), ("--json", DRY_AND_JSON)],
    ),
    (
        "rewind",
        &[("--dry-run", DRY_AND_JSON), ("--json", DRY_AND_JSON)],
    ),
    (
        "attempts",
        &[
            ("--run", OTHER_RUN),
            (
                "--all",
                "afterwards::an_attempt_name_means_the_attempt_of_the_newest_run",
            ),
            (
                "--json",
                "afterwards::attempts_are_listed_shown_and_their_diff_printed",
            ),
        ],
    ),
    (
        "attempts show",
        &[
            (
                "--run",
                "afterwards::an_attempt_name_means_the_attempt_of_the_newest_run",
            ),
            (
                "--json",
                "afterwards::attempts_are_listed_shown_and_their_diff_printed",
            ),
        ],
    ),
    ("attempts diff", &[("--run", OTHER_RUN)]),
    (
        "attempts transcript",
        &[("--run", OTHER_RUN), ("--json", IN_THE_DEMO)],
    ),
    (
        "attempts restore",
        &[
            ("--run", OTHER_RUN),
            ("--dry-run", DRY_AND_JSON),
            ("--json", DRY_AND_JSON),
        ],
    ),
    (
        "log",
        &[
            (
                "--json",
                "budgets::a_receipt_can_be_read_as_text_markdown_and_json",
            ),
            (
                "--markdown",
                "budgets::a_receipt_can_be_read_as_text_markdown_and_json",
            ),
            ("--events", "log::past_runs_are_listed_and_shown_again"),
            ("--tui", "tui/openings::a_run_of_the_past_is_shown_again"),
        ],
    ),
    ("new", &[]),
    ("list", &[("--json", "commands::list_has_a_json_form")]),
    ("show", &[("--json", "commands::show_has_a_json_form")]),
    (
        "check",
        &[("--json", "check::json_has_every_finding_with_its_place")],
    ),
    (
        "prompt",
        &[("--story", "commands::prompt_takes_a_story_by_its_id")],
    ),
    ("learnings", &[]),
    ("learnings edit", &[]),
    ("learnings path", &[]),
    ("learnings clear", &[]),
    (
        "demo",
        &[
            (
                "--no-tui",
                "demo::on_a_terminal_the_demo_prints_a_log_if_asked_to",
            ),
            ("-v", DEMO),
            ("--verbose", DEMO),
        ],
    ),
    (
        "init",
        &[
            (
                "--print",
                "everyday/init::init_writes_the_file_once_and_prints_it_any_number_of_times",
            ),
            (
                "--no-run",
                "everyday/init::init_writes_the_file_once_and_prints_it_any_number_of_times",
            ),
        ],
    ),
    (
        "doctor",
        &[
            (
                "--json",
                "settings/flags::doctor_writes_an_object_when_asked",
            ),
            (
                "--gates",
                "doctor::gates_are_run_on_request_with_their_times",
            ),
        ],
    ),
    (
        "gc",
        &[
            ("--older-than", OLD_RUNS),
            (
                "--all-vaults",
                "housekeeping::the_vault_of_a_removed_work_tree_is_removed_except_its_notes",
            ),
            (
                "--forget",
                "housekeeping::a_vault_with_runs_or_attempts_is_removed_only_by_name",
            ),
            ("--dry-run", OLD_RUNS),
            ("-y", SHORT),
            ("--yes", OLD_RUNS),
            ("--json", OLD_RUNS),
        ],
    ),
    ("completions", &[]),
    ("man", &[]),
    ("help", &[]),
];

/// Variables of ralphtool that are not settings: those it sets for agents and notification
/// commands, and those that only tests and benchmarks set.
pub(crate) const NO_SETTINGS: &[&str] = &[
    "RALPHTOOL_ATTEMPT",
    "RALPHTOOL_CHANGE",
    "RALPHTOOL_CORPUS",
    "RALPHTOOL_KILL_ALL",
    "RALPHTOOL_KILL_AT",
    "RALPHTOOL_KILL_LOG",
    "RALPHTOOL_LEARNINGS",
    "RALPHTOOL_MESSAGE",
    "RALPHTOOL_OCCASION",
    "RALPHTOOL_PANIC_KEY",
    "RALPHTOOL_PROMPT",
    "RALPHTOOL_REQUIRE_AGENTS",
    "RALPHTOOL_REQUIRE_BWRAP",
    "RALPHTOOL_RUN",
    "RALPHTOOL_SESSION",
    "RALPHTOOL_STORY",
    "RALPHTOOL_TEST_AGENTS",
    "RALPHTOOL_UNSYNCED_BENCHMARK",
];
