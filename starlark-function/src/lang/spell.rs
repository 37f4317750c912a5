//! Which known name a misspelled one was meant to be.

/// The candidate that is nearest, if one is near enough. Earlier ones win.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let fold = |name: &str| -> Vec<u8> {
        let letters = name.chars().filter(|c| *c != '_');
        letters
            .flat_map(char::to_lowercase)
            .collect::<String>()
            .into_bytes()
    };
    let name = fold(name);
    let mut best = None;
    let mut least = name.len().div_ceil(2);
    for candidate in candidates {
        let distance = distance(&name, &fold(candidate), least);
        if distance < least {
            least = distance;
            best = Some(candidate);
        }
    }
    best
}

/// Edits between two words; somewhat above `most` if there are more.
fn distance(a: &[u8], b: &[u8], most: usize) -> usize {
    let (mut short, mut long) = if a.len() > b.len() { (b, a) } else { (a, b) };
    // A short word that begins the long one is compared as a whole, as the
    // original does.
    if let Some(at) = (0..short.len()).find(|at| short[*at] != long[*at]) {
        (short, long) = (&short[at..], &long[at..]);
    }
    if short.is_empty() {
        return long.len();
    }
    if long.len() - short.len() > most {
        return long.len() - short.len();
    }
    let mut row: Vec<usize> = (0..=long.len()).collect();
    for (i, own) in short.iter().enumerate() {
        row[0] = i + 1;
        let mut best = i + 1;
        let mut diagonal = i;
        for (j, other) in long.iter().enumerate() {
            let substitution = diagonal + usize::from(own != other);
            let edits = substitution.min(1 + row[j]).min(1 + row[j + 1]);
            diagonal = row[j + 1];
            row[j + 1] = edits;
            best = best.min(edits);
        }
        if best > most {
            return best;
        }
    }
    row[long.len()]
}
