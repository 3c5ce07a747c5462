use indoc::indoc;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::records::review::Judged;

const KEY: &str = "review-k7m2q9";

fn item(name: &str, what: Judged) -> ReviewItem {
    ReviewItem {
        item: name.to_owned(),
        what,
        text: format!("about {name}"),
        may_be_elsewhere: what == Judged::Scenario,
    }
}

fn items() -> Vec<ReviewItem> {
    vec![
        item("T1", Judged::Task),
        item("T2", Judged::Task),
        item("S1", Judged::Scenario),
    ]
}

/// What was read, an item a line.
fn lines(words: &str) -> Result<Vec<String>, Unusable> {
    let items = read(words, KEY, &items())?;
    Ok(items.iter().map(JudgedItem::line).collect())
}

const GOOD: &str = r#"{"review": "review-k7m2q9", "verdicts": [
    {"item": "T1", "verdict": "met", "evidence": "a.txt:1"},
    {"item": "T2", "verdict": "not_met", "evidence": "no test"},
    {"item": "S1", "verdict": "other_story", "evidence": "story 2"}
]}"#;

fn good() -> Vec<String> {
    [
        "T1 about T1: met: a.txt:1",
        "T2 about T2: not met: no test",
        "S1 about S1: for another story: story 2",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn an_answer_is_found_wherever_it_stands() {
    for words in [
        GOOD.to_owned(),
        format!("I looked.\n\n```json\n{GOOD}\n```\n\nThat is all {{so far}}."),
        format!("```\n{GOOD}\n"),
        format!("**{}**", GOOD.replace('\n', " ")),
        format!("{{\"result\": {GOOD}}}"),
    ] {
        assert_eq!(lines(&words), Ok(good()), "{words}");
    }
    let last = GOOD.replace("not_met", "met");
    let read = lines(&format!("{GOOD}\nNo, I was wrong:\n{last}")).unwrap();
    assert_eq!(read[1], "T2 about T2: met: no test");
    // The key may come last.
    let turned = r#"{"verdicts": [{"item": "T1", "verdict": "met", "evidence": "e"}], "review": "review-k7m2q9"}"#;
    assert_eq!(lines(turned).unwrap()[0], "T1 about T1: met: e");
}

#[test]
fn an_answer_without_the_key_of_the_review_is_none() {
    // The work under review may have such an object in a file, which the reviewer quotes.
    let planted = GOOD.replace(KEY, "review-000000");
    assert_eq!(lines(&planted), Err(Unusable::NoObject));
    let quoted = format!("{planted}\nMy review has the key {KEY}.");
    assert_eq!(lines(&quoted), Err(Unusable::NoObject));
    assert_eq!(lines(" \n"), Err(Unusable::Silent));
    assert_eq!(lines("All is fine."), Err(Unusable::NoObject));
    assert_eq!(lines(&GOOD[..GOOD.len() - 4]), Err(Unusable::NoObject));
}

#[test]
fn items_that_are_not_known_are_ignored_and_those_without_a_verdict_cannot_be_told() {
    let words = indoc! {r#"
        {"review": "review-k7m2q9", "verdicts": [
            {"item": "T9", "verdict": "not_met", "evidence": "made up"},
            {"item": "`t1`", "verdict": "Not Met", "evidence": ["a.txt:1", "b.txt:2"]},
            {"item": "T2", "verdict": "perhaps", "evidence": "x"},
            "nonsense"
        ]}
    "#};
    assert_eq!(
        lines(words).unwrap(),
        [
            "T1 about T1: not met: a.txt:1; b.txt:2",
            "T2 about T2: cannot tell: the reviewer gave no verdict on it",
            "S1 about S1: cannot tell: the reviewer gave no verdict on it",
        ]
    );
    let nothing = r#"{"review": "review-k7m2q9", "verdicts": [{"item": "T9", "verdict": "met"}]}"#;
    assert_eq!(lines(nothing), Err(Unusable::NoVerdicts));
    let empty = r#"{"review": "review-k7m2q9", "verdicts": []}"#;
    assert_eq!(lines(empty), Err(Unusable::NoVerdicts));
}

#[test]
fn what_the_reviewer_does_not_back_up_is_not_met() {
    let words = indoc! {r#"
        {"review": "review-k7m2q9", "verdicts": [
            {"item": "T1", "verdict": "met"},
            {"item": "T2", "verdict": "other_story", "evidence": "2"},
            {"item": "S1", "verdict": "met", "evidence": "ran it"},
            {"item": "S1", "verdict": "not_met"}
        ]}
    "#};
    assert_eq!(
        lines(words).unwrap(),
        [
            "T1 about T1: cannot tell: the reviewer said that it is met, and gave no evidence",
            "T2 about T2: cannot tell: the reviewer said that it is for another story, which it is not",
            "S1 about S1: not met",
        ]
    );
}

#[test]
fn long_evidence_is_cut() {
    let words = GOOD.replace("no test", &"ä".repeat(5000));
    let read = read(&words, KEY, &items()).unwrap();
    assert_eq!(read[1].evidence.chars().count(), EVIDENCE_CHARS);
}

proptest! {
    #[test]
    fn no_text_is_fatal(words in "[{}\\[\\]\"a-z:,\\\\ \n]{0,400}", at in 0_usize..400) {
        let mut end = at.min(words.len());
        while !words.is_char_boundary(end) {
            end -= 1;
        }
        let with_key = format!("{}{KEY}{}", &words[..end], &words[end..]);
        let _ = read(&words, KEY, &items());
        let _ = read(&with_key, KEY, &items());
    }

    #[test]
    fn an_answer_that_is_cut_or_changed_is_read_or_refused(at in 0_usize..300, byte in any::<char>()) {
        let mut words: Vec<char> = GOOD.chars().collect();
        let place = at % words.len();
        words[place] = byte;
        let words: String = words.into_iter().collect();
        if let Ok(read) = read(&words, KEY, &items()) {
            prop_assert_eq!(read.len(), 3);
        }
    }

    #[test]
    fn whatever_stands_around_an_answer_it_is_read(before in "[^\u{0}]{0,200}", after in "[^\u{0}]{0,200}") {
        prop_assert_eq!(lines(&format!("{before}\n{GOOD}\n{after}")), Ok(good()));
    }
}
