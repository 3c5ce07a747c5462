//! Notes from the user: each belongs to a story, and every later attempt at that story gets it.

use ralph_base::ids::StoryId;

/// The notes whose story is not over yet, in the order they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes(Vec<Note>);

/// One note.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Note {
    text: String,
    /// The story it is for; none where it was written between two stories, until an attempt starts.
    story: Option<StoryId>,
    /// An attempt has got it.
    delivered: bool,
}

/// A note that no attempt has got yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingNote<'a> {
    /// The story it is for; none for the next one.
    pub story: Option<&'a StoryId>,
    /// The user's words.
    pub text: &'a str,
}

impl Notes {
    /// Takes a note for a story; without one it is for the story of the next attempt.
    pub fn add(&mut self, story: Option<StoryId>, text: String) {
        self.0.push(Note {
            text,
            story,
            delivered: false,
        });
    }

    /// Takes the answer to a question that an agent asked about a story.
    pub(crate) fn add_answer(&mut self, story: &StoryId, question: &str, answer: &str) {
        let text = format!("You asked: {question}\nThe answer: {answer}");
        self.add(Some(story.clone()), text);
    }

    /// An attempt at this story starts: gives all notes for it.
    pub(crate) fn deliver(&mut self, story: &StoryId) -> Vec<String> {
        let mut texts = Vec::new();
        for note in &mut self.0 {
            if note.story.get_or_insert_with(|| story.clone()) == story {
                note.delivered = true;
                texts.push(note.text.clone());
            }
        }
        texts
    }

    /// The story is over, and so are its notes; gives those that no attempt has got.
    pub(crate) fn story_over(&mut self, story: &StoryId) -> Vec<String> {
        let is_of_story = |note: &mut Note| note.story.as_ref() == Some(story);
        let over = self.0.extract_if(.., is_of_story);
        let unused = over.filter(|note| !note.delivered);
        unused.map(|note| note.text).collect()
    }

    /// The notes that wait for an attempt to start.
    pub fn waiting(&self) -> impl Iterator<Item = WaitingNote<'_>> {
        let waiting = self.0.iter().filter(|note| !note.delivered);
        waiting.map(|note| WaitingNote {
            story: note.story.as_ref(),
            text: &note.text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn waiting(notes: &Notes) -> Vec<(Option<&str>, &str)> {
        let waiting = notes.waiting();
        waiting
            .map(|note| (note.story.map(|story| story.0.as_str()), note.text))
            .collect()
    }

    #[test]
    fn a_note_stays_with_its_story() {
        let (one, two) = (StoryId("1".to_owned()), StoryId("2".to_owned()));
        let mut notes = Notes::default();
        notes.add(Some(one.clone()), "a".to_owned());
        assert_eq!(waiting(&notes), [(Some("1"), "a")]);
        assert_eq!(notes.deliver(&two), [""; 0]);
        assert_eq!(notes.deliver(&one), ["a"]);
        assert_eq!(waiting(&notes), []);
        notes.add(Some(one.clone()), "b".to_owned());
        assert_eq!(notes.deliver(&one), ["a", "b"]);
        notes.add(Some(one.clone()), "c".to_owned());
        assert_eq!(notes.story_over(&one), ["c"]);
        assert_eq!(notes.deliver(&two), [""; 0]);
        assert_eq!(notes.deliver(&one), [""; 0]);
    }

    #[test]
    fn a_note_without_a_story_is_for_that_of_the_next_attempt() {
        let (one, two) = (StoryId("1".to_owned()), StoryId("2".to_owned()));
        let mut notes = Notes::default();
        notes.add(None, "a".to_owned());
        assert_eq!(waiting(&notes), [(None, "a")]);
        assert_eq!(notes.deliver(&one), ["a"]);
        assert_eq!(notes.deliver(&two), [""; 0]);
        assert_eq!(notes.deliver(&one), ["a"]);
    }
}
