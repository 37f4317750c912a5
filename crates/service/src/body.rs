//! Bodies on their way: requests as they arrive, answers as they leave.
//!
//! A gRPC message begins with its length. That is enough to refuse it before it
//! is read, and to know what is missing when no more of it comes.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf as _, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use tonic::{Status, body::Body};

use crate::{connections::Call, status};

/// How long a megabyte of a request, or the rest of it, may take to arrive.
/// Callers that stop sending would hold memory and a place for ever, and those
/// that send a byte at a time nearly so.
pub(crate) const ARRIVES_WITHIN: Duration = Duration::from_secs(20);
const AT_LEAST: u64 = 1024 * 1024;

/// A message's head: whether it is compressed, and its length.
const HEAD: usize = 5;

/// A request's body. `B` is the connection's.
#[derive(Debug)]
pub(crate) struct Arriving<B> {
    body: B,
    call: Arc<Call>,
    /// Longer messages are refused elsewhere.
    max_message_size: u64,
    message: Message,
    /// Runs while the body is waited for.
    patience: Option<Pin<Box<Sleep>>>,
    /// What has come since `patience` began.
    arrived: u64,
}

/// How much of the one message has come.
#[derive(Debug, Clone, Copy)]
enum Message {
    /// A part of its head.
    Head {
        bytes: [u8; HEAD],
        count: usize,
    },
    Rest {
        length: u64,
        missing: u64,
    },
}

impl<B> Arriving<B> {
    pub(crate) fn new(body: B, call: Arc<Call>, max_message_size: usize) -> Self {
        Self {
            body,
            call,
            max_message_size: max_message_size as u64,
            message: Message::Head {
                bytes: [0; HEAD],
                count: 0,
            },
            patience: None,
            arrived: 0,
        }
    }

    /// Counts `data`, and asks for room as soon as it is known how much is needed.
    fn count(&mut self, mut data: &[u8]) -> Result<(), Status> {
        self.arrived += data.len() as u64;
        if self.arrived >= AT_LEAST {
            self.arrived = 0;
            if let Some(patience) = &mut self.patience {
                patience.as_mut().reset(Instant::now() + ARRIVES_WITHIN);
            }
        }
        while !data.is_empty() {
            match &mut self.message {
                Message::Head { bytes, count } => {
                    let taken = data.len().min(HEAD - *count);
                    data.copy_to_slice(&mut bytes[*count..*count + taken]);
                    *count += taken;
                    if *count == HEAD {
                        let [_, length @ ..] = *bytes;
                        let length = u64::from(u32::from_be_bytes(length));
                        if length <= self.max_message_size {
                            self.call
                                .reservation
                                .list(length)
                                .map_err(status::exhausted)?;
                        }
                        self.message = Message::Rest {
                            length,
                            missing: length,
                        };
                    }
                }
                Message::Rest { missing, .. } => {
                    *missing = missing.checked_sub(data.len() as u64).ok_or_else(|| {
                        Status::invalid_argument(
                            "a call has one request; this one goes on after it",
                        )
                    })?;
                    data = &[];
                }
            }
        }
        Ok(())
    }

    fn late(&self) -> Status {
        let what = match self.message {
            Message::Head { .. } => "it did not begin".to_owned(),
            Message::Rest { missing: 0, .. } => "it did not end".to_owned(),
            Message::Rest { length, missing } => {
                format!("{} of its {length} bytes have come", length - missing)
            }
        };
        Status::deadline_exceeded(format!(
            "the request did not arrive in time: {what}, and a megabyte or the rest has to come \
             within {} s",
            ARRIVES_WITHIN.as_secs()
        ))
    }
}

impl<B> HttpBody for Arriving<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<tonic::codegen::StdError>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let counted = frame.data_ref().map_or(Ok(()), |data| this.count(data));
                Poll::Ready(Some(counted.map(|()| frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(Some(Err(Status::from_error(error.into()))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                let patience = this
                    .patience
                    .get_or_insert_with(|| Box::pin(sleep(ARRIVES_WITHIN)));
                match patience.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(Some(Err(this.late()))),
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body. What its call holds is given back when the last byte was
/// handed to the system, not when it was queued for a caller that may be slow.
#[derive(Debug)]
pub(crate) struct Leaving {
    body: Body,
    /// `None` for a call that was refused.
    call: Option<Arc<Call>>,
}

impl Leaving {
    pub(crate) fn new(body: Body, call: Option<Arc<Call>>) -> Self {
        Self { body, call }
    }
}

/// Bytes of an answer, and what holds their place.
struct Held {
    bytes: Bytes,
    _call: Arc<Call>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for Leaving {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let Some(call) = &self.call else {
            return polled;
        };
        polled.map_ok(|frame| {
            frame.map_data(|bytes| {
                call.reservation.answer(bytes.len() as u64);
                Bytes::from_owner(Held {
                    bytes,
                    _call: Arc::clone(call),
                })
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
