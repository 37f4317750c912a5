//! gRPC's codes, by their names.

use crate::instruments::label;

label!(
    /// How a call ended, in the order of gRPC's numbers.
    Code as "code" {
        Ok = "OK",
        Cancelled = "CANCELLED",
        Unknown = "UNKNOWN",
        InvalidArgument = "INVALID_ARGUMENT",
        DeadlineExceeded = "DEADLINE_EXCEEDED",
        NotFound = "NOT_FOUND",
        AlreadyExists = "ALREADY_EXISTS",
        PermissionDenied = "PERMISSION_DENIED",
        ResourceExhausted = "RESOURCE_EXHAUSTED",
        FailedPrecondition = "FAILED_PRECONDITION",
        Aborted = "ABORTED",
        OutOfRange = "OUT_OF_RANGE",
        Unimplemented = "UNIMPLEMENTED",
        Internal = "INTERNAL",
        Unavailable = "UNAVAILABLE",
        DataLoss = "DATA_LOSS",
        Unauthenticated = "UNAUTHENTICATED",
    }
);

impl Code {
    pub(crate) const COUNT: usize = 17;

    const ALL: [Self; Self::COUNT] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// By gRPC's number; what has none is unknown.
    pub fn from_number(number: i32) -> Self {
        let known = usize::try_from(number)
            .ok()
            .and_then(|at| Self::ALL.get(at));
        known.copied().unwrap_or(Self::Unknown)
    }

    pub fn name(self) -> &'static str {
        <Self as crate::Label>::VALUES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_grpc_has_its_name() {
        for (number, name) in [
            (0, "OK"),
            (5, "NOT_FOUND"),
            (14, "UNAVAILABLE"),
            (16, "UNAUTHENTICATED"),
        ] {
            assert_eq!(Code::from_number(number).name(), name);
        }
        assert_eq!(Code::from_number(17), Code::Unknown);
        assert_eq!(Code::from_number(-1), Code::Unknown);
        for (at, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, at);
        }
    }
}
