//! Makes a status fit into the header block that carries it.

/// Most bytes of message and details as they are encoded, less their headers'
/// names. grpc-go is moving its limit for a whole header block to 8 KiB; the rest
/// is for other headers.
pub(super) const BUDGET: usize = 6 * 1024 - 64;

/// The share of the message. Most callers show only that, so it gets the most.
const MESSAGE_BUDGET: usize = BUDGET * 3 / 4;

/// What one field of the details costs besides its text, and more.
pub(super) const OVERHEAD: usize = 80;

/// Headline, results and log as one text that costs at most [`MESSAGE_BUDGET`].
/// The headline is cut last, the log first, and the short `end` never.
pub(super) fn message(headline: &str, results: &str, log: &str, end: &str) -> String {
    let headline = shorten_to_cost(headline, MESSAGE_BUDGET * 2 / 3);
    let budget = MESSAGE_BUDGET - cost(end);
    let mut message = headline;
    for (title, part, share) in [("\n", results, 2), ("\nstderr:\n", log, 1)] {
        if !part.is_empty() {
            let left = budget.saturating_sub(cost(&message) + cost(title));
            // Results leave half of the room to a log that comes after them.
            let all = cost(results) + cost(log) <= left;
            let room = if share == 2 && !log.is_empty() && !all {
                left / 2
            } else {
                left
            };
            message.push_str(title);
            message.push_str(&shorten_to_cost(part, room));
        }
    }
    message.push_str(end);
    message
}

/// How many bytes of details fit beside `message`.
pub(super) fn left_for_details(message: &str) -> usize {
    BUDGET.saturating_sub(cost(message) + OVERHEAD) * 3 / 4
}

/// Whether a status of another server fits as it is.
pub(super) fn fits(message: &str, details: &[u8]) -> bool {
    encoded(message) + (details.len() * 4).div_ceil(3) <= BUDGET
}

/// What `message` costs: percent-encoded as `grpc-message`, and once more inside
/// of the details (where grpc-go takes it from), in base64.
pub(super) fn cost(message: &str) -> usize {
    encoded(message) + (message.len() * 4).div_ceil(3)
}

fn encoded(message: &str) -> usize {
    let bytes = message.bytes();
    bytes.map(|byte| if is_literal(byte) { 1 } else { 3 }).sum()
}

/// Whether a byte of a message is sent as it is (by tonic; others escape less).
fn is_literal(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"#%<>`?{}".contains(&byte)
}

fn shorten_to_cost(text: &str, most: usize) -> String {
    let mut keep = text.len();
    loop {
        let shortened = shorten(text, keep);
        let cost = cost(&shortened);
        if cost <= most || keep == 0 {
            return shortened;
        }
        // In proportion, and at least a little, so that it ends.
        keep = (keep * most / cost).min(keep - 1);
    }
}

/// `text`, or its beginning and end with a note about what is missing, in about
/// `keep` bytes.
pub(super) fn shorten(text: &str, keep: usize) -> String {
    if text.len() <= keep {
        return text.to_owned();
    }
    let keep = keep.saturating_sub(32);
    let head = text.floor_char_boundary(keep / 2);
    let tail = text.ceil_char_boundary(text.len() - keep / 2);
    format!(
        "{}[… {} bytes cut …]{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}
