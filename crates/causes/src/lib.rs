//! An error with its causes, on one line: what happened, then why, then why that.

use std::error::Error;

/// The error's text and those of its causes. Some errors say their cause themselves: it is
/// not said again.
pub fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::{Error, in_full};

    #[derive(Debug)]
    struct Said(&'static str, Option<Box<Self>>);

    impl fmt::Display for Said {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Said {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    fn chain(texts: &[&'static str]) -> Said {
        let cause = texts.get(1..).filter(|rest| !rest.is_empty()).map(chain);
        Said(texts[0], cause.map(Box::new))
    }

    #[test]
    fn causes_follow_their_effects() {
        let error = chain(&["cannot pull", "cannot connect", "refused"]);
        assert_eq!(in_full(&error), "cannot pull: cannot connect: refused");
        assert_eq!(in_full(&chain(&["refused"])), "refused");
    }

    #[test]
    fn a_cause_that_was_said_is_not_said_again() {
        let error = chain(&["cannot connect: refused", "refused", "errno 111"]);
        assert_eq!(in_full(&error), "cannot connect: refused: errno 111");
    }
}
