//! Was a call lost? A pure judgement: the call, what its caller heard, and the faults meanwhile.

use std::time::Duration;

use tonic::Code;

use super::call::{Call, Function, Patience, Script};
use super::fault::Fault;
use super::list::{List, names};

/// How often the runner sends a call again whose pod was lost: `--max-grpc-retries` as it is.
const RETRIES: usize = 2;

/// How long after a fault's end its consequences may still be reported: a registry is asked again, a
/// connection is made anew.
const ECHO: Duration = Duration::from_secs(5);

/// How long a connection may take to break with its runner.
const MOMENT: Duration = Duration::from_secs(1);

/// What a caller heard.
#[derive(Debug, Clone)]
pub(crate) enum Heard {
    List(Vec<u8>),
    Failure(Code, String),
    /// The same in words of its own client: no runner has answered.
    Cut(Code, String),
    /// It went away before anything came.
    Nothing,
    /// Not even the end of its deadline.
    Silence,
}

/// A fault as it was felt, by the soak's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Felt {
    pub(crate) fault: Fault,
    pub(crate) from: Duration,
    /// Unknown while it goes on.
    pub(crate) until: Option<Duration>,
}

impl Felt {
    /// Whether it went on at some time between these two.
    pub(crate) fn overlaps(&self, from: Duration, until: Duration) -> bool {
        self.from <= until && self.until.is_none_or(|end| end >= from)
    }

    /// Whether it began between these two, or a moment before: connections break a little later.
    fn began_within(&self, from: Duration, until: Duration) -> bool {
        (from.saturating_sub(MOMENT)..=until).contains(&self.from)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Answered as it has to be.
    Answered,
    /// Its caller went away, or had too little time; that is answered too.
    GivenUp,
    /// It failed in a way that is promised to nobody: which.
    Allowed(&'static str),
    Lost(String),
}

/// What became of a call that was under way from then until then.
pub(crate) fn judge(
    call: &Call,
    mark: &str,
    heard: &Heard,
    (from, until): (Duration, Duration),
    faults: &[Felt],
) -> Verdict {
    let (code, message) = match heard {
        Heard::List(answer) => {
            let right = List::new(call, mark).judge(call.function, mark, answer);
            return right.map_or_else(Verdict::Lost, |()| Verdict::Answered);
        }
        Heard::Nothing => return Verdict::GivenUp,
        Heard::Silence => {
            return Verdict::Lost("no answer, not even at its deadline".to_owned());
        }
        Heard::Failure(code, message) | Heard::Cut(code, message) => (*code, message.as_str()),
    };
    if code == Code::Internal && fails(call.function) && names(message, mark) {
        return Verdict::Answered;
    }
    let is_late = matches!(code, Code::DeadlineExceeded | Code::Cancelled);
    if is_late && call.patience != Patience::Full {
        return Verdict::GivenUp;
    }
    let pods_taken = match call.function {
        Function::Pod(script) => faults
            .iter()
            .filter(|felt| felt.overlaps(from, until) && felt.fault.takes_pods_of(script))
            .count(),
        _ => 0,
    };
    let crashes = |felt: &Felt| felt.fault == Fault::Crashed && felt.began_within(from, until);
    let is_registry_hidden = faults
        .iter()
        .filter(|felt| felt.overlaps(from.saturating_sub(ECHO), until))
        .any(|felt| felt.fault.hides_registry());
    let runs_in_pod = matches!(call.function, Function::Pod(_));
    if matches!(heard, Heard::Cut(..)) && faults.iter().any(crashes) {
        return Verdict::Allowed("its runner crashed");
    }
    if code == Code::Unavailable && runs_in_pod {
        if pods_taken > RETRIES && message.contains("its pod was lost while it ran") {
            return Verdict::Allowed("more pods were lost under it than it is sent again");
        }
        if is_registry_hidden && message.contains("registry.local") {
            return Verdict::Allowed(
                "a runner that never saw its image could not ask the registry",
            );
        }
    }
    Verdict::Lost(format!("{code:?}: {message}"))
}

/// Whether this function always fails.
fn fails(function: Function) -> bool {
    matches!(
        function,
        Function::Misconfigured
            | Function::Executable(Script::Failing)
            | Function::Pod(Script::Failing)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name_server::Answers;
    use crate::soak::fault::{Aim, Blow};

    const MARK: &str = "m4-7";

    fn call(function: Function, patience: Patience) -> Call {
        Call {
            function,
            items: 1,
            filler: 1,
            patience,
            is_stranger: false,
            pause: Duration::ZERO,
        }
    }

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn judged(call: &Call, heard: &Heard, faults: &[Felt]) -> Verdict {
        judge(call, MARK, heard, (second(10), second(20)), faults)
    }

    fn felt(fault: Fault, from: u64, until: u64) -> Felt {
        Felt {
            fault,
            from: second(from),
            until: Some(second(until)),
        }
    }

    const POD: Function = Function::Pod(Script::Quick);

    fn unavailable(words: &str) -> Heard {
        Heard::Failure(Code::Unavailable, words.to_owned())
    }

    #[test]
    fn an_answer_of_another_call_is_lost() {
        let call = call(POD, Patience::Full);
        let other = List::new(&call, "m4-8").text();
        let own = List::new(&call, MARK).text();
        let changed = |text: String| text.replace("namespace: before", "namespace: after-quick");
        let right = Heard::List(changed(own).into_bytes());
        assert_eq!(judged(&call, &right, &[]), Verdict::Answered);
        let wrong = Heard::List(changed(other).into_bytes());
        assert!(matches!(judged(&call, &wrong, &[]), Verdict::Lost(_)));
    }

    #[test]
    fn a_function_that_fails_has_to_fail_with_its_own_words() {
        let failing = call(Function::Pod(Script::Failing), Patience::Full);
        let own = Heard::Failure(Code::Internal, format!("exit code 1: failed on {MARK}."));
        assert_eq!(judged(&failing, &own, &[]), Verdict::Answered);
        let foreign = Heard::Failure(Code::Internal, "failed on m4-9.".to_owned());
        assert!(matches!(judged(&failing, &foreign, &[]), Verdict::Lost(_)));
        let good = call(POD, Patience::Full);
        assert!(matches!(judged(&good, &own, &[]), Verdict::Lost(_)));
    }

    #[test]
    fn a_deadline_is_a_loss_only_for_a_caller_with_patience() {
        let late = Heard::Failure(Code::DeadlineExceeded, "too late".to_owned());
        let patient = call(POD, Patience::Full);
        assert!(matches!(judged(&patient, &late, &[]), Verdict::Lost(_)));
        let short = call(POD, Patience::Short(second(1)));
        assert_eq!(judged(&short, &late, &[]), Verdict::GivenUp);
        assert!(matches!(
            judged(&short, &Heard::Silence, &[]),
            Verdict::Lost(_)
        ));
    }

    #[test]
    fn unavailable_is_a_loss_unless_more_pods_were_lost_than_calls_are_sent_again() {
        let call = call(POD, Patience::Full);
        let heard = unavailable("its pod was lost while it ran: (…)");
        let blow = Fault::Pods(Blow::Kill, Aim::All);
        let two = [felt(blow, 11, 11), felt(blow, 15, 15)];
        assert!(matches!(judged(&call, &heard, &two), Verdict::Lost(_)));
        let three = [two[0], two[1], felt(blow, 19, 19)];
        assert!(matches!(judged(&call, &heard, &three), Verdict::Allowed(_)));
        let before = [two[0], two[1], felt(blow, 5, 6)];
        assert!(matches!(judged(&call, &heard, &before), Verdict::Lost(_)));
        let elsewhere = Fault::Pods(Blow::Kill, Aim::One(Script::Slow));
        let others = [two[0], two[1], felt(elsewhere, 19, 19)];
        assert!(matches!(judged(&call, &heard, &others), Verdict::Lost(_)));
        let shutdown = unavailable("the runner is shutting down");
        assert!(matches!(judged(&call, &shutdown, &three), Verdict::Lost(_)));
    }

    #[test]
    fn a_registry_may_be_missed_only_while_nobody_can_reach_it() {
        let call = call(POD, Patience::Full);
        let heard = unavailable("cannot reach registry.local:5000");
        let names = Fault::Names(Answers::Silence);
        let meanwhile = judged(&call, &heard, &[felt(names, 8, 12)]);
        assert!(matches!(meanwhile, Verdict::Allowed(_)));
        let long_ago = judged(&call, &heard, &[felt(names, 1, 2)]);
        assert!(matches!(long_ago, Verdict::Lost(_)));
    }

    #[test]
    fn a_connection_may_break_only_when_a_runner_crashed() {
        let call = call(Function::SetLabels, Patience::Full);
        let cut = Heard::Cut(Code::Unknown, "transport error".to_owned());
        let crash = [felt(Fault::Crashed, 12, 14)];
        assert!(matches!(judged(&call, &cut, &crash), Verdict::Allowed(_)));
        let before = [felt(Fault::Crashed, 8, 14)];
        assert!(matches!(judged(&call, &cut, &before), Verdict::Lost(_)));
        let restart = [felt(Fault::Replaced, 12, 14)];
        assert!(matches!(judged(&call, &cut, &restart), Verdict::Lost(_)));
        let answered = unavailable("the connection to its pod was lost");
        assert!(matches!(judged(&call, &answered, &crash), Verdict::Lost(_)));
    }
}
