//! Runs a program on bytes: input to its standard input, what it writes to its
//! standard output and error back, nothing left behind.
//!
//! What [`run`] promises:
//! - Reading and writing happen at the same time, so a program may write before
//!   it reads, or never read at all.
//! - Output is bounded; a log keeps its head and its tail.
//! - Output is whole, or the call fails: it is read until nobody can write more,
//!   also after the program's own end.
//! - When the call ends, for whatever reason (the program ended, the deadline
//!   passed, the caller lost interest), everything the program started ends too:
//!   its process group, and whatever left that group (see [`strays`]).
//!
//! A [`Gate`] keeps more of them from running at a time than processors and memory
//! allow. [`Ahead`] promises the same, sooner: it keeps programs that were used lately
//! started, one process for one call (see [`ahead`]). What programs may reach of this
//! machine is bounded by [`confine`].
//!
//! One thread reaps every child of this process (see [`children`]), as PID 1 in
//! a container must. It follows that **no other code of the process may start
//! children**: their exit status would be taken.

mod ahead;
mod capture;
mod children;
mod command;
mod confine;
mod dead_end;
mod error;
mod exit;
mod gate;
mod holder;
pub mod memory;
mod run;
mod strays;
mod sys;

pub use ahead::{Ahead, Begin, Bounds};
pub use capture::Log;
pub use children::{adopt_orphans, end_all};
pub use command::{Command, Environment, Variable};
pub use confine::{
    Offered, OfferedInContainer, PROCESSES, Profile, confine_beside, confine_in_container,
    remove_temporary_directories,
};
pub use error::{Bound, RunError};
pub use exit::Exit;
pub use gate::Gate;
pub use holder::Holder;
pub use run::{Completed, Limits, run};
pub use sys::{
    close_on_exec_from, give_back_freed_memory, keep_freed_memory, raise_descriptor_limit,
};
