use proptest::prelude::*;

use super::{CUT, Promise, PromiseScanner, REASON_CAP};

fn promise(text: &str) -> Option<Promise> {
    let mut scanner = PromiseScanner::default();
    scanner.feed(text);
    scanner.found()
}

fn failed(reason: &str) -> Promise {
    Promise::Failed(reason.to_owned())
}

fn blocked(question: &str) -> Promise {
    Promise::Blocked(question.to_owned())
}

#[track_caller]
fn case(text: &str, want: impl Into<Option<Promise>>) {
    assert_eq!(promise(text), want.into(), "{text:?}");
}

#[test]
fn finds_a_tag_alone_on_its_line() {
    case("<promise>COMPLETE</promise>", Promise::Complete);
    case(
        "All done.\n\n<promise>COMPLETE</promise>\n",
        Promise::Complete,
    );
    case(
        "Done.\r\n  <promise>COMPLETE</promise>\t\r\n",
        Promise::Complete,
    );
    case(
        "<promise>FAILED: no network</promise>",
        failed("no network"),
    );
    case(
        "Bye.\n<promise>COMPLETE</promise>\nmore words",
        Promise::Complete,
    );
}

#[test]
fn forgives_emphasis_and_backticks_around_the_whole_tag() {
    case("**<promise>COMPLETE</promise>**", Promise::Complete);
    case("_<promise>COMPLETE</promise>_", Promise::Complete);
    case("*<promise>COMPLETE</promise>*", Promise::Complete);
    case("`<promise>COMPLETE</promise>`", Promise::Complete);
    case("**`<promise>COMPLETE</promise>`**", Promise::Complete);
    case("```<promise>COMPLETE</promise>```", Promise::Complete);
    case("**<promise>FAILED: a\nb</promise>**", failed("a\nb"));
    case("**<promise>COMPLETE</promise>", None);
}

#[test]
fn forgives_odd_case_and_spacing() {
    case("<Promise> complete </PROMISE>", Promise::Complete);
    case("< promise >COMPLETE</ promise >", Promise::Complete);
    case("<promise>\nCOMPLETE\n</promise>", Promise::Complete);
    case("<promise>failed : spaced  </promise>", failed("spaced"));
    case("<promise>Failed - dashed</promise>", failed("dashed"));
}

#[test]
fn does_not_count_prose_quotes_lists_and_fences() {
    case("First verdict. <promise>COMPLETE</promise>", None);
    case("I will say <promise>COMPLETE</promise> later", None);
    case("<promise>COMPLETE</promise> is what I would say", None);
    case("<promise>COMPLETE</promise>.", None);
    case("\"<promise>COMPLETE</promise>\"", None);
    case(
        "<promise>COMPLETE</promise> or <promise>FAILED: x</promise>",
        None,
    );
    case("> <promise>COMPLETE</promise>", None);
    case("- <promise>COMPLETE</promise>", None);
    case("* <promise>COMPLETE</promise>", None);
    case("1. <promise>COMPLETE</promise>", None);
    case("```\n<promise>COMPLETE</promise>\n```", None);
    case("~~~ text\n<promise>COMPLETE</promise>\n~~~\n", None);
    case("- ```\n  <promise>COMPLETE</promise>\n  ```\n", None);
    case("````\n```\n<promise>COMPLETE</promise>\n````", None);
    case(
        "```\n~~~\n```\n<promise>COMPLETE</promise>",
        Promise::Complete,
    );
    case("> ```\n\n<promise>COMPLETE</promise>", Promise::Complete);
}

#[test]
fn a_promise_on_the_last_line_counts_whatever_fences_were_left_open() {
    let never_closed = "```\nnever closed\n<promise>COMPLETE</promise>";
    case(never_closed, Promise::Complete);
    case(&format!("{never_closed}\n\n \n"), Promise::Complete);
    // A fence within a fence of the same length: the third one opens again.
    let nested = "```md\n```sh\nmake\n```\n```\nAll done.\n\n<promise>COMPLETE</promise>\n";
    case(nested, Promise::Complete);
    case(
        "    ```\nx\n**<promise>COMPLETE</promise>**",
        Promise::Complete,
    );
    case(
        "<promise>COMPLETE</promise>\n```\n<promise>FAILED: a\nb</promise>",
        failed("a\nb"),
    );
    // In the middle, or in a fence that is closed, it is quoted.
    case("```\n<promise>COMPLETE</promise>\nwould be wrong", None);
    case("```\n<promise>COMPLETE</promise>\n```\n", None);
    case("```\nnever closed\n> <promise>COMPLETE</promise>", None);
}

#[test]
fn does_not_count_other_words() {
    case("", None);
    case("<promise></promise>", None);
    case("<promise>COMPLETED</promise>", None);
    case("<promise>FAILURE: x</promise>", None);
    case("<promise>maybe</promise>", None);
    case("<promise>COMPLETE", None);
    case("<promises>COMPLETE</promises>", None);
}

#[test]
fn takes_the_last_one() {
    let both = "<promise>COMPLETE</promise>\n<promise>FAILED: found a bug</promise>";
    case(both, failed("found a bug"));
    let back = "<promise>FAILED: x</promise>\nfixed it\n<promise>COMPLETE</promise>";
    case(back, Promise::Complete);
    case(
        "<promise>COMPLETE</promise>\n<promise>COMPLETE</promise>",
        Promise::Complete,
    );
    case(
        "<promise>COMPLETE</promise>\n```\n<promise>FAILED: x</promise>\n```",
        Promise::Complete,
    );
}

#[test]
fn a_question_is_read_as_a_reason_is() {
    case("<promise>BLOCKED: A or B?</promise>", blocked("A or B?"));
    case(
        "**<promise>blocked - A\nor B?</promise>**",
        blocked("A\nor B?"),
    );
    case("<promise>BLOCKED</promise>", blocked(""));
    case("<promise>BLOCKEDNESS: A?</promise>", None);
    case("I am <promise>BLOCKED: A?</promise>", None);
    case("```\n<promise>BLOCKED: A?</promise>\n```\n", None);
    // The last one wins, whichever it is, and one that was cut short counts.
    let asks = "<promise>BLOCKED: A?</promise>\n";
    case(
        &format!("<promise>COMPLETE</promise>\n{asks}"),
        blocked("A?"),
    );
    case(
        &format!("<promise>FAILED: x</promise>\n{asks}"),
        blocked("A?"),
    );
    case(&format!("{asks}<promise>FAILED: x</promise>"), failed("x"));
    case(
        &format!("{asks}<promise>COMPLETE</promise>"),
        Promise::Complete,
    );
    case(
        "<promise>COMPLETE</promise>\n<promise>BLOCKED: A o",
        blocked("A o"),
    );
}

#[test]
fn reads_reasons_over_several_lines_and_none() {
    case(
        "<promise>FAILED: two tests:\n\n- a\n- b\n</promise>",
        failed("two tests:\n\n- a\n- b"),
    );
    case(
        "<promise>FAILED: see\n```\nerror\n```\n</promise>",
        failed("see\n```\nerror\n```"),
    );
    case(
        "<promise>FAILED: see\n```\nerror</promise>\nx",
        failed("see\n```\nerror"),
    );
    case("<promise>FAILED:</promise>", failed(""));
    case("<promise>FAILED</promise>", failed(""));
    case("<promise>FAILED: a\nb</promise> sorry", None);
}

#[test]
fn an_unclosed_failure_counts_unless_another_tag_follows() {
    case(
        "<promise>COMPLETE</promise>\n<promise>FAILED: cut sh",
        failed("cut sh"),
    );
    case(
        "<promise>FAILED: a\n<promise>COMPLETE</promise>",
        Promise::Complete,
    );
}

#[test]
fn caps_the_reason_and_still_sees_the_end() {
    let long = "ä".repeat(REASON_CAP);
    for text in [
        format!("<promise>FAILED: {long}</promise>"),
        format!("<promise>FAILED: {}</promise>", "ä\n".repeat(REASON_CAP)),
    ] {
        let Some(Promise::Failed(reason)) = promise(&text) else {
            panic!("no failure found");
        };
        assert!(reason.len() <= REASON_CAP && reason.len() > REASON_CAP - 4);
        assert!(reason.ends_with(CUT), "{reason}");
    }
}

#[test]
fn holds_little_of_a_long_text() {
    let mut scanner = PromiseScanner::default();
    scanner.feed("<promise>FAILED: ");
    for _ in 0..1000 {
        scanner.feed(&"x".repeat(4096));
    }
    let held = format!("{scanner:?}").len();
    assert!(held < 64 * 1024, "{held}");
    scanner.feed("</promise>\n");
    assert!(matches!(scanner.found(), Some(Promise::Failed(_))));
}

/// Texts made of the pieces that matter.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<promise>",
        "</promise>",
        "COMPLETE",
        "FAILED: ä reason",
        "BLOCKED: ä question",
        "\n",
        "\r\n",
        "```",
        "~~~",
        "**",
        "`",
        "> ",
        "- ",
        " ",
        "word",
        "<promise>COMPLETE</promise>",
        "\n<promise>FAILED: x</promise>\n",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_promise(text in texts(), cuts in prop::collection::vec(0usize..200, 0..12)) {
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut)).collect();
        cuts.sort_unstable();
        let mut scanner = PromiseScanner::default();
        let mut from = 0;
        for cut in cuts {
            scanner.feed(&text[from..cut]);
            from = cut;
        }
        scanner.feed(&text[from..]);
        prop_assert_eq!(scanner.found(), promise(&text));
    }
}
