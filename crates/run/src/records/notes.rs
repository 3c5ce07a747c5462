//! Notes from the user: each goes to the next attempt that starts and stays with its story.

use ralph_base::ids::StoryId;

/// The notes that are not over yet, in the order they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes(Vec<Note>);

/// One note.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Note {
    text: String,
    /// The story whose attempts get it; none while it waits for an attempt to start.
    story: Option<StoryId>,
}

impl Notes {
    /// Takes a note for the next attempt that starts.
    pub fn add(&mut self, text: String) {
        self.0.push(Note { text, story: None });
    }

    /// An attempt at this story starts: gives everything it is to be told.
    pub(crate) fn deliver(&mut self, story: &StoryId) -> Vec<String> {
        for note in &mut self.0 {
            note.story.get_or_insert_with(|| story.clone());
        }
        let of_story = |note: &&Note| note.story.as_ref() == Some(story);
        let told = self.0.iter().filter(of_story);
        told.map(|note| note.text.clone()).collect()
    }

    /// The story is over, and so are its notes.
    pub(crate) fn story_over(&mut self, story: &StoryId) {
        self.0.retain(|note| note.story.as_ref() != Some(story));
    }

    /// The notes that wait for an attempt to start.
    pub fn waiting(&self) -> impl Iterator<Item = &str> {
        let waiting = self.0.iter().filter(|note| note.story.is_none());
        waiting.map(|note| note.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_note_stays_with_the_story_it_was_delivered_to() {
        let (one, two) = (StoryId("1".to_owned()), StoryId("2".to_owned()));
        let mut notes = Notes::default();
        notes.add("a".to_owned());
        assert_eq!(notes.waiting().collect::<Vec<_>>(), ["a"]);
        assert_eq!(notes.deliver(&one), ["a"]);
        assert_eq!(notes.waiting().count(), 0);
        notes.add("b".to_owned());
        assert_eq!(notes.deliver(&one), ["a", "b"]);
        notes.add("c".to_owned());
        notes.story_over(&one);
        assert_eq!(notes.deliver(&two), ["c"]);
        assert_eq!(notes.deliver(&one), [""; 0]);
    }
}
