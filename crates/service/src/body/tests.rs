use std::{collections::VecDeque, future::poll_fn};

use tonic::Code;

use super::*;
use crate::budget::Budget;

const MAX: usize = 10 * 1024 * 1024;

/// A body in parts that are there already, and then nothing any more, or its end.
struct Parts {
    parts: VecDeque<Bytes>,
    ends: bool,
}

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.parts.pop_front() {
            Some(part) => Poll::Ready(Some(Ok(Frame::data(part)))),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

/// The head of a message of so many bytes.
fn head(length: u32) -> Vec<u8> {
    [&[0], &length.to_be_bytes()[..]].concat()
}

fn arriving(budget: &Arc<Budget>, parts: &[&[u8]], ends: bool) -> Arriving<Parts> {
    let parts = parts.iter().map(|part| Bytes::copy_from_slice(part));
    let body = Parts {
        parts: parts.collect(),
        ends,
    };
    Arriving::new(body, Call::new(budget), MAX)
}

/// How many bytes come until the end or the first error.
async fn read(mut body: Arriving<Parts>) -> (usize, Option<Status>) {
    let mut count = 0;
    loop {
        match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            Some(Ok(frame)) => count += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(status)) => return (count, Some(status)),
            None => return (count, None),
        }
    }
}

#[tokio::test]
async fn a_request_is_refused_by_its_length_before_its_body_is_read() {
    let budget = Budget::new(1_000_000);
    let other = Call::new(&budget);
    other.reservation.list(600_000).unwrap();
    let head = head(500_000);
    // However the head is cut.
    for cut in 0..5 {
        let parts = [&head[..cut], &head[cut..], &[0; 500_000]];
        let (passed, status) = read(arriving(&budget, &parts, true)).await;
        let status = status.unwrap();
        assert_eq!((passed, status.code()), (cut, Code::ResourceExhausted));
        assert!(status.message().contains("500000"), "{status}");
    }
    drop(other);
    let (passed, status) = read(arriving(&budget, &[&head, &[0; 500_000]], true)).await;
    assert!(status.is_none(), "{status:?}");
    assert_eq!(passed, 500_005);
}

#[tokio::test]
async fn a_message_over_the_limit_is_left_to_those_who_refuse_it() {
    let budget = Budget::new(1_100_000);
    let other = Call::new(&budget);
    other.reservation.list(1_000_000).unwrap();
    let head = head(u32::MAX);
    let (passed, status) = read(arriving(&budget, &[&head], true)).await;
    assert!(status.is_none(), "{status:?}");
    assert_eq!(passed, 5);
}

#[tokio::test]
async fn a_second_message_is_refused() {
    let budget = Budget::new(1_000_000);
    for parts in [
        vec![head(3), b"abcd".to_vec()],
        vec![[head(3), b"abc".to_vec()].concat(), head(3)],
    ] {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let status = read(arriving(&budget, &parts, true)).await.1.unwrap();
        assert_eq!(status.code(), Code::InvalidArgument);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_given_up_and_what_came_is_reported() {
    let budget = Budget::new(u64::MAX);
    let head = head(100);
    for (parts, words) in [
        (vec![], "it did not begin"),
        (vec![&head[..], b"0123456789"], "10 of its 100 bytes"),
        (vec![&head, &[0; 100][..]], "it did not end"),
    ] {
        let begin = Instant::now();
        let status = read(arriving(&budget, &parts, false)).await.1.unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(status.message().contains(words), "{status}");
        let took = begin.elapsed();
        assert!(
            (ARRIVES_WITHIN..ARRIVES_WITHIN * 2).contains(&took),
            "{took:?}"
        );
    }
}

/// A part each ten seconds.
struct Trickle {
    part: usize,
    next: Pin<Box<Sleep>>,
}

impl HttpBody for Trickle {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        std::task::ready!(self.next.as_mut().poll(context));
        self.next = Box::pin(sleep(ARRIVES_WITHIN / 2));
        let part = Bytes::from(vec![0; self.part]);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_trickle_is_given_up_and_a_slow_body_is_not() {
    for (part, lasts) in [(1024, false), (1024 * 1024, true)] {
        let body = Trickle {
            part,
            next: Box::pin(sleep(Duration::ZERO)),
        };
        let mut body = Arriving::new(body, Call::new(&Budget::new(u64::MAX)), MAX);
        body.message = Message::Rest {
            length: 6_000_000,
            missing: 6_000_000,
        };
        for n in 0..5 {
            let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
            let comes = frame.unwrap().is_ok();
            if !lasts && !comes {
                assert!(n > 1, "not within the first 20 s");
                break;
            }
            assert!(comes || !lasts, "part {n}");
            assert!(lasts || n < 4, "a trickle goes on");
        }
    }
}

#[tokio::test]
async fn a_call_holds_its_place_until_its_answer_has_left() {
    use http_body_util::{BodyExt as _, Full};
    let budget = Budget::new(1_000_000);
    let call = Call::new(&budget);
    call.reservation.list(900_000).unwrap();
    let body = Body::new(Full::new(Bytes::from(vec![7; 800_000])));
    let mut leaving = Leaving::new(body, Some(call));
    let frame = leaving.frame().await.unwrap().unwrap();
    assert!(leaving.frame().await.is_none());
    drop(leaving);
    // Queued for a caller that reads slowly.
    let answer = frame.into_data().unwrap();
    let next = Call::new(&budget);
    next.reservation.list(300_000).unwrap_err();
    assert!(answer.iter().all(|byte| *byte == 7));
    drop(answer);
    next.reservation.list(300_000).unwrap();
}
