//! The scripted model itself: which step a request gets.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::bench::script::{complete, failed, refuse, say};
use crate::bench::{Play, Request, Script, Tool};

/// What a request is about, as far as it decides who asks.
#[derive(Clone, Copy)]
struct Asked {
    session: Option<&'static str>,
    prompt: &'static str,
    answers: usize,
    offers_tools: bool,
}

/// A conversation that begins.
const BEGINS: Asked = Asked {
    session: None,
    prompt: "do A",
    answers: 0,
    offers_tools: true,
};

impl Asked {
    fn request(self) -> Request {
        let mut request = Request {
            session: self.session.map(str::to_owned),
            opening: self.prompt.to_owned(),
            answers: self.answers,
            ..Request::default()
        };
        if self.offers_tools {
            let tool = Tool::Function(Value::Null);
            request.tools.insert("tool".to_owned(), tool);
        }
        request
    }
}

/// Attempt and step each request gets; 0 for what is in no script.
fn served(script: Script, asked: &[Asked]) -> Vec<(usize, usize)> {
    let mut play = Play::new(vec![script]);
    asked
        .iter()
        .map(|asked| {
            let (served, _) = play.next(&asked.request());
            (served.attempt, served.step)
        })
        .collect()
}

/// Two attempts of two steps.
fn two_by_two() -> Script {
    Script::on("do A")
        .attempt([say("first"), failed("why")])
        .attempt([say("first"), complete()])
}

/// What has no tools, or no word of a script, eats no steps.
pub(crate) fn asides_eat_no_steps() {
    let goes_on = Asked {
        answers: 1,
        ..BEGINS
    };
    let title = Asked {
        offers_tools: false,
        ..BEGINS
    };
    let other = Asked {
        prompt: "do B",
        ..BEGINS
    };
    let asked = [title, BEGINS, other, title, goes_on];
    assert_eq!(
        served(two_by_two(), &asked),
        [(0, 0), (1, 1), (0, 0), (0, 0), (1, 2)]
    );
}

/// An agent that names its session is known by it, whatever else it says.
pub(crate) fn a_session_is_an_attempt() {
    let one = Asked {
        session: Some("one"),
        ..BEGINS
    };
    let shortened = Asked {
        prompt: "a summary",
        ..one
    };
    let two = Asked {
        session: Some("two"),
        ..BEGINS
    };
    assert_eq!(
        served(two_by_two(), &[one, one, shortened, two, one, two]),
        [(1, 1), (1, 2), (1, 2), (2, 1), (1, 2), (2, 2)]
    );
}

/// One that does not is known by its prompt and by how the conversation stands.
pub(crate) fn a_conversation_that_begins_again_is_an_attempt() {
    let goes_on = Asked {
        answers: 1,
        ..BEGINS
    };
    assert_eq!(
        served(two_by_two(), &[BEGINS, goes_on, BEGINS, goes_on]),
        [(1, 1), (1, 2), (2, 1), (2, 2)]
    );
    let script = Script::on("do A")
        .attempt([refuse(500).into(), refuse(429).into()])
        .attempt([complete()]);
    assert_eq!(
        served(script, &[BEGINS, BEGINS, BEGINS, BEGINS]),
        [(1, 1), (1, 2), (2, 1), (3, 1)]
    );
}

/// A session that is continued is the same attempt, in its next round.
pub(crate) fn a_continued_session_is_a_round() {
    let script = Script::on("do A")
        .attempt([say("first"), say("second")])
        .round([complete()]);
    let mut play = Play::new(vec![script]);
    let again = "Nothing was undone: the files are as you left them.";
    let places: Vec<_> = ["", "", again, again]
        .into_iter()
        .map(|later| {
            let begun = Asked {
                session: Some("one"),
                ..BEGINS
            };
            let request = Request {
                later: later.to_owned(),
                ..begun.request()
            };
            let (served, _) = play.next(&request);
            (served.attempt, served.round, served.step)
        })
        .collect();
    assert_eq!(places, [(1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 1)]);
}
