//! A text that the API server makes for one object alone: its uid, which is a UUID, or its version, which is
//! a number. Both are opaque by contract, so any other text is kept as well; these need no memory of their
//! own.

use std::fmt;

/// Written down exactly as it was read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Compact {
    Uuid([u8; 16]),
    Number(u64),
    Other(Box<str>),
}

/// Letters of a UUID, and where its hyphens are.
const LENGTH: usize = 36;
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl From<&str> for Compact {
    fn from(text: &str) -> Self {
        let number = || Some(Self::Number(text.parse().ok()?));
        let compact = uuid(text).map(Self::Uuid).or_else(number);
        // "007" and "ABCD…" are other texts than those that would be written.
        let is_same = |compact: &Self| compact.to_string() == text;
        let compact = compact.filter(is_same);
        compact.unwrap_or_else(|| Self::Other(text.into()))
    }
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    if text.len() != LENGTH || !text.is_ascii() {
        return None;
    }
    let digits: String = text.split('-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some(number.to_be_bytes())
}

impl fmt::Display for Compact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(bytes) => {
                let mut text = format!("{:032x}", u128::from_be_bytes(*bytes));
                for place in HYPHENS {
                    text.insert(place, '-');
                }
                formatter.write_str(&text)
            }
            Self::Number(number) => number.fmt(formatter),
            Self::Other(text) => formatter.write_str(text),
        }
    }
}

impl fmt::Debug for Compact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_written_as_it_was_read_and_the_usual_ones_need_no_memory() {
        for text in ["6f1c2a34-0b9d-4e21-9c57-00a1b2c3d4e5", "123456789", "0"] {
            let compact = Compact::from(text);
            assert_eq!(compact.to_string(), text);
            assert!(!matches!(compact, Compact::Other(_)), "{text}");
        }
        let others = [
            "",
            "007",
            "+7",
            "uid-1",
            "99999999999999999999",
            "6F1C2A34-0B9D-4E21-9C57-00A1B2C3D4E5",
            "6f1c2a340-b9d-4e21-9c57-00a1b2c3d4e5",
            "6f1c2a34-0b9d-4e21-9c57-00a1b2c3d4é",
            &"u".repeat(LENGTH),
        ];
        for text in others {
            let compact = Compact::from(text);
            assert_eq!(compact, Compact::Other(text.into()));
            assert_eq!(compact.to_string(), text);
        }
        assert_eq!(size_of::<Option<Compact>>(), 24);
    }
}
