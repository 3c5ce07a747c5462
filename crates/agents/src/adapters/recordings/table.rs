//! What each recording of `tests/streams` amounts to.

/// What a recording amounts to, in one line each: how it ended and was promised, the tokens
/// (input, output, read from and written to a cache), tool calls with how many failed, and lines
/// that were not understood. A continued session is read here as if it were new: where the agent
/// reports the figures of the session, they are those of all its processes.
pub(super) const TABLE: &[(&str, Option<i32>, &str)] = &[
    (
        "claude-401",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | login: Invalid API key · Fix external API key ↵ log in w",
    ),
    (
        "claude-429-all",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | limit: API Error: Request rejected (429) · This reques",
    ),
    (
        "claude-429-once",
        Some(0),
        "ended | 12019+11+0+0 $0.048296 | 0/0/0 |",
    ),
    (
        "claude-bgturn",
        Some(0),
        "ended | 36770+76+0+0 $0.148600 | 1/0/0 |",
    ),
    (
        "claude-budget",
        Some(1),
        "error | 1200+40+300+100 $0.006160 | 1/0/0 | error: Reached maximum budget ($0.001)",
    ),
    (
        "claude-credit",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | credit: Credit balance is too low ↵ add credit to the acco",
    ),
    (
        "claude-ctx",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | overflow: Prompt is too long · the request is ~250000 tok",
    ),
    (
        "claude-echo",
        Some(0),
        "ended | 24121+46+0+0 $0.097404 | 1/0/0 |",
    ),
    (
        "claude-failed1",
        Some(0),
        "FAILED tests do not compile | 12020+17+0+0 $0.048420 | 0/0/0 |",
    ),
    (
        "claude-maxtok",
        Some(1),
        "error | 48519+12+0+0 $0.194316 | 0/0/0 | error: API Error: Claude's response exceeded the 128000",
    ),
    (
        "claude-maxturns",
        Some(1),
        "error | 1200+40+300+100 $0.006160 | 1/0/0 | error: Reached maximum number of turns (1)",
    ),
    (
        "claude-ok",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.018560 | 2/0/0 |",
    ),
    (
        "claude-parallel",
        Some(0),
        "COMPLETE | 24175+52+0+0 $0.097740 | 2/1/0 |",
    ),
    (
        "claude-partial",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.018560 | 2/0/0 |",
    ),
    (
        "claude-perm-default",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.018560 | 2/2/0 |",
    ),
    (
        "claude-sig-INT",
        Some(0),
        "error | 12019+39+0+0 $0.048856 | 1/1/0 | error: interrupted",
    ),
    ("claude-sig-TERM", Some(143), "open | 12019+1+0+0 | 1/1/0 |"),
    (
        "claude-subagent",
        Some(0),
        "ended | 41090+113+0+0 $0.166620 | 2/0/0 |",
    ),
    (
        "claude-think",
        Some(0),
        "ended | 12018+21+0+0 $0.048492 | 0/0/0 |",
    ),
    (
        "claude-usage-oauth",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | limit until 2026-11-16T01:20:00Z: You've hit your 5-hour limit · resets 1:20am (U",
    ),
    (
        "claude-v197-ok",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.023900 | 2/0/0 |",
    ),
    (
        "claude-warn-oauth",
        Some(0),
        "ended | 11950+10+0+0 $0.024000 | 0/0/0 |",
    ),
    (
        "claude-api2",
        Some(0),
        "COMPLETE | 15000+24+11000+90 $0.063130 | 1/0/0 |",
    ),
    (
        "claude-cont1",
        Some(0),
        "COMPLETE | 3300+36+600+60 $0.014340 | 2/0/0 |",
    ),
    (
        "claude-cont2",
        Some(0),
        "COMPLETE | 15000+24+11000+90 $0.063130 | 1/0/0 |",
    ),
    (
        "claude-cont3",
        Some(0),
        "COMPLETE | 9000+17+7000+5 $0.037765 | 0/0/0 |",
    ),
    ("claude-kill1", None, "open | 2100+2+300+50 | 2/0/0 |"),
    (
        "claude-kill2",
        Some(0),
        "COMPLETE | 15000+24+11000+90 $0.063130 | 1/0/0 |",
    ),
    (
        "claude-unknown",
        Some(1),
        "error | 0+0+0+0 $0.000000 | 0/0/0 | error: No conversation found with session ID: 11111111-",
    ),
    (
        "codex-429-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | limit: exceeded retry limit, last status: 429 Too Many ",
    ),
    ("codex-429-once", Some(0), "ended | 9655+11+0+0 | 0/0/0 |"),
    (
        "codex-500-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | outage: We’re currently experiencing high demand, whic",
    ),
    (
        "codex-apidown",
        None,
        "open | 0+0+0+0 | 0/0/0 | outage: Connection failed: error sending request",
    ),
    (
        "codex-credit",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | credit: Quota exceeded. Check your plan and billing deta",
    ),
    (
        "codex-drop-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | outage: stream disconnected before completion: error sen",
    ),
    (
        "codex-failed",
        Some(0),
        "FAILED tests do not compile | 9654+14+0+0 | 0/0/0 |",
    ),
    ("codex-model", Some(0), "COMPLETE | 10076+7+0+0 | 0/0/0 |"),
    ("codex-ok", Some(0), "COMPLETE | 1100+95+2800+0 | 2/0/0 |"),
    (
        "codex-parallel",
        Some(0),
        "COMPLETE | 19526+37+0+0 | 2/1/0 |",
    ),
    ("codex-resume", Some(0), "COMPLETE | 19400+14+0+0 | 0/0/0 |"),
    (
        "codex-sfail-ctx",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | overflow: Codex ran out of room in the model's context win",
    ),
    ("codex-sfail-rate", Some(0), "ended | 9656+10+0+0 | 0/0/0 |"),
    ("codex-think", Some(0), "ended | 9655+21+0+0 | 0/0/0 |"),
    ("codex-tool40", Some(0), "COMPLETE | 19455+41+0+0 | 1/0/0 |"),
    (
        "codex-usage",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | limit until 2026-11-16T01:21:00Z: You’ve hit your usage limit. Upgrade to Pro (h",
    ),
    ("codex-cont1", Some(0), "COMPLETE | 2700+36+600+0 | 2/0/0 |"),
    ("codex-cont2", Some(0), "COMPLETE | 0+60+11600+0 | 1/0/0 |"),
    ("codex-cont3", Some(0), "COMPLETE | 0+77+18600+0 | 0/0/0 |"),
    ("codex-kill1", None, "open | 0+0+0+0 | 2/0/0 |"),
    (
        "codex-kill2",
        Some(0),
        "COMPLETE | 4900+34+11100+0 | 1/0/0 |",
    ),
    (
        "gemini-401",
        Some(145),
        "error | 0+0+0+0 | 0/0/0 | login: invalid x-api-key ↵ set `GEMINI_API_KEY`, or run `",
    ),
    (
        "gemini-429-all",
        Some(173),
        "error | 0+0+0+0 | 0/0/0 | limit: This request would exceed your rate limit",
    ),
    ("gemini-bigout", Some(0), "open | 0+0+0+0 | 1/0/1 |"),
    (
        "gemini-credit",
        Some(173),
        "error | 0+0+0+0 | 0/0/0 | limit until 2026-11-16T08:00:00Z: You have exhausted your daily quota on this mode",
    ),
    (
        "gemini-failed",
        Some(0),
        "FAILED tests do not compile | 12331+14+0+0 | 0/0/0 |",
    ),
    ("gemini-hangmid", Some(0), "open | 0+0+0+0 | 0/0/0 |"),
    ("gemini-noyolo", Some(0), "ended | 900+40+300+0 | 0/0/0 |"),
    ("gemini-ok", Some(0), "COMPLETE | 1100+95+2800+0 | 2/0/0 |"),
    (
        "opencode-401",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | login: invalid x-api-key ↵ log in with `opencode auth log",
    ),
    (
        "opencode-429-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | limit until 2026-11-15T19:27:41.966Z: This request would exceed your rate limit",
    ),
    (
        "opencode-anthropic",
        Some(0),
        "COMPLETE | 3900+95+2800+100 $0.014340 | 2/0/0 |",
    ),
    (
        "opencode-badtool",
        Some(0),
        "COMPLETE | 15698+16+0+0 $0.047334 | 1/1/0 |",
    ),
    (
        "opencode-ctx",
        Some(1),
        "ended | 8451+5+0+0 $0.025428 | 0/0/0 |",
    ),
    (
        "opencode-ext-noauto",
        Some(0),
        "open | 7773+32+0+0 $0.023799 | 1/1/0 |",
    ),
    (
        "opencode-ok",
        Some(0),
        "COMPLETE | 1100+95+2800+0 $0.005565 | 2/0/0 |",
    ),
    (
        "opencode-parallel",
        Some(0),
        "COMPLETE | 15665+35+0+0 $0.047520 | 2/1/0 |",
    ),
    (
        "opencode-streamerr",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | outage: Overloaded",
    ),
    (
        "opencode-think2",
        Some(0),
        "ended | 7772+21+0+0 $0.023631 | 0/0/0 |",
    ),
    (
        "opencode-cont1",
        Some(0),
        "COMPLETE | 2700+36+600+0 $0.008820 | 2/0/0 |",
    ),
    (
        "opencode-cont2",
        Some(0),
        "COMPLETE | 0+24+11000+0 $0.003660 | 1/0/0 |",
    ),
    (
        "opencode-cont3",
        Some(0),
        "COMPLETE | 0+17+7000+0 $0.002355 | 0/0/0 |",
    ),
    (
        "copilot-401",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | login: Authentication failed with provider at http://lo",
    ),
    (
        "copilot-429-all",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | limit: Failed to get response from the AI model; retrie",
    ),
    ("copilot-ok", Some(0), "COMPLETE | 0+0+0+0 | 2/0/0 |"),
    ("copilot-cont2", Some(0), "COMPLETE | 0+0+0+0 | 1/0/0 |"),
    ("copilot-kill2", Some(0), "COMPLETE | 0+0+0+0 | 1/1/0 |"),
    (
        "goose-401",
        Some(0),
        "error | 0+0+0+0 | 0/0/3 | login: Authentication error: Authentication failed. Sta",
    ),
    (
        "goose-429-all",
        Some(0),
        "error | 0+0+0+0 | 0/0/3 | limit: Rate limit exceeded: This request would exceed y",
    ),
    ("goose-ok", Some(0), "COMPLETE | 2600+65+0+0 | 1/0/3 |"),
    ("goose-kill1", None, "open | 0+0+0+0 | 2/0/0 |"),
    ("goose-kill2", Some(0), "COMPLETE | 16000+34+0+0 | 1/0/0 |"),
    (
        "pi-401",
        Some(0),
        "error | 0+0+0+0 | 0/0/0 | login: invalid x-api-key ↵ run `pi` once and use `/login`",
    ),
    (
        "pi-429-all",
        Some(0),
        "error | 0+0+0+0 | 0/0/0 | limit: This request would exceed your rate limit",
    ),
    (
        "pi-ok",
        Some(0),
        "COMPLETE | 1100+95+2800+0 $0.005565 | 2/0/0 |",
    ),
    (
        "pi-cont2",
        Some(0),
        "COMPLETE | 0+24+11000+0 $0.003660 | 1/0/0 |",
    ),
    (
        "pi-kill2",
        Some(0),
        "COMPLETE | 4000+24+11000+0 $0.015660 | 1/0/0 |",
    ),
    (
        "qwen-401",
        Some(1),
        "error | 0+0+0+0 | 0/0/0 | login: 401 invalid x-api-key ↵ run `qwen` once and log in",
    ),
    (
        "qwen-429-all",
        None,
        "open | 0+0+0+0 | 0/0/0 | limit: 429 This request would exceed your rate limit",
    ),
    ("qwen-dropmid1", Some(0), "ended | 31291+20+0+0 | 0/0/0 |"),
    ("qwen-ok", Some(0), "COMPLETE | 1100+95+2800+0 | 2/0/0 |"),
    ("qwen-cont1", Some(0), "COMPLETE | 2700+36+600+0 | 2/0/0 |"),
    (
        "qwen-cont2",
        Some(0),
        "COMPLETE | 6700+60+11600+0 | 1/0/0 |",
    ),
    (
        "qwen-cont3",
        Some(0),
        "COMPLETE | 10700+94+25600+0 | 0/0/0 |",
    ),
    ("qwen-kill1", None, "open | 1800+22+300+0 | 2/0/0 |"),
    (
        "qwen-kill2",
        Some(0),
        "COMPLETE | 5800+46+11300+0 | 1/0/0 |",
    ),
];
